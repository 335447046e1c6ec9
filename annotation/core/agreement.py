"""How often raters agree, and how much of that is more than chance: the shapes all measures share.

Every measure is computed from counts: how many raters gave an item each value. Items with the same
counts are alike, so a table of tens of thousands of labels shrinks to a few dozen patterns, and a
bootstrap draw is a row of integers, how often each pattern was drawn. One definition, a statistic
of weighted patterns, gives the value and its interval. What is drawn are sessions, for items of one
share texts.

An undefined figure is a stated reason, never a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import LabelledEnum
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    FloatArray,
    Interval,
    Statistic,
    Units,
    clustered_wilson,
    percentile_interval,
)
from annotation.core.refusals import gettext_noop

IntArray = NDArray[np.int64]

_CHUNK_CELLS: Final = 1_000_000


class Measure(LabelledEnum):
    """What is measured; the kappas are of two raters, the others of any number."""

    PERCENT = "PERCENT", gettext_noop("Percent agreement")
    KAPPA = "KAPPA", gettext_noop("Cohen’s kappa")
    KAPPA_LINEAR = "KAPPA_LINEAR", gettext_noop("Cohen’s kappa, linear weights")
    KAPPA_QUADRATIC = "KAPPA_QUADRATIC", gettext_noop("Cohen’s kappa, quadratic weights")
    FLEISS = "FLEISS", gettext_noop("Fleiss’ kappa")
    ALPHA_NOMINAL = "ALPHA_NOMINAL", gettext_noop("Krippendorff’s alpha, nominal")
    ALPHA_ORDINAL = "ALPHA_ORDINAL", gettext_noop("Krippendorff’s alpha, ordinal")
    ALPHA_INTERVAL = "ALPHA_INTERVAL", gettext_noop("Krippendorff’s alpha, interval")
    AC1 = "AC1", gettext_noop("Gwet’s AC1")
    AC2_LINEAR = "AC2_LINEAR", gettext_noop("Gwet’s AC2, linear weights")
    AC2_QUADRATIC = "AC2_QUADRATIC", gettext_noop("Gwet’s AC2, quadratic weights")
    AC2_ORDINAL = "AC2_ORDINAL", gettext_noop("Gwet’s AC2, ordinal weights")


class UndefinedAgreement(LabelledEnum):
    """Why a measure has no value."""

    NO_ITEMS = "NO_ITEMS", gettext_noop("no items with two answers")
    ONE_CATEGORY = "ONE_CATEGORY", gettext_noop("all answers are the same")


class Weighting(StrEnum):
    """How near two different values are taken to be."""

    IDENTITY = "IDENTITY"
    LINEAR = "LINEAR"
    QUADRATIC = "QUADRATIC"
    ORDINAL = "ORDINAL"


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A measure with what it rests on; exactly one of `value` and `undefined` is set.

    Attributes:
        measure: What it is.
        value: The figure; a share in 0..1 for PERCENT, at most 1 for the others.
        undefined: Why there is none.
        items: Items with two answers or more: those that can agree or disagree.
        answers: Answers on these items.
        interval: Bootstrap over sessions, of PERCENT Wilson's with sessions as units; None for too
            few, and where too many draws leave the measure undefined or all give the same.
        units: The sessions that hold such items, by how many each holds.
    """

    measure: Measure
    value: float | None
    undefined: UndefinedAgreement | None
    items: int
    answers: int
    interval: Interval | None
    units: Units

    @property
    def sessions(self) -> int:
        """How many sessions hold such items."""
        return self.units.number


@dataclass(frozen=True, slots=True, eq=False)
class SessionKinds:
    """Sessions by how many items of each kind they hold, alike ones together.

    Attributes:
        counts: (different sessions, kinds).
        times: (different sessions,); how many there are of each.
    """

    counts: IntArray
    times: IntArray

    @classmethod
    def of(cls, kinds: IntArray, sessions: IntArray, *, number: int) -> SessionKinds:
        """The sessions of some items.

        Args:
            kinds: (items,), 0 to `number` - 1.
            sessions: (items,), the session of each.
            number: Of kinds.
        """
        known, place = np.unique(sessions, return_inverse=True)
        if len(known) == len(kinds):
            return cls.alone(np.bincount(kinds, minlength=number).astype(np.int64))
        cells = np.bincount(place * number + kinds, minlength=len(known) * number)
        held = cells.astype(np.int64).reshape(-1, number)
        # The first kind first, so that the same items of sessions of their own are drawn alike.
        ordered = held[np.lexsort(-held.T[::-1])]
        starts = np.flatnonzero(np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1)))
        return cls(ordered[starts], np.diff(starts, append=len(held)).astype(np.int64))

    @classmethod
    def alone(cls, items: IntArray) -> SessionKinds:
        """So many items of each kind, each of a session of its own."""
        return cls(np.eye(len(items), dtype=np.int64), items)

    @property
    def items(self) -> IntArray:
        """(kinds,); how many items there are of each kind."""
        total: IntArray = self.times @ self.counts
        return total

    def holding(self, kinds: NDArray[np.bool_]) -> Units:
        """The sessions that hold an item of some kinds, by how many each holds."""
        return Units.of(self.counts[:, kinds].sum(axis=1).astype(np.float64), self.times)


@dataclass(frozen=True, slots=True, eq=False)
class AnswerCounts:
    """Rated items, alike ones together.

    Attributes:
        patterns: (patterns, categories); how often an item was given each value, at least once in
            all. The categories are the whole scale, also those that nobody used: the chance that
            AC1 allows for depends on their number.
        sessions: The rated items, their patterns being the kinds.
    """

    patterns: IntArray
    sessions: SessionKinds

    @property
    def items(self) -> IntArray:
        """(patterns,); how many items have these counts."""
        return self.sessions.items

    @property
    def ratings(self) -> IntArray:
        """(patterns,); answers on an item of each pattern."""
        totals: IntArray = self.patterns.sum(axis=1)
        return totals

    @property
    def pairable(self) -> NDArray[np.bool_]:
        """(patterns,); whether an item of each pattern has two answers or more."""
        enough: NDArray[np.bool_] = self.ratings >= 2
        return enough


def answer_counts(counts: IntArray, sessions: IntArray | None = None) -> AnswerCounts:
    """Items by what they were given.

    Args:
        counts: (items, categories), how many raters gave each value; rows of zeros are left out.
        sessions: (items,), the session of each; None where each is of its own.

    Raises:
        ValueError: a scale of fewer than two values, or a negative count.
    """
    if counts.ndim != 2 or counts.shape[1] < 2:
        raise ValueError("agreement needs a scale of at least two values")
    if counts.size and counts.min() < 0:
        raise ValueError("a count is negative")
    rated = counts.sum(axis=1) > 0
    patterns, kinds, items = np.unique(
        counts[rated], axis=0, return_inverse=True, return_counts=True
    )
    held = (
        SessionKinds.alone(items.astype(np.int64))
        if sessions is None
        else SessionKinds.of(kinds, sessions[rated], number=len(patterns))
    )
    return AnswerCounts(patterns.astype(np.int64), held)


def weight_matrix(weighting: Weighting, categories: int) -> FloatArray:
    """Agreement weights between values: (categories, categories), 1 on the diagonal, 0..1 off it.

    Linear and quadratic weights fall with the distance of the values and its square; Gwet's
    ordinal weights with the number of pairs among the values from one to the other.
    """
    place = np.arange(categories, dtype=np.float64)
    distance = np.abs(place[:, None] - place[None, :])
    match weighting:
        case Weighting.IDENTITY:
            penalty = (distance > 0).astype(np.float64)
        case Weighting.LINEAR:
            penalty = distance / (categories - 1)
        case Weighting.QUADRATIC:
            penalty = (distance / (categories - 1)) ** 2
        case _:
            penalty = distance * (distance + 1) / (categories * (categories - 1))
    weights: FloatArray = 1 - penalty
    return weights


def estimate(
    statistics: Sequence[Statistic],
    held: SessionKinds,
    *,
    units: Units,
    seed: int,
    draws: int = DEFAULT_DRAWS,
) -> list[tuple[float, Interval | None]]:
    """Each statistic's value on the items as they are, and its interval over resampled sessions.

    Drawing n sessions with replacement is one multinomial draw over those that differ. All
    statistics see the same draws.

    Args:
        statistics: Of weights (draws, kinds); nan where undefined.
        held: The sessions.
        units: Those of them that say anything of the statistics.
        seed: The same seed gives the same intervals.
        draws: Number of resamples.

    Returns:
        A value (nan where undefined) and an interval for each statistic; None where no draw moves
        the value, for then too few items differ to say how sure it is.
    """
    total = int(held.times.sum())
    if total == 0:
        return [(float("nan"), None) for _ in statistics]
    whole = held.items[None, :].astype(np.float64)
    values = [float(statistic(whole)[0]) for statistic in statistics]
    if units.few:
        return [(value, None) for value in values]
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK_CELLS // max(held.counts.shape))
    table = held.counts.astype(np.float64)
    drawn: list[list[FloatArray]] = [[] for _ in statistics]
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        sessions = rng.multinomial(total, held.times / total, size=size).astype(np.float64)
        weights = sessions @ table
        for found, statistic in zip(drawn, statistics, strict=True):
            found.append(statistic(weights))
    intervals = [percentile_interval(np.concatenate(found), units=units) for found in drawn]
    return [
        (value, None if interval is None or interval.low == interval.high else interval)
        for value, interval in zip(values, intervals, strict=True)
    ]


def share_interval(
    held: SessionKinds, hits: FloatArray, counted: FloatArray | NDArray[np.bool_]
) -> Interval | None:
    """Wilson's of a share of items, with the sessions that hold counted items as units.

    Args:
        held: The sessions.
        hits: (kinds,), how much an item of each kind adds to the share, 0 to 1.
        counted: (kinds,), whether it is one of those that the share is of.
    """
    table = held.counts.astype(np.float64)
    trials = table @ counted
    told = trials > 0
    return clustered_wilson((table @ hits)[told], trials[told], times=held.times[told])


def weighted(weights: FloatArray, table: FloatArray) -> FloatArray:
    """`weights @ table` for a table of few columns: (draws, kinds) and (kinds, n) to (draws, n).

    A product a column: for a matrix product of this size the threads of BLAS mostly wait for one
    another, which is 13 times slower on two busy cores.
    """
    return np.stack([weights @ column for column in np.ascontiguousarray(table.T)], axis=1)


def quotient(above: FloatArray, below: FloatArray) -> FloatArray:
    """Elementwise `above / below`, nan where `below` is 0."""
    result: FloatArray = np.divide(
        above, below, out=np.full(np.shape(below), np.nan), where=below != 0
    )
    return result


def coefficient(
    measure: Measure,
    found: tuple[float, Interval | None],
    *,
    items: int,
    answers: int,
    units: Units,
) -> Coefficient:
    """A measured value as a coefficient; nan becomes the reason for it."""
    value, interval = found
    why = None
    if items == 0:
        why = UndefinedAgreement.NO_ITEMS
    elif np.isnan(value):
        why = UndefinedAgreement.ONE_CATEGORY
    if why is not None:
        return Coefficient(measure, None, why, items, answers, None, units)
    return Coefficient(measure, value, None, items, answers, interval, units)


_WEIGHTINGS: Final = {
    Measure.KAPPA: Weighting.IDENTITY,
    Measure.KAPPA_LINEAR: Weighting.LINEAR,
    Measure.KAPPA_QUADRATIC: Weighting.QUADRATIC,
}


def cross_table(first: IntArray, second: IntArray, *, categories: int) -> IntArray:
    """How often each pair of values was given: (categories, categories), the first rater's rows.

    Args:
        first: (items,), values 0..categories-1, negative where the rater has not rated the item.
        second: The same of the other rater.
        categories: Length of the scale.
    """
    both = (first >= 0) & (second >= 0)
    cells = np.bincount(first[both] * categories + second[both], minlength=categories**2)
    return cells.astype(np.int64).reshape(categories, categories)


def pair_coefficients(
    measures: Sequence[Measure],
    cells: IntArray,
    *,
    seed: int,
    held: SessionKinds | None = None,
    draws: int = DEFAULT_DRAWS,
) -> tuple[Coefficient, ...]:
    """The measures of one pair of raters, in the order asked for: PERCENT or the kappas.

    Args:
        measures: What to compute.
        cells: A `cross_table`.
        seed: Of the bootstrap over sessions.
        held: The sessions, their kinds the cells; None where each item is of its own.
        draws: Number of resamples.

    Raises:
        KeyError: Another measure.
    """
    statistics = [
        _share(len(cells))
        if measure is Measure.PERCENT
        else _kappa(_WEIGHTINGS[measure], len(cells))
        for measure in measures
    ]
    items = int(cells.sum())
    held = SessionKinds.alone(cells.ravel()) if held is None else held
    units = held.holding(np.ones(held.counts.shape[1], dtype=np.bool_))
    found = estimate(statistics, held, units=units, seed=seed, draws=draws)
    same = np.eye(len(cells)).ravel()
    percent = share_interval(held, same, np.ones_like(same))
    return tuple(
        coefficient(
            measure,
            (value, percent if measure is Measure.PERCENT else interval),
            items=items,
            answers=2 * items,
            units=units,
        )
        for measure, (value, interval) in zip(measures, found, strict=True)
    )


def _share(categories: int) -> Statistic:
    same = np.eye(categories).ravel()

    def share(weights: FloatArray) -> FloatArray:
        return quotient(weights @ same, weights.sum(axis=1))

    return share


def _kappa(weighting: Weighting, categories: int) -> Statistic:
    """1 - observed / expected weighted disagreement (Cohen 1960, 1968).

    `expected` is that of two independent raters with these two distributions. In whole numbers it
    is exactly 0 where both used one and the same value, and only there.
    """
    apart = 1 - weight_matrix(weighting, categories)

    def kappa(weights: FloatArray) -> FloatArray:
        cells = weights.reshape(-1, categories, categories)
        first, second = cells.sum(axis=2), cells.sum(axis=1)
        observed = (cells * apart).sum(axis=(1, 2))
        expected = (first[:, :, None] * second[:, None, :] * apart).sum(axis=(1, 2))
        return 1 - quotient(observed * weights.sum(axis=1), expected)

    return kappa
