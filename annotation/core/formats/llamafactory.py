"""Preferences in the layouts of LLaMA-Factory and ms-swift.

LLaMA-Factory has Alpaca's (`instruction`, `input`, `chosen`, `rejected`), ShareGPT's
(`conversations`, `chosen`, `rejected`) and that of its version 1 (`chosen_messages`,
`rejected_messages`). ms-swift has the dialogue with the better response as `messages`, and the
other response as `rejected_response`, or a dialogue with it as `rejected_messages`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from annotation.core.conversations import Speaker
from annotation.core.formats.chat import SpokenMessage, read_messages
from annotation.core.formats.chosen import MODELS, SIDES, chosen_session, first_of, rest_of, side
from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.records import SessionRecord
from annotation.core.refusals import gettext_noop

NAME: Final = "llamafactory"
SWIFT: Final = "ms-swift"
SCENARIO: Final = "preference"

_V1: Final = ("chosen_messages", "rejected_messages")
_ALPACA: Final = ("instruction", "input", "history")
_REJECTED: Final = ("rejected_response", "rejected_messages")


def looks_like(row: object) -> bool:
    """Whether a row has one of LLaMA-Factory's layouts of preferences."""
    if not isinstance(row, Mapping):
        return False
    if set(_V1) <= row.keys():
        return True
    has_dialogue = "instruction" in row or isinstance(row.get("conversations"), list)
    return has_dialogue and set(SIDES) <= row.keys()


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    if fields.has(_V1[0]):
        known: tuple[str, ...] = (*_V1, "prompt_messages")
        prompt = read_messages(fields, "prompt_messages")
    elif fields.has("conversations"):
        known = (*SIDES, "conversations")
        prompt = read_messages(fields, "conversations")
    else:
        known = (*SIDES, *_ALPACA)
        prompt = alpaca_prompt(fields)
    names = (_V1[0], _V1[1]) if fields.has(_V1[0]) else SIDES
    return chosen_session(
        fields,
        prompt,
        side(fields, names[0]),
        side(fields, names[1]),
        scenario=SCENARIO,
        names=names,
        extra=rest_of(fields, *known, *MODELS),
    )


def alpaca_prompt(fields: Fields) -> list[SpokenMessage]:
    """The earlier turns, and the instruction with its input on the next line."""
    messages = []
    for place, pair in enumerate(_list(fields, "history")):
        if not isinstance(pair, list) or len(pair) != 2:
            reason = gettext_noop("Expected a message and its answer")
            fields.fault(f"history[{place}]", reason, pair)
            continue
        texts = [fields.notes.text(said, f"history[{place}]") for said in pair]
        messages.append(SpokenMessage(Speaker.USER, texts[0]))
        messages.append(SpokenMessage(Speaker.ASSISTANT, texts[1]))
    told = (fields.text("instruction"), fields.text_or("input"))
    return [*messages, SpokenMessage(Speaker.USER, "\n".join(each for each in told if each))]


def _list(fields: Fields, name: str) -> list[object]:
    given = fields.data.get(name)
    if given is None or isinstance(given, list):
        return given or []
    fields.fault(name, gettext_noop("Expected a list"), given)
    return []


def looks_like_swift(row: object) -> bool:
    """Whether a row has a dialogue and, beside it, the response that was rejected."""
    return (
        isinstance(row, Mapping)
        and isinstance(row.get("messages"), list)
        and any(row.get(each) is not None for each in _REJECTED)
        and "chosen_messages" not in row
    )


def parse_swift(fields: Fields) -> SessionRecord:
    """One row of ms-swift as a session whose last turn holds the comparison."""
    name = first_of(fields, *_REJECTED)
    messages = read_messages(fields, "messages")
    return chosen_session(
        fields,
        messages[:-1] if name == _REJECTED[0] else (),
        messages,
        side(fields, name),
        scenario=SCENARIO,
        names=("messages", name),
        extra=rest_of(fields, "messages", name),
    )


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("LLaMA-Factory: preference pairs"),
        line=gettext_noop(
            "Alpaca and ShareGPT layouts with a chosen and a rejected response, and version 1."
        ),
        looks_like=looks_like,
        parse=parse,
    ),
    Format(
        name=SWIFT,
        title=gettext_noop("ms-swift: preference pairs"),
        line=gettext_noop("Dialogues as messages, each with the response that was rejected."),
        looks_like=looks_like_swift,
        parse=parse_swift,
    ),
)
