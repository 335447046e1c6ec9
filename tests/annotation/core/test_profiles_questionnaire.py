from __future__ import annotations

import pytest

from annotation.core.profiles import QUESTIONS, from_records, is_complete, to_records

ANSWERS = {
    "Memorization": "No",
    "Detail": "Detailed",
    "Availability": "Some help",
    "Diversity": "Monotonous",
}


def test_the_questions_are_those_of_the_data_set():
    assert [question.summary for question in QUESTIONS] == list(ANSWERS)


def test_stored_answers_read_back_as_given():
    records = to_records(ANSWERS)
    assert [set(record) for record in records] == [{"query", "summary", "option"}] * 4
    assert from_records(records) == ANSWERS


@pytest.mark.parametrize(
    ("change", "complete"),
    [
        ({}, True),
        ({"Detail": "Fair"}, True),
        ({"Detail": "Varied"}, False),
        ({"Detail": ""}, False),
        ({"Tone": "Fair"}, False),
    ],
)
def test_every_question_has_one_of_its_own_answers(change, complete):
    assert is_complete({**ANSWERS, **change}) is complete


def test_a_question_left_out_is_missing():
    assert not is_complete({name: ANSWERS[name] for name in list(ANSWERS)[1:]})


def test_answers_in_other_words_are_left_out():
    told = [{"summary": "Detail", "option": "详细"}, {"summary": "Diversity", "option": "Fair"}, {}]
    assert from_records(told) == {"Diversity": "Fair"}
