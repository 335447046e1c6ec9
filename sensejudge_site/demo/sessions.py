"""The conversations of the demo study, as written in `content/`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

CONTENT: Final = Path(__file__).parent / "content"

TOPICS: Final = ("Math", "Logic", "Code", "QA", "Writing", "Role", "NLU", "Translation")
"""The eight topics of SenseBench (seed 001, section 3.1), each a file of `content/`."""


class Flaw(StrEnum):
    """What is wrong with a response on purpose, so that satisfaction varies."""

    THIN = "THIN"
    SAMEY = "SAMEY"
    CONSTRAINT = "CONSTRAINT"
    WRONG_LANGUAGE = "WRONG_LANGUAGE"
    TRUNCATED = "TRUNCATED"
    UNUSABLE = "UNUSABLE"
    INVENTED = "INVENTED"
    OTHER = "OTHER"


PLAIN_FLAWS: Final = frozenset(
    {Flaw.CONSTRAINT, Flaw.WRONG_LANGUAGE, Flaw.TRUNCATED, Flaw.INVENTED}
)
"""Flaws that make a response the worse one, whatever one's taste."""


@dataclass(frozen=True, slots=True)
class WrittenResponse:
    """One response; `flaw_note` says in a sentence what the flaw is."""

    model: str
    text: str
    flaw: Flaw | None = None
    flaw_note: str = ""


@dataclass(frozen=True, slots=True)
class WrittenTurn:
    """One user message; earlier turns have one response, the last turn has the candidates."""

    user_message: str
    responses: tuple[WrittenResponse, ...]


@dataclass(frozen=True, slots=True)
class WrittenSession:
    """One conversation; `original` names the model that answered on the original line."""

    key: str
    topic: str
    subcategory: str
    language: str
    task_context: str
    system_prompt: str
    original: str
    turns: tuple[WrittenTurn, ...]

    def original_line(self) -> tuple[WrittenResponse, ...]:
        """The response of each turn that the conversation went on with."""
        return tuple(
            next(each for each in turn.responses if each.model == self.original)
            for turn in self.turns
        )


def written_sessions() -> tuple[WrittenSession, ...]:
    """All conversations, topic by topic, in the order of the files."""
    return tuple(
        _session(topic, data)
        for topic in TOPICS
        for data in json.loads((CONTENT / f"{topic.lower()}.json").read_text("utf-8"))["sessions"]
    )


def _session(topic: str, data: Mapping[str, Any]) -> WrittenSession:
    return WrittenSession(
        key=data["key"],
        topic=topic,
        subcategory=data["subcategory"],
        language=data["language"],
        task_context=data["task_context"],
        system_prompt=data.get("system_prompt", ""),
        original=data["original"],
        turns=tuple(
            WrittenTurn("\n".join(turn["user"]), tuple(map(_response, turn["responses"])))
            for turn in data["turns"]
        ),
    )


def _response(data: Mapping[str, Any]) -> WrittenResponse:
    flaw = data.get("flaw", {})
    return WrittenResponse(
        model=data["model"],
        text="\n".join(data["text"]),
        flaw=Flaw(flaw["kind"]) if flaw else None,
        flaw_note=flaw.get("note", ""),
    )
