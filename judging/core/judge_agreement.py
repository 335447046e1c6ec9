"""How often a judge is right, consistent, and like another judge: shares with their intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval, clustered_wilson
from judging.core.votes import score

Cell = tuple[int, Order]
"""A comparison in one presentation order; verdicts are in the comparison's own coordinates."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many of `n`, where a tie may be half a hit; `value` is None of none.

    `counts` are the hits and n of each session that they are of, the units of the interval.
    """

    hits: float
    n: int
    counts: tuple[tuple[float, int], ...] = ()

    @classmethod
    def of(cls, hits: Iterable[tuple[int, float]]) -> Share:
        """The share of verdicts by session, and whether each is a hit."""
        counts: dict[int, list[float]] = {}
        for session, hit in hits:
            counts.setdefault(session, []).append(hit)
        told = tuple((sum(own), len(own)) for own in counts.values())
        return cls(sum(hits for hits, _n in told), sum(n for _hits, n in told), told)

    @property
    def value(self) -> float | None:
        """The share."""
        return self.hits / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval with sessions as units; None for too few."""
        hits, n = np.array(self.counts, dtype=np.float64).reshape(-1, 2).T
        return clustered_wilson(hits, n)


def right(
    cells: Mapping[Cell, Verdict], labels: Mapping[int, Verdict], sessions: Mapping[int, int]
) -> Share:
    """What the verdicts score against labels, all with a winner; a tie scores one half."""
    return Share.of(
        (sessions[key], score(cells[key, order], truth=labels[key]) or 0.0)
        for key, order in sorted(cells)
        if key in labels
    )


def is_consistent(original: Verdict, swapped: Verdict) -> bool:
    """Whether both orders name one and the same winner (protocols A1.8); a tie names none."""
    return original is swapped and original is not Verdict.TIE


def consistency(cells: Mapping[Cell, Verdict], sessions: Mapping[int, int]) -> Share:
    """Comparisons with one winner in both orders, of those judged in both."""
    return Share.of(
        (sessions[key], is_consistent(cells[key, order], cells[key, Order.SWAPPED]))
        for key, order in sorted(cells)
        if order is Order.ORIGINAL and (key, Order.SWAPPED) in cells
    )


def alike(
    one: Mapping[Cell, Verdict], two: Mapping[Cell, Verdict], sessions: Mapping[int, int]
) -> Share:
    """Comparisons with one verdict of two judges, of those that both judged in the same order.

    Of a comparison judged in both orders each counts one half: `n` are comparisons.
    """
    shared: dict[int, list[bool]] = {}
    for key, order in sorted(one.keys() & two.keys()):
        shared.setdefault(key, []).append(one[key, order] is two[key, order])
    return Share.of((sessions[key], sum(same) / len(same)) for key, same in shared.items())
