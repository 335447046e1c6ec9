"""Rows as JSONL or CSV, a line at a time; no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

Row = Mapping[str, object]

_BLOCK_CHARS: Final = 32_768
_RUN_BY_SPREADSHEETS: Final = frozenset("=+-@\t\r\n\uff1d\uff0b\uff0d\uff20")
"""The last four are the first four as Chinese and Japanese keyboards write them."""


_TO_QUOTE: Final = re.compile('[",\r\n]').search


class _Echo:
    """A file that gives back what is written to it, as the writer then does."""

    def write(self, text: str) -> str:
        return text


class Head(dict[str, object]):
    """The first columns of several rows, which are written once for all of them; not empty."""

    @cached_property
    def as_json(self) -> str:
        """An object that is not closed."""
        return _json(self)[:-1]

    @cached_property
    def as_cells(self) -> str:
        """The beginning of a record, without the comma after it."""
        return ",".join(map(_quoted, _cells(self.values())))


class HeadedRow(Mapping[str, object]):
    """A row whose first columns are a head, and the others its own; neither is empty.

    Rows of one head have the same columns of their own.
    """

    __slots__ = ("head", "own")

    def __init__(self, head: Head, own: Row) -> None:
        self.head = head
        self.own = own

    def __getitem__(self, name: str) -> object:
        return self.own[name] if name in self.own else self.head[name]

    def __iter__(self) -> Iterator[str]:
        yield from self.head
        yield from self.own

    def __len__(self) -> int:
        return len(self.head) + len(self.own)


_json: Final = json.JSONEncoder(ensure_ascii=False).encode


def json_lines(rows: Iterable[Row]) -> Iterator[str]:
    """A JSON object a line."""
    for row in rows:
        if isinstance(row, HeadedRow):
            yield f"{row.head.as_json}, {_json(row.own)[1:]}\n"
        else:
            yield f"{_json(row)}\n"


def csv_lines(columns: Sequence[str], rows: Iterable[Row]) -> Iterator[str]:
    """A heading and a record a row (RFC 4180, so CRLF); columns that a row lacks are empty."""
    record = csv.writer(_Echo()).writerow
    yield record(columns)
    before, head = "", None
    for row in rows:
        if isinstance(row, HeadedRow) and (
            row.head is head or (*row.head, *row.own) == tuple(columns)
        ):
            if row.head is not head:
                head, before = row.head, f"{row.head.as_cells},"
            yield before + record(_cells(row.own.values()))
        else:
            before, head = "", None
            yield record(_cells(map(row.get, columns)))


def _quoted(value: str | float) -> str:
    """A cell of several as the csv module writes it, which takes ten times as long for a text."""
    text = str(value)
    return '"' + text.replace('"', '""') + '"' if _TO_QUOTE(text) else text


def _cells(values: Iterable[object]) -> list[str | int | float]:
    """The cells of a record; what there is most of without a call each."""
    return [
        value if type(value) is str and value[:1] not in _RUN_BY_SPREADSHEETS else cell(value)
        for value in values
    ]


def cell(value: object) -> str | int | float:
    """A value as a cell: lists and objects as JSON, true and false as in JSON, null empty.

    A text that a spreadsheet would take for a formula gets an apostrophe before it; numbers are
    numbers and stay as they are.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return f"'{value}" if value[:1] in _RUN_BY_SPREADSHEETS else value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return value
    return _json(value)


def as_it_was(text: str) -> str:
    """A text without the apostrophe that `cell` put before it."""
    is_kept = text.startswith("'") and text[1:2] in _RUN_BY_SPREADSHEETS
    return text[1:] if is_kept else text


def in_key_order(value: object) -> object:
    """The value with the keys of its objects sorted: databases keep them in orders of their own."""
    if isinstance(value, dict):
        return {key: in_key_order(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [in_key_order(each) for each in value]
    return value


def in_blocks(lines: Iterable[str]) -> Iterator[str]:
    """Lines joined to blocks that are worth sending; memory holds one block."""
    block: list[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if size >= _BLOCK_CHARS:
            yield "".join(block)
            block, size = [], 0
    if block:
        yield "".join(block)
