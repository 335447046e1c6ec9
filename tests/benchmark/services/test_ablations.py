from __future__ import annotations

import pytest

from benchmark.core.ablation import Vary
from benchmark.services.ablation_runs import AblationRequest, estimate_ablation
from judging.core.verdicts import VerdictRule
from tests.factory import make_endpoint
from tests.fake_llm import FakeLlm
from tests.judging.study import make_study
from tests.refusals import refuses

pytestmark = pytest.mark.django_db


def test_letters_that_an_endpoint_turns_out_to_lack_are_refused_in_an_estimate():
    dataset, rater = make_study()
    with FakeLlm(logprobs=False) as server:
        row = make_endpoint(base_url=server.base_url, has_logprobs=None, measured_address="")
        letters = VerdictRule.LOGPROB
        asked = AblationRequest(dataset, [rater], Vary.PREFERENCES, [row.name], verdict=letters)
        with refuses("llm:no-logprobs"):
            estimate_ablation(asked)


def test_each_line_of_an_estimate_has_a_name_of_its_own():
    dataset, rater = make_study()
    asked = AblationRequest(dataset, [rater], Vary.DEV_SIZE, ["lexical"])
    labels = [each.label for each in estimate_ablation(asked)]
    assert len(set(labels)) == len(labels) > 2
    assert labels[0] == f"{rater} · 2 · lexical"
