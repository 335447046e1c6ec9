"""Chosen and rejected responses in RewardBench's layout: prompt, chosen, rejected, subset, id.

A row is one comparison with a gold answer. Which of the two is A follows from the content, so that
the letter is no hint of the answer. A prompt is a text or a list of messages that ends on the user;
chosen and rejected are texts, or message lists that end on the response.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.dialogue import Role
from annotation.core.formats.faults import gettext_noop
from annotation.core.formats.fields import MODEL_CHARS, SCENARIO_CHARS, Fields
from annotation.core.formats.messages import SpokenMessage, turns_of
from annotation.core.formats.records import (
    ComparisonRecord,
    GoldRecord,
    ResponseRecord,
    SessionRecord,
    TurnRecord,
    content_key,
)

NAME: Final = "rewardbench"
SCENARIO: Final = "rewardbench"
"""Of rows without a subset."""

_KNOWN: Final = ("prompt", "chosen", "chosen_model", "rejected", "rejected_model", "subset")
_ROLES: Final = {"system": Role.SYSTEM, "user": Role.USER, "assistant": Role.ASSISTANT}


def looks_like(row: object) -> bool:
    """Whether a row has a prompt with a chosen and a rejected response, texts or messages."""
    return (
        isinstance(row, Mapping)
        and {"prompt", "chosen", "rejected"} <= row.keys()
        and not isinstance(row["chosen"], Mapping)
    )


def parse(fields: Fields) -> SessionRecord:
    """One row as a session whose last turn holds the comparison."""
    scenario = fields.short("subset", SCENARIO_CHARS) if fields.has("subset") else SCENARIO
    messages = _messages(fields, "prompt", Role.USER)
    system = messages.pop(0).text if messages and messages[0].role is Role.SYSTEM else ""
    for message in messages:
        if message.role is Role.SYSTEM:
            fields.fault("prompt", gettext_noop("a system message must come first"), message.text)
    turns = turns_of(messages)
    if not messages or messages[-1].role is not Role.USER:
        fields.fault("prompt", gettext_noop("must end on the user's message"))
        turns = (*turns, TurnRecord(None))
    chosen, rejected = _response(fields, "chosen"), _response(fields, "rejected")
    told = [f"{message.role}:{message.text}" for message in messages]
    return SessionRecord(
        key=content_key(scenario, system, *told),
        scenario=scenario,
        turns=(*turns[:-1], _compared(fields, turns[-1].user_message, chosen, rejected)),
        system_prompt=system,
    )


def _compared(
    fields: Fields, message: str | None, chosen: ResponseRecord, rejected: ResponseRecord
) -> TurnRecord:
    """The turn with both responses, the comparison and its gold answer."""
    if (chosen.model, chosen.text) == (rejected.model, rejected.text):
        fields.fault("rejected", gettext_noop("is the chosen response"), rejected.text)
    content = content_key(
        message or "", chosen.model, chosen.text or "", rejected.model, rejected.text or ""
    )
    chosen_is_a = hashlib.sha256(content.encode()).digest()[0] % 2 == 0
    comparison = ComparisonRecord(
        key=_comparison_key(fields, content),
        a="chosen" if chosen_is_a else "rejected",
        b="rejected" if chosen_is_a else "chosen",
        extra=fields.rest(*_KNOWN),
        gold=(GoldRecord("DATASET", Verdict.A if chosen_is_a else Verdict.B),),
    )
    pair = (chosen, rejected) if chosen_is_a else (rejected, chosen)
    return TurnRecord(message, pair, (comparison,))


def _comparison_key(fields: Fields, content: str) -> str:
    told = fields.data.get("id")
    name = f"{told}-" if isinstance(told, str | int) and 0 < len(str(told)) <= 100 else ""
    return f"{name}{content[:12]}"


def _response(fields: Fields, name: str) -> ResponseRecord:
    messages = _messages(fields, name, Role.ASSISTANT)
    if not messages or messages[-1].role is not Role.ASSISTANT:
        fields.fault(name, gettext_noop("must end on the assistant's message"))
    return ResponseRecord(
        key=name,
        text=messages[-1].text if messages else None,
        model=fields.text_or(f"{name}_model", longest=MODEL_CHARS),
    )


def _messages(fields: Fields, name: str, speaker: Role) -> list[SpokenMessage]:
    """The messages of a field; a plain text is one message of `speaker`."""
    if not isinstance(fields.data.get(name), list):
        return [SpokenMessage(speaker, fields.text(name))]
    spoken = []
    for item in fields.items(name):
        role = item.text("role")
        if role and role not in _ROLES:
            item.fault("role", gettext_noop("user, assistant or system is expected"), role)
        spoken.append(SpokenMessage(_ROLES.get(role, speaker), item.text("content")))
    return spoken
