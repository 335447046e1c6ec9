"""Who speaks in a conversation, and how one held live becomes a session of the dataset."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final


class Speaker(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Speaker
    text: str


Dialogue = tuple[Message, ...]
"""Messages in order, oldest first; the response under judgment is never part of it."""


_KEY_CHARS: Final = 200


@dataclass(frozen=True, slots=True)
class HeldTurn:
    """One message with its reply.

    Attributes:
        message: What the annotator wrote.
        reply: What the model answered; None where it did not.
        model: The model's name.
        extra: What else is known of the reply.
    """

    message: str
    reply: str | None
    model: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HeldConversation:
    """A whole conversation: its turns, the system prompt behind it, what else is known of it."""

    turns: tuple[HeldTurn, ...]
    system_prompt: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)


def held_key(task: str, number: int) -> str:
    """The key of a conversation about a task: the task's own, shortened to fit, and a number.

    It tells nothing of the model.
    """
    ending = f"/{number}"
    return f"{task[: _KEY_CHARS - len(ending)]}{ending}"


def requirements_of(extra: Mapping[str, object]) -> tuple[str, ...]:
    """What a task asks for at least: `requirements`, a list of texts or a text of lines."""
    stated = extra.get("requirements")
    lines = stated.splitlines() if isinstance(stated, str) else stated
    if not isinstance(lines, list):
        return ()
    texts = (line.strip() for line in lines if isinstance(line, str))
    return tuple(text for text in texts if text)
