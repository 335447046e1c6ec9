"""Rows of a file that belong together, read as one: what one session has, over several lines.

Such rows follow one another. A group is an object with its rows and their lines, so that a fault
names the line that it is in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from annotation.core.formats.fields import Fields, Notes
from annotation.core.formats.reading import RawRow, read_rows

ROWS: Final = "rows"
LINES: Final = "lines"
_MOST: Final = 5000
"""So many rows are held at once; a group with more is cut there."""

JsonObject = Mapping[str, object]
Belongs = Callable[[Sequence[JsonObject], JsonObject], bool]
"""Whether a row goes on with the group of the rows before it."""


def read_grouped(path: Path, belongs: Belongs) -> Iterator[RawRow]:
    """The rows of a file, those that belong together as one."""
    rows: list[JsonObject] = []
    lines: list[int] = []
    for raw in read_rows(path):
        row = raw.value if raw.fault is None and isinstance(raw.value, Mapping) else None
        goes_on = row is not None and 0 < len(rows) < _MOST and belongs(rows, row)
        if rows and not goes_on:
            yield RawRow(lines[0], {ROWS: rows, LINES: lines})
            rows, lines = [], []
        if row is None:
            yield raw
        else:
            rows.append(row)
            lines.append(raw.line)
    if rows:
        yield RawRow(lines[0], {ROWS: rows, LINES: lines})


def rows_of(fields: Fields) -> list[Fields]:
    """The rows of a group, each with notes of its own line; a row that is no group is one."""
    rows, lines = fields.data.get(ROWS), fields.data.get(LINES)
    if not isinstance(rows, list) or not isinstance(lines, list):
        return [fields]
    fields.refuse_unplaced(ROWS, LINES)
    return [
        Fields(row, _NotesOfLine(fields.notes, line)) for row, line in zip(rows, lines, strict=True)
    ]


class _NotesOfLine(Notes):
    """Notes on one row of a group, which go to the notes of the group."""

    def __init__(self, notes: Notes, line: int) -> None:
        self._notes = notes
        super().__init__(line)
        self.faults = notes.faults
        self.kept = notes.kept
        self.messages = notes.messages

    def text(self, value: object, field: str) -> str:
        """A text; what is taken as one is counted for the group."""
        before = self.coerced
        text = super().text(value, field)
        self._notes.coerced += self.coerced - before
        return text
