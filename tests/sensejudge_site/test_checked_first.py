"""Commands that start several runs: all of them are checked before the first one costs anything."""

from __future__ import annotations

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from judging.models import JudgeRun
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def server():
    with FakeLlm() as server:
        yield server


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("judge", {"judge": "fake,small", "preferences": "none"}),
        ("distil", {"judge": "fake,small"}),
    ],
)
def test_no_run_is_paid_for_before_another_is_refused(server, name, more):
    dataset, _annotator = make_study()
    make_endpoint(name="fake", base_url=server.base_url)
    make_endpoint(name="small", base_url=server.base_url, found_context_tokens=16)
    with pytest.raises(CommandError, match="llm:context: small takes 16 tokens"):
        call_command(name, stdout=StringIO(), stderr=StringIO(), dataset=dataset.slug, **more)
    assert server.stats()["calls"] == 0
    assert not JudgeRun.objects.exists()


@pytest.mark.parametrize("estimate", [True, False])
def test_a_request_that_may_not_fit_is_told_on_the_way(server, estimate):
    dataset, _annotator = make_study()
    make_endpoint(name="tight", base_url=server.base_url, found_context_tokens=1100)
    told = StringIO()
    words = {"dataset": dataset.slug, "judge": "tight", "estimate": estimate}
    call_command("distil", stdout=StringIO(), stderr=told, **words)
    assert told.getvalue().count("tight takes 1,100 tokens, and the longest request has") == 1
    assert JudgeRun.objects.exists() is not estimate
