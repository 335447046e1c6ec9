"""How often a judge is right, alike in both orders, or of one mind with another judge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval, wilson

Cell = tuple[int, Order]
"""A comparison in one presentation order; verdicts are in the comparison's own coordinates."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of `n`; `value` is None of none."""

    hits: int
    n: int

    @property
    def value(self) -> float | None:
        """The share."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Its Wilson interval at 95 %."""
        return wilson(self.hits, self.n)


def right(cells: Mapping[Cell, Verdict], labels: Mapping[int, Verdict]) -> Share:
    """Verdicts that name the label's winner, of those with a label; a tie names nobody."""
    judged = [(verdict, labels[key]) for (key, _), verdict in cells.items() if key in labels]
    return Share(sum(verdict is label for verdict, label in judged), len(judged))


def consistency(cells: Mapping[Cell, Verdict]) -> Share:
    """Comparisons judged alike in both orders, of those judged in both."""
    both = [
        (verdict, cells[key, Order.SWAPPED])
        for (key, order), verdict in cells.items()
        if order is Order.ORIGINAL and (key, Order.SWAPPED) in cells
    ]
    return Share(sum(one is two for one, two in both), len(both))


def alike(one: Mapping[Cell, Verdict], two: Mapping[Cell, Verdict]) -> Share:
    """Verdicts that two judges share, of what both judged in the same order."""
    both = one.keys() & two.keys()
    return Share(sum(one[cell] is two[cell] for cell in both), len(both))
