"""Benchmarks that print figures: one module a bench, with a function `run(**sizes) -> Bench`."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Final

from annotation.core.refusals import Refused

_UNITS: Final = {"per_s": "/s", "ms": "ms", "s": "s", "kb": "KB", "mb": "MB", "percent": "%"}


@dataclass(frozen=True, slots=True)
class BenchFigure:
    """One measured number, beside the one a peer was measured at where there is one.

    The name says the unit by a word of it (`ms`, `s`, `kb`, `mb`, `per_s`, `percent`), but for
    a count.
    """

    name: str
    value: float
    published: float | None = None

    @property
    def unit(self) -> str:
        """The unit as it is written beside a number; "" for a count."""
        words = f"_{self.name}_"
        return next((unit for word, unit in _UNITS.items() if f"_{word}_" in words), "")


@dataclass(frozen=True, slots=True)
class Bench:
    """The figures of one benchmark.

    With `columns` it is a table: the last word of a figure's name is its column.
    """

    name: str
    figures: tuple[BenchFigure, ...]
    columns: tuple[str, ...] = ()


def names() -> list[str]:
    """Every bench there is."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def run(name: str, sizes: Mapping[str, int | str] | None = None) -> Bench:
    """Runs one bench, at the sizes that were chosen.

    Raises:
        Refused: there is none of that name; it has no such size, or none of that name; a file that
            it was given cannot be used.
    """
    if name not in names():
        message = f"no bench {name!r}; choose from {', '.join(names())}"
        raise Refused("bench:unknown", message)
    module = import_module(f"{__name__}.{name}")
    chosen = dict(sizes or {})
    unknown = sorted(set(chosen) - set(inspect.signature(module.run).parameters))
    if unknown:
        message = f"bench {name!r} has no size {', '.join(unknown)}"
        raise Refused("bench:unknown-size", message)
    bench: Bench = module.run(**chosen)
    return bench
