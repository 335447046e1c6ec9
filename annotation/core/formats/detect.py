"""Which format a file has, and its rows as records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from annotation.core import formats
from annotation.core.formats import tables
from annotation.core.formats.fields import parsed
from annotation.core.formats.format import Format, formats_in
from annotation.core.formats.reading import RawRow, open_text, read_rows
from annotation.core.formats.records import Fault, Row, shown
from annotation.core.refusals import Refused, gettext_noop

AUTO: Final = "auto"

_LOOKED_AT: Final = 20
"""A format is told by the first of so many rows that any format knows."""

_HEAD_CHARS: Final = 4096

MOST_FAULTY_ROWS: Final = 1000
"""Behind so many rows with faults nothing is read: the file is another one, or made to cost."""


FORMATS: Final[Mapping[str, Format]] = formats_in(formats)


def with_columns(known: Mapping[str, Format], columns: tables.Columns) -> Mapping[str, Format]:
    """The formats, with the one of tables told which of a table's columns is what."""
    table = replace(known[tables.NAME], read_file=partial(tables.read_file, columns=columns))
    return {**known, tables.NAME: table}


def open_records(
    path: Path, format_name: str = AUTO, formats: Mapping[str, Format] = FORMATS
) -> tuple[Format, Iterator[Row]]:
    """The format of a file or directory, and its rows, read as they are asked for.

    Args:
        path: The file or directory.
        format_name: A name of `formats`, or `auto`.
        formats: Those that are known; judges' recorded verdicts have more.

    Raises:
        Refused: the name is unknown, or `auto` knows none of the first rows; nothing to read is
            there.
    """
    if format_name != AUTO and format_name not in formats:
        known = ", ".join((AUTO, *formats))
        raise Refused("import:format", f"unknown format {format_name!r}; choose from {known}")
    if path.is_dir():
        chosen = _of_directories(format_name, formats)
        rows = chosen.read_directory(path) if chosen.read_directory else iter(())
    else:
        named = formats[format_name] if format_name != AUTO else format_of_text(path, formats)
        rows = named.read_file(path) if named else read_rows(path)
        first = list(islice(rows, _LOOKED_AT))
        if not first:
            raise Refused("import:empty", f"{path.name}: no rows in this file")
        chosen = named or _told_by(first, path, formats)
        if named is None and chosen.finer is not None:
            chosen = formats[chosen.finer(path)]
        anew = named is None and chosen.read_file is not read_rows
        rows = chosen.read_file(path) if anew else chain(first, rows)
    return chosen, _while_of_use(chosen.checked(path, (_row(chosen, raw) for raw in rows)))


def _while_of_use(rows: Iterator[Row]) -> Iterator[Row]:
    """The rows, up to MOST_FAULTY_ROWS with faults and a word that there may be more."""
    faulty = 0
    for row in rows:
        yield row
        faulty += bool(row.faults)
        if faulty == MOST_FAULTY_ROWS:
            reason = gettext_noop(
                "These are the errors of the first %(most)d rows with errors; the rest was not read"
            )
            fault = Fault(0, "", reason, parts={"most": MOST_FAULTY_ROWS})
            yield Row(row.line, None, (fault,))
            return


def _of_directories(format_name: str, formats: Mapping[str, Format]) -> Format:
    holders = [each for each in formats.values() if each.read_directory is not None]
    if format_name == AUTO:
        return holders[0]
    if formats[format_name] not in holders:
        names = ", ".join(each.name for each in holders)
        raise Refused(
            "import:unreadable",
            f"format {format_name} needs a file; formats of directories: {names}",
        )
    return formats[format_name]


def format_of_text(path: Path, formats: Mapping[str, Format] = FORMATS) -> Format | None:
    """The format that knows a file by its first line, if it is one that is no JSON.

    Raises:
        Refused: the file cannot be read.
    """
    with open_text(path) as stream:
        head = re.split(r"[\r\n]", stream.read(_HEAD_CHARS).lstrip(), maxsplit=1)[0]
    return next((each for each in formats.values() if each.knows_text(head)), None)


def _told_by(rows: list[RawRow], path: Path, formats: Mapping[str, Format]) -> Format:
    for row in rows:
        for each in formats.values():
            if row.fault is None and each.looks_like(row.value):
                return each
    known = ", ".join(formats)
    raise Refused(
        "import:format",
        f"{path.name}: could not recognise the format by the first rows; tried {known}",
    )


def _row(chosen: Format, raw: RawRow) -> Row:
    if raw.fault is not None:
        return Row(raw.line, None, (raw.fault, *raw.more))
    value = chosen.as_object(raw.value)
    if not isinstance(value, Mapping):
        fault = Fault(raw.line, "", gettext_noop("Expected a JSON object"), shown(value))
        return Row(raw.line, None, (fault,))
    return parsed(raw.line, value, chosen.parse)
