"""The rows of an Excel workbook (.xlsx): the first sheet that has some, a row at a time.

What a cell shows as a formula's result is its text; dates are ISO 8601.
"""

from __future__ import annotations

import re
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from xml.etree.ElementTree import ParseError

from annotation.core.formats.unpacking import ALWAYS_UNPACKED, MAX_RATIO
from annotation.core.refusals import Refused

if TYPE_CHECKING:
    from openpyxl import Workbook

MOST_ROWS: Final = 1_048_576
"""Excel's own limit; a file may claim more."""
MOST_UNPACKED: Final = 512 * 1024 * 1024
_MOST_PARTS: Final = 5_000
_ROWS_OF_A_SHEET: Final = 2
_LOOKED_AT: Final = 1_000
_START: Final = b"PK\x03\x04"
_PART: Final = "xl/workbook.xml"
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_BROKEN: Final = (
    zipfile.BadZipFile,
    zlib.error,
    ParseError,
    OSError,
    EOFError,
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
)
"""What reading a damaged workbook raises."""

Cells = list[str]


def is_workbook(path: Path) -> bool:
    """Whether a file is a workbook, not another zip file.

    Raises:
        Refused: There is no such file, or it may not be read.
    """
    try:
        with path.open("rb") as file:
            if file.read(len(_START)) != _START:
                return False
        with zipfile.ZipFile(path) as packed:
            return _PART in packed.namelist()
    except (*_BROKEN, NotImplementedError) as error:
        if isinstance(error, OSError) and error.errno:
            raise Refused("import:unreadable", f"{path.name}: {error.strerror}") from error
        return False


def sheet_of(path: Path) -> tuple[str, int]:
    """Returns the name of the sheet that is read, and how many others have rows.

    Raises:
        Refused: The workbook is damaged, or too large.
    """
    with _open(path) as workbook:
        return _sheet(workbook)


def sheet_rows(path: Path) -> Iterator[tuple[int, Cells]]:
    """Yields the rows of the first sheet that has some, with their numbers, blank ones too.

    Raises:
        Refused: The workbook is damaged, or too large.
    """
    with _open(path) as workbook:
        name, _others = _sheet(workbook)
        for number, row in enumerate(_rows(workbook[name]), start=1):
            cells = [_text(value) for value in row]
            while cells and not cells[-1].strip():
                cells.pop()
            yield number, cells


@contextmanager
def _open(path: Path) -> Iterator[Workbook]:
    from openpyxl import load_workbook

    try:
        _refuse_large(path)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions, which are not read
            workbook = load_workbook(path, read_only=True, data_only=True, keep_links=False)
        try:
            yield workbook
        finally:
            workbook.close()
    except _BROKEN as error:
        raise Refused("import:unreadable", f"{path.name}: {error}") from error


def _refuse_large(path: Path) -> None:
    """Refuses a workbook that unpacks to too much, before anything of it is unpacked."""
    with zipfile.ZipFile(path) as packed:
        parts = packed.infolist()
    size = sum(part.file_size for part in parts)
    allowed = min(MOST_UNPACKED, max(ALWAYS_UNPACKED, MAX_RATIO * path.stat().st_size))
    if size > allowed or len(parts) > _MOST_PARTS:
        raise Refused("import:unreadable", f"{path.name}: it unpacks to too much")


def _sheet(workbook: Workbook) -> tuple[str, int]:
    """Returns the first visible sheet with a header and a row, and the number of others."""
    shown = [sheet for sheet in workbook.worksheets if sheet.sheet_state == "visible"]
    filled = [sheet.title for sheet in shown if _has_rows(sheet)]
    first = filled[0] if filled else (shown or workbook.worksheets)[0].title
    return first, max(len(filled) - 1, 0)


def _has_rows(sheet: Any) -> bool:
    rows = islice(_rows(sheet), _LOOKED_AT)
    filled = (row for row in rows if any(value not in {None, ""} for value in row))
    return len(list(islice(filled, _ROWS_OF_A_SHEET))) == _ROWS_OF_A_SHEET


def _rows(sheet: Any) -> Iterator[tuple[object, ...]]:
    sheet.reset_dimensions()  # what the file says of its size may be wrong
    for number, row in enumerate(sheet.iter_rows(values_only=True), start=1):
        if number > MOST_ROWS:
            raise ValueError("it has too many rows")
        yield row


def _text(value: object) -> str:
    """Returns a cell's value as its text in CSV."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date | time):
        return value.isoformat()
    return _ESCAPED.sub(lambda code: chr(int(code[1], 16)), str(value)).replace("\r\n", "\n")
