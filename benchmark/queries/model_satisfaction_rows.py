"""The answers behind a figure of satisfaction by model, a page at a time."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils.text import Truncator

from annotation.core.choices import Hallucination, is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Response, Session, Turn, User
from benchmark.core.model_satisfaction import AnsweredQuestion, AnswerOfModel
from benchmark.queries.model_satisfaction import ModelsBoard, Voice, questionnaire_answers

ROWS_A_PAGE: Final = 50
_OPENING: Final = 120


class AnswerRow(NamedTuple):
    """One answer in a list: where it is, and what was said of it."""

    answer: AnswerOfModel
    key: str
    opening: str
    user: str


@dataclass(frozen=True, slots=True)
class ModelAnswerFilter:
    """Which answers of a model to list; empty fields leave nothing out.

    `show` is "labelled", "dissatisfied", "satisfied", "made-up" or a reason.
    """

    model: str
    scenario: str = ""
    show: str = ""

    def takes(self, answer: AnswerOfModel, voice: Voice) -> bool:
        """Whether an answer is among them."""
        if answer.model != self.model or self.scenario not in {"", answer.scenario}:
            return False
        score = answer.stated if voice is Voice.PEOPLE else answer.predicted
        low = score is not None and not is_satisfied(score)
        return {
            "": True,
            "labelled": answer.stated is not None,
            "dissatisfied": low,
            "satisfied": not low,
            "asked": answer.hallucination != "",
            "made-up": answer.hallucination == Hallucination.YES,
        }.get(self.show, low and answer.reason == self.show)


def answer_rows(
    board: ModelsBoard, wanted: ModelAnswerFilter, *, page: str
) -> tuple[list[AnswerRow], Page[AnswerOfModel]]:
    """The answers behind a figure, a page at a time. Three queries at most.

    Raises:
        Refused: the board has no such model.
    """
    if all(answer.model != wanted.model for answer in board.answers):
        raise Refused("benchmark:unknown-choice", f"no answers of {wanted.model!r}")
    own = [answer for answer in board.answers if wanted.takes(answer, board.voice)]
    own.sort(key=lambda answer: (answer.session, answer.target, answer.user))
    shown = Paginator(own, ROWS_A_PAGE).get_page(page)
    sessions = {answer.session for answer in shown.object_list}
    rows_of = Session.objects.only("key", "position").in_bulk(sessions)
    names = _names(answer.user for answer in shown.object_list)
    rows: QuerySet[Any] = Response.objects.filter(
        pk__in={answer.target for answer in shown.object_list}
    ).values_list("pk", "turn__user_message")
    if board.whole:
        first = Turn.objects.filter(session__in=sessions, position=0)
        rows = first.values_list("session_id", "user_message")
    messages = dict(rows)
    return [
        AnswerRow(
            answer,
            rows_of[answer.session].named(messages.get(answer.target)),
            Truncator(messages.get(answer.target) or "").chars(_OPENING),
            names[answer.user],
        )
        for answer in shown.object_list
    ], shown


def questionnaire_rows(
    board: ModelsBoard, *, model: str, answer: str, page: str
) -> tuple[list[tuple[AnsweredQuestion, str, str]], Page[AnsweredQuestion]]:
    """Who answered a question about a conversation with a model like that: its key, their name.

    A page at a time; `answer` is the `name` of question and option.

    Raises:
        Refused: nobody did.
    """
    found = [
        row for row in questionnaire_answers(board) if (row.model, row.name) == (model, answer)
    ]
    if not found:
        raise Refused("benchmark:unknown-choice", f"no answer {answer!r} about {model!r}")
    shown = Paginator(found, ROWS_A_PAGE).get_page(page)
    sessions = {row.session for row in shown.object_list}
    keys = dict(Session.objects.filter(pk__in=sessions).values_list("pk", "key"))
    names = _names(row.user for row in shown.object_list)
    return [(row, keys[row.session], names[row.user]) for row in shown.object_list], shown


def _names(users: Iterable[int]) -> dict[int, str]:
    rows = User.objects.filter(pk__in=set(users)).values_list("pk", "display_name", "username")
    return {key: shown or name for key, shown, name in rows}
