"""From messages to turns: a user message opens a turn, an answer belongs to the open one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.core.dialogue import Speaker
from annotation.core.formats.records import (
    Extra,
    ResponseRecord,
    SatisfactionRecord,
    TurnRecord,
)


@dataclass(frozen=True, slots=True)
class SpokenMessage:
    """One message as a file has it, with what the file says about it."""

    role: Speaker
    text: str
    model: str = ""
    extra: Extra | None = None
    satisfaction: tuple[SatisfactionRecord, ...] = ()


def turns_of(messages: Iterable[SpokenMessage]) -> tuple[TurnRecord, ...]:
    """The turns of a conversation, every assistant message the original response of its turn.

    Two user messages in a row leave the first turn unanswered; an assistant message with no user
    message before it opens a turn whose user message is None. Responses are keyed by their turn,
    counted from 0.
    """
    turns: list[TurnRecord] = []
    answered = True
    for message in messages:
        if message.role is Speaker.USER:
            turns.append(TurnRecord(message.text))
            answered = False
            continue
        opened = turns.pop().user_message if not answered else None
        response = ResponseRecord(
            key=str(len(turns)),
            text=message.text,
            model=message.model,
            original=True,
            extra=message.extra or {},
            satisfaction=message.satisfaction,
        )
        turns.append(TurnRecord(opened, (response,)))
        answered = True
    return tuple(turns)
