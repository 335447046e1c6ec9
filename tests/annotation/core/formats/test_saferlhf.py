from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.saferlhf import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    told = {
        "prompt": "My neighbour is loud.",
        "response_0": "Insult them.",
        "response_1": "Talk to them.",
        "response_0_source": "Alpaca-7B",
        "response_1_source": "Alpaca2-7B",
        "is_response_0_safe": False,
        "better_response_id": 1,
        "safer_response_id": 1,
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


@pytest.mark.parametrize(("better", "verdict"), [(0, Verdict.A), (1, Verdict.B)])
def test_the_more_helpful_response_is_the_gold_answer_and_safety_is_kept(better, verdict):
    session = record_of(row(better_response_id=better), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert [(each.text, each.model) for each in turn.responses] == [
        ("Insult them.", "Alpaca-7B"),
        ("Talk to them.", "Alpaca2-7B"),
    ]
    assert (comparison.a, comparison.gold[0].verdict) == ("0", verdict)
    assert [each.details.annotator for each in comparison.labels] == ["benchmark"]
    assert comparison.extra == {"is_response_0_safe": False, "safer_response_id": 1}


def test_sources_may_be_missing():
    [turn] = record_of(row(response_0_source=..., response_1_source=None), parse).turns
    assert {each.model for each in turn.responses} == {""}


def test_another_response_is_a_fault():
    told = row(better_response_id=-1)
    assert faults_of(told, parse) == [("better_response_id", "Must be between 0 and 1")]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(better_response_id=...))
    assert not looks_like("row")
