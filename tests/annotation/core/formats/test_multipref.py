from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.multipref import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def said(evaluator="n_07", overall="A-is-clearly-better", **changes):
    return {
        "evaluator": evaluator,
        "overall_pref": overall,
        "overall_confidence": "fairly-confident",
        "helpful_pref": "Tie",
        "helpful_own_reason": "",
        "truthful_own_reason": "",
        "harmless_own_reason": "",
        "time_spent": 95,
        "timestamp": "2024-03-05T10:11:12",
        **changes,
    }


def row(normal=(), expert=(), **changes):
    told = {
        "comparison_id": "cmp_1",
        "prompt_id": "pr_1",
        "text": "Explain an eclipse.",
        "completion_a": "The moon goes dark.",
        "model_a": "m1",
        "completion_b": "A syzygy.",
        "model_b": "m2",
        "category": "Closed QA",
        "normal_worker_annotations": list(normal),
        "expert_worker_annotations": list(expert),
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def test_a_row_is_one_comparison_by_two_groups_of_people():
    session = record_of(row([said()], [said(overall="B-is-slightly-better")]), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, turn.user_message) == ("Closed QA", "Explain an eclipse.")
    assert [(each.model, each.text) for each in turn.responses] == [
        ("m1", "The moon goes dark."),
        ("m2", "A syzygy."),
    ]
    assert (comparison.key, comparison.a, comparison.gold) == ("cmp_1", "a", ())
    assert comparison.extra == {"prompt_id": "pr_1"}
    normal, expert = comparison.labels
    assert (normal.details.annotator, expert.details.annotator) == ("normal-n_07", "expert-n_07")
    assert (normal.verdict, normal.strength) == (Verdict.A, 2)
    assert (expert.verdict, expert.strength) == (Verdict.B, 1)
    assert normal.details.active_seconds == 95.0
    assert normal.details.given_at is None
    assert normal.details.extra["timestamp"] == "2024-03-05T10:11:12"
    assert normal.details.extra["helpful_pref"] == "Tie"


def test_own_reasons_are_the_comment():
    told = said(
        overall_own_reason="A.",
        helpful_own_reason="Fits a child.",
        harmless_own_reason="Harms nobody.",
    )
    [comparison] = record_of(row([told]), parse).turns[0].comparisons
    assert comparison.labels[0].details.comment == "A.\nFits a child.\nHarms nobody."


def test_without_an_id_the_content_names_and_equal_responses_are_two():
    told = row(comparison_id=..., category=..., model_b="m1", completion_b="The moon goes dark.")
    session = record_of(told, parse)
    [turn] = session.turns
    assert session.scenario == "multipref"
    assert [each.variant for each in turn.responses] == ["", "B"]
    assert len(turn.comparisons[0].key) == 12


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        (
            said(overall="a"),
            "Expected one of A-is-clearly-better, A-is-slightly-better, Tie, "
            "B-is-slightly-better, B-is-clearly-better",
        ),
        (said(overall=None), "Missing"),
    ],
)
def test_an_unknown_verdict_is_a_fault(told, reason):
    assert faults_of(row([told]), parse) == [
        ("normal_worker_annotations[0].overall_pref", reason),
    ]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(text=...))
    assert not looks_like("row")
