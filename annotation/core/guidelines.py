"""What changed between two versions of the guidelines, and the quiz on them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import groupby
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import Refused, gettext_noop
from annotation.core.worddiff import Piece, word_diff


class Change(StrEnum):
    """What happened to a run of text."""

    KEPT = "KEPT"
    GONE = "GONE"
    NEW = "NEW"


@dataclass(frozen=True, slots=True)
class ChangedPiece:
    """A run of text that stayed, went or came."""

    text: str
    change: Change


def changes(before: str, after: str) -> tuple[ChangedPiece, ...] | None:
    """Both texts as one: what stayed, and in its place what went before what came.

    Returns:
        The pieces in order, or None where the texts are too long to compare.
    """
    sides = word_diff(before, after)
    if sides is None:
        return None
    gone, new = map(_between, sides)
    kept = zip(
        *([piece.text for piece in side if not piece.differs] for side in sides), strict=True
    )
    found = []
    space = ""
    for place, (old_text, text) in enumerate([*kept, ("", "")]):
        went = gone.get(place, "")
        found += [
            ChangedPiece(space + went if went else "", Change.GONE),
            ChangedPiece(new.get(place, ""), Change.NEW),
            ChangedPiece(text, Change.KEPT),
        ]
        space = _space_lost(old_text, text)
    return tuple(piece for piece in found if piece.text)


def _space_lost(before: str, after: str) -> str:
    """The space that stood behind a word before and does not now: it goes with what follows."""
    had = before[len(before.rstrip()) :]
    return had if after == after.rstrip() else ""


def _between(pieces: list[Piece]) -> dict[int, str]:
    """The text that differs before the n-th run that both have, by n."""
    found: dict[int, str] = {}
    place = 0
    for differs, run in groupby(pieces, key=lambda piece: piece.differs):
        texts = [piece.text for piece in run]
        if differs:
            found[place] = "".join(texts)
        else:
            place += len(texts)
    return found


MAX_QUESTIONS: Final = 20
MAX_CHOICES: Final = 8
MAX_QUESTION_CHARS: Final = 500
MAX_CHOICE_CHARS: Final = 300
MAX_EXPLANATION_CHARS: Final = 1_000


@dataclass(frozen=True, slots=True)
class QuizQuestion:
    """One question; `answer` is the place of the right choice, None where none is marked yet."""

    question: str = ""
    choices: tuple[str, ...] = ("", "")
    answer: int | None = None
    explanation: str = ""


Quiz = tuple[QuizQuestion, ...]


class QuizFaultCode(LabelledEnum):
    """What is wrong with a quiz or one of its questions."""

    TOO_MANY_QUESTIONS = (
        "quiz:too-many-questions",
        gettext_noop("Too many questions; the maximum is %(questions)d."),
    )
    NO_QUESTION = "quiz:no-question", gettext_noop("The question is empty.")
    QUESTION_TWICE = "quiz:question-twice", gettext_noop("This question appears twice.")
    TOO_FEW_CHOICES = "quiz:too-few-choices", gettext_noop("A question needs at least two choices.")
    TOO_MANY_CHOICES = (
        "quiz:too-many-choices",
        gettext_noop("Too many choices; the maximum is %(choices)d."),
    )
    EMPTY_CHOICE = "quiz:empty-choice", gettext_noop("A choice is empty. Fill it in or remove it.")
    CHOICE_TWICE = "quiz:choice-twice", gettext_noop("Two choices are the same.")
    NO_ANSWER = "quiz:no-answer", gettext_noop("No choice is marked as correct.")
    TOO_LONG = (
        "quiz:too-long",
        gettext_noop(
            "Something is too long: a question has at most %(question)d characters, a choice"
            " %(choice)d, an explanation %(explanation)d."
        ),
    )
    UNREADABLE = "quiz:unreadable", gettext_noop("This question could not be read.")


@dataclass(frozen=True, slots=True)
class QuizFault:
    """A fault and the question that has it, from 1; None where the whole quiz has it."""

    fault: QuizFaultCode
    question: int | None = None


def faults_of(quiz: Quiz) -> list[QuizFault]:
    """Everything that is wrong with a quiz, question by question; empty for a sound one."""
    found = [QuizFault(QuizFaultCode.TOO_MANY_QUESTIONS)] if len(quiz) > MAX_QUESTIONS else []
    seen: set[str] = set()
    for number, each in enumerate(quiz, start=1):
        faults = _faults_of(each)
        if each.question and each.question in seen:
            faults.append(QuizFaultCode.QUESTION_TWICE)
        seen.add(each.question)
        found += [QuizFault(fault, number) for fault in faults]
    return found


def _faults_of(question: QuizQuestion) -> list[QuizFaultCode]:
    filled = [choice for choice in question.choices if choice]
    checks = {
        QuizFaultCode.NO_QUESTION: not question.question,
        QuizFaultCode.TOO_FEW_CHOICES: len(question.choices) < 2,
        QuizFaultCode.TOO_MANY_CHOICES: len(question.choices) > MAX_CHOICES,
        QuizFaultCode.EMPTY_CHOICE: len(filled) < len(question.choices),
        QuizFaultCode.CHOICE_TWICE: len(set(filled)) < len(filled),
        QuizFaultCode.NO_ANSWER: question.answer is None
        or not 0 <= question.answer < len(question.choices),
        QuizFaultCode.TOO_LONG: len(question.question) > MAX_QUESTION_CHARS
        or len(question.explanation) > MAX_EXPLANATION_CHARS
        or any(len(choice) > MAX_CHOICE_CHARS for choice in filled),
    }
    return [fault for fault, is_so in checks.items() if is_so]


def checked(quiz: Quiz) -> Quiz:
    """The quiz itself, once it is known to be sound.

    Raises:
        Refused: It is not.
    """
    faults = faults_of(quiz)
    if faults:
        raise Refused("quiz:faulty", faults=faults)
    return quiz


def from_records(records: object) -> Quiz:
    """A stored quiz.

    Raises:
        Refused: What is stored is no quiz, or not a sound one.
    """
    if not isinstance(records, list):
        raise Refused("quiz:faulty", faults=[QuizFault(QuizFaultCode.UNREADABLE)])
    questions = [_question_of(each) for each in records]
    unreadable = [
        QuizFault(QuizFaultCode.UNREADABLE, number)
        for number, question in enumerate(questions, start=1)
        if question is None
    ]
    if unreadable:
        raise Refused("quiz:faulty", faults=unreadable)
    return checked(tuple(each for each in questions if each is not None))


def _question_of(record: object) -> QuizQuestion | None:
    if not isinstance(record, dict):
        return None
    question, explanation = record.get("question"), record.get("explanation", "")
    choices, answer = record.get("choices"), record.get("answer")
    if not isinstance(choices, list) or not isinstance(answer, int) or isinstance(answer, bool):
        return None
    if not all(isinstance(text, str) for text in (question, explanation, *choices)):
        return None
    return QuizQuestion(str(question), tuple(map(str, choices)), answer, str(explanation))


def to_records(quiz: Quiz) -> list[dict[str, object]]:
    """A quiz as it is stored."""
    return [
        {
            "question": each.question,
            "choices": list(each.choices),
            "answer": each.answer,
            "explanation": each.explanation,
        }
        for each in quiz
    ]


def digest(quiz: Quiz) -> str:
    """A name for what people see of a quiz, so that answers to an older one are noticed.

    It says nothing of which choice is right: trying out all of them would find it.
    """
    seen = [[each.question, list(each.choices)] for each in quiz]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()[:16]


def wrong_ones(quiz: Quiz, given: Mapping[int, int]) -> tuple[int, ...]:
    """The questions, from 1, that were not answered right; `given` holds a choice by question."""
    return tuple(
        number
        for number, question in enumerate(quiz, start=1)
        if given.get(number) != question.answer
    )


class EditAction(StrEnum):
    """What an editor does to a draft besides storing it."""

    ADD_QUESTION = "add-question"
    REMOVE_QUESTION = "remove-question"
    MOVE_UP = "move-up"
    ADD_CHOICE = "add-choice"
    REMOVE_CHOICE = "remove-choice"


def edited(quiz: Quiz, action: EditAction, question: int = 0, choice: int = 0) -> Quiz:
    """The draft after an edit; places count from 0, and one that is not there changes nothing."""
    if action is EditAction.ADD_QUESTION:
        return (*quiz, QuizQuestion())
    if not 0 <= question < len(quiz):
        return quiz
    before, at, after = quiz[:question], quiz[question], quiz[question + 1 :]
    match action:
        case EditAction.REMOVE_QUESTION:
            return (*before, *after)
        case EditAction.MOVE_UP:
            return (*before[:-1], at, *before[-1:], *after)
        case EditAction.ADD_CHOICE:
            return (*before, replace(at, choices=(*at.choices, "")), *after)
        case _:
            return (*before, _without_choice(at, choice), *after)


def _without_choice(question: QuizQuestion, place: int) -> QuizQuestion:
    """The question without a choice; the mark of the right one stays with its text."""
    if not 0 <= place < len(question.choices):
        return question
    choices = question.choices[:place] + question.choices[place + 1 :]
    answer = question.answer
    if answer is not None and answer >= place:
        answer = None if answer == place else answer - 1
    return replace(question, choices=choices, answer=answer)
