"""Typed access to one row of a file: what cannot be understood is noted, never guessed.

A reader asks for fields by name. A fault is noted with its path and a placeholder is returned, so
that one pass lists every fault of a row; a row with faults yields no record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from enum import StrEnum
from operator import is_
from typing import Final, TypeVar

from annotation.core.formats.records import (
    DatasetRecord,
    Fault,
    ResponseRecord,
    Row,
    SessionRecord,
    TurnRecord,
    shown,
)
from annotation.core.participants import composed, has_unseen, rater_name
from annotation.core.reasoning import REASONING, join_reasoning, split_reasoning
from annotation.core.refusals import gettext_noop

Word = TypeVar("Word", bound=StrEnum)

KEY_CHARS: Final = 200
SCENARIO_CHARS: Final = 120
MODEL_CHARS: Final = 200
VARIANT_CHARS: Final = 120
NAME_CHARS: Final = 100

NOT_AVAILABLE: Final = "$ERROR$"
"""What stands in a response's place where a model failed to answer (FastChat)."""

SHOWN: Final = frozenset(
    [
        "system",
        "system_prompt",
        "system_message",
        "system_instruction",
        "prompt",
        "input",
        "context",
        "contexts",
        "history",
        "dialogue",
        "dialog",
        "conversation",
        "conversations",
        "messages",
        "turns",
        "image",
        "images",
        "video",
        "videos",
        "audio",
        "audios",
        "document",
        "documents",
        "attachments",
        "files",
        "tools",
        "tool_calls",
        "function_call",
        "functions",
        "reference",
        "references",
        "reference_answer",
        "reference_answers",
        "task_context",
    ]
)
"""Names of fields that annotators and judges need to see."""
_UNPLACED: Final = gettext_noop(
    "This format has no place for this field: annotators and judges would not see it. Remove it "
    "from the file, or use a format that has one"
)
_MISSING: Final = gettext_noop("Missing")
_NO_TEXT: Final = gettext_noop("Expected a string")
_NO_NUMBER: Final = gettext_noop("Expected a whole number from %(low)d to %(high)d")
_NO_WORD: Final = gettext_noop("Expected one of %(words)s")


def joined(path: str, field: str) -> str:
    """The path of a field within what a path leads to."""
    return f"{path}.{field}" if path and field else path or field


class Notes:
    """What was noted while one row was read; its `path` leads to the row in its file."""

    def __init__(self, line: int, path: str = "") -> None:
        self.line = line
        self.path = path
        self.faults: list[Fault] = []
        self.coerced = 0
        self.kept: list[str] = []
        self.messages: dict[str, dict[str, object]] = {}
        self.skipped = ""

    def fault(self, field: str, reason: str, value: object = None, **parts: object) -> None:
        """Note a fault; `parts` fill the placeholders of its reason."""
        self.faults.append(Fault(self.line, joined(self.path, field), reason, shown(value), parts))

    def skip(self, reason: str) -> None:
        """Pass the row over: it holds nothing to import, and the summary counts it by reason."""
        self.skipped = reason

    def keep(self, path: str, extra: Mapping[str, object]) -> None:
        """Keep what a message says beside its text in the `messages` of the session's extra."""
        self.messages.setdefault(path, {}).update(extra)

    def text(self, value: object, field: str) -> str:
        """A text; another scalar is taken as its JSON text and counted."""
        if isinstance(value, str):
            return value
        if isinstance(value, bool | int | float):
            self.coerced += 1
            return json.dumps(value)
        self.fault(field, _NO_TEXT if value is not None else _MISSING, value)
        return ""

    def answer(self, value: object, field: str) -> str | None:
        """A response's text; None where it is null or NOT_AVAILABLE."""
        if value is None or value == NOT_AVAILABLE:
            return None
        return self.text(value, field)


def number_of(value: object) -> int | None:
    """A whole number, also one written as text ("4", "4.0"); None where it is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        try:
            value = float(value.strip())
        except ValueError:
            return None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return value if isinstance(value, int) else None


def _is_empty(value: object) -> bool:
    return value is None or value in ("", [], {})


class Fields:
    """One JSON object of a row, with the path that leads to it."""

    def __init__(self, data: Mapping[str, object], notes: Notes, path: str = "") -> None:
        self.data = data
        self.notes = notes
        self.path = path

    def at(self, name: str) -> str:
        """The path of a field."""
        return joined(self.path, name)

    def fault(self, name: str, reason: str, value: object = None, **parts: object) -> None:
        """Note a fault of a field."""
        self.notes.fault(self.at(name) if name else self.path, reason, value, **parts)

    def has(self, name: str) -> bool:
        """Whether a field is given and not null."""
        return self.data.get(name) is not None

    def text(self, name: str) -> str:
        """A text that must be there; it may be empty."""
        return self.notes.text(self.data.get(name), self.at(name))

    def text_or(self, name: str, default: str = "", *, longest: int | None = None) -> str:
        """A text that may be missing or null; a name, composed, where it has a longest length."""
        if not self.has(name):
            return default
        value = self.text(name)
        return value if longest is None else self._within(name, composed(value), longest)

    def answer(self, name: str) -> str | None:
        """A response's text; None where it is null or NOT_AVAILABLE."""
        if name in self.data:
            return self.notes.answer(self.data[name], self.at(name))
        return self.text(name)

    def short(self, name: str, longest: int) -> str:
        """A name that must be there, composed, with 1 to `longest` characters."""
        return self._named(name, composed(self.text(name)), longest)

    def annotator(self, name: str = "annotator") -> str:
        """The name of a person, of any script, as raters are called."""
        value = self._named(name, rater_name(self.text(name)), NAME_CHARS)
        if has_unseen(value):
            self.fault(name, gettext_noop("A name can only contain visible characters"), value)
        return value

    def _named(self, name: str, value: str, longest: int) -> str:
        if self.has(name) and not value:
            self.fault(name, gettext_noop("Must not be empty"), self.data[name])
        return self._within(name, value, longest)

    def _within(self, name: str, value: str, longest: int) -> str:
        if len(value) > longest:
            reason = gettext_noop("Must be at most %(longest)d characters")
            self.fault(name, reason, value, longest=longest)
        return value

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number that must be there, from `low` to `high`; numeric text counts.

        Where it is at fault, `low`.
        """
        value = number_of(self.data.get(name))
        if value is None:
            given = self.data.get(name)
            self.fault(name, _MISSING if given is None else _NO_NUMBER, given, low=low, high=high)
            return low
        if not low <= value <= high:
            reason = gettext_noop("Must be between %(low)d and %(high)d")
            self.fault(name, reason, self.data.get(name), low=low, high=high)
            return low
        return value

    def whole_or_none(self, name: str, low: int, high: int) -> int | None:
        """A whole number that may be missing or null."""
        return self.whole(name, low, high) if self.has(name) else None

    def seconds(self, name: str) -> float | None:
        """A duration in seconds, 0 or more, that may be missing or null."""
        value = self.data.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            self.fault(name, gettext_noop("Expected a number of seconds"), value)
            return None
        return float(value)

    def flag(self, name: str) -> bool:
        """True or false; false where missing or null."""
        value = self.data.get(name)
        if value is None or isinstance(value, bool):
            return bool(value)
        self.fault(name, gettext_noop("Expected true or false"), value)
        return False

    def word(self, name: str, words: type[Word], default: Word) -> Word:
        """A word of a closed vocabulary that must be there, in any case."""
        value = self.data.get(name)
        if isinstance(value, str) and value.strip().upper() in words.__members__:
            return words[value.strip().upper()]
        expected = ", ".join(words.__members__)
        self.fault(name, _MISSING if value is None else _NO_WORD, value, words=expected)
        return default

    def moment(self, name: str) -> datetime | None:
        """A point in time as ISO 8601 text with its zone; may be missing or null."""
        value = self.data.get(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError:
            moment = None
        if moment is None or moment.tzinfo is None:
            self.fault(
                name,
                gettext_noop("Expected a time with its time zone, such as 2026-01-31T12:00:00Z"),
                value,
            )
            return None
        return moment

    def utc_moment(self, name: str, *, suffix: str = "") -> datetime | None:
        """A point in time as ISO 8601 text, in UTC where it has no zone; may be missing or null.

        A `suffix` behind it is not read.
        """
        value = self.data.get(name)
        if value is None:
            return None
        try:
            moment = datetime.fromisoformat(str(value).removesuffix(suffix))
        except ValueError:
            reason = gettext_noop("Expected a date and time, such as 2026-01-31T12:00:00")
            self.fault(name, reason, value)
            return None
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def mapping(self, name: str) -> dict[str, object]:
        """A JSON object that may be missing or null."""
        value = self.data.get(name)
        if value is None:
            return {}
        if not isinstance(value, dict):
            self.fault(name, gettext_noop("Expected an object"), value)
            return {}
        return value

    def items(self, name: str) -> list[Fields]:
        """A list of objects; empty where missing or null."""
        value = self.data.get(name)
        if value is None:
            return []
        if not isinstance(value, list):
            self.fault(name, gettext_noop("Expected a list"), value)
            return []
        found = []
        for place, item in enumerate(value):
            path = f"{self.at(name)}[{place}]"
            if isinstance(item, dict):
                found.append(Fields(item, self.notes, path))
            else:
                self.notes.fault(path, gettext_noop("Expected an object"), item)
        return found

    def rest(self, *known: str) -> dict[str, object]:
        """The fields that are none of the known ones."""
        return {name: value for name, value in self.data.items() if name not in known}

    def kept(self, *known: str) -> dict[str, object]:
        """The fields that are none of the known ones, to be kept in `extra`.

        The summary of an import counts by name those that have a value.
        """
        kept = self.rest(*known)
        self.notes.kept += [name for name, value in kept.items() if not _is_empty(value)]
        return kept

    def refuse_unknown(self, *known: str) -> None:
        """A fault for every field that is none of the known ones: a typing error loses nothing."""
        for name, value in self.rest(*known).items():
            self.fault(name, gettext_noop("Unknown field"), value)

    def refuse_unplaced(self, *known: str) -> None:
        """A fault for every other field that annotators and judges need to see, unless empty."""
        for name, value in self.rest(*known).items():
            if name.strip().lower().replace(" ", "_") in SHOWN and not _is_empty(value):
                self.fault(name, _UNPLACED, value)


def _without_reasoning(record: SessionRecord, notes: Notes) -> SessionRecord:
    """The record with what models thought taken out of their responses and kept beside them."""
    changed = {
        place: turn
        for place, before in enumerate(record.turns)
        if (turn := _answers_alone(before, notes)) is not before
    }
    if not changed:
        return record
    turns = [changed.get(place, turn) for place, turn in enumerate(record.turns)]
    return replace(record, turns=tuple(turns))


def _answers_alone(turn: TurnRecord, notes: Notes) -> TurnRecord:
    responses = [_answer_alone(response, notes) for response in turn.responses]
    if all(map(is_, responses, turn.responses)):
        return turn
    texts: dict[tuple[str, str, str | None], str | None] = {}
    for place, (response, before) in enumerate(zip(responses, turn.responses, strict=True)):
        named = response.model, response.variant, response.text
        if texts.setdefault(named, before.text) != before.text:
            # Two that differ in their reasoning alone stay two responses.
            responses[place] = replace(response, variant=f"{response.variant}{place + 1}")
    return replace(turn, responses=tuple(responses))


def _answer_alone(response: ResponseRecord, notes: Notes) -> ResponseRecord:
    found = split_reasoning(response.text or "")
    if found.answer == (response.text or ""):
        return response
    extra = dict(response.extra)
    if found.reasoning:
        extra[REASONING] = join_reasoning(extra.get(REASONING), found.reasoning)
        notes.kept.append(REASONING)
    return replace(response, text=found.answer, extra=extra)


Parse = Callable[[Fields], SessionRecord | DatasetRecord]


def parsed(line: int, data: Mapping[str, object], parse: Parse, path: str = "") -> Row:
    """One row through a format's parser; the path leads to the row in its file."""
    notes = Notes(line, path)
    record: SessionRecord | DatasetRecord | None = parse(Fields(data, notes))
    if notes.faults or notes.skipped:
        record = None
    if isinstance(record, SessionRecord):
        record = _without_reasoning(record, notes)
    if notes.messages and isinstance(record, SessionRecord):
        record = replace(record, extra={**record.extra, "messages": notes.messages})
    return Row(
        line,
        record,
        tuple(notes.faults),
        notes.coerced,
        () if notes.skipped else tuple(notes.kept),
        "" if notes.faults else notes.skipped,
        path,
    )
