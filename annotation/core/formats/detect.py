"""Which format a file has, and its rows as records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Final

from annotation.core.formats import pandalm, recllmsim, sensebench, sensejudge
from annotation.core.formats.faults import Fault, gettext_noop, shown
from annotation.core.formats.fields import Parse, parsed
from annotation.core.formats.reading import RawRow, UnreadableFileError, read_rows
from annotation.core.formats.records import Row

AUTO: Final = "auto"

_LOOKED_AT: Final = 20
"""A format is told by the first of so many rows that any format knows."""


class UnknownFormatError(Exception):
    """No format has this name, or none knows the file's first rows."""

    code = "import:format"


def _as_it_is(row: object) -> object:
    return row


@dataclass(frozen=True, slots=True)
class Format:
    """A name, how to tell a row, how to read one; `as_object` wraps rows that are bare lists."""

    name: str
    looks_like: Callable[[object], bool]
    parse: Parse
    as_object: Callable[[object], object] = _as_it_is
    read_directory: Callable[[Path], Iterator[RawRow]] | None = None


FORMATS: Final[Mapping[str, Format]] = {
    each.name: each
    for each in (
        Format(sensejudge.NAME, sensejudge.looks_like, sensejudge.parse),
        Format(pandalm.NAME, pandalm.looks_like, pandalm.parse),
        Format(
            recllmsim.NAME,
            recllmsim.looks_like,
            recllmsim.parse,
            read_directory=recllmsim.read_directory,
        ),
        Format(
            sensebench.NAME,
            sensebench.looks_like,
            sensebench.parse,
            as_object=sensebench.as_object,
        ),
    )
}


def open_records(path: Path, format_name: str = AUTO) -> tuple[Format, Iterator[Row]]:
    """The format of a file or directory, and its rows, read as they are asked for.

    Raises:
        UnknownFormatError: the name is unknown, or `auto` knows none of the first rows.
        UnreadableFileError: nothing to read is there.
    """
    if format_name != AUTO and format_name not in FORMATS:
        known = ", ".join((AUTO, *FORMATS))
        raise UnknownFormatError(f"unknown format {format_name!r}; known are {known}")
    if path.is_dir():
        chosen = _of_directories(format_name)
        rows = chosen.read_directory(path) if chosen.read_directory else iter(())
    else:
        rows = read_rows(path)
        first = list(islice(rows, _LOOKED_AT))
        if not first:
            raise UnreadableFileError(f"{path.name}: there is no row in it")
        chosen = FORMATS[format_name] if format_name != AUTO else _told_by(first, path)
        rows = chain(first, rows)
    return chosen, (_row(chosen, raw) for raw in rows)


def _of_directories(format_name: str) -> Format:
    holders = [each for each in FORMATS.values() if each.read_directory is not None]
    if format_name == AUTO:
        return holders[0]
    if FORMATS[format_name] not in holders:
        names = ", ".join(each.name for each in holders)
        raise UnreadableFileError(f"{format_name} is read from a file; of a directory: {names}")
    return FORMATS[format_name]


def _told_by(rows: list[RawRow], path: Path) -> Format:
    for row in rows:
        for each in FORMATS.values():
            if row.fault is None and each.looks_like(row.value):
                return each
    known = ", ".join(FORMATS)
    raise UnknownFormatError(f"{path.name}: none of the formats {known} knows its first rows")


def _row(chosen: Format, raw: RawRow) -> Row:
    if raw.fault is not None:
        return Row(raw.line, None, (raw.fault,))
    value = chosen.as_object(raw.value)
    if not isinstance(value, Mapping):
        fault = Fault(raw.line, "", gettext_noop("a JSON object is expected"), shown(value))
        return Row(raw.line, None, (fault,))
    return parsed(raw.line, value, chosen.parse)
