"""Published tables with columns of known names: their header, and their rows by column."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from annotation.core.formats.grids import fitted, table_rows, width_fault
from annotation.core.formats.reading import RawRow, storable
from annotation.core.formats.records import Fault


def headers_of(first_line: str) -> set[str]:
    """The columns that the first line of a file names, if it is one of a table."""
    if first_line.startswith(("{", "[")):
        return set()
    try:
        return {cell.strip() for cell in next(csv.reader([first_line.lstrip("\ufeff")]), [])}
    except csv.Error:
        return set()


def named_rows(path: Path) -> Iterator[RawRow]:
    """The rows of a table by column; cells that are missing at the end are empty.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    header: list[str] | None = None
    for line, cells in table_rows(path):
        if isinstance(cells, Fault):
            yield RawRow(line, fault=cells)
        elif header is None:
            header = [cell.strip() for cell in cells]
        elif (row := fitted(header, cells)) is None:
            yield RawRow(line, fault=width_fault(line, header, cells))
        else:
            yield storable(line, dict(zip(header, row, strict=True)))
