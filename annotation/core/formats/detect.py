"""Which format a file has, and its rows as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Final

from annotation.core import formats
from annotation.core.formats import tables
from annotation.core.formats.columns import Columns
from annotation.core.formats.fields import joined, parsed
from annotation.core.formats.format import Format, formats_in
from annotation.core.formats.nested import Under, lists_in, read_list
from annotation.core.formats.reading import RawRow, open_text, read_rows
from annotation.core.formats.records import Fault, Row, shown
from annotation.core.formats.values import NO_MEANS, Means
from annotation.core.formats.workbooks import is_workbook
from annotation.core.refusals import Refused, gettext_noop

AUTO: Final = "auto"

_LOOKED_AT: Final = 20
"""A format is told by the first of so many rows that any format knows."""

_FIELDS_SHOWN: Final = 20
_HEAD_CHARS: Final = 4096

MOST_FAULTY_ROWS: Final = 1000
"""Behind so many rows with faults nothing is read: the file is another one, or made to cost."""


FORMATS: Final[Mapping[str, Format]] = formats_in(formats)


def with_columns(
    known: Mapping[str, Format], columns: Columns | None, means: Means = NO_MEANS
) -> Mapping[str, Format]:
    """The formats, with that of tables told which column is what and what its values mean."""
    table = replace(
        known[tables.NAME],
        read_file=partial(tables.read_file, columns=columns),
        parse=partial(tables.parse, means=means),
    )
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
        chosen, rows = _of_file(path, format_name, formats)
    return chosen, _while_of_use(chosen.checked(path, (_row(chosen, raw) for raw in rows)))


def _of_file(
    path: Path, format_name: str, formats: Mapping[str, Format]
) -> tuple[Format, Iterator[RawRow]]:
    named = formats[format_name] if format_name != AUTO else format_of_text(path, formats)
    rows = named.read_file(path) if named else read_rows(path)
    first = _first(rows)
    if not first:
        raise Refused("import:empty", f"{path.name}: no rows in this file")
    known = {named.name: named} if named else formats
    chosen = _told_by(first, known)
    looked_at = first
    if chosen is None and len(first) == 1 and (named is None or named.read_file is read_rows):
        lists = lists_in(path, _LOOKED_AT)
        found = _list_of(path, lists, known)
        if found is not None:
            under, chosen = found
            read = partial(read_list, path, under)
            return chosen, chosen.prepare(read) if chosen.prepare else read()
        looked_at = [*first, *chain.from_iterable(lists.values())]
    chosen = named or chosen or _unrecognised(path, looked_at, formats)
    if named is None and chosen.finer is not None:
        chosen = formats[chosen.finer(path)]
    anew = named is None and chosen.read_file is not read_rows
    return chosen, chosen.read_file(path) if anew else chain(first, rows)


def _list_of(
    path: Path, lists: Mapping[Under, Sequence[RawRow]], formats: Mapping[str, Format]
) -> tuple[Under, Format] | None:
    """The list whose rows a format knows, and the format; None where there is no such list.

    Raises:
        Refused: there are several.
    """
    told = {under: each for under in lists if (each := _told_by(lists[under], formats))}
    if len(told) > 1:
        names = ", ".join(".".join(under) for under in told)
        raise Refused("import:lists", f"{path.name}: the rows may be in {names}", lists=names)
    return next(iter(told.items()), None)


def _first(rows: Iterator[RawRow]) -> list[RawRow]:
    """The first rows, with as many without a fault as are looked at."""
    found = []
    readable = 0
    for row in islice(rows, MOST_FAULTY_ROWS):
        found.append(row)
        readable += row.fault is None
        if readable == _LOOKED_AT:
            break
    return found


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
    if is_workbook(path):
        return formats.get(tables.NAME)
    with open_text(path) as stream:
        head = re.split(r"[\r\n]", stream.read(_HEAD_CHARS).lstrip(), maxsplit=1)[0]
    return next((each for each in formats.values() if each.knows_text(head)), None)


def _told_by(rows: Iterable[RawRow], formats: Mapping[str, Format]) -> Format | None:
    """The format that knows the first row that any knows; also one with a fault in a text."""
    for row in rows:
        for each in formats.values() if row.value is not None else ():
            if each.looks_like(row.value):
                return each
    return None


def _unrecognised(path: Path, rows: Sequence[RawRow], formats: Mapping[str, Format]) -> Format:
    """A format under which the faults of the first rows are told, where none can be read.

    Raises:
        Refused: rows can be read, but no format knows them; the nearest is named. Or the file is
            neither JSON nor a table.
    """
    what = f"{path.name}: could not recognise the format"
    faults = [row.fault for row in rows if row.fault is not None]
    values = [row.value for row in rows if row.fault is None]
    if not values and str(faults[0].value).lstrip().startswith(("{", "[", '"')):
        [like, *_others] = formats.values()
        return Format(name=AUTO, title="", line="", parse=like.parse)
    if not values:
        raise Refused("import:format", f"{what}: neither JSON nor a table of 3 columns or more")
    also = "".join(f"; line {fault.line}: {fault.reason}" for fault in faults[:1])
    for value in values:
        found = nearest(value, formats)
        if found is not None:
            form, lacking = found
            told = {"format": form.title, "fields": ", ".join(lacking)}
            says = f"it looks like {form.title} ({form.name}), but has no {told['fields']}"
            raise Refused("import:nearest", f"{what}; {says}{also}", **told)
    keys = list(values[0])[:_FIELDS_SHOWN] if isinstance(values[0], Mapping) else []
    says = f"fields of its rows: {', '.join(keys)}" if keys else "its rows are no objects"
    raise Refused("import:format", f"{what}; {says}{also}")


def nearest(row: object, formats: Mapping[str, Format]) -> tuple[Format, list[str]] | None:
    """The format most of whose fields a row has, at least half of them, and what it lacks."""
    if not isinstance(row, Mapping):
        return None
    found = []
    for each in formats.values():
        lacking = sorted(each.needs - row.keys())
        has = len(each.needs) - len(lacking)
        if lacking and has >= len(lacking):
            found.append((has / len(each.needs), has, each, lacking))
    if not found:
        return None
    _share, _has, form, lacking = max(found, key=lambda each: each[:2])
    return form, lacking


def _under(path: str, fault: Fault) -> Fault:
    return replace(fault, field=joined(path, fault.field)) if path else fault


def _row(chosen: Format, raw: RawRow) -> Row:
    if raw.fault is not None:
        faults = (raw.fault, *raw.more)
        return Row(raw.line, None, tuple(_under(raw.path, each) for each in faults))
    value = chosen.as_object(raw.value)
    if not isinstance(value, Mapping):
        fault = Fault(raw.line, raw.path, gettext_noop("Expected a JSON object"), shown(value))
        return Row(raw.line, None, (fault,))
    return parsed(raw.line, value, chosen.parse, raw.path)
