"""A conversation as plain messages, the form that judges, prompts and pages share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


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
