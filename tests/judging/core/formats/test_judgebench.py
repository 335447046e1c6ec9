from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.formats.judgebench import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def said(decision, **judgment):
    return {"judgment": {"judge_model": "o1", "response": "…", **judgment}, "decision": decision}


def row(*judgments, **changes):
    told = {
        "pair_id": "e302",
        "original_id": 7,
        "source": "mmlu-pro-law",
        "question": "Is it allowed?",
        "response_model": "gpt-4o",
        "response_A": "Yes.",
        "response_B": "No.",
        "label": "A>B",
        **({"judge_name": "arena_hard", "judgments": list(judgments)} if judgments else {}),
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def verdicts(*judgments, **changes):
    record = record_of(row(*judgments, **changes), parse)
    return [(each.judge, each.order, each.verdict, each.raw) for each in record.verdicts]


def test_a_pair_has_its_right_answer_and_no_verdicts():
    session = record_of(row(), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, session.verdicts) == ("mmlu-pro-law", ())
    assert [(one.model, one.text) for one in turn.responses] == [
        ("gpt-4o", "Yes."),
        ("gpt-4o", "No."),
    ]
    assert [gold.verdict for gold in comparison.gold] == [Verdict.A]
    assert comparison.key.startswith("e302-")
    assert comparison.extra == {"original_id": 7}
    assert record_of(row(source=...), parse).scenario == "judgebench"


def test_the_second_judgment_saw_the_responses_the_other_way_round():
    assert verdicts(said("A>B"), said("B>A", response="B is better")) == [
        ("arena_hard o1", Order.ORIGINAL, Verdict.A, "…"),
        ("arena_hard o1", Order.SWAPPED, Verdict.A, "B is better"),
    ]


def test_what_was_not_read_or_not_said_has_no_verdict():
    assert verdicts(said("A=B"), None) == [
        ("arena_hard o1", Order.ORIGINAL, Verdict.TIE, "…"),
        ("arena_hard o1", Order.SWAPPED, None, ""),
    ]
    scores = {"judgment": {"scores": [1, 2]}, "decision": None}
    assert verdicts(scores) == [("arena_hard", Order.ORIGINAL, None, '{"scores": [1, 2]}')]
    plain = {"judgment": "A wins", "decision": "A>B"}
    assert verdicts(plain) == [("arena_hard", Order.ORIGINAL, Verdict.A, "A wins")]


def test_equal_responses_are_two():
    [turn] = record_of(row(response_B="Yes."), parse).turns
    assert [one.variant for one in turn.responses] == ["", "B"]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"label": "A=B"}, ("label", "Expected A>B or B>A")),
        ({"label": None}, ("label", "Missing")),
        ({"judge_name": "j"}, ("judgments", "Expected one or two judgments")),
        (
            {"judge_name": "j", "judgments": 3 * [None]},
            ("judgments", "Expected one or two judgments"),
        ),
        ({"judge_name": "j", "judgments": ["A"]}, ("judgments[0]", "Expected an object")),
        (
            {"judge_name": "j", "judgments": [said("A>>B")]},
            ("judgments[0].decision", "Expected one of A>B, B>A, A=B"),
        ),
        (
            {"judge_name": "j", "judgments": [said(["A"])]},
            ("judgments[0].decision", "Expected one of A>B, B>A, A=B"),
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert faults_of(row(**changes), parse) == [fault]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(pair_id=...))
    assert not looks_like("row")
