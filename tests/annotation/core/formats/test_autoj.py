from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.autoj import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    told = {"scenario": "math", "label": 0, "prompt": "1 + 1?"}
    return {**told, "response 1": "2", "response 2": "3", **changes}


@pytest.mark.parametrize(("label", "verdict"), [(0, Verdict.A), ("1", Verdict.B), (2, Verdict.TIE)])
def test_the_label_is_gold_and_the_benchmarks_own(label, verdict):
    session = record_of(row(label=label, source="x"), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, turn.user_message) == ("math", "1 + 1?")
    assert [one.text for one in turn.responses] == ["2", "3"]
    assert [gold.verdict for gold in comparison.gold] == [verdict]
    assert [(one.details.annotator, one.verdict) for one in comparison.labels] == [
        ("benchmark", verdict)
    ]
    assert comparison.extra == {"source": "x"}


def test_equal_prompts_share_a_session_and_equal_responses_are_two():
    one, other = record_of(row(), parse), record_of(row(**{"response 2": "2"}), parse)
    assert one.key == other.key
    assert [each.variant for each in other.turns[0].responses] == ["", "B"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"label": 3}, ("label", "Must be between 0 and 2")),
        ({"label": None}, ("label", "Missing")),
        ({"response 2": []}, ("response 2", "Expected a string")),
        ({"scenario": ""}, ("scenario", "Must not be empty")),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert faults_of(row(**changes), parse) == [fault]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like({"prompt": "p"})
    assert not looks_like([row()])
