from __future__ import annotations

import pytest

from annotation.core.choices import JudgmentStatus
from judging.core.formats.ultrafeedback import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def completion(model, response, score, **changes):
    return {
        "annotations": {"honesty": {"Rating": "N/A", "Rationale": "…"}},
        "critique": f"Of {model}.",
        "custom_system_prompt": "Be honest.",
        "fine-grained_score": 3.25,
        "model": model,
        "overall_score": score,
        "response": response,
        **changes,
    }


def row(*completions, **changes):
    told = {
        "source": "evol_instruct",
        "instruction": "Uses of beeswax?",
        "models": [each["model"] for each in completions],
        "completions": list(completions),
        "correct_answers": ["None"],
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


THREE = (
    completion("alpaca", "Candles.", 4.0),
    completion("gpt-4", "Candles, thread.", 9.5),
    completion("llama", "Candles, thread.", "9.5"),
)


def test_completions_are_graded_by_gpt_4_and_every_two_are_compared():
    session = record_of(row(*THREE), parse)
    [turn] = session.turns
    assert (session.scenario, turn.user_message) == ("evol_instruct", "Uses of beeswax?")
    assert [(each.model, each.text) for each in turn.responses] == [
        ("alpaca", "Candles."),
        ("gpt-4", "Candles, thread."),
        ("llama", "Candles, thread."),
    ]
    assert {frozenset({each.a, each.b}) for each in turn.comparisons} == {
        frozenset(pair) for pair in ("01", "02", "12")
    }
    assert not any(each.labels or each.gold for each in turn.comparisons)
    assert [(each.judge, each.model, each.value, each.raw) for each in session.scores] == [
        ("gpt-4", "alpaca", 4.0, "Of alpaca."),
        ("gpt-4", "gpt-4", 9.5, "Of gpt-4."),
        ("gpt-4", "llama", 9.5, "Of llama."),
    ]
    assert session.verdicts == ()
    assert session.extra == {"correct_answers": ["None"]}
    assert turn.responses[0].extra == {
        "annotations": {"honesty": {"Rating": "N/A", "Rationale": "…"}},
        "custom_system_prompt": "Be honest.",
        "fine-grained_score": 3.25,
    }


@pytest.mark.parametrize("score", [None, "", "N/A"])
def test_a_completion_without_a_grade_was_not_read(score):
    told = completion("alpaca", "", score, critique=None)
    [grade] = record_of(row(told, source=...), parse).scores
    assert (grade.value, grade.status) == (None, JudgmentStatus.UNPARSEABLE)
    assert record_of(row(told, source=...), parse).scenario == "ultrafeedback"


def test_models_that_are_not_those_of_the_completions_are_kept():
    session = record_of(row(*THREE, models=["alpaca"]), parse)
    assert session.extra["models"] == ["alpaca"]


@pytest.mark.parametrize("score", [0, 11, "good", True, "nan"])
def test_a_grade_is_from_1_to_10(score):
    assert faults_of(row(completion("alpaca", "x", score)), parse) == [
        ("completions[0].overall_score", "Must be between 1 and 10")
    ]


def test_one_model_has_one_response():
    assert faults_of(row(THREE[0], THREE[0]), parse) == [
        ("completions[1].model", "This model has another response already")
    ]


def test_rows_are_told_apart():
    assert looks_like(row())
    assert not looks_like(row(models=...))
    assert not looks_like("row")
