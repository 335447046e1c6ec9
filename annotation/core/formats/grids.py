"""Rows of cells: of CSV with commas, semicolons or tabs, or of an Excel workbook."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Final, TextIO

from annotation.core.formats.encodings import NAMES, encoding_of
from annotation.core.formats.reading import MAX_ROW_CHARS, open_text, refuse_bare_returns
from annotation.core.formats.records import Fault, shown
from annotation.core.formats.workbooks import is_workbook, sheet_of, sheet_rows
from annotation.core.refusals import Refused, gettext_noop

_DELIMITERS: Final = (",", ";", "\t")
_NAMED_DELIMITER: Final = re.compile(r"sep=([,;\t])\r?\n?\Z")
"""The line that Excel writes, and reads, before a table."""
_SAMPLE_CHARS: Final = 64 * 1024
_SAMPLE_ROWS: Final = 50
_LEAST_COLUMNS: Final = 3
_PREVIEW_ROWS: Final = 5
_PREVIEW_COLUMNS: Final = 100
_MOST_COLUMNS: Final = 1000
_TOO_WIDE: Final = gettext_noop("%(found)d cells in a row; at most %(most)d are read")
_OTHER_WIDTH: Final = gettext_noop("%(found)d cells for %(columns)d columns")

_END_OF_DATA: Final = "unexpected end of data"
"""What the csv module says of a quote that is not closed: it swallowed all rows behind it."""

Cells = list[str]


def knows_text(first_line: str) -> bool:
    """Whether a file whose first line this is may be a table with the columns that are needed."""
    if first_line.startswith(("{", "[")):
        return False
    try:
        return bool(_NAMED_DELIMITER.match(first_line)) or any(
            len(next(csv.reader([first_line], delimiter=each), [])) >= _LEAST_COLUMNS
            for each in _DELIMITERS
        )
    except csv.Error:
        return False


def source_of(path: Path) -> dict[str, str]:
    """Returns what was taken for granted of a table: its `encoding`, or its `sheet`.

    Empty where there was nothing to choose: UTF-8, or the only sheet with rows.

    Raises:
        Refused: The file cannot be read.
    """
    if is_workbook(path):
        sheet, others = sheet_of(path)
        return {"sheet": sheet} if others else {}
    encoding = encoding_of(path)
    return {"encoding": NAMES[encoding]} if encoding in NAMES else {}


def preview(path: Path) -> tuple[Cells, list[Cells]]:
    """The header of a table and its first rows, each cell short enough to be shown.

    Raises:
        Refused: Nothing can be read, or not as text; there is nothing below a header.
    """
    faults: list[Fault] = []
    first: list[Cells] = []
    for _line, cells in table_rows(path):
        if isinstance(cells, Fault):
            faults.append(cells)
            continue
        row = fitted(first[0], cells) or cells if first else cells
        first.append([str(shown(cell.strip())) for cell in row[:_PREVIEW_COLUMNS]])
        if len(first) > _PREVIEW_ROWS:
            break
    if len(first) < 2 and faults:
        raise Refused("import:table", f"{path.name}: line {faults[0].line} cannot be read")
    if len(first) < 2:
        raise Refused("import:empty", f"{path.name}: no rows below a header")
    return first[0], first[1:]


def fitted(header: Sequence[str], cells: Cells, texts: Iterable[int] = ()) -> Cells | None:
    """Returns a row as long as its header; None if a cell that holds something has no column.

    Spreadsheets leave out empty cells at the end of a row, or write more of them. One that ends
    before a column of `texts`, places whose empty cells mean something, has been cut.
    """
    missing = len(header) - len(cells)
    if max(texts, default=-1) >= len(cells):
        return None
    if missing < 0 and any(map(str.strip, cells[len(header) :])):
        return None
    return cells[: len(header)] if missing <= 0 else [*cells, *[""] * missing]


def width_fault(line: int, header: Sequence[str], cells: Cells) -> Fault:
    """Returns the fault of a row that has cells without a column, or lacks some."""
    parts = {"found": len(cells), "columns": len(header)}
    return Fault(line, "", _OTHER_WIDTH, shown(cells[0]), parts)


class _Lines:
    """The lines of a stream; `taken` counts the characters since it was set to 0."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.taken = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line = self._stream.readline(MAX_ROW_CHARS + 1)
        self.taken += len(line)
        if not line:
            raise StopIteration
        if self.taken > MAX_ROW_CHARS:
            raise csv.Error
        return line


def table_rows(path: Path) -> Iterator[tuple[int, Cells | Fault]]:
    """Every row that is not blank with the line where it begins, or what is wrong there.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    rows = sheet_rows(path) if is_workbook(path) else _text_rows(path)
    for line, cells in rows:
        if isinstance(cells, Fault):
            yield line, cells
        elif len(cells) > _MOST_COLUMNS and any(map(str.strip, cells[_MOST_COLUMNS:])):
            parts = {"found": len(cells), "most": _MOST_COLUMNS}
            yield line, Fault(line, "", _TOO_WIDE, parts=parts)
        elif any(map(str.strip, cells)):
            yield line, cells[:_MOST_COLUMNS]


def _text_rows(path: Path) -> Iterator[tuple[int, Cells | Fault]]:
    csv.field_size_limit(MAX_ROW_CHARS)
    encoding = encoding_of(path)
    refuse_bare_returns(path, encoding)
    delimiter, skipped = _layout(path, encoding)
    with open_text(path, encoding) as stream:
        lines = _Lines(stream)
        if skipped:
            next(lines)
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        while True:
            line = skipped + reader.line_num + 1
            lines.taken = 0
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                if lines.taken > MAX_ROW_CHARS:
                    yield (
                        line,
                        Fault(line, "", gettext_noop("Row too long to read"), ends_file=True),
                    )
                    return
                reason = gettext_noop("Not CSV: %(error)s")
                parts, is_end = {"error": str(error)}, str(error) == _END_OF_DATA
                yield line, Fault(line, "", reason, "", parts, ends_file=is_end)
                continue
            yield line, cells


def _layout(path: Path, encoding: str) -> tuple[str, int]:
    """What stands between cells, and how many lines stand before the header.

    It is the sign by which most of the first rows have as many cells as the header has; of several
    the one that makes more cells.

    Raises:
        Refused: The file is no text in an encoding that is certain.
    """
    with open_text(path, encoding) as stream:
        sample = stream.read(_SAMPLE_CHARS)
    try:
        sample.encode()
    except UnicodeEncodeError as error:
        raise Refused("import:encoding", f"{path.name}: not in UTF-8") from error
    named = _NAMED_DELIMITER.match(sample.partition("\n")[0])
    if named:
        return named[1], 1
    return max(_DELIMITERS, key=lambda each: _fit(sample, each)), 0


def _fit(sample: str, delimiter: str) -> tuple[int, int]:
    """How many rows of a sample are like its header by a delimiter, and how many cells that has."""
    reader = csv.reader(io.StringIO(sample, newline="\n"), delimiter=delimiter)
    widths = []
    try:
        widths = [len(row) for row in islice(reader, _SAMPLE_ROWS) if any(row)]
    except csv.Error:
        return 0, 0
    if not widths or widths[0] == 1:
        return 0, 0
    return widths.count(widths[0]), widths[0]
