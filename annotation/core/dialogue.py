"""A conversation as plain messages, the form that judges, prompts and pages share."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation."""

    role: Role
    text: str


Dialogue = tuple[Message, ...]
"""Messages in order, oldest first; the response under judgment is never part of it."""
