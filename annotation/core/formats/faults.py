"""What is wrong with a row: line, field, reason and value, in words a person can act on."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

FAULTS_KEPT: Final = 200
"""So many faults are listed, those of the file as a whole first."""

_VALUE_CHARS: Final = 160


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that could not be understood or that contradicts what is stored.

    `line` counts from 1: the line of a JSONL file, the place of the item in a JSON array, the place
    of the file in a directory; 0 speaks of the file as a whole. `field` is a path such as
    `history[3].satisfaction`, "" for the whole row. `text` is the reason as translators know it,
    with a placeholder for each of `parts`.
    """

    line: int
    field: str
    text: str
    value: str | int | float | bool | None = None
    parts: Mapping[str, object] | None = None

    @property
    def reason(self) -> str:
        """What is wrong, in English."""
        return self.text % self.parts if self.parts else self.text

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


class FaultLog:
    """Counts every fault and keeps FAULTS_KEPT, so that memory stays flat."""

    def __init__(self) -> None:
        self.count = 0
        self.kept: list[Fault] = []

    def extend(self, faults: Iterable[Fault]) -> None:
        """Note more faults."""
        for fault in faults:
            self.count += 1
            if fault.line == 0:
                self.kept = [fault, *self.kept][:FAULTS_KEPT]
            elif len(self.kept) < FAULTS_KEPT:
                self.kept.append(fault)
