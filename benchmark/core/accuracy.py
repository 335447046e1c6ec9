"""How often a judge agrees with a human, and whether preferences made it agree more.

Each comparison was judged in up to two presentation orders; the score pools the orders (seed
001, section 3.2.3; protocols A1.7), and because the two verdicts on one comparison depend on each
other, intervals draw comparisons. A verdict that could not be read is either left out or counted
as wrong: both policies are always available, none is a silent default.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, cluster_index, percentile_interval
from benchmark.core.decisions import ABSENT, UNREAD, Decisions, Winners, codes, is_read, winners

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Column sums of each draw (draws, columns) to one value a draw (draws,)."""


def bootstrap_sums(
    rows: Floats, statistic: Statistic, *, seed: int, draws: int = DEFAULT_DRAWS
) -> Interval | None:
    """Percentile bootstrap of a statistic of column sums; None without rows.

    Args:
        rows: units x columns, one unit (a comparison) a row.
        statistic: what is computed from the sums of the columns over the drawn units.
        seed: the same seed gives the same interval, whatever the order of the rows.
        draws: number of resamples.
    """
    if len(rows) == 0:
        return None
    cells, counts = _cells(rows)
    return _interval(cells.tobytes(), counts.tobytes(), statistic, seed, draws)


@lru_cache(maxsize=8192)  # of one to two hundred bytes each; a page shows hundreds
def _interval(
    cells: bytes, counts: bytes, statistic: Statistic, seed: int, draws: int
) -> Interval | None:
    numbers = np.frombuffer(counts, dtype=np.intp)
    rows = np.frombuffer(cells, dtype=np.float64).reshape(len(numbers), -1)
    return percentile_interval(_drawn(rows, numbers, statistic, seed=seed, draws=draws))


def drawn_values(
    rows: Floats, statistic: Statistic, *, seed: int | Sequence[int], draws: int = DEFAULT_DRAWS
) -> Floats:
    """The statistic in every draw (draws,), for figures that combine several groups of units.

    Args:
        rows: as for `bootstrap_sums`, at least one.
        statistic: as there.
        seed: one number, or several, so that groups are drawn independently.
        draws: number of resamples.
    """
    return _drawn(*_cells(rows), statistic, seed=seed, draws=draws)


def _drawn(
    cells: Floats,
    counts: NDArray[np.intp],
    statistic: Statistic,
    *,
    seed: int | Sequence[int],
    draws: int,
) -> Floats:
    units = counts.sum()
    drawn = np.random.default_rng(seed).multinomial(units, counts / units, size=draws)
    return statistic(drawn @ cells)


def _cells(rows: Floats) -> tuple[Floats, NDArray[np.intp]]:
    """The different rows in order, and how often each is there.

    np.unique(rows, axis=0) is the same: it compares whole rows, which takes five times as long.
    """
    ordered = rows[np.lexsort(rows.T[::-1])]
    starts = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
    return ordered[starts], np.diff(starts, append=len(rows))


def by_unit(units: Sequence[Hashable], rows: Floats) -> Floats:
    """The rows of each unit summed, so that what belongs together is drawn together.

    Args:
        units: the unit of each row; they keep the order in which they first appear.
        rows: one of each key, with the same columns.

    Raises:
        ValueError: there are not as many units as rows.
    """
    index, count = cluster_index(units, units=len(rows))
    if count == len(rows):
        return rows
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, index, rows)
    return sums


class InvalidPolicy(StrEnum):
    """What a verdict that could not be read counts as."""

    EXCLUDED = "EXCLUDED"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Judged:
    """One comparison: what the human said and what the judge decided in each order."""

    key: int
    human: Verdict
    decisions: Decisions


@dataclass(frozen=True, slots=True)
class JudgedColumns:
    """The same of many comparisons by column; `human` and `won` as in benchmark.core.decisions."""

    key: NDArray[np.int64]
    human: Winners
    won: Winners

    @classmethod
    def of(cls, items: Iterable[Judged] | JudgedColumns) -> JudgedColumns:
        """The columns of some comparisons."""
        if isinstance(items, JudgedColumns):
            return items
        rows = list(items)
        return cls(
            key=np.array([row.key for row in rows], dtype=np.int64),
            human=codes(row.human for row in rows),
            won=winners(row.decisions for row in rows),
        )

    def at(self, rows: NDArray[Any]) -> JudgedColumns:
        """Some of the comparisons."""
        return JudgedColumns(self.key[rows], self.human[rows], self.won[rows])

    def decided(self) -> JudgedColumns:
        """Those with a decision."""
        return self.at((self.won != ABSENT).any(axis=1))

    def untied(self) -> JudgedColumns:
        """Those for which the human named a winner; nothing is scored against a tie."""
        return self.at(self.human != 0)

    def stakes(self, policy: InvalidPolicy) -> Floats:
        """For each comparison (comparisons, 2) the points earned and how many were at stake."""
        read = is_read(self.won)
        earned = (self.won == self.human[:, None]) + 0.5 * (self.won == 0)
        counted = read if policy is InvalidPolicy.EXCLUDED else self.won != ABSENT
        return np.column_stack([earned.sum(axis=1), counted.sum(axis=1)])


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Agreement of a judge with a human over `verdicts` decisions on `comparisons`.

    `value` is 0..1, None where nothing is scored; an even split scores one half. `unreadable`
    decisions are left out of `verdicts` or stand in it as wrong, by `policy`. `ties` are the
    human ties, which nothing is scored against.
    """

    value: float | None
    interval: Interval | None
    verdicts: int
    comparisons: int
    unreadable: int
    ties: int
    policy: InvalidPolicy


@dataclass(frozen=True, slots=True)
class Gain:
    """Accuracy with preferences minus accuracy of the base judge, on the same comparisons.

    `value` is -1..1; None where no comparison is scored under both.
    """

    value: float | None
    interval: Interval | None
    comparisons: int


def accuracy(
    items: Iterable[Judged] | JudgedColumns,
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
) -> Accuracy:
    """Share of the judge's decisions that name the human's winner, orders pooled."""
    rows = JudgedColumns.of(items)
    untied = rows.untied()
    stakes = at_stake(untied.stakes(policy))
    return Accuracy(
        value=float(pooled(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=bootstrap_sums(stakes, pooled, seed=seed, draws=draws),
        verdicts=int(stakes[:, 1].sum()),
        comparisons=len(stakes),
        unreadable=int((untied.won == UNREAD).sum()),
        ties=len(rows.key) - len(untied.key),
        policy=policy,
    )


def under_both(
    rows: JudgedColumns, *, seed: int, policy: InvalidPolicy, draws: int = DEFAULT_DRAWS
) -> tuple[Accuracy, Accuracy]:
    """The accuracy under a policy for unreadable replies, and under the other one."""
    (other,) = set(InvalidPolicy) - {policy}
    asked = accuracy(rows, seed=seed, policy=policy, draws=draws)
    if not asked.unreadable:  # then both are the same, and one bootstrap does
        return asked, replace(asked, policy=other)
    return asked, accuracy(rows, seed=seed, policy=other, draws=draws)


def gain(
    base: Iterable[Judged] | JudgedColumns,
    selected: Iterable[Judged] | JudgedColumns,
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
) -> Gain:
    """How much more often `selected` agrees than `base`, paired by comparison.

    A draw takes a comparison with both its scores, so what makes a comparison easy or hard for
    both judges cancels out of the interval.
    """
    before, after = (JudgedColumns.of(items).untied() for items in (base, selected))
    _keys, first, second = np.intersect1d(before.key, after.key, return_indices=True)
    stakes = np.hstack([before.at(first).stakes(policy), after.at(second).stakes(policy)])
    stakes = stakes[(stakes[:, 1] > 0) & (stakes[:, 3] > 0)]
    return Gain(
        value=float(difference(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=bootstrap_sums(stakes, difference, seed=seed, draws=draws),
        comparisons=len(stakes),
    )


def at_stake(stakes: Floats) -> Floats:
    """Those of the comparisons on which anything is at stake."""
    return stakes[stakes[:, 1] > 0]


def pooled(sums: Floats) -> Floats:
    """Points earned of points at stake; every comparison has something at stake."""
    return sums[:, 0] / sums[:, 1]


def difference(sums: Floats) -> Floats:
    """What the last two columns earn over the first two, of points at stake."""
    return pooled(sums[:, 2:]) - pooled(sums)
