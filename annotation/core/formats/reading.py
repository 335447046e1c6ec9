"""Rows of a JSONL file or a JSON array, plain or gzipped, with or without a BOM, one at a time.

Memory holds one row and a window, whatever the size of the file. A row that cannot be read is a
fault, and reading goes on after it wherever it can be seen where the next row begins.
"""

from __future__ import annotations

import codecs
import io
import json
import math
import re
import zlib
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TextIO

from annotation.core.formats.records import Fault, shown
from annotation.core.formats.unpacking import MAX_RATIO, TooPackedError, Unpacked
from annotation.core.refusals import Refused, gettext_noop

MAX_ROW_CHARS: Final = 16 * 1024 * 1024
"""A longer row is a fault: no conversation is that long, and memory has an end."""

MAX_BLANK_CHARS: Final = 1024 * 1024
"""More blank characters between two rows are a fault: nothing is looked for behind them."""

MAX_DEPTH: Final = 50
"""Deeper nesting is a fault: what is read would not be written by every database."""

WINDOW: Final = 256 * 1024
_TOO_DEEP: Final = gettext_noop("Nested too deeply")
_NOT_JSON: Final = gettext_noop("Not JSON: %(error)s")
_COMMA_LEFT: Final = gettext_noop("Not JSON: nothing follows the last comma; remove the comma")
_PYTHON: Final = gettext_noop("Not JSON but Python's notation: write the rows with json.dumps")
_PRINTED_BY_PYTHON: Final = re.compile(r"[\[{(\s]*'|.*: (?:None|True|False)[,}]")
_NO_ITEM: Final = gettext_noop("No item follows this comma; remove the comma")
_TOO_LONG: Final = gettext_noop("Row too long to read")
_TOO_BLANK: Final = gettext_noop("Only blank lines follow; the rest was not read")
_OLD_EXCEL: Final = b"\xd0\xcf\x11\xe0"
BOMS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_MARKS: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]|[\]}]|,', re.DOTALL)
_SIGN: Final = re.compile(r"\S")
_ESCAPED_TROUBLE: Final = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_BROKEN: Final = (UnicodeError, EOFError, OSError, zlib.error)


@dataclass(frozen=True, slots=True)
class RawRow:
    """One JSON value of the file with its line, or the fault that stands in its place.

    Where the fault is one of a text in it, the value tells the format all the same. `more` are
    faults beside that one. `path` leads to the value where others stand around it.
    """

    line: int
    value: object = None
    fault: Fault | None = None
    more: tuple[Fault, ...] = ()
    path: str = ""


def _no_constant(_name: str) -> None:
    """NaN and infinities are null: programs write them for what is missing."""


def _finite(digits: str) -> float | None:
    """A number that fits, else null: 1e999 is JSON, but it would be read as infinity."""
    value = float(digits)
    return None if math.isinf(value) else value


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


@contextmanager
def open_bytes(path: Path) -> Iterator[io.BufferedReader[Any]]:
    """The file as bytes, unpacked where its first bytes are those of gzip.

    Raises:
        Refused: there is no such file, or it may not be read; inside the block, that it is damaged,
            or unpacks to too much.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise Refused("import:unreadable", f"{path.name}: {error.strerror}") from error
    with raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        stream = io.BufferedReader(Unpacked(raw), WINDOW) if packed else raw
        try:
            stream.peek(4)
            yield stream
        except _BROKEN as error:
            raise Refused("import:unreadable", f"{path.name}: {error}") from error


@contextmanager
def open_text(path: Path, encoding: str = "utf-8") -> Iterator[TextIO]:
    """The file as text: gzip is seen by its first bytes, the encoding by its BOM, or else told.

    Bytes that are not UTF-8 become lone surrogates, so that only their own row is at fault.

    Raises:
        Refused: there is no such file, it may not be read, or it is a spreadsheet's own file;
            inside the block, that it is damaged, or unpacks to too much.
    """
    with open_bytes(path) as stream:
        head = stream.peek(8)[:8]
        if head.startswith((b"PK\x03\x04", _OLD_EXCEL)):
            raise Refused("import:spreadsheet", f"{path.name}: a spreadsheet or zip file, not text")
        encoding = next((name for bom, name in BOMS if head.startswith(bom)), encoding)
        errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
        yield io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")


def refuse_bare_returns(path: Path, encoding: str = "utf-8") -> None:
    """Refuse a table whose lines end in CR alone, as old Macs wrote them: it seems to be one line.

    Raises:
        Refused: it is such a file, or cannot be read.
    """
    with open_text(path, encoding) as stream:
        sample = stream.read(WINDOW)
    if "\r" in sample[:-1] and "\n" not in sample:
        raise Refused("import:line-ends", f"{path.name}: its lines end in CR alone")


def read_rows(path: Path) -> Iterator[RawRow]:
    """The rows of a file, in order: array items if it opens with "[", else one value a line.

    Objects that are printed over several lines are rows too.
    """
    with open_text(path) as stream:
        line = 0
        try:
            window = stream.read(WINDOW)
            for row in _rows(stream, window):
                line = row.line
                yield row
        except TooPackedError:
            reason = gettext_noop(
                "The file unpacks to more than %(most)d times its size; the rest was not read"
            )
            yield RawRow(
                line + 1,
                fault=Fault(line + 1, "", reason, parts={"most": MAX_RATIO}, ends_file=True),
            )
        except _BROKEN as error:
            reason = gettext_noop("The file ends early or is damaged here; the rest was not read")
            yield RawRow(
                line + 1, fault=Fault(line + 1, "", reason, shown(str(error)), ends_file=True)
            )


def _rows(stream: TextIO, window: str) -> Iterator[RawRow]:
    if _is_array(window):
        return _array_items(JsonWindow(stream, window))
    if _is_printed(window):
        return _printed(JsonWindow(stream, window))
    return _lines(stream, window)


def read_document(path: Path, line: int) -> RawRow:
    """A file that is one JSON value, however many lines it has."""
    try:
        with open_text(path) as stream:
            text = stream.read(MAX_ROW_CHARS + 1)
    except (Refused, *_BROKEN) as error:
        return RawRow(
            line,
            fault=Fault(
                line, "", gettext_noop("Cannot be read"), shown(str(error)), ends_file=True
            ),
        )
    if len(text) > MAX_ROW_CHARS:
        return RawRow(line, fault=Fault(line, "", _TOO_LONG, ends_file=True))
    return decoded(line, text)


def _is_array(window: str) -> bool:
    """Whether the file is one array, and not JSONL whose rows happen to be arrays."""
    if not window.lstrip().startswith("["):
        return False
    first_line, newline, rest = window.lstrip().partition("\n")
    if not newline or not rest.lstrip().startswith("["):
        return True
    try:
        return not isinstance(_DECODER.decode(first_line.strip()), list)
    except (ValueError, RecursionError):
        return True


def _is_printed(window: str) -> bool:
    """Whether the first line breaks off within an object where a printer breaks lines."""
    first, _newline, rest = window.lstrip().partition("\n")
    inside: list[str] = []
    for mark in _MARKS.finditer(first):
        sign = mark.group()[0]
        if sign in "[{":
            inside.append(sign)
        elif sign in "]}" and inside:
            inside.pop()
    last, following = first.rstrip()[-1:], rest.lstrip()[:1]
    if not first.startswith("{") or not inside or not following:
        return False
    if inside[-1] == "{" and last in "{,":
        return following == '"'
    return last in "[,:"


def _lines(stream: TextIO, window: str) -> Iterator[RawRow]:
    blank = 0
    for number, text in enumerate(_split_lines(stream, window), start=1):
        if len(text) > MAX_ROW_CHARS:
            yield RawRow(
                number,
                fault=Fault(number, "", gettext_noop("Row too long to read"), ends_file=True),
            )
            return
        if text.strip():
            blank = 0
            yield decoded(number, text)
            continue
        blank += len(text) + 1
        if blank > MAX_BLANK_CHARS:
            yield RawRow(number, fault=Fault(number, "", _TOO_BLANK, "", ends_file=True))
            return


def _split_lines(stream: TextIO, window: str) -> Iterator[str]:
    """Lines of what was read already and of the rest; a line over the limit comes cut."""
    *whole, tail = window.split("\n")
    yield from whole
    tail += stream.readline(MAX_ROW_CHARS + 1)
    while tail:
        yield tail
        tail = stream.readline(MAX_ROW_CHARS + 1)


def decoded(line: int, text: str) -> RawRow:
    """The row that a JSON text is, unless it holds what no column can."""
    try:
        value = _DECODER.decode(text.strip())
    except (ValueError, RecursionError) as error:
        reason = _why_not(text.strip(), error)
        parts = {"error": str(error)} if reason is _NOT_JSON else None
        return RawRow(line, fault=Fault(line, "", reason, shown(text.strip()), parts))
    return _storable(line, value, text)


def _why_not(text: str, error: ValueError | RecursionError) -> str:
    """Why a text could not be decoded, in the words of a fault."""
    if isinstance(error, RecursionError):
        return _TOO_DEEP
    place = error.pos if isinstance(error, json.JSONDecodeError) else 0
    if text[place : place + 1] in ("}", "]") and text[:place].rstrip().endswith(","):
        return _COMMA_LEFT
    return _PYTHON if _PRINTED_BY_PYTHON.match(text) else _NOT_JSON


def _storable(line: int, value: object, text: str) -> RawRow:
    """The row, unless it holds what no column can: NUL, half a character, endless nesting."""
    if _is_deep(value):
        return RawRow(line, fault=Fault(line, "", _TOO_DEEP, shown(text.strip())))
    if (text.isascii() or _is_utf8(text)) and not _ESCAPED_TROUBLE.search(text):
        return RawRow(line, value)
    return storable(line, value)


def storable(line: int, value: object) -> RawRow:
    """The row, unless a text of it holds NUL or what is no character, which no column can hold."""
    for found in _texts(value):
        if "\x00" in found:
            reason = gettext_noop("A string contains NUL")
        elif not _is_utf8(found):
            reason = gettext_noop("A string contains bytes or escapes that are not characters")
        else:
            continue
        path = next(path for text, path in _places(value) if text is found)
        return RawRow(line, value, Fault(line, str(shown(path)), reason, shown(found)))
    return RawRow(line, value)


def _is_deep(value: object) -> bool:
    """Whether lists and objects stand in one another more than MAX_DEPTH times."""
    level = [value]
    for _depth in range(MAX_DEPTH):
        level = [inner for outer in level for inner in _inside(outer)]
        if not level:
            return False
    return True


def _inside(value: object) -> Iterable[object]:
    """The lists and objects right inside a value."""
    if isinstance(value, dict):
        value = value.values()
    elif not isinstance(value, list):
        return ()
    return (inner for inner in value if isinstance(inner, dict | list))


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _texts(value: object) -> Iterator[str]:
    """Every text of a JSON value, keys included."""
    waiting = [value]
    while waiting:
        current = waiting.pop()
        if isinstance(current, str):
            yield current
        elif isinstance(current, list):
            waiting.extend(current)
        elif isinstance(current, dict):
            waiting.extend(current.keys())
            waiting.extend(current.values())


def _places(value: object, path: str = "") -> Iterator[tuple[str, str]]:
    """Every text of a JSON value with the path to it, that of its object for a key."""
    if isinstance(value, str):
        yield value, path
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _places(inner, f"{path}[{place}]")
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name, path
            yield from _places(inner, f"{path}.{name}" if path else name)


class JsonWindow:
    """The part of a file in memory, from `at` on; grows by doubling, forgets what is behind."""

    def __init__(self, stream: TextIO, text: str) -> None:
        self.stream = stream
        self.text = text
        self.at = 0
        self.ended = False
        self._line = 1
        self._counted = 0

    @property
    def line(self) -> int:
        """The line of the file at which it stands."""
        self._line += self.text.count("\n", self._counted, self.at)
        self._counted = self.at
        return self._line

    def grow(self) -> None:
        """Read on: at least as much as is held."""
        self._line = self.line
        self.text = self.text[self.at :]
        self.at = self._counted = 0
        room = MAX_ROW_CHARS + 1 - len(self.text)
        more = self.stream.read(min(max(WINDOW, len(self.text)), room))
        self.ended = not more
        self.text += more

    def next_sign(self) -> str:
        """The next character that is no space, not consumed; "" where none comes any more."""
        blank = 0
        while True:
            sign = _SIGN.search(self.text, self.at)
            if sign is not None:
                self.at = sign.start()
                return sign.group()
            blank += len(self.text) - self.at
            self.at = len(self.text)
            if self.ended or blank > MAX_BLANK_CHARS:
                return ""
            self.grow()


def _printed(window: JsonWindow) -> Iterator[RawRow]:
    """Values that stand one after the other, each over as many lines as it takes."""
    while sign := window.next_sign():
        line = window.line
        row = None if sign in ",]}" else next_item(window, line)
        if row is None:
            reason = gettext_noop(
                "The file ends inside this row, or the row is too deeply nested or too long to "
                "read, or no JSON; the rest was not read"
            )
            yield RawRow(
                line, fault=Fault(line, "", reason, shown(window.text[window.at :]), ends_file=True)
            )
            return
        yield row


def _array_items(window: JsonWindow) -> Iterator[RawRow]:
    window.next_sign()
    number = yield from items(window)
    if number and window.next_sign():
        reason = gettext_noop("Text after the end of the array")
        yield RawRow(
            number, fault=Fault(number, "", reason, shown(window.text[window.at :]), ends_file=True)
        )


def items(window: JsonWindow) -> Generator[RawRow, None, int]:
    """The items of the list at the window's place; returns how many, 0 where its end is not found.

    The window stands behind the list then.
    """
    number = 0
    sign = ","
    window.at += 1
    if window.next_sign() == "]":
        window.at += 1
        return 0
    while sign == ",":
        number += 1
        if window.next_sign() in (",", "]"):
            yield RawRow(number, fault=Fault(number, "", _NO_ITEM, ""))
            sign = window.next_sign()
            window.at += 1
            continue
        row = next_item(window, number)
        if row is None:
            reason = gettext_noop(
                "The file ends inside this item, or the item is too deeply nested or too long to "
                "read"
            )
            yield RawRow(
                number,
                fault=Fault(number, "", reason, shown(window.text[window.at :]), ends_file=True),
            )
            return 0
        yield row
        sign = window.next_sign()
        window.at += 1
    if sign == "]":
        return number
    reason = gettext_noop("Expected a comma or the end of the array; the rest was not read")
    yield RawRow(number, fault=Fault(number, "", reason, shown(sign), ends_file=True))
    return 0


def next_item(window: JsonWindow, number: int) -> RawRow | None:
    """The item at the window's place; None where its end is not found, or not looked for."""
    while True:
        try:
            value, end = _DECODER.raw_decode(window.text, window.at)
        except (ValueError, RecursionError):
            try:
                closed = _end_of_item(window.text, window.at)
            except RecursionError:
                return None
            if closed is not None:
                text = window.text[window.at : closed]
                window.at = closed
                return decoded(number, text)
        else:
            if end < len(window.text) or window.ended:
                text = window.text[window.at : end]
                window.at = end
                return _storable(number, value, text)
        if window.ended or len(window.text) - window.at > MAX_ROW_CHARS:
            return None
        window.grow()


def _end_of_item(text: str, start: int) -> int | None:
    """Where an item ends, judged by its brackets and quotes alone; None if not in this text.

    Raises:
        RecursionError: it is nested more than MAX_DEPTH deep, so that its end is not looked for.
    """
    depth = 0
    for mark in _MARKS.finditer(text, start):
        sign = mark.group()[0]
        if sign in "[{":
            depth += 1
            if depth > MAX_DEPTH:
                raise RecursionError
        elif sign in "]}":
            if depth == 0:
                return mark.start()
            depth -= 1
            if depth == 0:
                return mark.end()
        elif sign == "," and depth == 0:
            return mark.start()
    return None
