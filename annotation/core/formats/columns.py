"""Which column of a table holds which key, and what is wrong with what was said of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from annotation.core.formats.grids import table_rows
from annotation.core.formats.headers import (
    MESSAGE_KEYS,
    PAIR_KEYS,
    RATING_KEYS,
    WINS,
    exact_keys,
    guess,
    kind_of,
)
from annotation.core.formats.mappings import names_annotator
from annotation.core.formats.records import Fault, shown
from annotation.core.refusals import gettext_noop

Columns = Mapping[str, str | int]
"""The column of a key, by its header or by its place from 0."""
Places = Mapping[str, int]
"""The place of a key's column."""

_NEEDED: Final[Mapping[Sequence[str], Sequence[str]]] = {
    PAIR_KEYS: ("prompt", "text_a", "text_b"),
    RATING_KEYS: ("prompt", "response", "score"),
    MESSAGE_KEYS: ("session", "role", "text"),
}
_STRAY: Final[Mapping[Sequence[str], str]] = {
    PAIR_KEYS: gettext_noop("A table of pairs has no such column"),
    RATING_KEYS: gettext_noop("A table of ratings has no such column"),
    MESSAGE_KEYS: gettext_noop("A table of messages has no such column"),
}


def columns_read(path: Path, columns: Columns | None = None) -> tuple[dict[str, str], list[str]]:
    """The header that each key of a table is read from, and the headers that are not read.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    for line, cells in table_rows(path):
        if isinstance(cells, Fault):
            break
        header = [cell.strip() for cell in cells]
        places, _faults = places_of(line, header, columns or {})
        unread = [name for place, name in enumerate(header) if place not in places.values()]
        return {key: header[place] for key, place in places.items()}, unread
    return {}, []


def missing(keys: Collection[str]) -> list[str]:
    """The keys without which a table cannot be imported that has columns for these."""
    needed = list(_NEEDED[kind_of(keys)])
    if set(WINS) & set(keys):
        needed += ["wins_a", "wins_b"]
    return [key for key in needed if key not in keys]


def _belongs(key: str, kind: Sequence[str]) -> bool:
    """Whether tables with the keys `kind` have a column for a key."""
    return key in kind or (kind is PAIR_KEYS and names_annotator(key))


_MANY: Final = gettext_noop("Several columns have this header")


def places_of(line: int, header: Sequence[str], columns: Columns) -> tuple[Places, list[Fault]]:
    """The place of each column, and the faults of a header or a mapping."""
    places, faults = _named_places(line, header, columns)
    taken = {*places.values()}
    exact = exact_keys(header)
    guesses = {key: place for key, place in guess(header).items() if place not in taken}
    if any(isinstance(column, int) for column in columns.values()):
        exact, guesses = {}, {}  # who told the places has seen every column
    found = {**guesses, **{key: several[0] for key, several in exact.items()}}
    known = {*columns, *found}
    kind = kind_of(known)
    for key in columns:
        if not _belongs(key, kind):
            faults.append(Fault(line, key, _STRAY[kind], shown(columns[key])))
    for key, place in found.items():
        if key in columns or not _belongs(key, kind):
            continue
        places[key] = place
        if len(exact.get(key, ())) > 1:
            faults.append(Fault(line, key, _MANY, key))
    faults += [*_apart(line, header, places), *_verdict_twice(line, header, places)]
    for key in missing(known):
        reason = gettext_noop("No column was named for this field")
        faults.append(Fault(line, key, reason, shown(", ".join(header))))
    return places, [*faults, *_used_twice(line, header, places)]


def _named_places(
    line: int, header: Sequence[str], columns: Columns
) -> tuple[dict[str, int], list[Fault]]:
    """The places of the columns that were named, and faults for those that are not one."""
    places: dict[str, int] = {}
    faults = []
    for key, column in columns.items():
        found = _places_of(header, column)
        if len(found) == 1:
            places[key] = found[0]
        else:
            none = gettext_noop("There is no column with this header")
            faults.append(Fault(line, key, _MANY if found else none, shown(column)))
    return places, faults


def _places_of(header: Sequence[str], column: str | int) -> list[int]:
    """The places that a header, or a place, means."""
    if isinstance(column, int):
        return [column] if column < len(header) else []
    wanted = column.strip()
    return [place for place, name in enumerate(header) if name == wanted]


def _apart(line: int, header: Sequence[str], places: Places) -> Iterator[Fault]:
    """Returns a fault if a table names the annotator of a verdict twice."""
    if any(map(names_annotator, places)):
        for key in ("verdict", *WINS, "strength", "both_bad", "annotator", "comment"):
            if key in places:
                reason = gettext_noop("Cannot be combined with a verdict column for each annotator")
                yield Fault(line, key, reason, shown(header[places[key]]))


def _verdict_twice(line: int, header: Sequence[str], places: Places) -> Iterator[Fault]:
    """Returns a fault if a table has a column of verdicts and columns of yes and no."""
    wins = [key for key in WINS if key in places]
    if wins and "verdict" in places:
        reason = gettext_noop("Cannot be combined with columns that say which response wins")
        yield Fault(line, "verdict", reason, shown(header[places["verdict"]]))


def _used_twice(line: int, header: Sequence[str], places: Places) -> Iterator[Fault]:
    """A fault for every key whose column another one has."""
    taken: dict[int, str] = {}
    for key, place in places.items():
        if place in taken:
            reason = gettext_noop("This column is already used for %(other)s")
            yield Fault(line, key, reason, shown(header[place]), {"other": taken[place]})
        taken.setdefault(place, key)
