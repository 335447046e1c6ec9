"""The records that every format yields: one tree holds pairs, ratings and prompts alike.

A session holds turns, a turn candidate responses and comparisons of them, each with its labels.
Names of annotators are those of the file; a response's key is local to its record.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from annotation.core.choices import Hallucination, Order, Reason, Verdict

FAULTS_KEPT: Final = 200
"""So many faults are listed, those of the file as a whole first."""

_VALUE_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that could not be understood or that contradicts what is stored.

    `line` counts from 1: the line of a JSONL file, the place of the item in a JSON array, the place
    of the file in a directory; 0 speaks of the file as a whole. `field` is a path such as
    `history[3].satisfaction`, "" for the whole row. `text` is the reason as translators know it,
    with a placeholder for each of `parts`. Nothing is read behind one that `ends_file`, so that the
    file as a whole is at fault.
    """

    line: int
    field: str
    text: str
    value: str | int | float | bool | None = None
    parts: Mapping[str, object] | None = None
    ends_file: bool = False

    @property
    def reason(self) -> str:
        """What is wrong, in English."""
        return self.text % self.parts if self.parts else self.text

    @property
    def is_of_row(self) -> bool:
        """Whether the file can be read without the row that is at fault."""
        return self.line > 0 and not self.ends_file

    def as_dict(self) -> dict[str, object]:
        """The fields that scripts read."""
        return {
            "line": self.line,
            "field": self.field,
            "reason": self.reason,
            "value": self.value,
        }


def shown(value: object) -> str | int | float | bool | None:
    """A value as a fault shows it: scalars as they are, long texts cut, anything else as JSON."""
    if value is None or isinstance(value, bool | int | float):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    text = text.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\\u0000")
    return text if len(text) <= _VALUE_CHARS else text[:_VALUE_CHARS] + "…"


@dataclass(slots=True)
class FaultGroup:
    """Faults of one kind: the same reason at the same field, whatever its place in a list."""

    first: Fault
    count: int = 0
    lines: list[int] = field(default_factory=list)
    values: list[object] = field(default_factory=list)

    @property
    def field(self) -> str:
        """The field, without places of lists."""
        return _PLACE.sub("[]", self.first.field)

    def add(self, fault: Fault) -> None:
        """Count a fault, and keep its line and value if they are among the first."""
        self.count += 1
        if fault.line not in self.lines[-1:] and len(self.lines) < _LINES_OF_GROUP:
            self.lines.append(fault.line)
        if fault.value not in self.values and len(self.values) < _VALUES_OF_GROUP:
            self.values.append(fault.value)

    def as_dict(self) -> dict[str, object]:
        """The fields that scripts read."""
        return {
            "field": self.field,
            "reason": self.first.reason,
            "count": self.count,
            "lines": self.lines,
            "values": self.values,
        }


_PLACE: Final = re.compile(r"\[\d+\]")
_LINES_OF_GROUP: Final = 5
_VALUES_OF_GROUP: Final = 3


class FaultLog:
    """Counts every fault and keeps FAULTS_KEPT, and as many kinds, so that memory stays flat."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Fault] = []
        self._groups: dict[tuple[str, str], FaultGroup] = {}

    @property
    def groups(self) -> tuple[FaultGroup, ...]:
        """The faults by kind: those of the file as a whole first, then the most frequent."""
        return tuple(
            sorted(self._groups.values(), key=lambda each: (each.first.is_of_row, -each.count))
        )

    def extend(self, faults: Iterable[Fault]) -> None:
        """Note more faults."""
        for fault in faults:
            self.count += 1
            kind = (_PLACE.sub("[]", fault.field), fault.text)
            if kind in self._groups or len(self._groups) < FAULTS_KEPT:
                self._groups.setdefault(kind, FaultGroup(fault)).add(fault)
            if fault.line == 0:
                self.kept = [fault, *self.kept][:FAULTS_KEPT]
            elif len(self.kept) < FAULTS_KEPT:
                self.kept.append(fault)


GOLD_SOURCES: Final = ("DATASET", "MANAGER", "ADJUDICATION")
"""Where a gold answer comes from."""

Extra = Mapping[str, object]
"""JSON values under keys that the data model has no column for."""

PROFILE_FIELDS: Final = (
    "gender",
    "age",
    "background",
    "personality",
    "occupation",
    "daily_interests",
    "travel_habits",
    "dining_preferences",
    "spending_habits",
    "other_aspects",
)
"""The structured profile of the turn-level satisfaction paper (seed 003, section 3)."""


@dataclass(frozen=True, slots=True)
class LabelDetails:
    """How a label was given; everything but the annotator may be unknown.

    `study` is a study's short name ("" outside any), `repeat` 0 for the first answer to an item.
    """

    annotator: str
    study: str = ""
    repeat: int = 0
    comment: str = ""
    given_at: datetime | None = None
    active_seconds: float | None = None
    idle_seconds: float | None = None
    input_device: str = ""
    edits: int = 0
    guidelines_version: int | None = None
    app_version: str = ""
    extra: Extra = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PairwiseRecord:
    """A verdict on a comparison, in the comparison's own coordinates."""

    details: LabelDetails
    verdict: Verdict
    strength: int | None = None
    both_bad: bool = False
    shown_order: Order | None = None


@dataclass(frozen=True, slots=True)
class SatisfactionRecord:
    """A rating 1-5 of a response or a session; the reason is None exactly above 3."""

    details: LabelDetails
    score: int
    reason: Reason | None
    hallucination: Hallucination | None = None


@dataclass(frozen=True, slots=True)
class GoldRecord:
    """The answer held to be right: a verdict for a comparison, else a score."""

    source: str
    verdict: Verdict | None = None
    score: int | None = None
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class QuestionnaireRecord:
    """The answers to the questions asked after a session."""

    annotator: str
    answers: tuple[Extra, ...]
    study: str = ""
    given_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class ResponseRecord:
    """One model's text for a turn; None is a text that is not available, "" an empty response."""

    key: str
    text: str | None
    model: str = ""
    original: bool = False
    continues: str | None = None
    variant: str = ""
    extra: Extra = field(default_factory=dict)
    satisfaction: tuple[SatisfactionRecord, ...] = ()
    gold: tuple[GoldRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparisonRecord:
    """Two responses of one turn, by their keys; `position` is the place in the source file."""

    key: str
    a: str
    b: str
    position: int | None = None
    extra: Extra = field(default_factory=dict)
    labels: tuple[PairwiseRecord, ...] = ()
    gold: tuple[GoldRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One user message with its candidate responses.

    `user_message` is None where an assistant message follows another or opens the session.
    """

    user_message: str | None
    responses: tuple[ResponseRecord, ...] = ()
    comparisons: tuple[ComparisonRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionRecord:
    """One conversation, or what one row says about it; `key` names it within the dataset.

    A `sketch` names a conversation without carrying it: the stored scenario and user messages
    stand, and a response without a text means the stored one of its model and variant. One that
    `needs_texts` says nothing without the conversation, which another file carries. `profiles` are
    those of raters by name, as `profile` is the user's.
    """

    key: str
    scenario: str
    turns: tuple[TurnRecord, ...]
    user: str | None = None
    system_prompt: str = ""
    task_context: str = ""
    language: str = ""
    profile: Extra = field(default_factory=dict)
    extra: Extra = field(default_factory=dict)
    satisfaction: tuple[SatisfactionRecord, ...] = ()
    questionnaires: tuple[QuestionnaireRecord, ...] = ()
    gold: tuple[GoldRecord, ...] = ()
    sketch: bool = False
    needs_texts: bool = False
    profiles: Mapping[str, Extra] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DatasetRecord:
    """What a file says about itself; None is not said."""

    name: str | None = None
    description: str | None = None
    source: str | None = None
    licence: str | None = None
    simulated: bool | None = None
    extra: Extra | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One row as read: its record, or None and faults.

    `coerced` counts scalars taken as text; `kept` names the fields that went into `extra`. A row
    that is `skipped` for this reason has no record and no faults: it holds nothing to import. The
    `path` leads to a row that has others around it.
    """

    line: int
    record: SessionRecord | DatasetRecord | None
    faults: tuple[Fault, ...] = ()
    coerced: int = 0
    kept: tuple[str, ...] = ()
    skipped: str = ""
    path: str = ""


def content_key(*parts: str) -> str:
    """A short key made of content alone: equal prompts name one session, whatever their ids."""
    told_apart = b"[%b]" % b", ".join(map(_as_json, parts))
    return hashlib.sha256(told_apart).hexdigest()[:32]


_SHORT_ESCAPES: Final = tuple(
    (sign.encode(), json.dumps(sign)[1:-1].encode()) for sign in '\\"\n\r\t\f\b'
)
_OTHER_CONTROLS: Final = bytes(set(range(32)) - {sign[0] for sign, _escape in _SHORT_ESCAPES})


def _as_json(text: str) -> bytes:
    """A text as JSON in UTF-8: what `json.dumps` writes, without its look at every character."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data.translate(None, _OTHER_CONTROLS)) != len(data):
        return json.dumps(text, ensure_ascii=False).encode("utf-8", "surrogatepass")
    for sign, escape in _SHORT_ESCAPES:
        data = data.replace(sign, escape)
    return b'"%b"' % data


def split_profile(profile: Extra) -> tuple[dict[str, object], dict[str, object]]:
    """The known fields of a profile, and the stray ones."""
    known = {name: profile[name] for name in PROFILE_FIELDS if name in profile}
    stray = {name: value for name, value in profile.items() if name not in PROFILE_FIELDS}
    return known, stray
