"""UltraFeedback as pairs: a chosen and a rejected dialogue with their scores.

HuggingFaceH4's layout has `score_chosen` and `score_rejected`, from 1 to 10; Argilla's cleaned one
has `chosen-rating` and `rejected-rating`, from 1 to 5, and the models. The chosen response is the
gold answer, and equal scores are a tie.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, open_turn, read_messages, without_system
from annotation.core.formats.compared import SAME_TEXTS, chosen_turn, name_of, told_apart
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import ResponseRecord, SessionRecord, content_key
from annotation.core.refusals import gettext_noop

NAME: Final = "ultrafeedback-binarized"
SCENARIO: Final = "ultrafeedback"

_SIDES: Final = ("chosen", "rejected")
_SCORES: Final = (("score_chosen", "score_rejected"), ("chosen-rating", "rejected-rating"))
_MODELS: Final = ("chosen-model", "rejected-model")
_NOT_KEPT: Final = ("prompt", *_SIDES, *_MODELS, "source", "messages")


def looks_like(row: object) -> bool:
    """Whether a row has a prompt, a chosen and a rejected dialogue, and the scores of both."""
    return (
        isinstance(row, Mapping)
        and {"prompt", *_SIDES} <= row.keys()
        and any(set(names) <= row.keys() for names in _SCORES)
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    is_chosen = fields.data.get("messages") in (None, fields.data.get("chosen"))
    fields.refuse_unplaced("prompt", *(["messages"] if is_chosen else []))
    scenario = fields.text_or("source", longest=SCENARIO_CHARS) or SCENARIO
    (system, before, chosen), (other_system, other, rejected) = (
        _side(fields, side) for side in _SIDES
    )
    if (system, _told(before)) != (other_system, _told(other)):
        reason = gettext_noop(
            "The dialogues in chosen and rejected differ before the last message, so they do not "
            "compare two responses to the same message"
        )
        fields.fault("rejected", reason, fields.data.get("rejected"))
    asked = [each.text for each in before if each.role is Speaker.USER]
    if fields.text("prompt").strip() not in [each.strip() for each in asked]:
        reason = gettext_noop("The messages before the response do not begin with the prompt")
        fields.fault("prompt", reason, fields.data.get("prompt"))
    turns, message = open_turn(before)
    one, two = told_apart((chosen, rejected))
    scores = [fields.data.get(name) for names in _SCORES for name in names if fields.has(name)]
    is_tie = len(scores) == len(_SIDES) and scores[0] == scores[1]
    if chosen.text == rejected.text and not is_tie:
        fields.notes.skip(SAME_TEXTS)
    last = chosen_turn(
        message,
        one,
        two,
        name=name_of(fields, "prompt_id")[:32],
        extra=fields.kept(*_NOT_KEPT),
        is_tie=is_tie,
    )
    key = content_key(scenario, system, *_told(before))
    return SessionRecord(key, scenario, (*turns, last), system_prompt=system)


def _side(fields: Fields, side: str) -> tuple[str, list[SpokenMessage], ResponseRecord]:
    """The system prompt of a dialogue, its messages before the last, and the last as response."""
    system, messages = without_system(fields, side, read_messages(fields, side))
    if not messages or messages[-1].role is not Speaker.ASSISTANT:
        fields.fault(side, gettext_noop("Must end with an assistant message"))
    *before, last = messages or [SpokenMessage(Speaker.ASSISTANT, "")]
    model = fields.text_or(f"{side}-model", longest=MODEL_CHARS)
    response = ResponseRecord(side, last.text, model)
    return system, before, replace(response, extra=last.extra) if last.extra else response


def _told(messages: list[SpokenMessage]) -> list[str]:
    return [f"{each.role}:{each.text}" for each in messages]


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("UltraFeedback, binarized"),
        line=gettext_noop(
            "Chosen and rejected responses with GPT-4’s scores, as HuggingFaceH4 and Argilla "
            "publish them."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
)
