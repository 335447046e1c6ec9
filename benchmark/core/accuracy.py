"""How often a judge agrees with a human, and whether preferences made it agree more.

Each comparison was judged in up to two presentation orders; the score pools the orders (seed
001, section 3.2.3; protocols A1.7). Comparisons of one session share texts, and the two verdicts on
one comparison depend on each other: intervals draw sessions, with all that was said of them by
whomever. A verdict that could not be read is either left out or counted as wrong: both policies are
always available, none is a silent default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    Interval,
    Units,
    clustered_wilson,
    percentile_interval,
    wilson_of_spread,
)
from annotation.core.significance import sign_flip_p
from benchmark.core.decisions import ABSENT, UNREAD, Decisions, Winners, codes, is_read, winners

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]
Statistic = Callable[[Floats], Floats]
"""Column sums of each draw (draws, columns) to one value a draw (draws,)."""


def units_of(rows: Floats, held: Sequence[int] = (1,)) -> Units:
    """The units (sessions) of a figure, by what they hold of it.

    Args:
        rows: units x columns, one unit a row.
        held: the columns of what a unit holds; where there are several, as of a difference, the
            one that is spread over the fewest counts.
    """
    least = min((Units.of(rows[:, column]) for column in held), key=lambda each: each.effective)
    return least._replace(number=len(rows))


def bootstrap_sums(
    rows: Floats,
    statistic: Statistic,
    *,
    seed: int,
    draws: int = DEFAULT_DRAWS,
    held: Sequence[int] = (1, 3),
) -> Interval | None:
    """Bootstrap of a statistic of column sums; see `percentile_interval`, with rows as units.

    Args:
        rows: units x columns, one unit (a session) a row, as `by_unit` gives them.
        statistic: what is computed from the sums of the columns over the drawn units.
        seed: the same seed gives the same interval, whatever the order of the rows.
        draws: number of resamples.
        held: as for `units_of`; those of a difference of two shares.
    """
    units = units_of(rows, held)
    if units.few:
        return None
    cells, counts = _cells(rows)
    return _interval(cells.tobytes(), counts.tobytes(), statistic, seed, draws, units)


@lru_cache(maxsize=8192)  # of one to two hundred bytes each; a page shows hundreds
def _interval(
    cells: bytes, counts: bytes, statistic: Statistic, seed: int, draws: int, units: Units
) -> Interval | None:
    numbers = np.frombuffer(counts, dtype=np.intp)
    rows = np.frombuffer(cells, dtype=np.float64).reshape(len(numbers), -1)
    drawn = _drawn(rows, numbers, statistic, seed=seed, draws=draws)
    return percentile_interval(drawn, units=units)


def share_interval(rows: Floats) -> Interval | None:
    """The interval of a share, the first column of the second, summed over units (sessions).

    See `clustered_wilson`; None for too few rows, or where one or a few hold most.
    """
    return clustered_wilson(rows[:, 0], rows[:, 1])


def mean_share_interval(groups: Sequence[tuple[float, Floats]]) -> Interval | None:
    """The interval of a weighted mean of shares, of groups that are each drawn by themselves.

    The variances of the groups add up, and so does what each unit holds of the mean; each group
    costs a degree of freedom, its own share.

    Args:
        groups: weight and rows of each, rows as for `share_interval`.

    Returns:
        None without a group, and where the units of any are too few.
    """
    if not groups or any(units_of(rows).few for _weight, rows in groups):
        return None
    if len(groups) == 1:
        return share_interval(groups[0][1])
    weights = np.array([weight for weight, _rows in groups])
    parts = weights / weights.sum()
    totals = np.array([rows[:, 1].sum() for _weight, rows in groups])
    shares = np.array([rows[:, 0].sum() for _weight, rows in groups]) / totals
    spread, held = 0.0, []
    for part, total, share, (_weight, rows) in zip(parts, totals, shares, groups, strict=True):
        trials = rows[:, 1] / total
        apart = (rows[:, 0] / total - share * trials) ** 2 / (1 - trials)
        spread += float(part**2 * apart.sum())
        held.append(part * trials)
    units, spare = Units.of(np.concatenate(held)), len(groups) - 1
    return wilson_of_spread(
        float(np.average(shares, weights=weights)),
        spread,
        units=Units(units.number - spare, units.effective - spare),
        trials=float(1 / (parts**2 / totals).sum()),
    )


def drawn_values(
    rows: Floats,
    statistic: Statistic,
    *,
    seed: int | Sequence[int],
    draws: int = DEFAULT_DRAWS,
    held: Sequence[int] = (1, 3),
) -> Floats:
    """The statistic in every draw (draws,), for figures that combine several groups of units.

    Each group is drawn by itself, so each needs enough units: with too few every value is nan, and
    so is what is combined of it.

    Args:
        rows: as for `bootstrap_sums`.
        statistic: as there.
        seed: one number, or several, so that groups are drawn independently.
        draws: number of resamples.
        held: as for `units_of`.
    """
    if units_of(rows, held).few:
        return np.full(draws, np.nan)
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


def by_unit(units: Integers, rows: Floats) -> Floats:
    """The rows of each unit summed, so that what belongs together is drawn together.

    Args:
        units: the unit of each row; the sums stand in their order. Where all differ, these are
            the rows as they came.
        rows: one of each key, with the same columns.

    Raises:
        ValueError: there are not as many units as rows.
    """
    if len(units) != len(rows):
        raise ValueError(f"{len(units)} units of {len(rows)} rows")
    kept, index = np.unique(units, return_inverse=True)
    if len(kept) == len(rows):
        return rows
    sums = np.zeros((len(kept), rows.shape[1]))
    np.add.at(sums, index, rows)
    return sums


def unit_of(session: int | None, comparison: int) -> int:
    """What intervals draw: the session; a comparison that names none by itself, below zero."""
    return ~comparison if session is None else session


def session_units(sessions: Iterable[int | None]) -> Integers:
    """The session of each row as a unit; one without (None) is a unit of its own, below zero."""
    told = (~place if one is None else one for place, one in enumerate(sessions))
    return np.fromiter(told, dtype=np.int64)


class InvalidPolicy(StrEnum):
    """What a verdict that could not be read counts as."""

    EXCLUDED = "EXCLUDED"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Judged:
    """One comparison: what the human said and what the judge decided in each order.

    Comparisons of one `session` are drawn together; one that names none is a session of its own.
    `shown` is what a judge that is read by l* leaned to in each order; None where that decides.
    """

    key: int
    human: Verdict
    decisions: Decisions
    session: int | None = None
    shown: Decisions | None = None


@dataclass(frozen=True, slots=True)
class JudgedColumns:
    """The same of many comparisons by column; `human` and `won` as in benchmark.core.decisions.

    `shown` is None where no judge leaned otherwise than it decided. `shares`, of shape
    (comparisons, orders, 4), are what several sets decided on average: then `won` is what the first
    of them did. None where one set decides.
    """

    key: Integers
    session: Integers
    human: Winners
    won: Winners
    shown: Winners | None = None
    shares: Floats | None = None

    @classmethod
    def of(cls, items: Iterable[Judged] | JudgedColumns) -> JudgedColumns:
        """The columns of some comparisons."""
        if isinstance(items, JudgedColumns):
            return items
        rows = list(items)
        return cls(
            key=np.array([row.key for row in rows], dtype=np.int64),
            session=session_units(row.session for row in rows),
            human=codes(row.human for row in rows),
            won=winners(row.decisions for row in rows),
            shown=None
            if all(row.shown is None for row in rows)
            else winners(row.decisions if row.shown is None else row.shown for row in rows),
        )

    @property
    def leaning(self) -> Winners:
        """What position bias and consistency are read from."""
        return self.won if self.shown is None else self.shown

    def at(self, rows: NDArray[Any]) -> JudgedColumns:
        """Some of the comparisons."""
        return JudgedColumns(
            key=self.key[rows],
            session=self.session[rows],
            human=self.human[rows],
            won=self.won[rows],
            shown=None if self.shown is None else self.shown[rows],
            shares=None if self.shares is None else self.shares[rows],
        )

    def decided(self) -> JudgedColumns:
        """Those with a decision."""
        return self.at((self.won != ABSENT).any(axis=1))

    def untied(self) -> JudgedColumns:
        """Those for which the human named a winner; nothing is scored against a tie."""
        return self.at(self.human != 0)

    def stakes(self, policy: InvalidPolicy) -> Floats:
        """For each comparison (comparisons, 2) the points earned and how many were at stake."""
        if self.shares is not None:
            return self._shared_stakes(self.shares, policy)
        read = is_read(self.won)
        earned = (self.won == self.human[:, None]) + 0.5 * (self.won == 0)
        counted = read if policy is InvalidPolicy.EXCLUDED else self.won != ABSENT
        return np.column_stack([earned.sum(axis=1), counted.sum(axis=1)])

    def _shared_stakes(self, shares: Floats, policy: InvalidPolicy) -> Floats:
        """The means over the sets: points and what was at stake."""
        place = np.select([self.human == 1, self.human == -1], [0, 1], default=2)
        named = np.take_along_axis(shares, place[:, None, None], axis=2)[..., 0]
        earned = named + 0.5 * shares[..., 2]
        kinds = shares[..., :3] if policy is InvalidPolicy.EXCLUDED else shares
        return np.column_stack([earned.sum(axis=1), kinds.sum(axis=(1, 2))])

    @property
    def unread(self) -> int:
        """Decisions that could not be read; of several sets the mean, rounded."""
        if self.shares is not None:
            return round(float(self.shares[..., 3].sum()))
        return int((self.won == UNREAD).sum())

    @property
    def asked(self) -> Floats:
        """By comparison, how many decisions there are, readable or not."""
        found: Floats = (
            (self.won != ABSENT).sum(axis=1).astype(np.float64)
            if self.shares is None
            else self.shares.sum(axis=(1, 2))
        )
        return found

    def at_stake(self, policy: InvalidPolicy) -> tuple[int, Floats]:
        """The comparisons on which anything is at stake, counted, and their stakes by session."""
        stakes = self.stakes(policy)
        scored = stakes[:, 1] > 0
        return int(scored.sum()), by_unit(self.session[scored], stakes[scored])


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Agreement of a judge with a human over `verdicts` decisions on `comparisons`.

    `value` is 0..1, None where nothing is scored; an even split scores one half. `unreadable`
    decisions are left out of `verdicts` or stand in it as wrong, by `policy`. `ties` are the
    human ties, which nothing is scored against. The comparisons are of `sessions`, the `units` of
    `interval`: it is None where they are too few, or one or a few hold most of the verdicts.
    """

    value: float | None
    interval: Interval | None
    verdicts: int
    comparisons: int
    unreadable: int
    ties: int
    policy: InvalidPolicy
    units: Units

    @property
    def sessions(self) -> int:
        """How many sessions the comparisons are of."""
        return self.units.number


@dataclass(frozen=True, slots=True)
class Gain:
    """Accuracy with preferences minus accuracy of the base judge, on the same comparisons.

    `value` is -1..1; None where no comparison is scored under both. `p` is that of `gain_p`.
    """

    value: float | None
    interval: Interval | None
    comparisons: int
    p: float | None


def accuracy(
    items: Iterable[Judged] | JudgedColumns,
    *,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
) -> Accuracy:
    """Share of the judge's decisions that name the human's winner, orders pooled."""
    rows = JudgedColumns.of(items)
    untied = rows.untied()
    comparisons, stakes = untied.at_stake(policy)
    return Accuracy(
        value=float(pooled(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=share_interval(stakes),
        verdicts=round(float(stakes[:, 1].sum())),
        comparisons=comparisons,
        unreadable=untied.unread,
        ties=len(rows.key) - len(untied.key),
        policy=policy,
        units=units_of(stakes),
    )


def under_both(rows: JudgedColumns, *, policy: InvalidPolicy) -> tuple[Accuracy, Accuracy]:
    """The accuracy under a policy for unreadable replies, and under the other one."""
    (other,) = set(InvalidPolicy) - {policy}
    return accuracy(rows, policy=policy), accuracy(rows, policy=other)


def gain(
    base: Iterable[Judged] | JudgedColumns,
    selected: Iterable[Judged] | JudgedColumns,
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
) -> Gain:
    """How much more often `selected` agrees than `base`, paired by comparison.

    A draw takes a session with both scores of its comparisons, so what makes them easy or hard for
    both judges cancels out of the interval.
    """
    before, after = (JudgedColumns.of(items).untied() for items in (base, selected))
    _keys, first, second = np.intersect1d(before.key, after.key, return_indices=True)
    stakes = np.hstack([before.at(first).stakes(policy), after.at(second).stakes(policy)])
    scored = (stakes[:, 1] > 0) & (stakes[:, 3] > 0)
    return gain_of(
        by_unit(before.session[first][scored], stakes[scored]),
        comparisons=int(scored.sum()),
        seed=seed,
        draws=draws,
    )


def gain_of(stakes: Floats, *, comparisons: int, seed: int, draws: int = DEFAULT_DRAWS) -> Gain:
    """The gain of points and what was at stake, before and then after, a row a session."""
    return Gain(
        value=float(difference(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=bootstrap_sums(stakes, difference, seed=seed, draws=draws),
        comparisons=comparisons,
        p=gain_p([stakes], seed=seed),
    )


def gain_p(groups: Sequence[Floats], *, seed: int) -> float | None:
    """The two-sided p of a gain, or of the mean of several, by sign flips over sessions.

    A session adds d = points after / all at stake after - points before / all at stake before to
    its gain: where as much is at stake both times, that is points after - points before of what
    is at stake. p is the share of signs e with |sum of e d| >= |sum of d|, the gain itself.

    Args:
        groups: of each gain the points and what was at stake, before and then after, by session.
        seed: of the signs, where they are drawn.

    Returns:
        0..1; None without a session.
    """
    told = [rows for rows in groups if len(rows)]
    parts = [_parts(rows) / len(told) for rows in told]
    return _flipped(np.sort(np.concatenate(parts)).tobytes(), seed) if told else None


def _parts(stakes: Floats) -> Floats:
    """What each session adds to a gain; equal ones are equal to the last digit."""
    before, asked_before, after, asked_after = stakes.T
    all_before, all_after = asked_before.sum(), asked_after.sum()
    parts: Floats = (after * all_before - before * all_after) / (all_before * all_after)
    return parts


@lru_cache(maxsize=8192)
def _flipped(parts: bytes, seed: int) -> float | None:
    return sign_flip_p(np.frombuffer(parts), seed=seed)


def pooled(sums: Floats) -> Floats:
    """Points earned of points at stake; every comparison has something at stake."""
    return sums[:, 0] / sums[:, 1]


def difference(sums: Floats) -> Floats:
    """What the last two columns earn over the first two, of points at stake."""
    return pooled(sums[:, 2:]) - pooled(sums)
