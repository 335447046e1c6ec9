"""Agreement of any number of raters, each of whom may have missed any item.

Percent agreement, Fleiss' kappa, Krippendorff's alpha and Gwet's AC1 and AC2, all from how often an
item was given each value; the notation is that of Gwet, Handbook of Inter-Rater Reliability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.agreement import (
    AnswerCounts,
    Coefficient,
    Measure,
    Weighting,
    coefficient,
    estimate,
    quotient,
    share_interval,
    weight_matrix,
    weighted,
)
from annotation.core.intervals import DEFAULT_DRAWS, FloatArray, Statistic

Places = NDArray[np.intp]
Distances = Callable[[FloatArray, Places, Places], FloatArray]
"""Frequencies of the values (draws, categories), and the lower and the higher value of each pair,
to squared distances: (draws, pairs), or (pairs,) where frequencies do not matter."""


def coefficients(
    measures: Sequence[Measure], counts: AnswerCounts, *, seed: int, draws: int = DEFAULT_DRAWS
) -> tuple[Coefficient, ...]:
    """The measures of one table, in the order asked for.

    The bootstrap resamples the sessions of all rated items. Items with one answer alone say nothing
    about agreement, but Fleiss' and Gwet's chance terms use them (as Gwet's own package does).

    Args:
        measures: Any but the kappas of two raters.
        counts: The rated items.
        seed: Of the bootstrap.
        draws: Number of resamples.

    Raises:
        KeyError: A measure of two raters.
    """
    items = int(counts.items[counts.pairable].sum())
    answers = int((counts.items * counts.ratings)[counts.pairable].sum())
    statistics = [STATISTICS[measure](counts) for measure in measures]
    units = counts.sessions.holding(counts.pairable)
    found = estimate(statistics, counts.sessions, units=units, seed=seed, draws=draws)
    percent = share_interval(
        counts.sessions, _agreeing(counts, Weighting.IDENTITY), counts.pairable
    )
    return tuple(
        coefficient(
            measure,
            (value, percent if measure is Measure.PERCENT else interval),
            items=items,
            answers=answers,
            units=units,
        )
        for measure, (value, interval) in zip(measures, found, strict=True)
    )


def _agreeing(counts: AnswerCounts, weighting: Weighting) -> FloatArray:
    """(patterns,); the (weighted) share of agreeing pairs of answers, 0 where there is no pair."""
    ratings = counts.ratings
    near = counts.patterns @ weight_matrix(weighting, counts.patterns.shape[1])
    pairs = np.where(counts.pairable, ratings * (ratings - 1), 1)
    agreeing = (counts.patterns * (near - 1)).sum(axis=1) / pairs
    shares: FloatArray = np.where(counts.pairable, agreeing, 0.0)
    return shares


def _observed(counts: AnswerCounts, weighting: Weighting) -> Statistic:
    """Mean over pairable items of the (weighted) share of agreeing pairs of answers."""
    share, counted = _agreeing(counts, weighting), counts.pairable.astype(np.float64)

    def observed(weights: FloatArray) -> FloatArray:
        return quotient(weights @ share, weights @ counted)

    return observed


def _prevalence(counts: AnswerCounts) -> Statistic:
    """Mean over rated items of the share of answers that each value got: (draws, categories)."""
    shares = counts.patterns / counts.ratings[:, None]

    def prevalence(weights: FloatArray) -> FloatArray:
        mean: FloatArray = weighted(weights, shares) / weights.sum(axis=1, keepdims=True)
        return mean

    return prevalence


def _percent(counts: AnswerCounts) -> Statistic:
    return _observed(counts, Weighting.IDENTITY)


def _fleiss(counts: AnswerCounts) -> Statistic:
    """(p_a - p_e) / (1 - p_e), p_e = sum of squared prevalences (Fleiss 1971).

    With unequal numbers of answers this is Gwet's extension; with equal ones the two are the same.
    """
    observed, prevalence = _percent(counts), _prevalence(counts)
    used = (counts.patterns > 0).astype(np.float64)

    def kappa(weights: FloatArray) -> FloatArray:
        chance = (prevalence(weights) ** 2).sum(axis=1)
        varied = (weighted(weights, used) > 0).sum(axis=1) > 1
        room = np.where(varied, 1 - chance, 0.0)
        return quotient(observed(weights) - chance, room)

    return kappa


def _alpha(distances: Distances) -> Callable[[AnswerCounts], Statistic]:
    """1 - D_o / D_e from the coincidences of values (Krippendorff 2011, sections C to E).

    Both sums run over pairs of different values once; the factor 2 cancels.
    """

    def of(counts: AnswerCounts) -> Statistic:
        patterns = np.where(counts.pairable[:, None], counts.patterns, 0).astype(np.float64)
        low, high = np.triu_indices(patterns.shape[1], k=1)
        others = np.maximum(counts.ratings - 1, 1)
        coincidences = patterns[:, low] * patterns[:, high] / others[:, None]

        def alpha(weights: FloatArray) -> FloatArray:
            frequency = weighted(weights, patterns)
            apart = distances(frequency, low, high)
            observed = (weighted(weights, coincidences) * apart).sum(axis=1)
            expected = (frequency[:, low] * frequency[:, high] * apart).sum(axis=1)
            return 1 - quotient((frequency.sum(axis=1) - 1) * observed, expected)

        return alpha

    return of


def _nominal(frequency: FloatArray, low: Places, high: Places) -> FloatArray:  # noqa: ARG001
    return np.ones(len(low))


def _ordinal(frequency: FloatArray, low: Places, high: Places) -> FloatArray:
    """Squared difference of mid-ranks: how many answers lie between two values."""
    rank = frequency.cumsum(axis=1) - frequency / 2
    apart: FloatArray = (rank[:, high] - rank[:, low]) ** 2
    return apart


def _interval(frequency: FloatArray, low: Places, high: Places) -> FloatArray:  # noqa: ARG001
    apart: FloatArray = (high - low).astype(np.float64) ** 2
    return apart


def _gwet(weighting: Weighting) -> Callable[[AnswerCounts], Statistic]:
    """(p_a - p_e) / (1 - p_e), p_e = T_w / (q (q - 1)) * sum of prevalence * (1 - prevalence)."""

    def of(counts: AnswerCounts) -> Statistic:
        categories = counts.patterns.shape[1]
        total = weight_matrix(weighting, categories).sum()
        observed, prevalence = _observed(counts, weighting), _prevalence(counts)

        def ac(weights: FloatArray) -> FloatArray:
            share = prevalence(weights)
            spread = (share * (1 - share)).sum(axis=1)
            chance = total * spread / (categories * (categories - 1))
            return quotient(observed(weights) - chance, 1 - chance)

        return ac

    return of


STATISTICS: Final[dict[Measure, Callable[[AnswerCounts], Statistic]]] = {
    Measure.PERCENT: _percent,
    Measure.FLEISS: _fleiss,
    Measure.ALPHA_NOMINAL: _alpha(_nominal),
    Measure.ALPHA_ORDINAL: _alpha(_ordinal),
    Measure.ALPHA_INTERVAL: _alpha(_interval),
    Measure.AC1: _gwet(Weighting.IDENTITY),
    Measure.AC2_LINEAR: _gwet(Weighting.LINEAR),
    Measure.AC2_QUADRATIC: _gwet(Weighting.QUADRATIC),
    Measure.AC2_ORDINAL: _gwet(Weighting.ORDINAL),
}
