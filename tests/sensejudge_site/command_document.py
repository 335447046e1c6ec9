"""docs/commands.md as data: the options of each command, its examples, and what it prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.paths import ROOT

_HEADING = re.compile(r"^## (\w+)\n", re.MULTILINE)
_EXAMPLE = re.compile(r"^    manage\.py (.+)\n", re.MULTILINE)
_PRINTED = re.compile(r"^(.+)\n\n((?:    [{ ].*\n)+)", re.MULTILINE)
_CODE = re.compile(r"`([^`]+)`")
_WORD = re.compile(r"\s*(as\s+\w+|[\w]+|[{}\[\]:,?])")


class Option(NamedTuple):
    """A row of a table of options."""

    value: str
    default: str
    words: tuple[str, ...]
    """What stands in code in its meaning."""


@dataclass(frozen=True)
class Fields:
    """An object of these fields; some are not always there."""

    shapes: dict[str, Any]
    optional: frozenset[str]


@dataclass(frozen=True)
class Named:
    """An object whose names vary."""

    shape: Any


@dataclass(frozen=True)
class Items:
    """A list."""

    shape: Any


def sections() -> dict[str, str]:
    """The text under each heading, by the heading."""
    _head, *rest = _HEADING.split((ROOT / "docs" / "commands.md").read_text("utf-8"))
    return dict(zip(rest[::2], rest[1::2], strict=True))


def options(section: str) -> dict[str, Option]:
    """The rows of its table of options, by option or metavariable."""
    _head, table = section.partition("| option | default | meaning |\n")[::2]
    found = {}
    for line in table.split("\n\n")[0].splitlines()[1:]:
        row = line.strip("| ").replace(r"\|", "\0")
        name, default, meaning = (cell.strip().replace("\0", "|") for cell in row.split("|", 2))
        word, _space, value = name.strip("`").partition(" ")
        found[word] = Option(value, default.strip("`"), tuple(_CODE.findall(meaning)))
    return found


def examples(section: str) -> list[str]:
    """Its command lines, after `manage.py`."""
    return _EXAMPLE.findall(section)


def printed(section: str) -> Iterator[tuple[str, Any]]:
    """Each object that it says is printed: the first code of the line above, and the shape."""
    for above, block in _PRINTED.findall(section):
        if block.lstrip().startswith("{"):
            yield _CODE.findall(above)[0], _Reader(block).shape()


class _Reader:
    """Reads the notation of shapes: {name, name?, name: shape, NAME: shape}, [shape], as name."""

    def __init__(self, text: str) -> None:
        self._words = _WORD.findall(text)
        self._named: dict[str, Any] = {}

    def shape(self) -> Any:
        """The next shape; None for a plain value."""
        word = self._words.pop(0)
        if word == "{":
            return self._object()
        if word == "[":
            return self._list()
        if word.startswith("as "):
            found = self._named[word.split()[1]]
            return found.shape if isinstance(found, Items) else found
        return None

    def _object(self) -> Fields | Named:
        shapes: dict[str, Any] = {}
        optional = set()
        for name in self._names("}"):
            if self._words[0] == "?":
                self._words.pop(0)
                optional.add(name)
            shapes[name] = None
            if self._words[0] == ":":
                self._words.pop(0)
                shapes[name] = self.shape()
                self._named.setdefault(name, shapes[name])
        if len(shapes) == 1 and (name := next(iter(shapes))).isupper():
            return Named(shapes[name])
        return Fields(shapes, frozenset(optional))

    def _list(self) -> Items:
        shapes = []
        while self._words[0] != "]":
            shapes.append(self.shape())
            if self._words[0] == ",":
                self._words.pop(0)
        self._words.pop(0)
        return Items(shapes[0])

    def _names(self, end: str) -> Iterator[str]:
        while (word := self._words.pop(0)) != end:
            if word != ",":
                yield word


def differences(shape: Any, samples: Sequence[Any], place: str = "") -> Iterator[str]:
    """What samples of one place say otherwise than its shape; each part must be met somewhere."""
    met = [sample for sample in samples if sample is not None]
    if shape is None:
        if any(isinstance(sample, dict | list) for sample in met):
            yield f"{place}: no plain value"
    elif any(not isinstance(sample, list if isinstance(shape, Items) else dict) for sample in met):
        yield f"{place}: {met[0]!r}"
    elif isinstance(shape, Fields):
        yield from _differences_of_fields(shape, met, place)
    else:
        inner = [
            each
            for sample in met
            for each in (sample if isinstance(sample, list) else sample.values())
        ]
        if shape.shape is not None and not inner:
            yield f"{place}: never met"
        else:
            yield from differences(shape.shape, inner, f"{place}[]")


def _differences_of_fields(shape: Fields, met: list[Any], place: str) -> Iterator[str]:
    if not met:
        yield f"{place}: never met"
        return
    some = {name for sample in met for name in sample}
    always = {name for name in some if all(name in sample for sample in met)}
    for name in sorted(some ^ set(shape.shapes)):
        yield f"{place}.{name}: {'not documented' if name in some else 'never met'}"
    for name in sorted((some - always) ^ (shape.optional & some)):
        yield f"{place}.{name}: {'always' if name in always else 'not always'} there"
    for name, inner in shape.shapes.items():
        if name in some:
            yield from differences(
                inner, [sample[name] for sample in met if name in sample], f"{place}.{name}"
            )
