"""Intervals beside every figure: Wilson for a share, the percentile bootstrap for the rest.

Both know few units, and units of unequal size, for what they are: `Units`. Wilson's counts as many
independent trials as the units' variance comes to, and takes Student's quantile; the bootstrap's
percentiles lie further out than 2.5 %, by as much as it underestimates the spread of few units.
Coverage of both, simulated: `bench coverage`, docs/methods.md.

A bootstrap draw is a row of integer weights, how often each unit was drawn, so a statistic that
is written for weights is evaluated for many draws at once. Units of one cluster (a user, a
comparison with its two orders) are drawn together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import NormalDist
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Statistic = Callable[[FloatArray], FloatArray]
"""Weights (draws, units) to one value a draw (draws,); nan where a draw leaves it undefined."""

DEFAULT_DRAWS: Final = 1_000
DEFAULT_LEVEL: Final = 0.95
MIN_UNITS: Final = 10
"""Of sessions or users, for an interval. Over fewer it covers what is true far too seldom: it knows
of no other units than these, and over a single one every draw is the same."""
MIN_EFFECTIVE_UNITS: Final = 6
"""Fewest effective units for an interval: below, one unit holds most of what is counted."""
_HALF: Final = 0.5
MOST_UNDEFINED: Final = 0.025
"""Share of draws that may leave a statistic undefined. Where more do, an end of the interval could
lie among them: no percentile of the others says where."""
_CHUNK_CELLS: Final = 2_000_000


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval and how it was made.

    `draws` is the number of bootstrap draws on which the statistic was defined, 0 for a formula.
    """

    low: float
    high: float
    level: float = DEFAULT_LEVEL
    draws: int = 0


def effective_units(totals: FloatArray, times: NDArray[np.int64] | None = None) -> float:
    """Returns the effective number of units, (sum t)^2 / sum t^2 (Kish 1965).

    It equals the number of units that hold something if all of those hold the same, and nears 1 if
    one unit holds nearly all.

    Args:
        totals: (units,), what each unit holds, at least 0 and not all 0.
        times: (units,), how many units there are like each; one where None.
    """
    alike = np.ones(len(totals)) if times is None else times
    return float((alike @ totals) ** 2 / (alike @ totals**2))


def missing_units(units: int, effective: float | None = None) -> int:
    """How many units more an interval needs, of the median size; 0 where there are enough.

    Args:
        units: those that there are.
        effective: their effective number; as many as there are where None.
    """
    few = max(0, MIN_UNITS - units)
    if not effective:
        return few
    return max(few, ceil(units * (MIN_EFFECTIVE_UNITS / effective - 1)))


class Units(NamedTuple):
    """The independent units (sessions, users) of a figure, and as how many equal ones they count.

    Where one holds half of the rows, a hundred count as fewer than four. `largest` is the share of
    the rows that the largest holds, 0 where it is not known.
    """

    number: int
    effective: float
    largest: float = 0.0

    @classmethod
    def of(cls, totals: FloatArray, times: NDArray[np.int64] | None = None) -> Units:
        """Units by what each holds; those that hold nothing are not counted.

        Args:
            totals: (units,), at least 0.
            times: (units,), how many units there are like each; one where None.
        """
        alike = np.ones(len(totals), dtype=np.int64) if times is None else times
        number = int(alike[totals > 0].sum())
        if not number:
            return cls(0, 0.0)
        return cls(number, effective_units(totals, times), float(totals.max() / (alike @ totals)))

    @classmethod
    def of_rows(cls, keys: Iterable[Hashable]) -> Units:
        """The units of some rows, from the key of each row's unit."""
        return cls.of(np.array([*Counter(keys).values()], dtype=np.float64))

    @classmethod
    def alike(cls, number: int) -> Units:
        """So many units of one size."""
        return cls(number, float(number))

    @classmethod
    def of_strata(cls, groups: Iterable[Units]) -> Units:
        """Several groups that are each drawn by themselves, together.

        Each costs a degree of freedom: its own mean.
        """
        known = list(groups)
        spare = len(known) - 1
        return cls(
            sum(each.number for each in known) - spare,
            sum(each.effective for each in known) - spare,
        )

    @property
    def missing(self) -> int:
        """How many more an interval needs, of the median size; 0 where there are enough."""
        return missing_units(self.number, self.effective)

    @property
    def few(self) -> bool:
        """Whether they are too few for an interval."""
        return self.number < MIN_UNITS or self.effective < MIN_EFFECTIVE_UNITS

    @property
    def uneven(self) -> bool:
        """Whether they are enough in number, but one or a few hold most of the rows."""
        return self.number >= MIN_UNITS and self.few

    @property
    def one_holds_most(self) -> bool:
        """Whether they are uneven because one holds more than half of the rows."""
        return self.uneven and self.largest > _HALF


def student_quantile(freedom: float, level: float = DEFAULT_LEVEL) -> float:
    """How many standard errors either way hold `level` of Student's t.

    Fisher's expansion about the normal quantile (Abramowitz and Stegun, 26.7.5): within .0005 from
    five degrees of freedom on, whole or not, without the seconds that scipy.stats takes to import.
    """
    return student_of_normal(NormalDist().inv_cdf((1 + level) / 2), freedom)


def student_of_normal(z: float, freedom: float) -> float:
    """The quantile of Student's t beyond which lies as much as beyond z of the normal."""
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        (79 * z**9 + 776 * z**7 + 1482 * z**5 - 1920 * z**3 - 945 * z) / 92160,
    )
    return z + sum(term / freedom**power for power, term in enumerate(terms, start=1))


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
    return Interval(*_wilson(successes / trials, trials, z), level)


def independent_share(hits: float, trials: int) -> Interval | None:
    """Wilson's interval of a share of trials that are units of their own; None below MIN_UNITS."""
    return wilson(hits, trials) if trials >= MIN_UNITS else None


def _wilson(share: float, trials: float, quantile: float) -> tuple[float, float]:
    z = quantile
    scale = 1 + z * z / trials
    centre = (share + z * z / (2 * trials)) / scale
    half = z * sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials)) / scale
    low = 0.0 if share == 0 else max(0.0, centre - half)
    high = 1.0 if share == 1 else min(1.0, centre + half)
    return low, high


def clustered_wilson(
    hits: FloatArray,
    trials: FloatArray,
    *,
    times: NDArray[np.int64] | None = None,
    level: float = DEFAULT_LEVEL,
) -> Interval | None:
    """Wilson's interval of sum(hits) / sum(trials) whose trials come in independent units.

    With p the share, r = hits - p trials and T = sum trials, V = sum r^2 / (1 - trials / T) / T^2
    is its variance by units: a unit pulls p towards itself by as much as it holds of all, which
    makes its residual too small (CR2, Bell and McCaffrey 2002). The number of independent trials
    that would vary as much is p (1 - p) / V, and no more than T; Student's quantile, of one degree
    of freedom less than there are effective units, stands for the normal one (Korn and Graubard
    1998; Franco, Little, Louis and Slud 2019). Where units are equally large and each is all hits
    or none, it is Wilson's own, a unit a trial.

    Args:
        hits: (units,), from 0 to `trials`.
        trials: (units,), above 0.
        times: (units,), how many units there are like each; one where None.
        level: coverage, between 0 and 1.

    Returns:
        None where the units are too few.
    """
    units = Units.of(trials, times)
    if units.few:
        return None
    alike = np.ones(len(trials), dtype=np.int64) if times is None else times
    total, won = float(alike @ trials), float(alike @ hits)
    share = won / total
    if ((trials == trials[0]) & ((hits == 0) | (hits == trials))).all():
        return wilson(share * units.number, units.number, level=level)
    spread = float(alike @ ((hits - share * trials) ** 2 / (1 - trials / total))) / total**2
    return wilson_of_spread(share, spread, units=units, trials=total, level=level)


def wilson_of_spread(
    share: float, spread: float, *, units: Units, trials: float, level: float = DEFAULT_LEVEL
) -> Interval:
    """Wilson's interval of a share whose variance by units is known, as for `clustered_wilson`.

    Where all are hits, or none, the variance says nothing: as many trials as effective units.

    Args:
        share: 0 to 1.
        spread: its variance, as the units give it.
        units: not too few.
        trials: above 0, the most independent trials that it may count as.
        level: coverage, between 0 and 1.
    """
    quantile = student_quantile(units.effective - 1, level)
    if share in {0.0, 1.0}:
        return Interval(*_wilson(share, units.effective, quantile), level)
    most = share * (1 - share)
    return Interval(*_wilson(share, most / max(spread, most / trials), quantile), level)


def bootstrap(
    statistic: Statistic,
    *,
    units: int,
    seed: int,
    clusters: Sequence[Hashable] | None = None,
    draws: int = DEFAULT_DRAWS,
    level: float = DEFAULT_LEVEL,
) -> Interval | None:
    """Percentile bootstrap of a weighted statistic; None where too few units or draws define it.

    Args:
        statistic: see `Statistic`; called with chunks of draws.
        units: number of units, the second axis of the weights.
        seed: the same seed gives the same interval.
        clusters: one key a unit; units with equal keys are drawn together. Order and spelling
            of the keys do not matter, the order in which clusters first appear does.
        draws: number of resamples.
        level: coverage, between 0 and 1.

    Returns:
        As `percentile_interval` with the clusters as its units, each as large as it has units.

    Raises:
        ValueError: `clusters` is not as long as `units`.
    """
    index, _count = cluster_index(clusters, units=units)
    drawn = Units.of_rows(index.tolist())
    if drawn.few:
        return None
    values = bootstrap_values(statistic, units=units, seed=seed, clusters=clusters, draws=draws)
    return percentile_interval(values, units=drawn, level=level)


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
    """Percentile bootstrap of a mean, optionally clustered; None as for `bootstrap`."""
    data = np.asarray(values, dtype=np.float64)

    def mean(weights: FloatArray) -> FloatArray:
        means: FloatArray = (weights @ data) / weights.sum(axis=1)
        return means

    return bootstrap(mean, units=len(data), seed=seed, clusters=clusters, draws=draws, level=level)


def percentile_interval(
    values: FloatArray, *, units: Units, level: float = DEFAULT_LEVEL
) -> Interval | None:
    """The expanded percentile interval of a bootstrap over such independent units.

    Returns:
        The `tails` of the draws that define the statistic; None where the units are too few, and
        where more than MOST_UNDEFINED of the draws leave it undefined (nan).
    """
    defined = values[~np.isnan(values)]
    if units.few or len(defined) < (1 - MOST_UNDEFINED) * len(values) or not len(defined):
        return None
    low, high = np.quantile(defined, tails(units.effective, level))
    return Interval(float(low), float(high), level, len(defined))


def tails(units: float, level: float = DEFAULT_LEVEL) -> tuple[float, float]:
    """The shares of bootstrap draws at which an interval over so many effective units ends.

    A bootstrap over n units has (n - 1) / n of the variance and normal instead of Student's tails:
    Phi(-sqrt(n / (n - 1)) t) instead of 2.5 % undoes both (Hesterberg 2015, What teachers should
    know about the bootstrap, 5.2), .9 % with ten units, 2.3 % with a hundred.
    """
    far = sqrt(units / (units - 1)) * student_quantile(units - 1, level)
    low = NormalDist().cdf(-far)
    return low, 1 - low


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
    # Sums as products of matrices: a tenth of the time of centring a column anew in each draw.
    total = weights.sum(axis=1)
    first, second = first - first.mean(), second - second.mean()  # what is near 0 keeps its digits
    mean_first, mean_second, shared = (
        _sums(each, weights) / total for each in (first, second, first * second)
    )
    spread_first, spread_second = (
        _spread(each, center, weights, total)
        for each, center in ((first, mean_first), (second, mean_second))
    )
    spread = np.sqrt(spread_first * spread_second)
    return np.clip(ratio(shared - mean_first * mean_second, spread), -1.0, 1.0)


def _spread(
    column: FloatArray, center: FloatArray, weights: FloatArray, total: FloatArray
) -> FloatArray:
    """The variance of a column in each draw, 0 where what is left of its squares is rounding."""
    squares = _sums(column * column, weights) / total
    found: FloatArray = squares - center**2
    return np.where(found <= _FLAT * np.maximum(squares, 1.0), 0.0, found)


def _sums(column: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted sums of a column, one for each draw, whether it is the same for all or not."""
    if column.ndim == 1:
        sums: FloatArray = weights @ column
        return sums
    each_draw: FloatArray = np.einsum("du,du->d", weights, column)
    return each_draw


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
