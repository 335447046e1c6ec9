"""What a format is, and how the formats of a folder are found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from annotation.core.formats.fields import Parse
from annotation.core.formats.reading import RawRow, read_rows
from annotation.core.formats.records import Row

ReadRows = Callable[[], Iterator[RawRow]]
"""Reads all rows of a file from the first one on."""


def _as_it_is(row: object) -> object:
    return row


def _never(_given: object) -> bool:
    return False


def _nothing(_path: Path) -> Mapping[str, str]:
    return {}


def _every_row(_path: Path, rows: Iterator[Row]) -> Iterator[Row]:
    return rows


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A kind of file: its name, how to tell a row of it, and how to read one.

    `title` and `line` are shown in the list on the import page, in the words that translators know.
    Of a row, `looks_like` says whether it is of this format and of no other; `needs` are the fields
    that it looks for, by which the nearest format of another row is found. `as_object` wraps rows
    that are bare lists. A format that is no JSON is told by its first line (`knows_text`) and has
    its own `read_file`. What a row means may show in all rows of a file: `prepare` reads these, as
    often as it asks for them, and gives each row with that. `checked` finds the faults that a file
    has only as a whole. Where several formats have the same rows, the one that knows them names the
    one that the whole file has (`finer`). `source_of` says what was assumed of a file, such as its
    encoding. A fallback knows almost any text, and is asked last.
    """

    name: str
    title: str
    line: str
    parse: Parse
    looks_like: Callable[[object], bool] = _never
    needs: frozenset[str] = frozenset()
    as_object: Callable[[object], object] = _as_it_is
    read_directory: Callable[[Path], Iterator[RawRow]] | None = None
    knows_text: Callable[[str], bool] = _never
    read_file: Callable[[Path], Iterator[RawRow]] = read_rows
    prepare: Callable[[ReadRows], Iterator[RawRow]] | None = None
    checked: Callable[[Path, Iterator[Row]], Iterator[Row]] = _every_row
    finer: Callable[[Path], str] | None = None
    source_of: Callable[[Path], Mapping[str, str]] = _nothing
    is_fallback: bool = False


def formats_in(package: ModuleType) -> dict[str, Format]:
    """The formats of a package by name: those that its modules list as FORMATS."""
    names = [each.name for each in iter_modules(package.__path__) if each.name != "detect"]
    modules = [import_module(f"{package.__name__}.{name}") for name in names]
    found = [each for module in modules for each in getattr(module, "FORMATS", ())]
    return {each.name: each for each in sorted(found, key=lambda each: each.is_fallback)}
