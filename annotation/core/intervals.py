"""Intervals beside every figure: Wilson for a share, the percentile bootstrap for the rest.

A bootstrap draw is a row of integer weights, how often each unit was drawn, so a statistic that
is written for weights is evaluated for many draws at once. Units of one cluster (a user, a
comparison with its two orders) are drawn together.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
"""Weights (draws, units) to one value a draw (draws,); nan where a draw leaves it undefined."""

DEFAULT_DRAWS: Final = 1_000
DEFAULT_LEVEL: Final = 0.95
MIN_UNITS: Final = 10
"""Of sessions, or users, for an interval. Percentiles of a bootstrap over fewer cover what is true
far too seldom: it knows of no others than these, and over a single one every draw is the same."""
_CHUNK_CELLS: Final = 2_000_000


def missing_units(units: int) -> int:
    """How many units more would give an interval; 0 where there are enough."""
    return max(0, MIN_UNITS - units)


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval and how it was made.

    `draws` is the number of bootstrap draws on which the statistic was defined, 0 for a formula.
    """

    low: float
    high: float
    level: float = DEFAULT_LEVEL
    draws: int = 0


def wilson(successes: float, trials: float, *, level: float = DEFAULT_LEVEL) -> Interval | None:
    """Wilson's score interval for a share; None without trials.

    Args:
        successes: 0 to `trials`; a tie may count one half.
        trials: number of independent trials.
        level: coverage, between 0 and 1.

    Raises:
        ValueError: `successes` lies outside 0 to `trials`.
    """
    if trials == 0:
        return None
    if not 0 <= successes <= trials:
        raise ValueError(f"{successes} successes in {trials} trials")
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = successes / trials
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return Interval(low, high, level)


def bootstrap(
    statistic: Statistic,
    *,
    units: int,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
    least: int = 1,
) -> Interval | None:
    """Percentile bootstrap of a weighted statistic; None where hardly any draw defines it.

    Args:
        statistic: see `Statistic`; called with chunks of draws.
        units: number of units, the second axis of the weights.
        seed: the same seed gives the same interval.
        clusters: one key a unit; units with equal keys are drawn together. Order and spelling
            of the keys do not matter, the order in which clusters first appear does.
        draws: number of resamples.
        level: coverage, between 0 and 1.
        least: how many clusters there must be, such as MIN_UNITS.

    Returns:
        The interval over the draws in which the statistic is defined, or None if there are no
        units, fewer clusters than `least`, or fewer than half of the draws define it.

    Raises:
        ValueError: `clusters` is not as long as `units`.
    """
    if units == 0 or cluster_index(clusters, units=units)[1] < least:
        return None
    values = bootstrap_values(statistic, units=units, seed=seed, clusters=clusters, draws=draws)
    return percentile_interval(values, level=level)


def bootstrap_values(
    statistic: Statistic,
    *,
    units: int,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DEFAULT_DRAWS,
) -> FloatArray:
    """The statistic of each draw, nan where it is undefined; arguments as for `bootstrap`.

    Raises:
        ValueError: `clusters` is not as long as `units`.
    """
    index, groups = cluster_index(clusters, units=units)
    rng = np.random.default_rng(seed)
    chunk = max(1, _CHUNK_CELLS // units)
    shares = np.full(groups, 1.0 / groups)
    values: list[FloatArray] = []
    for start in range(0, draws, chunk):
        size = min(chunk, draws - start)
        counts = rng.multinomial(groups, shares, size=size).astype(np.float64)
        values.append(statistic(counts[:, index]))
    return np.concatenate(values)


def bootstrap_mean(
    values: Sequence[float],
    *,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> Interval | None:
    """Percentile bootstrap of a mean, optionally clustered; None without values."""
    data = np.asarray(values, dtype=np.float64)

    def mean(weights: FloatArray) -> FloatArray:
        means: FloatArray = (weights @ data) / weights.sum(axis=1)
        return means

    return bootstrap(mean, units=len(data), seed=seed, clusters=clusters, draws=draws, level=level)


def percentile_interval(values: FloatArray, *, level: float = DEFAULT_LEVEL) -> Interval | None:
    """The central part of the defined values; None where fewer than half are defined."""
    defined = values[~np.isnan(values)]
    if len(defined) == 0 or 2 * len(defined) < len(values):
        return None
    low, high = np.quantile(defined, [(1 - level) / 2, (1 + level) / 2])
    return Interval(float(low), float(high), level, len(defined))


def ends(interval: Interval | None, name: str = "") -> dict[str, float | None]:
    """The two ends as cells of a row, `low` and `high` after a name; None without an interval."""
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return {f"{name}low": low, f"{name}high": high}


def cluster_index(
    clusters: Sequence[Hashable] | None, *, units: int
) -> tuple[NDArray[np.intp], int]:
    """For each unit the number of its cluster, in order of first appearance, and their count.

    Raises:
        ValueError: `clusters` is not as long as `units`.
    """
    if clusters is None:
        return np.arange(units, dtype=np.intp), units
    if len(clusters) != units:
        raise ValueError(f"{len(clusters)} cluster keys for {units} units")
    numbers: dict[Hashable, int] = {}
    index = np.array([numbers.setdefault(key, len(numbers)) for key in clusters], dtype=np.intp)
    return index, len(numbers)


_FLAT: Final = 1e-12


def correlation(first: FloatArray, second: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted Pearson of two columns, columns (units,) or (draws, units)."""
    total = weights.sum(axis=1, keepdims=True)
    first = first - (weights * first).sum(axis=1, keepdims=True) / total
    second = second - (weights * second).sum(axis=1, keepdims=True) / total
    shared = (weights * first * second).sum(axis=1)
    spread_first = (weights * first * first).sum(axis=1)
    spread_second = (weights * second * second).sum(axis=1)
    flat = (spread_first <= _FLAT * total[:, 0]) | (spread_second <= _FLAT * total[:, 0])
    result = ratio(shared, np.where(flat, 0.0, np.sqrt(spread_first * spread_second)))
    return np.clip(result, -1.0, 1.0)


def rank_correlation(first: FloatArray, second: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted Spearman: Pearson of average ranks."""
    return correlation(ranks(first, weights), ranks(second, weights), weights)


def ranks(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Average ranks (draws, units) of units repeated `weights` times; ties share theirs."""
    _, level = np.unique(values, return_inverse=True)
    order = np.argsort(level, kind="stable")
    sizes = np.bincount(level)
    starts = np.concatenate(([0], np.cumsum(sizes)[:-1]))
    per_level = np.add.reduceat(weights[:, order], starts, axis=1)
    below = np.cumsum(per_level, axis=1) - per_level
    return (below + (per_level + 1) / 2)[:, level]


def quadratic_kappa(
    first: NDArray[np.intp], second: NDArray[np.intp], weights: FloatArray, *, levels: int
) -> FloatArray:
    """1 - sum w O / sum w E over the table of two columns of 0..levels-1, w = (a - b)^2."""
    total = weights.sum(axis=1)
    observed = weights @ ((first - second) ** 2)
    rows, columns = (weights @ np.eye(levels)[column] for column in (first, second))
    steps = np.arange(levels)
    penalty = ((steps[:, None] - steps[None, :]) ** 2).astype(np.float64)
    expected = np.einsum("da,ab,db->d", rows, penalty, columns) / total
    return ratio(expected - observed, expected)


def mean(values: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted mean of a column."""
    means: FloatArray = (weights @ values) / weights.sum(axis=1)
    return means


def centred(column: FloatArray, groups: NDArray[np.intp]) -> FloatArray:
    """A column less the mean of each unit's group, rounded so that equal differences stay ties."""
    means = np.bincount(groups, weights=column) / np.maximum(np.bincount(groups), 1)
    rounded: FloatArray = np.round(column - means[groups], 12) + 0.0
    return rounded


def f1(gold: NDArray[np.bool_], predicted: NDArray[np.bool_], weights: FloatArray) -> FloatArray:
    """F1 of a class: 2 hits / (gold + predicted)."""
    hits = weights @ (gold & predicted).astype(np.float64)
    named = weights @ gold.astype(np.float64) + weights @ predicted.astype(np.float64)
    return ratio(2 * hits, named)


def rate(event: NDArray[np.bool_], among: NDArray[np.bool_], weights: FloatArray) -> FloatArray:
    """Share of `among` in which `event` holds."""
    hits = weights @ (event & among).astype(np.float64)
    return ratio(hits, weights @ among.astype(np.float64))


def ratio(top: FloatArray, bottom: FloatArray) -> FloatArray:
    """Return top / bottom, nan where bottom is 0."""
    result = np.full(len(top), np.nan)
    np.divide(top, bottom, out=result, where=bottom != 0)
    return result
