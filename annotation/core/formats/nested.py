"""Lists of rows within a file that is one JSON object, read an item at a time."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from annotation.core.formats.reading import (
    WINDOW,
    JsonWindow,
    RawRow,
    items,
    next_item,
    open_text,
)

_DEEPEST: Final = 2
"""Lists are looked for in the object, and in objects right inside it."""
_MOST_LISTS: Final = 20
_WRAPPED: Final = frozenset({"row_idx", "row"})
"""Fields around each row in an answer of the Hugging Face dataset viewer."""

Under = tuple[str, ...]
"""The names that lead to a list."""


def lists_in(path: Path, first: int) -> dict[Under, list[RawRow]]:
    """The lists of a file that is one JSON object, each with so many first items.

    Raises:
        Refused: the file cannot be read.
    """
    found: dict[Under, list[RawRow]] = {}
    with open_text(path) as stream:
        window = JsonWindow(stream, stream.read(WINDOW))
        for under in _lists(window, ()):
            rows = found.setdefault(under, [])
            for row in _items(window, under):
                if len(rows) < first:
                    rows.append(row)
            if len(found) == _MOST_LISTS:
                break
    return found


def read_list(path: Path, under: Under) -> Iterator[RawRow]:
    """The rows of a list of a file that is one JSON object; `line` is their place in the list.

    Raises:
        Refused: the file cannot be read.
    """
    with open_text(path) as stream:
        window = JsonWindow(stream, stream.read(WINDOW))
        for found in _lists(window, ()):
            if found == under:
                yield from _items(window, under)
                return
            deque(items(window), maxlen=0)


def _lists(window: JsonWindow, above: Under) -> Iterator[Under]:
    """The lists of the object at the window's place, which stands at each when it is told.

    Whoever takes one reads it to its end before the next.
    """
    for name in _names(window):
        sign = window.next_sign()
        if sign == "[":
            yield (*above, name)
        elif sign == "{" and len(above) + 1 < _DEEPEST:
            yield from _lists(window, (*above, name))
        elif next_item(window, 1) is None:
            return


def _names(window: JsonWindow) -> Iterator[str]:
    """The names in the object at the window's place, which stands before the value of each."""
    sign = window.next_sign()
    while sign in ("{", ","):
        window.at += 1
        name = next_item(window, 1) if window.next_sign() == '"' else None
        if name is None or window.next_sign() != ":":
            return
        window.at += 1
        yield str(name.value)
        sign = window.next_sign()
    window.at += 1


def _items(window: JsonWindow, under: Under) -> Iterator[RawRow]:
    for row in items(window):
        path, value = f"{'.'.join(under)}[{row.line - 1}]", row.value
        if isinstance(value, Mapping) and value.keys() >= _WRAPPED:
            path, value = f"{path}.row", value["row"]
        yield RawRow(row.line, value, row.fault, row.more, path)
