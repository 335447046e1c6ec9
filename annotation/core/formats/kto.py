"""Single responses marked good or bad, as KTO trains on them.

TRL has `prompt, completion, label`; LLaMA-Factory a dialogue or Alpaca's fields with `kto_tag`, or,
as ms-swift, `messages` with `label`. Good is a rating of 5 and bad one of 1 by BENCHMARK: people's
ratings have five steps, and the ends alone say as much as the file does. Rows of one dialogue share
its turn.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Reason
from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, are_messages, read_messages, spoken
from annotation.core.formats.chosen import dialogue_session, first_of, rest_of, side
from annotation.core.formats.compared import BENCHMARK
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.llamafactory import alpaca_prompt
from annotation.core.formats.records import LabelDetails, SatisfactionRecord, SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "kto"
SCENARIO: Final = "kto"
GOOD: Final = 5
BAD: Final = 1

_TAGS: Final = ("kto_tag", "label")
_DIALOGUES: Final = ("messages", "conversations")
_WORDS: Final[Mapping[str, bool]] = {"true": True, "1": True, "false": False, "0": False}


def looks_like(row: object) -> bool:
    """Whether a row has one response, or a dialogue that ends on one, and says if it is good."""
    if not isinstance(row, Mapping) or not any(name in row for name in _TAGS):
        return False
    tag = next(row[name] for name in _TAGS if name in row)
    if "kto_tag" not in row and _flag(tag) is None:
        return False
    if {"prompt", "completion"} <= row.keys():
        return True
    if {"instruction", "output", "kto_tag"} <= row.keys():
        return True
    dialogue = next((row[name] for name in _DIALOGUES if are_messages(row.get(name))), None)
    return dialogue is not None and _ends_on_a_response(dialogue)


def _ends_on_a_response(dialogue: list[object]) -> bool:
    last = dialogue[-1]
    told = last.get("role", last.get("from")) if isinstance(last, Mapping) else ""
    return told in ("assistant", "gpt")


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last response is rated."""
    tag = first_of(fields, *_TAGS)
    is_good = _flag(fields.data.get(tag))
    if is_good is None:
        fields.fault(tag, gettext_noop("Expected true or false"), fields.data.get(tag))
    rating = SatisfactionRecord(
        LabelDetails(BENCHMARK),
        GOOD if is_good else BAD,
        None if is_good else Reason.NOT_RECORDED,
    )
    known, messages = _dialogue(fields)
    extra = rest_of(fields, tag, *known)
    return dialogue_session(fields, messages, scenario=SCENARIO, extra=extra, rating=rating)


def _dialogue(fields: Fields) -> tuple[tuple[str, ...], list[SpokenMessage]]:
    """The fields that were read, and the dialogue with its last response."""
    if fields.has("completion"):
        messages = side(fields, "prompt", Speaker.USER) + side(fields, "completion")
        return ("prompt", "completion"), messages
    if fields.has("instruction"):
        answer = spoken(fields, "output", Speaker.ASSISTANT)
        return ("instruction", "input", "history", "output"), [*alpaca_prompt(fields), answer]
    name = first_of(fields, *_DIALOGUES)
    return (name,), read_messages(fields, name)


def _flag(value: object) -> bool | None:
    """True or false, also as a number or a word; None for anything else."""
    if isinstance(value, bool):
        return value
    return _WORDS.get(str(value).strip().lower()) if isinstance(value, str | int) else None


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Responses marked good or bad (KTO)"),
        line=gettext_noop("Single responses, each marked true or false: ratings of 5 and 1."),
        looks_like=looks_like,
        parse=parse,
    ),
)
