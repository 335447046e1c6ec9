"""Weighted building blocks of metrics: unit columns, weights (draws, units), one value a draw.

A weight says how often a unit counts; a value that some draw leaves undefined is nan there.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import FloatArray

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
