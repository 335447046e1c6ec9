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
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TextIO

from annotation.core.formats.records import Fault, shown
from annotation.core.refusals import Refused, gettext_noop

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

MAX_RATIO: Final = 300
"""How many times its size a file may unpack to: real rows are never that much alike."""

ALWAYS_UNPACKED: Final = 16 * 1024 * 1024
"""So many bytes may come out of any file: a short one may be all alike."""


FREE_MEMBERS: Final = 1000
LEAST_OF_MEMBER: Final = 64
"""A gzipped file may be many behind one another, but not many that are all but empty."""

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE: Final = 32 * 1024


class TooPackedError(OSError):
    """The file unpacks to more than `MAX_RATIO` times its size."""


class Unpacked(io.RawIOBase):
    """What is in a gzipped file, read as far as it is in proportion."""

    def __init__(self, packed: io.BufferedReader) -> None:
        self._packed = packed
        self._member = zlib.decompressobj(_GZIP)
        self._members = 1
        self._rest = b""
        self._bytes = 0

    def readable(self) -> bool:
        """As a file that is open to be read."""
        return True

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Unpack on.

        Raises:
            TooPackedError: there is too much of it.
            EOFError: it breaks off.
            OSError: it has too many members that are all but empty.
            zlib.error: it is damaged, or no gzipped file.
        """
        place = memoryview(buffer).cast("B")
        data = b""
        while not data:
            self._rest = self._rest or self._packed.read1(_PIECE)
            ended = not self._rest
            if self._member.eof:
                if ended:
                    return 0
                self._rest = self._rest.lstrip(b"\0")  # some tools fill up with them
                if not self._rest:
                    continue
                self._next_member()
            data = self._member.decompress(self._rest, len(place))
            if ended and not data and not self._member.eof:
                raise EOFError("the compressed file ends too early")
            self._rest = self._member.unused_data or self._member.unconsumed_tail
        self._bytes += len(data)
        if self._bytes > max(ALWAYS_UNPACKED, MAX_RATIO * self._packed.tell()):
            raise TooPackedError(f"it unpacks to more than {MAX_RATIO} times its size")
        place[: len(data)] = data
        return len(data)

    def _next_member(self) -> None:
        self._members += 1
        if self._members > FREE_MEMBERS + self._bytes // LEAST_OF_MEMBER:
            raise OSError("it has too many parts that are all but empty")
        self._member = zlib.decompressobj(_GZIP)


MAX_ROW_CHARS: Final = 16 * 1024 * 1024
"""A longer row is a fault: no conversation is that long, and memory has an end."""

MAX_BLANK_CHARS: Final = 1024 * 1024
"""More blank characters between two rows are a fault: nothing is looked for behind them."""

MAX_DEPTH: Final = 50
"""Deeper nesting is a fault: what is read would not be written by every database."""

WINDOW: Final = 256 * 1024
_TOO_DEEP: Final = gettext_noop("Nested too deeply")
_NOT_JSON: Final = gettext_noop("Not JSON: %(error)s")
_TOO_BLANK: Final = gettext_noop("Only blank lines follow; the rest was not read")
_BOMS: Final = (
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

    `more` are faults beside that one.
    """

    line: int
    value: object = None
    fault: Fault | None = None
    more: tuple[Fault, ...] = ()


def _no_constant(_name: str) -> None:
    """NaN and infinities are null: programs write them for what is missing."""


def _finite(digits: str) -> float | None:
    """A number that fits, else null: 1e999 is JSON, but it would be read as infinity."""
    value = float(digits)
    return None if math.isinf(value) else value


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """The file as text: gzip is seen by its first bytes, the encoding by its BOM (else UTF-8).

    Bytes that are not UTF-8 become lone surrogates, so that only their own row is at fault.

    Raises:
        Refused: there is no such file, it may not be read, or it is a spreadsheet's own file;
            inside the block, that it is damaged, or unpacks to too much.
    """
    try:
        raw = path.open("rb")
    except OSError as error:
        raise Refused("import:unreadable", f"{path.name}: {error.strerror}") from error
    with raw:
        packed = raw.peek(2)[:2] == b"\x1f\x8b"
        stream = io.BufferedReader(Unpacked(raw), WINDOW) if packed else raw
        try:
            head = stream.peek(4)[:4]
        except _BROKEN as error:
            raise Refused("import:unreadable", f"{path.name}: {error}") from error
        if head == b"PK\x03\x04":
            raise Refused("import:spreadsheet", f"{path.name}: a spreadsheet or zip file, not text")
        encoding = next((name for bom, name in _BOMS if head.startswith(bom)), "utf-8")
        errors = "surrogateescape" if encoding.startswith("utf-8") else "strict"
        try:
            yield io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="\n")
        except _BROKEN as error:
            raise Refused("import:unreadable", f"{path.name}: {error}") from error


def refuse_bare_returns(path: Path) -> None:
    """Refuse a table whose lines end in CR alone, as old Macs wrote them: it seems to be one line.

    Raises:
        Refused: it is such a file, or cannot be read.
    """
    with open_text(path) as stream:
        sample = stream.read(WINDOW)
    if "\r" in sample[:-1] and "\n" not in sample:
        raise Refused("import:line-ends", f"{path.name}: its lines end in CR alone")


def read_rows(path: Path) -> Iterator[RawRow]:
    """The rows of a file, in order: array items if it opens with "[", else one value a line."""
    with open_text(path) as stream:
        line = 0
        try:
            window = stream.read(WINDOW)
            rows = _array_items(stream, window) if _is_array(window) else _lines(stream, window)
            for row in rows:
                line = row.line
                yield row
        except TooPackedError:
            reason = gettext_noop(
                "The file unpacks to more than %(most)d times its size; the rest was not read"
            )
            yield RawRow(line + 1, fault=Fault(line + 1, "", reason, parts={"most": MAX_RATIO}))
        except _BROKEN as error:
            reason = gettext_noop("The file ends early or is damaged here; the rest was not read")
            yield RawRow(line + 1, fault=Fault(line + 1, "", reason, shown(str(error))))


def read_document(path: Path, line: int) -> RawRow:
    """A file that is one JSON value, however many lines it has."""
    try:
        with open_text(path) as stream:
            text = stream.read(MAX_ROW_CHARS + 1)
    except (Refused, *_BROKEN) as error:
        return RawRow(
            line, fault=Fault(line, "", gettext_noop("Cannot be read"), shown(str(error)))
        )
    if len(text) > MAX_ROW_CHARS:
        return RawRow(line, fault=Fault(line, "", gettext_noop("Row too long to read")))
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


def _lines(stream: TextIO, window: str) -> Iterator[RawRow]:
    blank = 0
    for number, text in enumerate(_split_lines(stream, window), start=1):
        if len(text) > MAX_ROW_CHARS:
            yield RawRow(number, fault=Fault(number, "", gettext_noop("Row too long to read")))
            return
        if text.strip():
            blank = 0
            yield decoded(number, text)
            continue
        blank += len(text) + 1
        if blank > MAX_BLANK_CHARS:
            yield RawRow(number, fault=Fault(number, "", _TOO_BLANK, ""))
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
        reason = _NOT_JSON if isinstance(error, ValueError) else _TOO_DEEP
        parts = {"error": str(error)} if isinstance(error, ValueError) else {}
        return RawRow(line, fault=Fault(line, "", reason, shown(text.strip()), parts))
    return _storable(line, value, text)


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
            return RawRow(
                line, fault=Fault(line, "", gettext_noop("A string contains NUL"), shown(found))
            )
        if not _is_utf8(found):
            reason = gettext_noop("A string contains bytes or escapes that are not characters")
            return RawRow(line, fault=Fault(line, "", reason, shown(found)))
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


class _Window:
    """The part of a file in memory, from `at` on; grows by doubling, forgets what is behind."""

    def __init__(self, stream: TextIO, text: str) -> None:
        self.stream = stream
        self.text = text
        self.at = 0
        self.ended = False

    def grow(self) -> None:
        """Read on: at least as much as is held."""
        self.text = self.text[self.at :]
        self.at = 0
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


def _array_items(stream: TextIO, text: str) -> Iterator[RawRow]:
    window = _Window(stream, text)
    window.next_sign()
    window.at += 1
    number = 0
    if window.next_sign() == "]":
        return
    while True:
        number += 1
        window.next_sign()
        row = _next_item(window, number)
        if row is None:
            reason = gettext_noop(
                "The file ends inside this item, or the item is too deeply nested or too long to "
                "read"
            )
            yield RawRow(number, fault=Fault(number, "", reason, shown(window.text[window.at :])))
            return
        yield row
        sign = window.next_sign()
        window.at += 1
        if sign == "]":
            break
        if sign != ",":
            reason = gettext_noop("Expected a comma or the end of the array; the rest was not read")
            yield RawRow(number, fault=Fault(number, "", reason, shown(sign)))
            return
    if window.next_sign():
        reason = gettext_noop("Text after the end of the array")
        yield RawRow(number, fault=Fault(number, "", reason, shown(window.text[window.at :])))


def _next_item(window: _Window, number: int) -> RawRow | None:
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
