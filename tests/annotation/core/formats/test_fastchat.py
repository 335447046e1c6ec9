from __future__ import annotations

import pytest

from annotation.core.formats.detect import open_records
from annotation.core.formats.fastchat import (
    looks_like_answers,
    looks_like_questions,
    parse_answers,
    parse_question,
    parse_reference,
    refuse_references,
)
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines
from tests.paths import shared_data


def question(**changes):
    return {"question_id": 81, "category": "writing", "turns": ["Write.", "Rewrite."], **changes}


def answer(**changes):
    choices = [{"index": 0, "turns": ["First.", "Second."]}]
    return {"question_id": 81, "model_id": "m", "choices": choices, **changes}


def test_a_question_is_a_session_of_unanswered_turns():
    session = record_of(question(reference=["r1", "r2"]), parse_question)
    assert (session.key, session.scenario, session.sketch) == ("81", "writing", False)
    assert [(turn.user_message, turn.responses) for turn in session.turns] == [
        ("Write.", ()),
        ("Rewrite.", ()),
    ]
    assert session.extra == {"reference": ["r1", "r2"]}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"question_id": None}, ("question_id", "Missing")),
        ({"question_id": " "}, ("question_id", "Must not be empty")),
        ({"turns": []}, ("turns", "Expected a list of strings")),
        ({"turns": "Write."}, ("turns", "Expected a list of strings")),
        ({"turns": ["a", None]}, ("turns[1]", "Missing")),
    ],
)
def test_what_a_question_lacks_is_a_fault(changes, fault):
    assert faults_of(question(**changes), parse_question) == [fault]


def test_a_question_id_may_be_a_text():
    assert record_of(question(question_id="q-1"), parse_question).key == "q-1"


def test_each_answer_follows_the_models_own_one_before():
    session = record_of(answer(), parse_answers)
    assert session.sketch
    assert [
        (one.text, one.model, one.variant, one.continues)
        for turn in session.turns
        for one in turn.responses
    ] == [("First.", "m", "", None), ("Second.", "m", "", "m/")]


def test_further_choices_are_variants_and_may_be_shorter():
    choices = [{"index": 0, "turns": ["a", "b"]}, {"index": 1, "turns": ["c"]}]
    first, second = record_of(answer(choices=choices), parse_answers).turns
    assert [(one.text, one.variant) for one in first.responses] == [("a", ""), ("c", "choice 1")]
    assert [one.text for one in second.responses] == ["b"]


@pytest.mark.parametrize(
    ("choices", "fault"),
    [
        ([], ("choices", "Expected at least one choice")),
        ([{"turns": []}], ("choices[0].turns", "Expected a list of strings")),
    ],
)
def test_an_answer_file_without_answers_is_a_fault(choices, fault):
    assert faults_of(answer(choices=choices), parse_answers) == [fault]


def test_rows_are_told_apart():
    assert looks_like_questions(question())
    assert looks_like_answers(answer())
    assert not looks_like_questions([question()])
    assert not looks_like_questions(answer())
    assert not looks_like_answers(question())
    assert not looks_like_answers("row")


def test_the_public_questions_are_read():
    chosen, rows = open_records(shared_data("mtbench_question.jsonl"))
    sessions = [session_of(row) for row in rows]
    assert chosen.name == "mtbench-questions"
    assert (len(sessions), len({one.scenario for one in sessions})) == (80, 8)
    assert sum("reference" in one.extra for one in sessions) == 39


def answers(path, numbers, models=("gpt-4",)):
    rows = [answer(question_id=each, model_id=model) for model in models for each in numbers]
    return write_lines(path, *rows)


def faults_of_file(path, name="auto"):
    _chosen, rows = open_records(path, name)
    return [(fault.line, fault.reason) for row in rows for fault in row.faults]


def test_reference_answers_are_not_a_models(tmp_path):
    path = answers(tmp_path / "f", range(101, 131))
    ((line, reason),) = faults_of_file(path, "mtbench-answers")
    assert line == 0
    assert reason.startswith("These are MT-Bench's reference answers, not a model's.")
    chosen, rows = open_records(path)
    assert chosen.name == "mtbench-references"
    session = session_of(next(rows))
    assert (session.key, session.turns, session.sketch) == ("101", (), True)
    assert session.extra == {"reference:gpt-4": ["First.", "Second."]}


def test_a_question_has_one_reference_answer():
    faults = faults_of(answer(choices=[]), parse_reference)
    assert faults == [("choices", "Expected exactly one choice")]


@pytest.mark.parametrize(
    ("numbers", "models"),
    [
        (range(81, 161), ["gpt-4"]),
        (range(81, 131), ["gpt-4"]),
        (range(111, 121), ["gpt-4"]),
        (range(101, 130), ["gpt-4"]),
        (range(101, 132), ["gpt-4"]),
        (range(101, 131), ["gpt-4", "vicuna-13b"]),
    ],
)
def test_answers_of_gpt_4_and_of_several_models_are_answers(tmp_path, numbers, models):
    path = answers(tmp_path / "gpt-4.jsonl", numbers, models)
    assert faults_of_file(path) == []
    assert len(list(open_records(path)[1])) == len(numbers) * len(models)


@pytest.mark.parametrize("place", ["reference_answer/gpt-4.jsonl", "reference_answers.jsonl"])
def test_a_file_that_is_named_so_holds_reference_answers_to_any_questions(tmp_path, place):
    path = tmp_path / place
    path.parent.mkdir(exist_ok=True)
    assert len(faults_of_file(answers(path, range(1, 11)), "mtbench-answers")) == 1
    assert open_records(path)[0].name == "mtbench-references"


def test_the_public_reference_answers_are_told():
    path = shared_data("mtbench_reference_answer_gpt-4.jsonl")
    chosen, rows = open_records(path)
    assert chosen.name == "mtbench-references"
    assert len([session_of(row) for row in rows]) == 30


def test_a_row_with_a_fault_keeps_it_and_no_rows_are_no_references(tmp_path):
    path = write_lines(tmp_path / "f", [answer(choices=[])])
    (row,) = open_records(path, "mtbench-answers")[1]
    assert row.record is None
    assert row.faults
    assert list(refuse_references(tmp_path / "reference_answer", iter(()))) == []


def test_an_answer_that_could_not_be_had_is_not_available():
    told = {"question_id": 81, "model_id": "m", "choices": [{"turns": ["Hi.", "$ERROR$"]}]}
    assert [turn.responses[0].text for turn in record_of(told, parse_answers).turns] == [
        "Hi.",
        None,
    ]
