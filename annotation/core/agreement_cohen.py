"""Agreement of two raters on the items that both rated: the share, and Cohen's kappas."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from annotation.core.agreement import (
    Coefficient,
    IntArray,
    Measure,
    Weighting,
    coefficient,
    estimate,
    quotient,
    weight_matrix,
)
from annotation.core.intervals import DEFAULT_DRAWS, FloatArray, Statistic

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
    measures: Sequence[Measure], cells: IntArray, *, seed: int, draws: int = DEFAULT_DRAWS
) -> tuple[Coefficient, ...]:
    """The measures of one pair of raters, in the order asked for: PERCENT or the kappas.

    Args:
        measures: What to compute.
        cells: A `cross_table`.
        seed: Of the bootstrap over items.
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
    found = estimate(statistics, cells.ravel(), seed=seed, draws=draws)
    return tuple(
        coefficient(measure, each, items=items, answers=2 * items)
        for measure, each in zip(measures, found, strict=True)
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
