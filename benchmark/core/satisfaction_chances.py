"""Whether stated chances are right: of dissatisfaction, and of the reason for it.

A chance of dissatisfaction is right where users are dissatisfied as often as it says. Turns are
put into bins of equal size by their chance; the calibration error is the mean distance between a
bin's mean chance and its share of dissatisfied turns, weighted by turns (Naeini et al. 2015; it
is positive even where chances are right, the more so the fewer the turns).

The likely reason is measured on every turn that the user was dissatisfied with and gave a reason
for, whatever score was predicted: a reason counts as named where it is the likeliest of the five.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotation.core.choices import is_satisfied
from annotation.core.intervals import FloatArray, Interval, bootstrap
from benchmark.core.satisfaction_evaluation import GoldBlock, Predictions
from judging.core.satisfaction_decisions import REASONS

BINS: Final = 10
_NAMES: Final = len(REASONS)


@dataclass(frozen=True, slots=True)
class ChanceEstimate:
    """A figure with its user-clustered interval: None without draws, and for too few users."""

    value: float
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class ChanceBin:
    """Turns of about one chance: how many, their mean chance, the share dissatisfied."""

    turns: int
    chance: float
    share: float


@dataclass(frozen=True, slots=True)
class ChanceFigures:
    """How far chances of dissatisfaction can be taken at their word.

    `error` is the calibration error (0-1), `brier` the mean squared error of the chances (0-1), and
    `base_brier` that of the overall share said of every turn.
    """

    turns: int
    bins: tuple[ChanceBin, ...]
    error: ChanceEstimate
    brier: ChanceEstimate
    base_brier: float


@dataclass(frozen=True, slots=True)
class LikelyReasons:
    """How often the likeliest reason is the user's own, over `turns` turns with a stated reason.

    `commonest` is the accuracy of always naming the reason that is stated most often among these
    very turns, which nobody knows beforehand; `gain` is `accuracy` less that. `macro_f1` is the
    mean F1 of the reasons that are stated at all, `commonest_f1` that of always naming one;
    `top_2` the share of turns whose reason is among the two likeliest.
    """

    turns: int
    accuracy: ChanceEstimate
    top_2: ChanceEstimate
    macro_f1: ChanceEstimate
    commonest: float
    commonest_f1: float
    gain: ChanceEstimate


def chance_figures(
    blocks: Sequence[GoldBlock], predictions: Predictions, *, seed: int, draws: int
) -> ChanceFigures | None:
    """How right the chances of dissatisfaction are; None for an evaluator that states none.

    Args:
        blocks: the turns.
        predictions: for each of them.
        seed: of the bootstrap over users.
        draws: its resamples; 0 leaves the intervals out.
    """
    rows = [
        (one.dissatisfied, not is_satisfied(score), block.user)
        for block, own in zip(blocks, predictions, strict=True)
        for score, one in zip(block.gold, own, strict=True)
        if one is not None and one.dissatisfied is not None
    ]
    if not rows:
        return None
    chances = np.array([row[0] for row in rows], dtype=np.float64)
    below = np.array([row[1] for row in rows], dtype=np.float64)
    edges = np.unique(np.quantile(chances, np.arange(1, BINS) / BINS))
    place = np.searchsorted(edges, chances, side="right")
    members = [place == at for at in np.unique(place)]

    def error(weights: FloatArray) -> FloatArray:
        missed = [np.abs(weights[:, own] @ (chances - below)[own]) for own in members]
        found: FloatArray = np.sum(missed, axis=0) / weights.sum(axis=1)
        return found

    def brier(weights: FloatArray) -> FloatArray:
        found: FloatArray = weights @ (chances - below) ** 2 / weights.sum(axis=1)
        return found

    users = [row[2] for row in rows]
    share = float(below.mean())
    return ChanceFigures(
        turns=len(rows),
        bins=tuple(
            ChanceBin(int(own.sum()), float(chances[own].mean()), float(below[own].mean()))
            for own in members
        ),
        error=_mirrored(_estimate(error, users, seed=seed, draws=draws)),
        brier=_estimate(brier, users, seed=seed, draws=draws),
        base_brier=share * (1 - share),
    )


def likely_reasons(
    blocks: Sequence[GoldBlock], predictions: Predictions, *, seed: int, draws: int
) -> LikelyReasons | None:
    """How right the likeliest reasons are; None where none is stated or none predicted.

    Arguments as for `chance_figures`.
    """
    place = {reason: at for at, reason in enumerate(REASONS)}
    rows = [
        (place[reason], one.reason_chances, block.user)
        for block, own in zip(blocks, predictions, strict=True)
        for reason, one in zip(block.reasons, own, strict=True)
        if one is not None and one.reason_chances and reason in place
    ]
    if not rows:
        return None
    stated = np.array([row[0] for row in rows])
    order = np.argsort(-np.array([row[1] for row in rows]), axis=1, kind="stable")
    commonest = int(np.bincount(stated, minlength=_NAMES).argmax())
    right = (order[:, 0] == stated).astype(np.float64)
    among = (order[:, :2] == stated[:, None]).any(axis=1).astype(np.float64)
    base = (stated == commonest).astype(np.float64)
    users = [row[2] for row in rows]

    def mean(values: FloatArray) -> ChanceEstimate:
        def share(weights: FloatArray) -> FloatArray:
            found: FloatArray = weights @ values / weights.sum(axis=1)
            return found

        return _estimate(share, users, seed=seed, draws=draws)

    ones = np.ones((1, len(rows)))
    always = _macro_f1(stated, np.full(len(rows), commonest))
    return LikelyReasons(
        turns=len(rows),
        accuracy=mean(right),
        top_2=mean(among),
        macro_f1=_estimate(_macro_f1(stated, order[:, 0]), users, seed=seed, draws=draws),
        commonest=float(base.mean()),
        commonest_f1=float(always(ones)[0]),
        gain=mean(right - base),
    )


def _macro_f1(
    stated: np.ndarray[tuple[int], np.dtype[np.intp]],
    predicted: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> Callable[[FloatArray], FloatArray]:
    """The mean F1 over the reasons that are stated in a draw."""

    def metric(weights: FloatArray) -> FloatArray:
        total = np.zeros(len(weights))
        known = np.zeros(len(weights))
        for reason in range(_NAMES):
            said = weights @ (stated == reason).astype(np.float64)
            named = weights @ (predicted == reason).astype(np.float64)
            hits = weights @ ((stated == reason) & (predicted == reason)).astype(np.float64)
            total += np.where(said > 0, 2 * hits / np.maximum(said + named, 1.0), 0.0)
            known += said > 0
        found: FloatArray = total / known
        return found

    return metric


def _mirrored(found: ChanceEstimate) -> ChanceEstimate:
    """A distance with its interval mirrored at the value, from 0 and with the value in it.

    A mean of distances grows with whatever chance adds: the value is above what is true by about
    as much as draws are above the value, which often lies below all of them. What draws exceed the
    value by is therefore taken off it (the basic interval, Davison and Hinkley 1997, 5.2).
    """
    value, interval = found.value, found.interval
    if interval is None:
        return found
    low, high = 2 * value - interval.high, 2 * value - interval.low
    low, high = max(0.0, min(value, low)), max(value, high)
    return ChanceEstimate(value, replace(interval, low=low, high=high))


def _estimate(
    metric: Callable[[FloatArray], FloatArray],
    users: Sequence[Hashable],
    *,
    seed: int,
    draws: int,
) -> ChanceEstimate:
    value = float(metric(np.ones((1, len(users))))[0])
    if not draws:
        return ChanceEstimate(value)
    interval = bootstrap(metric, units=len(users), seed=seed, clusters=users, draws=draws)
    return ChanceEstimate(value, interval)
