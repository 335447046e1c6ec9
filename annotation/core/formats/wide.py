"""Pairwise labels with a column for each annotator, a row a comparison: JSONL, or CSV.

A column named `verdict:` and the annotator's name holds A, B or TIE, or nothing, and so does `gold`
where there is one. In place of the dialogue, which is JSON in CSV, a column `prompt` may hold the
user's message; an empty cell is none, and an apostrophe that keeps a spreadsheet from running a
text is taken away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from annotation.core.formats.fields import Fields
from annotation.core.formats.format import Format
from annotation.core.formats.grids import fitted, table_rows, width_fault
from annotation.core.formats.headers import VERDICT_OF
from annotation.core.formats.reading import RawRow, open_text, read_rows, storable
from annotation.core.formats.records import Fault, SessionRecord
from annotation.core.formats.sensejudge import parse_pair
from annotation.core.refusals import gettext_noop
from annotation.core.tables import as_it_was

NAME: Final = "labels-wide"
TYPE: Final = "wide"
COLUMNS: Final = (
    "type",
    "session",
    "scenario",
    "system_prompt",
    "task_context",
    "dialogue",
    "comparison",
    "model_a",
    "variant_a",
    "text_a",
    "model_b",
    "variant_b",
    "text_b",
)
_MAY_BE_EMPTY: Final = ("text_a", "text_b")


def looks_like(row: object) -> bool:
    """Whether a row is a comparison with a column for each annotator."""
    return isinstance(row, Mapping) and row.get("type") == TYPE and "text_a" in row


def knows_text(first_line: str) -> bool:
    """Whether the first line of a file is the header of such a table."""
    header = first_line.lstrip("\ufeff")
    return header.startswith("type") and VERDICT_OF in header


def parse(fields: Fields) -> SessionRecord:
    """One comparison with its labels as a session."""
    known = (*COLUMNS[1:], "prompt", "gold")
    fields.refuse_unplaced(*known)
    told = {name: each for name, each in fields.data.items() if name in known}
    labels = [
        {"annotator": name.removeprefix(VERDICT_OF), "verdict": verdict}
        for name, verdict in fields.data.items()
        if name.startswith(VERDICT_OF) and verdict is not None
    ]
    return parse_pair(Fields({**told, "labels": labels}, fields.notes))


def read_file(path: Path) -> Iterator[RawRow]:
    """The rows of a file: of a table those with its header as keys.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    with open_text(path) as stream:
        is_json = stream.readline().lstrip().startswith(("{", "["))
    return read_rows(path) if is_json else _table(path)


def _table(path: Path) -> Iterator[RawRow]:
    header: list[str] | None = None
    texts: list[int] = []
    for line, cells in table_rows(path):
        if isinstance(cells, Fault):
            yield RawRow(line, fault=cells)
        elif header is None:
            header = [cell.strip() for cell in cells]
            texts = [place for place, name in enumerate(header) if name in _MAY_BE_EMPTY]
        elif (row := fitted(header, cells, texts)) is None:
            yield RawRow(line, fault=width_fault(line, header, cells))
        else:
            told = {name: _value(name, cell) for name, cell in zip(header, row, strict=True)}
            yield storable(line, told)


def _value(name: str, cell: str) -> object:
    """What a cell was before it became one."""
    if name == "dialogue":
        try:
            return json.loads(cell)
        except (ValueError, RecursionError):
            return cell
    return as_it_was(cell) if cell or name in _MAY_BE_EMPTY else None


FORMATS: Final = (
    Format(
        name=NAME,
        title=gettext_noop("Labels with a column for each annotator"),
        line=gettext_noop(
            "What SenseJudge exports for spreadsheets: a row a comparison, a column an annotator."
        ),
        looks_like=looks_like,
        parse=parse,
        knows_text=knows_text,
        read_file=read_file,
    ),
)
