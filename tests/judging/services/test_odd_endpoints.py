"""Runs at an endpoint that behaves differently at every call; at length `make attack` does so."""

from __future__ import annotations

import pytest

from annotation.models import Response
from judging.models import LlmCall
from judging.services.foreground import run_to_end
from judging.services.run_control import reset_failed
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study, start_test_run
from tests.odd_endpoint import OddEndpoint

pytestmark = [pytest.mark.django_db, pytest.mark.llm_faults]


@pytest.mark.parametrize("seed", range(3))
def test_every_row_ends_in_a_status_and_no_answer_is_paid_for_twice(seed):
    odd = OddEndpoint(seed=seed)
    dataset, rater = make_study(comparisons=40)
    for response in Response.objects.all():
        response.text = f"{response.text} No {response.pk}."
        response.save()
    with FakeLlm() as server:
        server.manner = odd
        row = make_endpoint(base_url=server.base_url, has_logprobs=True, has_json_schema=True)
        run = start_test_run(dataset=dataset, annotator=rater, judge=row.name, with_sets=False)
        for _ in range(20):
            run = run_to_end(run.pk)
            assert run.error_code != "run:crashed"
            if run.status == "DONE":
                break
            reset_failed(run.pk)
    assert run.status == "DONE"
    assert run.judgments.count() == 80
    assert not run.judgments.filter(status="PENDING").exists()
    assert not run.judgments.filter(error_code="answer:not-storable").exists()
    assert odd.oddities > 20
    assert odd.paid_twice == 0
    assert LlmCall.objects.count() <= sum(odd.answered.values())
