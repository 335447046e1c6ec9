from __future__ import annotations

from pathlib import Path

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.formats.fields import parsed
from annotation.core.formats.records import Row
from judging.core.formats.llmbar import looks_like, named_by_file, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def replies(one="1", two="1", **more):
    return [
        {
            "swap = False": {"completion": ["Output (a)", "stop"], "winner": one},
            "swap = True": {"completion": ["Output (b)", "stop"], "winner": two},
            **more,
        }
    ]


def row(**changes):
    data = {
        "subset": "Natural",
        "index": 3,
        "input": "Count.",
        "output_1": "1 2 3",
        "output_2": "3 2 1",
        "label": 1,
        "judges": {"GPT-4": replies("1", "2"), "Falcon": replies(None, 2)},
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_a_row_has_gold_and_a_verdict_of_every_judge_in_both_orders():
    session = record_of(row(), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, turn.user_message) == ("Natural", "Count.")
    assert [(one.key, one.text) for one in turn.responses] == [("1", "1 2 3"), ("2", "3 2 1")]
    assert comparison.gold[0].verdict is Verdict.A
    assert comparison.key.startswith("Natural/3-")
    assert comparison.extra == {"index": 3}
    assert [
        (one.judge, one.turn, one.comparison, one.order, one.verdict, one.status, one.raw)
        for one in session.verdicts
    ] == [
        ("GPT-4", 0, comparison.key, Order.ORIGINAL, Verdict.A, JudgmentStatus.DONE, "Output (a)"),
        ("GPT-4", 0, comparison.key, Order.SWAPPED, Verdict.B, JudgmentStatus.DONE, "Output (b)"),
        (
            "Falcon",
            0,
            comparison.key,
            Order.ORIGINAL,
            None,
            JudgmentStatus.UNPARSEABLE,
            "Output (a)",
        ),
        ("Falcon", 0, comparison.key, Order.SWAPPED, Verdict.B, JudgmentStatus.DONE, "Output (b)"),
    ]
    assert [one.error_code for one in session.verdicts] == ["", "", "verdict:unparseable", ""]


def test_without_judges_it_is_a_benchmark_with_gold():
    session = record_of(row(judges=..., subset=..., index=...), parse)
    assert session.verdicts == ()
    assert session.scenario == "llmbar"
    assert "/" not in session.turns[0].comparisons[0].key


@pytest.mark.parametrize(
    ("file", "judge"),
    [
        ("evaluators/GPT-4/Vanilla/result.json", "GPT-4 Vanilla"),
        ("gpt-4.1 CoT.json.gz", "gpt-4.1 CoT"),
    ],
)
def test_the_judge_of_llmbars_own_file_is_named_by_where_it_is(file, judge):
    told = [parsed(1, row(judges=..., results=replies("1", None)), parse), parsed(2, row(), parse)]
    own, other, none = named_by_file(Path(file), iter([*told, Row(3, None)]))
    assert none.record is None
    assert [(each.judge, each.order, each.verdict) for each in own.record.verdicts] == [
        (judge, Order.ORIGINAL, Verdict.A),
        (judge, Order.SWAPPED, None),
    ]
    assert {each.judge for each in other.record.verdicts} == {"GPT-4", "Falcon"}


def test_equal_outputs_are_told_apart():
    responses = record_of(row(output_2="1 2 3"), parse).turns[0].responses
    assert [one.variant for one in responses] == ["", "B"]


@pytest.mark.parametrize(
    ("completion", "raw"), [("text", "text"), (None, ""), (["a"], "a"), ([None], "")]
)
def test_a_completion_is_a_text_or_a_list(completion, raw):
    given = replies()
    given[0]["swap = False"]["completion"] = completion
    assert record_of(row(judges={"j": given}), parse).verdicts[0].raw == raw


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"label": 3}, ("label", "Must be between 1 and 2")),
        (
            {"judges": {"j": replies("3")}},
            ("judges.j[0].swap = False.winner", "Expected 1, 2 or null"),
        ),
        ({"judges": {"j": []}}, ("judges.j", "Expected one pair of replies")),
        (
            {"judges": {"j": [{"swap = False": {"winner": "1"}}]}},
            ("judges.j[0].swap = True", "Missing"),
        ),
        ({"judges": {"": replies()}}, ("judges", "Must have 1 to 80 characters")),
        ({"judges": [1]}, ("judges", "Expected an object")),
        ({"results": []}, ("results", "Expected one pair of replies")),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert fault in faults_of(row(**changes), parse)


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(label=...))
    assert not looks_like([])
