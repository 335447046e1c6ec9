"""Battles of two models in a file, read for a ranking: JSON, JSONL or CSV, a million in a second.

What matters of a battle is who met whom and who won, so equal lines are counted before any is
parsed, and what is read are kinds of battles with counts. With sessions each row is kept, as two
numbers. A file in which anything is odd is read again row by row, which says what and where.
"""

from __future__ import annotations

import csv
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, count, islice, repeat
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from annotation.core.formats.reading import RawRow, open_text, read_rows, storable
from annotation.core.refusals import Refused

WINNERS: Final[Mapping[str, Verdict]] = {
    "model_a": Verdict.A,
    "model_b": Verdict.B,
    "tie": Verdict.TIE,
    "tie (bothbad)": Verdict.TIE,
    "both_bad": Verdict.TIE,
    "bothbad": Verdict.TIE,
    "tie (inconsistent)": Verdict.TIE,
}
BOTH_BAD: Final = frozenset({"tie (bothbad)", "both_bad", "bothbad"})
"""The words of a tie in which neither response is good."""
_COLUMNS: Final = ("model_a", "model_b", "winner")
_DELIMITERS: Final = (",", ";", "\t")
_LINES: Final = 1 << 16
"""Lines that are counted at once."""


class Battle(NamedTuple):
    """Two models and which of them won."""

    model_a: str
    model_b: str
    verdict: Verdict


class BattleTable(NamedTuple):
    """Battles by kind: row i is `times[i]` battles of `kinds[kind[i]]` in session `session[i]`.

    A session below 0 is none: each battle is one by itself.
    """

    kinds: tuple[Battle, ...]
    kind: NDArray[np.int64]
    session: NDArray[np.int64]
    times: NDArray[np.int64]

    @property
    def verdicts(self) -> Iterator[tuple[str, str, Verdict, int]]:
        """Each kind's models, its verdict, and how many there are."""
        counts = np.bincount(self.kind, weights=self.times, minlength=len(self.kinds))
        for each, number in zip(self.kinds, counts.astype(int).tolist(), strict=True):
            yield *each, number


def read_battles(path: Path, *, session: str = "") -> BattleTable:
    """The battles of a file with the columns, or keys, model_a, model_b and winner.

    Args:
        path: a file of JSON or CSV, plain or gzipped.
        session: the column by which battles belong together; "" for none.

    Raises:
        Refused: it cannot be read, or a row is no battle; the message says where.
    """
    gathered = _Gathered(session)
    with open_text(path) as stream:
        first = stream.readline()
        layout = _layout(first)
        lines = chain([] if layout else [first], stream)
        rows: Iterator[tuple[Sequence[Sequence[Any]], Sequence[int]]] | None = None
        if layout:
            rows = _csv_columns(lines, *layout, gathered.columns)
        elif first.lstrip().startswith("{"):
            rows = _json_columns(lines, gathered.columns)
        try:
            table = gathered.table(rows) if rows is not None else None
        except (ValueError, KeyError, TypeError, RecursionError, csv.Error):
            table = None
    if table is not None:
        return table
    slowly = _csv_rows(path, *layout) if layout else read_rows(path)
    return gathered.table(_checked(slowly, gathered.columns))


class _Gathered:
    """Kinds of battles and sessions, numbered as they come."""

    def __init__(self, session: str) -> None:
        self.columns = (*_COLUMNS, session) if session else _COLUMNS

    def table(self, rows: Iterable[tuple[Sequence[Sequence[Any]], Sequence[int]]]) -> BattleTable:
        """All rows, given as columns and how often each row comes, once where that is empty.

        Raises:
            ValueError: A model has no name or one that is no text, or a winner is none.
        """
        kinds: defaultdict[tuple[str, str, str], int] = defaultdict(count().__next__)
        sessions: defaultdict[Any, int] = defaultdict(count().__next__)
        found: list[list[NDArray[np.int64]]] = [[], [], []]
        for columns, times in rows:
            kind = list(map(kinds.__getitem__, zip(*columns[:3], strict=True)))
            own = [-1] * len(kind)
            for column in columns[3:]:
                own = list(map(sessions.__getitem__, column))
            for each, part in zip(found, (kind, own, times or [1] * len(kind)), strict=True):
                each.append(np.array(part, dtype=np.int64))
        if None in sessions or "" in sessions or not all(map(_is_battle, kinds)):
            raise ValueError
        "".join(chain.from_iterable(kinds)).encode()  # half a character is none
        none = np.zeros(0, dtype=np.int64)
        battles = tuple(Battle(a, b, WINNERS[word]) for a, b, word in kinds)
        return BattleTable(battles, *(np.concatenate([none, *parts]) for parts in found))


def _is_battle(key: tuple[object, object, object]) -> bool:
    return all(isinstance(each, str) and each for each in key) and key[2] in WINNERS


def _layout(first: str) -> tuple[str, list[str]] | None:
    """The delimiter and the header of a table; None where the first line is none of battles."""
    for delimiter in _DELIMITERS:
        header = [cell.strip() for cell in next(csv.reader([first], delimiter=delimiter), [])]
        if set(_COLUMNS) <= set(header):
            return delimiter, header
    return None


def _csv_columns(
    lines: Iterator[str], delimiter: str, header: list[str], names: Sequence[str]
) -> Iterator[tuple[list[list[str]], Sequence[int]]]:
    places = [header.index(name) for name in names]
    while some := list(islice(lines, _LINES)):
        counts = Counter(some) if len(names) == len(_COLUMNS) else {}
        text = "\n".join([line.rstrip("\r\n") for line in counts or some])
        if '"' not in text:
            yield _split(text, delimiter, places, len(header)), list(counts.values())
            continue
        # A cell may go on in the next line.
        reader = csv.reader(chain(some, lines), delimiter=delimiter, strict=True)
        while rows := list(islice(reader, _LINES)):
            columns = list(zip(*rows, strict=True))
            yield [list(columns[place]) for place in places], []


def _split(text: str, delimiter: str, places: list[int], width: int) -> list[list[str]]:
    """The cells of some columns of lines without quotes.

    Raises:
        ValueError: A line has more or fewer cells than the header.
    """
    if set(map(str.count, text.split("\n"), repeat(delimiter))) != {width - 1}:
        raise ValueError
    cells = text.replace("\n", delimiter).split(delimiter)
    return [cells[place::width] for place in places]


def _json_columns(
    lines: Iterator[str], names: Sequence[str]
) -> Iterator[tuple[list[list[Any]], Sequence[int]]]:
    while some := list(islice(lines, _LINES)):
        counts = Counter(some)
        for blank in [line for line in counts if not line.strip()]:
            del counts[blank]
        rows = json.loads(f"[{','.join(counts)}]")
        if len(rows) != len(counts):
            raise ValueError
        yield [[row[name] for row in rows] for name in names], list(counts.values())


def _csv_rows(path: Path, delimiter: str, header: list[str]) -> Iterator[RawRow]:
    with open_text(path) as stream:
        reader = csv.reader(stream, delimiter=delimiter)
        next(reader)
        for cells in reader:
            if cells:
                yield storable(reader.line_num, dict(zip(header, cells, strict=False)))


def _checked(
    rows: Iterable[RawRow], names: Sequence[str]
) -> Iterator[tuple[list[list[str]], list[int]]]:
    for row in rows:
        yield [[value] for value in _battle(row, names)], []


def _battle(row: RawRow, names: Sequence[str]) -> list[str]:
    """The cells of a battle.

    Raises:
        Refused: it is none.
    """
    if row.fault is not None or not isinstance(row.value, Mapping):
        reason = row.fault.reason if row.fault else "not an object"
        raise Refused("battles:invalid", f"line {row.line}: {reason}")
    cells = [row.value.get(name) for name in names]
    for name, value in zip(names, cells, strict=True):
        if name == "winner":
            if not isinstance(value, str) or value not in WINNERS:
                expected = f"{value!r}, not one of {', '.join(WINNERS)}"
                raise Refused("battles:invalid", f"line {row.line}: {name} is {expected}")
        elif name in _COLUMNS:
            if not isinstance(value, str) or not value:
                message = f"line {row.line}: {name} is {value!r}, not a model's name"
                raise Refused("battles:invalid", message)
        elif value in {None, ""}:
            raise Refused("battles:invalid", f"line {row.line}: no {name}")
    return [str(value) for value in cells]
