"""ESConv: conversations of emotional support between two people, a conversation a row.

The supporter is the side that is rated: a seeker's `feedback` (1-5) rates what the supporter said
since the feedback before. The survey after the conversation is its questionnaire.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, turns_of
from annotation.core.formats.fields import SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import (
    LabelDetails,
    QuestionnaireRecord,
    SatisfactionRecord,
    SessionRecord,
    content_key,
)
from annotation.core.refusals import gettext_noop

NAME: Final = "esconv"

_SPEAKERS: Final = {"seeker": Speaker.USER, "supporter": Speaker.ASSISTANT}
_READ: Final = ("problem_type", "situation", "survey_score", "dialog")
_ANSWERS: Final = "_question"


def looks_like(row: object) -> bool:
    """Whether a row is a conversation of a seeker and a supporter."""
    return isinstance(row, Mapping) and {"dialog", "emotion_type", "situation"} <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One conversation, with the seeker's ratings of what the supporter said."""
    answers = [name for name in fields.data if _ANSWERS in name]
    fields.refuse_unplaced("dialog", *answers)
    dialog = fields.items("dialog")
    texts = [f"{each.data.get('speaker')}:{each.data.get('content')}" for each in dialog]
    situation = fields.text("situation").strip()
    key = content_key(situation, *texts)
    seeker = f"seeker {key[:12]}"
    return SessionRecord(
        key=key,
        scenario=fields.short("problem_type", SCENARIO_CHARS),
        turns=turns_of(_spoken(dialog, seeker)),
        user=seeker,
        task_context=situation,
        language="en",
        extra=fields.kept(*_READ, *answers),
        questionnaires=tuple(_questionnaires(fields, key, answers)),
    )


def _spoken(dialog: list[Fields], seeker: str) -> list[SpokenMessage]:
    """The messages, those of the supporter with the rating that follows them."""
    found: list[SpokenMessage] = []
    rated = 0
    for line in dialog:
        role = _SPEAKERS.get(line.text("speaker").strip().lower())
        if role is None:
            reason = gettext_noop("Expected seeker or supporter")
            line.fault("speaker", reason, line.data.get("speaker"))
            continue
        said = Fields(line.mapping("annotation"), line.notes, line.at("annotation"))
        if role is Speaker.USER and said.has("feedback"):
            score = said.whole("feedback", 1, 5)
            reason_code = Reason.NOT_RECORDED if score < SATISFIED_FROM else None
            rating = SatisfactionRecord(LabelDetails(seeker), score, reason_code)
            found[rated:] = [_with(each, rating) for each in found[rated:]]
            rated = len(found)
        extra = said.kept("feedback") | line.kept("speaker", "annotation", "content")
        text = line.text("content").strip()
        if role is Speaker.USER and extra:
            line.notes.keep(line.path, extra)
            extra = {}
        found.append(SpokenMessage(role, text, extra=extra or None))
    return found


def _with(message: SpokenMessage, rating: SatisfactionRecord) -> SpokenMessage:
    is_rated = message.role is Speaker.ASSISTANT
    return replace(message, satisfaction=(rating,)) if is_rated else message


def _questionnaires(fields: Fields, key: str, answers: list[str]) -> Iterator[QuestionnaireRecord]:
    """What both sides said after the conversation, if anything."""
    survey = Fields(fields.mapping("survey_score"), fields.notes, fields.at("survey_score"))
    for side in _SPEAKERS:
        told = dict(survey.mapping(side))
        told |= {name: fields.data[name] for name in answers if name.startswith(side)}
        given = {name: value for name, value in told.items() if value not in (None, "")}
        if given:
            yield QuestionnaireRecord(f"{side} {key[:12]}", (given,))


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("ESConv: emotional support conversations"),
        line=gettext_noop(
            "Conversations of two people whose supporter is rated from 1 to 5, with a survey "
            "after each."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
