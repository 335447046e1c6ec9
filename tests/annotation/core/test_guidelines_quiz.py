from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.guidelines import (
    MAX_CHOICE_CHARS,
    MAX_CHOICES,
    MAX_EXPLANATION_CHARS,
    MAX_QUESTION_CHARS,
    MAX_QUESTIONS,
    EditAction,
    QuizFault,
    QuizFaultCode,
    QuizQuestion,
    checked,
    digest,
    edited,
    faults_of,
    from_records,
    to_records,
    wrong_ones,
)
from tests.refusals import refuses

TIE = QuizQuestion(
    "When is a tie right?", ("Never", "Rarely", "Always"), 1, "Prefer one if you can."
)
WHO = QuizQuestion("Who wrote the answers?", ("Nobody knows", "People"), 0)
QUIZ = (TIE, WHO)


def test_a_sound_quiz_has_no_fault():
    assert faults_of(QUIZ) == []
    assert checked(QUIZ) is QUIZ
    assert checked(()) == ()


@pytest.mark.parametrize(
    ("change", "faults"),
    [
        ({"question": ""}, [QuizFaultCode.NO_QUESTION]),
        ({"question": "?" * (MAX_QUESTION_CHARS + 1)}, [QuizFaultCode.TOO_LONG]),
        ({"explanation": "!" * (MAX_EXPLANATION_CHARS + 1)}, [QuizFaultCode.TOO_LONG]),
        ({"choices": ("a", "b" * (MAX_CHOICE_CHARS + 1))}, [QuizFaultCode.TOO_LONG]),
        ({"choices": ("a",), "answer": 0}, [QuizFaultCode.TOO_FEW_CHOICES]),
        ({"choices": (), "answer": None}, [QuizFaultCode.TOO_FEW_CHOICES, QuizFaultCode.NO_ANSWER]),
        ({"choices": tuple("abcdefghi")}, [QuizFaultCode.TOO_MANY_CHOICES]),
        ({"choices": ("a", "")}, [QuizFaultCode.EMPTY_CHOICE]),
        ({"choices": ("a", "a", "b")}, [QuizFaultCode.CHOICE_TWICE]),
        ({"answer": None}, [QuizFaultCode.NO_ANSWER]),
        ({"answer": 3}, [QuizFaultCode.NO_ANSWER]),
        ({"answer": -1}, [QuizFaultCode.NO_ANSWER]),
        ({"question": WHO.question}, [QuizFaultCode.QUESTION_TWICE]),
        (
            {"question": "", "choices": ("", ""), "answer": None},
            [QuizFaultCode.NO_QUESTION, QuizFaultCode.EMPTY_CHOICE, QuizFaultCode.NO_ANSWER],
        ),
    ],
)
def test_every_fault_of_a_question_is_told(change, faults):
    quiz = (WHO, replace(TIE, **change))
    assert faults_of(quiz) == [QuizFault(fault, 2) for fault in faults]
    with refuses("quiz:faulty") as refused:
        checked(quiz)
    assert list(refused.value.faults) == faults_of(quiz)


def test_a_quiz_has_an_end():
    quiz = tuple(replace(TIE, question=f"{n}?") for n in range(MAX_QUESTIONS + 1))
    assert faults_of(quiz) == [QuizFault(QuizFaultCode.TOO_MANY_QUESTIONS)]
    assert faults_of(quiz[1:]) == []
    assert MAX_CHOICES == 8


def test_empty_questions_are_no_repetition():
    faults = [each.fault for each in faults_of((QuizQuestion(), QuizQuestion()))]
    assert QuizFaultCode.QUESTION_TWICE not in faults


def test_a_quiz_reads_back_as_it_was_stored():
    assert from_records(to_records(QUIZ)) == QUIZ
    assert from_records([]) == ()


RECORD = {"question": "a?", "choices": ["x", "y"], "answer": 0}


@pytest.mark.parametrize(
    "record",
    [
        "a?",
        {**RECORD, "question": 1},
        {**RECORD, "explanation": None},
        {**RECORD, "choices": "xy"},
        {**RECORD, "choices": ["x", 2]},
        {**RECORD, "answer": "0"},
        {**RECORD, "answer": True},
        {**RECORD, "answer": None},
        {},
    ],
)
def test_what_is_no_question_is_said_with_its_number(record):
    with refuses("quiz:faulty") as refused:
        from_records([RECORD, record])
    assert refused.value.faults == (QuizFault(QuizFaultCode.UNREADABLE, 2),)


def test_what_is_no_list_is_no_quiz():
    with refuses("quiz:faulty") as refused:
        from_records({"question": "a?"})
    assert refused.value.faults == (QuizFault(QuizFaultCode.UNREADABLE),)


def test_a_stored_quiz_with_a_fault_is_refused():
    with refuses("quiz:faulty", match="quiz:no-answer"):
        from_records([{**RECORD, "answer": 2}])


@pytest.mark.parametrize(
    ("given_", "wrong"),
    [
        ({1: 1, 2: 0}, ()),
        ({1: 0, 2: 0}, (1,)),
        ({1: 0, 2: 1}, (1, 2)),
        ({2: 0}, (1,)),
        ({}, (1, 2)),
    ],
)
def test_all_must_be_right(given_, wrong):
    assert wrong_ones(QUIZ, given_) == wrong


def test_the_digest_names_what_people_see_and_hides_what_is_right():
    assert digest(QUIZ) == digest((replace(TIE, answer=2, explanation="!"), WHO))
    assert digest(QUIZ) != digest((WHO, TIE))
    assert digest(QUIZ) != digest((replace(TIE, choices=("Never", "Always")), WHO))


@pytest.mark.parametrize(
    ("action", "places", "after"),
    [
        (EditAction.ADD_QUESTION, (), (TIE, WHO, QuizQuestion())),
        (EditAction.REMOVE_QUESTION, (0,), (WHO,)),
        (EditAction.REMOVE_QUESTION, (2,), QUIZ),
        (EditAction.MOVE_UP, (1,), (WHO, TIE)),
        (EditAction.MOVE_UP, (0,), QUIZ),
        (EditAction.MOVE_UP, (-1,), QUIZ),
        (EditAction.ADD_CHOICE, (1,), (TIE, replace(WHO, choices=("Nobody knows", "People", "")))),
        (
            EditAction.REMOVE_CHOICE,
            (0, 0),
            (replace(TIE, choices=("Rarely", "Always"), answer=0), WHO),
        ),
        (
            EditAction.REMOVE_CHOICE,
            (0, 1),
            (replace(TIE, choices=("Never", "Always"), answer=None), WHO),
        ),
        (EditAction.REMOVE_CHOICE, (0, 2), (replace(TIE, choices=("Never", "Rarely")), WHO)),
        (EditAction.REMOVE_CHOICE, (0, 3), QUIZ),
    ],
)
def test_a_draft_is_edited(action, places, after):
    assert edited(QUIZ, action, *places) == after


def test_a_mark_that_is_not_there_stays_away():
    draft = (replace(TIE, answer=None),)
    assert edited(draft, EditAction.REMOVE_CHOICE, 0, 0)[0].answer is None


questions = st.integers(2, MAX_CHOICES).flatmap(
    lambda n: st.builds(
        QuizQuestion,
        question=st.sampled_from(["p?", "q?", "r?", "s?"]),
        choices=st.just(tuple(f"choice {place}" for place in range(n))),
        answer=st.integers(0, n - 1),
        explanation=st.sampled_from(["", "Because."]),
    )
)
quizzes = st.lists(questions, max_size=4, unique_by=lambda each: each.question).map(tuple)


@given(quizzes)
def test_the_right_choices_pass_and_are_kept(quiz):
    assert wrong_ones(quiz, {n: each.answer for n, each in enumerate(quiz, start=1)}) == ()
    assert from_records(to_records(quiz)) == quiz


@given(quizzes, st.sampled_from(EditAction), st.integers(-1, 5), st.integers(-1, 9))
def test_an_edit_never_marks_another_text_as_right(quiz, action, question, choice):
    right = {(each.question, each.choices[each.answer]) for each in quiz}
    after = edited(quiz, action, question, choice)
    marked = {
        (each.question, each.choices[each.answer]) for each in after if each.answer is not None
    }
    assert marked <= right
