"""Benchmarks that print figures: one module a bench, with a function `run() -> Bench`."""

from __future__ import annotations

import pkgutil
from dataclasses import dataclass
from importlib import import_module


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number, beside the one a peer was measured at where there is one."""

    name: str
    value: float
    published: float | None = None


@dataclass(frozen=True, slots=True)
class Bench:
    """The figures of one benchmark."""

    name: str
    figures: tuple[Figure, ...]


class UnknownBenchError(Exception):
    """No bench of that name."""

    code = "bench:unknown"


def names() -> list[str]:
    """Every bench there is."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def run(name: str) -> Bench:
    """Runs one bench.

    Raises:
        UnknownBenchError: there is none of that name.
    """
    if name not in names():
        message = f"there is no bench {name!r}; there are: {', '.join(names())}"
        raise UnknownBenchError(message)
    bench: Bench = import_module(f"{__name__}.{name}").run()
    return bench
