from __future__ import annotations

from math import log

import pytest

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.formats.alpaca_eval import looks_like, looks_like_outputs, parse, parse_output
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    data = {
        "instruction": "Sort.",
        "output_1": "1 2",
        "generator_1": "davinci",
        "dataset": "koala",
        "output_2": "2 1",
        "generator_2": "gpt4",
        "annotator": "alpaca_eval_gpt4",
        "preference": 2,
        "raw_completion": "(b)",
        "price_per_example": 0.01,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_an_annotation_is_a_combined_verdict_on_two_outputs():
    session = record_of(row(), parse)
    [turn] = session.turns
    assert (session.scenario, turn.user_message) == ("koala", "Sort.")
    assert [(one.model, one.text) for one in turn.responses] == [
        ("davinci", "1 2"),
        ("gpt4", "2 1"),
    ]
    [said] = session.verdicts
    assert (said.judge, said.order, said.verdict, said.raw) == (
        "alpaca_eval_gpt4",
        Order.COMBINED,
        Verdict.B,
        "(b)",
    )


@pytest.mark.parametrize(
    ("preference", "verdict", "log_odds"),
    [
        (1, Verdict.A, None),
        (1.0, Verdict.A, None),
        ("2", Verdict.B, None),
        (1.5, Verdict.TIE, None),
        (0, Verdict.TIE, None),
        # 1 + P(output 2) = 1.25: log(.75 / .25)
        (1.25, Verdict.A, log(3)),
        (1.75, Verdict.B, -log(3)),
        (None, None, None),
    ],
)
def test_a_preference_is_a_verdict_and_how_sure_it_is(preference, verdict, log_odds):
    [said] = record_of(row(preference=preference), parse).verdicts
    assert said.verdict is verdict
    assert said.log_odds == (None if log_odds is None else pytest.approx(log_odds))
    unread = said.status is JudgmentStatus.UNPARSEABLE
    assert unread == (verdict is None)


@pytest.mark.parametrize("preference", [0.5, 3, "b", True, [1]])
def test_another_preference_is_a_fault(preference):
    [(field, _reason)] = faults_of(row(preference=preference), parse)
    assert field == "preference"


@pytest.mark.parametrize(("raw", "kept"), [({"a": 1}, '{"a": 1}'), (None, ""), ("x", "x")])
def test_the_reply_is_kept_as_text(raw, kept):
    assert record_of(row(raw_completion=raw), parse).verdicts[0].raw == kept


def test_equal_outputs_of_one_generator_are_told_apart():
    responses = record_of(row(output_2="1 2", generator_2="davinci"), parse).turns[0].responses
    assert [one.variant for one in responses] == ["", "B"]


def test_without_a_dataset_there_is_one_scenario():
    assert record_of(row(dataset=...), parse).scenario == "alpaca_eval"


def test_the_annotator_must_be_named():
    assert faults_of(row(annotator=...), parse) == [("annotator", "Missing")]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(preference=...))
    assert not looks_like("x")


def test_an_output_is_a_response_in_the_session_of_its_annotations():
    told = {"instruction": "q", "output": "x", "generator": "m", "dataset": "helpful_base"}
    session = record_of(told, parse_output)
    [[response]] = [turn.responses for turn in session.turns]
    assert (session.scenario, response.model, response.text) == ("helpful_base", "m", "x")
    annotated = {"output_1": "x", "generator_1": "m", "output_2": "y", "generator_2": "n"}
    more = {"instruction": "q", "dataset": "helpful_base", "annotator": "j", "preference": 1}
    assert session.key == record_of({**annotated, **more}, parse).key
    assert looks_like_outputs(told)
    assert not looks_like_outputs({"instruction": "q", "output": "x"})
    assert not looks_like_outputs("row")
    assert faults_of({**told, "generator": ""}, parse_output) == [
        ("generator", "Must not be empty")
    ]


@pytest.mark.parametrize("output", [None, "$ERROR$"])
def test_an_output_that_was_not_given_is_not_available(output):
    told = {"instruction": "Sort.", "output": output, "generator": "m"}
    assert record_of(told, parse_output).turns[0].responses[0].text is None
    assert record_of(row(output_1=output), parse).turns[0].responses[0].text is None
