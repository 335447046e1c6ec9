"""How sure the order of models is: joint rank sets, and who is above whom, by bootstrap draws.

A rank set counts the models that are surely ahead, and those surely behind, by simultaneous
intervals of all differences: the ranks of all models lie in their sets at once in 95 of 100
samples. Percentiles of the ranks in bootstrap draws do not: a draw scatters about the fit, and the
fit of equal models is already in some order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import DEFAULT_LEVEL, Units, student_of_normal, tails

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

SCALE: Final = float(400 / np.log(10))
"""Rating points per unit of natural log-odds: 400 points are odds of ten to one."""

SAME: Final = 1e-6
"""Ratings closer than this many points share a rank."""
_MIDDLE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Sample:
    """Bootstrap draws x rated models: between what each rating lies, which is one number mostly.

    A model that never loses to those whom a draw can rate has inf there, one that never wins -inf.
    If a draw says nothing of a model, `lowest` is -inf and `highest` inf. `bounded` draws have
    finite ratings alone. `points` are finite: in a draw that is not bounded they are ratings under
    the weak prior of adaptive pairing, and nan if it says nothing of a model. `games` counts the
    comparisons of each two models, if ratings are log-odds of winning. `models` names the columns,
    if anything needs the names.
    """

    lowest: Floats
    highest: Floats
    points: Floats
    bounded: int
    units: Units
    games: Floats | None = None
    models: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        parts: Sequence[tuple[Floats, Floats, Floats]],
        bounded: int,
        units: Units,
        games: Floats,
    ) -> Sample:
        """Returns the draws of all parts, of which each has `lowest`, `highest` and `points`."""
        lowest, highest, points = (np.concatenate(each) for each in zip(*parts, strict=True))
        return cls(lowest, highest, points, bounded, units, games)

    def end(self, place: int, *, upper: bool) -> float | None:
        """Returns an end of the 95 % interval of one rating; None if it has none on that side."""
        low, high = tails(self.units.effective)
        drawn, tail = (self.highest, high) if upper else (self.lowest, low)
        return percentile_end(drawn[:, place], tail)


def percentile_end(drawn: Floats, tail: float) -> float | None:
    """The percentile of draws at which an interval ends; None where it lies among infinite ones."""
    with np.errstate(invalid="ignore"):  # between a number and infinity
        value = float(np.quantile(drawn, tail))
    if not np.isfinite(value):
        value = float(np.quantile(drawn, tail, method="higher" if tail < _MIDDLE else "lower"))
    return value if np.isfinite(value) else None


def surely_ahead(
    fitted: Floats,
    sample: Sample,
    *,
    has_enough: Callable[[int], bool] = lambda _place: False,
    level: float = DEFAULT_LEVEL,
) -> Bools:
    """Returns which models are surely ahead of which, all at once, (models, models).

    The simultaneous intervals of all differences are the differences +- c standard errors, c being
    the quantile over draws of the largest |difference of the draw - difference| / standard error
    (Mogstad, Romano, Shaikh and Wilhelm 2024, Inference for ranks), and of few sessions Student's
    quantile of the same tail. The standard error is that of the draw: the root mean square of all
    errors, times as much as ratings like those of the draw are less certain than the fit, since
    errors far out, where a model hardly loses, are large by nature.

    A difference that is the same in all draws, as of a model that won every comparison, is sure if
    both models have enough sessions. Two models are not ahead of one another if more draws than the
    quantile leaves out say nothing of their difference; in other differences such a draw is as far
    off as can be.

    Args:
        fitted: ratings, (models,).
        sample: draws of them, at least one.
        has_enough: whether the sessions with a model, by its place, suffice for an interval.
        level: with which all intervals hold.
    """
    points, draws = sample.points, len(sample.points)
    gaps = fitted[:, None] - fitted[None, :]
    known = (~np.isnan(points)).astype(np.float64)
    is_told = known.T @ known >= level * draws
    variances = _variances(np.vstack([fitted, points]), sample.games)
    errors_of = np.full(gaps.shape, np.inf)
    farthest = np.zeros(draws)
    for place in range(len(fitted)):  # one model at a time: draws x models numbers at once
        others = np.flatnonzero(is_told[place])
        both = variances[:, place, None] + variances[:, others]
        moved = points[:, place, None] - points[:, others] - gaps[place, others]
        with np.errstate(over="ignore"):  # a draw that knows nothing of a pair errs by nothing
            errors = moved / np.sqrt(both[1:] / both[0])
        silent = np.isnan(errors)
        squares = np.where(silent, 0.0, errors) ** 2
        error = np.sqrt(squares.sum(axis=0) / np.maximum(1, (~silent).sum(axis=0)))
        far = np.where(silent, np.inf, np.abs(errors) / np.maximum(error, SAME))
        farthest = np.maximum(farthest, far[:, error > SAME].max(axis=1, initial=0.0))
        errors_of[place, others] = error
    most = float(np.quantile(farthest, level, method="higher"))
    if np.isfinite(most):
        units = sample.units.effective
        most = sqrt(units / (units - 1)) * student_of_normal(most, units - 1)
    with np.errstate(invalid="ignore"):  # nothing is sure at infinity times 0
        ahead: Bools = (gaps > SAME) & (gaps > max(SAME, most) * errors_of)
    for one, other in np.argwhere((gaps > SAME) & (errors_of <= SAME)).tolist():
        ahead[one, other] = has_enough(one) and has_enough(other)
    return ahead


def _variances(points: Floats, games: Floats | None) -> Floats:
    """Returns how uncertain each rating is at such ratings, beside the others, (draws, models).

    By the information of a model's comparisons, p(1 - p) each; 1 without `games`.
    """
    if games is None:
        return np.ones_like(points)
    found = np.empty_like(points)
    for place, own in enumerate(games):
        odds = np.exp(-np.abs(points[:, place, None] - points) / SCALE)
        found[:, place] = np.nan_to_num(odds / (1 + odds) ** 2) @ own
    return 1 / np.maximum(found, np.finfo(np.float64).tiny)


def joint_ranks(ahead: Bools) -> tuple[Integers, Integers]:
    """Returns the best and the worst rank of each model, by who is surely ahead of whom."""
    return ahead.sum(axis=0) + 1, len(ahead) - ahead.sum(axis=1)


def shares_above(sample: Sample, models: Sequence[str]) -> dict[tuple[str, str], float]:
    """Returns how often the first of two models is above the second; what is open is a half."""
    if not len(sample.lowest):
        return {}
    found: dict[tuple[str, str], float] = {}
    for one, first in enumerate(models):
        ahead = (sample.lowest[:, one, None] > sample.highest + SAME).mean(axis=0)
        behind = (sample.highest[:, one, None] + SAME < sample.lowest).mean(axis=0)
        for other, second in enumerate(models):
            if one != other:
                found[first, second] = float((1 + ahead[other] - behind[other]) / 2)
    return found


def shares_first(sample: Sample, models: Sequence[str]) -> dict[str, float]:
    """Returns how often no model is above each; models of which that holds share the draw."""
    if not len(sample.lowest):
        return {}
    leads = sample.highest >= sample.lowest.max(axis=1, keepdims=True) - SAME
    shares = (leads / leads.sum(axis=1, keepdims=True)).mean(axis=0)
    return dict(zip(models, shares.tolist(), strict=True))
