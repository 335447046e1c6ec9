"""Agreement of predicted with human satisfaction scores (seed 003, section 4.1 and appendix C).

Every metric is a function of gold scores, predictions and weights: weights of one give the
figure, a bootstrap draw's weights give the figure of that draw, many draws at once. What has no
value for some data (a constant column, a class that never occurs) says why, instead of a number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import SATISFIED_FROM, LabelledEnum, Verdict
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    FloatArray,
    Interval,
    bootstrap,
    centred,
    cluster_index,
    correlation,
    f1,
    mean,
    quadratic_kappa,
    rank_correlation,
    ranks,
    rate,
    ratio,
)
from annotation.core.refusals import gettext_noop

LEVELS: Final = 5
MIN_TURNS_PER_USER: Final = 3
_FISHER_LIMIT: Final = 0.9999
_FLAT_SPREAD: Final = 1e-9


class UndefinedMetric(LabelledEnum):
    """Why a metric has no value."""

    UNMEASURED = "UNMEASURED", gettext_noop("not measured")  # stored before there was the metric
    EMPTY = "EMPTY", gettext_noop("no turns")
    CONSTANT_GOLD = "CONSTANT_GOLD", gettext_noop("all user scores are equal")
    CONSTANT_PREDICTION = "CONSTANT_PREDICTION", gettext_noop("all predicted scores are equal")
    ONE_CLASS = "ONE_CLASS", gettext_noop("one of the two classes never occurs")
    NO_USABLE_USER = (
        "NO_USABLE_USER",
        gettext_noop("no user has enough turns with different scores"),
    )


@dataclass(frozen=True, slots=True)
class Metric:
    """A figure, or why there is none (exactly one of the two), with its interval where asked."""

    value: float | None
    undefined: UndefinedMetric | None = None
    interval: Interval | None = None


class MetricName(LabelledEnum):
    """The metrics of turn-level satisfaction."""

    PEARSON = "pearson", gettext_noop("Pearson")
    SPEARMAN = "spearman", gettext_noop("Spearman")
    QWK = "qwk", gettext_noop("weighted kappa")
    MAE = "mae", gettext_noop("mean absolute error")
    RMSE = "rmse"
    F1_DSAT = "f1_dsat", gettext_noop("F1 (dissatisfied)")
    F1_SAT = "f1_sat"
    FALSE_SAT = "false_sat"
    FALSE_DSAT = "false_dsat"
    AUC = "auc"
    WITHIN_USER_PEARSON = "within_user_pearson", gettext_noop("Pearson within users")
    WITHIN_USER_SPEARMAN = "within_user_spearman"
    WITHIN_BLOCK_PEARSON = (
        "within_block_pearson",
        gettext_noop("Pearson within users and scenarios"),
    )
    WITHIN_BLOCK_SPEARMAN = "within_block_spearman"
    USER_FISHER_PEARSON = "user_fisher_pearson"
    USER_FISHER_SPEARMAN = "user_fisher_spearman"


@dataclass(frozen=True, slots=True)
class Scored:
    """Gold scores 1-5, predictions (whole or expected) and users of the same turns, as arrays.

    A block is a user and a scenario.
    """

    gold: FloatArray
    predicted: FloatArray
    users: NDArray[np.intp]
    user_count: int
    blocks: NDArray[np.intp]


Weighted = Callable[[Scored, FloatArray], FloatArray]


def scored(
    gold: Sequence[float],
    predicted: Sequence[float],
    users: Sequence[Hashable],
    blocks: Sequence[Hashable] | None = None,
) -> Scored:
    """Turns to compare, in any order.

    Args:
        gold: what users said.
        predicted: what was predicted.
        users: whose turns; they are what a bootstrap draws.
        blocks: one key a turn, of its user and scenario; each user's turns are one where None.

    Raises:
        ValueError: they are not of one length.
    """
    if not len(gold) == len(predicted) == len(users):
        raise ValueError("gold scores, predictions and users differ in number")
    index, count = cluster_index(list(users), units=len(gold))
    places, _count = cluster_index(users if blocks is None else blocks, units=len(gold))
    return Scored(
        np.asarray(gold, dtype=np.float64),
        np.asarray(predicted, dtype=np.float64),
        index,
        count,
        places,
    )


def evaluate(
    data: Scored,
    name: MetricName,
    *,
    seed: int | None = None,
    draws: int = DEFAULT_DRAWS,
) -> Metric:
    """One metric; with a seed also its user-clustered percentile bootstrap interval.

    Too few users give no interval.

    Args:
        data: the turns.
        name: which metric. QWK and the F1 and false rates need whole scores 1-5 for QWK and cut
            predictions at 4 (a prediction of 3.9 is dissatisfied); AUC ranks predictions.
        seed: None leaves the interval out.
        draws: bootstrap resamples of users.

    Raises:
        ValueError: QWK on predictions that are not whole scores of 1-5.
    """
    if name is MetricName.QWK:
        _require_levels(data)
    if len(data.gold) == 0:
        return Metric(None, UndefinedMetric.EMPTY)
    metric = METRICS[name]
    value = float(metric(data, np.ones((1, len(data.gold))))[0])
    if np.isnan(value):
        return Metric(None, _why(data, name))
    if seed is None:
        return Metric(value)
    interval = bootstrap(
        lambda weights: metric(data, weights),
        units=len(data.gold),
        clusters=data.users.tolist(),
        seed=seed,
        draws=draws,
    )
    return Metric(value, None, interval)


def pearson(data: Scored, weights: FloatArray) -> FloatArray:
    """Return sum (y - mean y)(p - mean p) / sqrt(sum (y - mean y)^2 sum (p - mean p)^2)."""
    return correlation(data.gold, data.predicted, weights)


def spearman(data: Scored, weights: FloatArray) -> FloatArray:
    """Pearson of average ranks; a turn drawn twice counts as two tied turns."""
    return rank_correlation(data.gold, data.predicted, weights)


def qwk(data: Scored, weights: FloatArray) -> FloatArray:
    """1 - sum w O / sum w E over the 5 x 5 table, w = (a - b)^2 (seed 003, equation 13)."""
    gold, predicted = data.gold.astype(np.intp) - 1, data.predicted.astype(np.intp) - 1
    return quadratic_kappa(gold, predicted, weights, levels=LEVELS)


def mae(data: Scored, weights: FloatArray) -> FloatArray:
    """Mean |y - p|."""
    return mean(np.abs(data.gold - data.predicted), weights)


def rmse(data: Scored, weights: FloatArray) -> FloatArray:
    """Root of the mean (y - p)^2."""
    return np.sqrt(mean((data.gold - data.predicted) ** 2, weights))


def f1_dsat(data: Scored, weights: FloatArray) -> FloatArray:
    """2 TP / (2 TP + FP + FN) with dissatisfied (below 4) as the positive class."""
    return f1(data.gold < SATISFIED_FROM, data.predicted < SATISFIED_FROM, weights)


def f1_sat(data: Scored, weights: FloatArray) -> FloatArray:
    """The same with satisfied (4 and above) as the positive class."""
    return f1(data.gold >= SATISFIED_FROM, data.predicted >= SATISFIED_FROM, weights)


def false_sat(data: Scored, weights: FloatArray) -> FloatArray:
    """Share of dissatisfied turns predicted satisfied (seed 003, equation 14)."""
    return rate(data.predicted >= SATISFIED_FROM, data.gold < SATISFIED_FROM, weights)


def false_dsat(data: Scored, weights: FloatArray) -> FloatArray:
    """Share of satisfied turns predicted dissatisfied (seed 003, equation 15)."""
    return rate(data.predicted < SATISFIED_FROM, data.gold >= SATISFIED_FROM, weights)


def auc(data: Scored, weights: FloatArray) -> FloatArray:
    """P(a satisfied turn is predicted above a dissatisfied one), ties one half."""
    positive = (data.gold >= SATISFIED_FROM).astype(np.float64)
    satisfied = weights @ positive
    dissatisfied = weights.sum(axis=1) - satisfied
    won = (weights * ranks(data.predicted, weights)) @ positive - satisfied * (satisfied + 1) / 2
    return ratio(won, satisfied * dissatisfied)


def within_user_pearson(data: Scored, weights: FloatArray) -> FloatArray:
    """Pearson after each user's means are removed from both columns (seed 003, equation 16)."""
    gold, predicted = _centred(data, data.users)
    return correlation(gold, predicted, weights)


def within_user_spearman(data: Scored, weights: FloatArray) -> FloatArray:
    """Spearman after each user's means are removed from both columns."""
    gold, predicted = _centred(data, data.users)
    return rank_correlation(gold, predicted, weights)


def within_block_pearson(data: Scored, weights: FloatArray) -> FloatArray:
    """Pearson after the means of each user in each scenario are removed (protocols A2.7).

    A history that leaves its block out is anti-correlated with the block's mean by construction:
    it pulls the correlation within users down, and not this one.
    """
    gold, predicted = _centred(data, data.blocks)
    return correlation(gold, predicted, weights)


def within_block_spearman(data: Scored, weights: FloatArray) -> FloatArray:
    """The same by Spearman."""
    gold, predicted = _centred(data, data.blocks)
    return rank_correlation(gold, predicted, weights)


def user_fisher_pearson(data: Scored, weights: FloatArray) -> FloatArray:
    """Return tanh of the mean Fisher z of each user's own Pearson, weighted by turns (B 2.2).

    Users with fewer than three turns or a constant column are left out; |r| is cut at .9999.
    """
    return _fisher_mean(data, weights, correlation)


def user_fisher_spearman(data: Scored, weights: FloatArray) -> FloatArray:
    """The same on each user's own Spearman."""
    return _fisher_mean(data, weights, rank_correlation)


METRICS: Final[dict[MetricName, Weighted]] = {
    MetricName.PEARSON: pearson,
    MetricName.SPEARMAN: spearman,
    MetricName.QWK: qwk,
    MetricName.MAE: mae,
    MetricName.RMSE: rmse,
    MetricName.F1_DSAT: f1_dsat,
    MetricName.F1_SAT: f1_sat,
    MetricName.FALSE_SAT: false_sat,
    MetricName.FALSE_DSAT: false_dsat,
    MetricName.AUC: auc,
    MetricName.WITHIN_USER_PEARSON: within_user_pearson,
    MetricName.WITHIN_USER_SPEARMAN: within_user_spearman,
    MetricName.WITHIN_BLOCK_PEARSON: within_block_pearson,
    MetricName.WITHIN_BLOCK_SPEARMAN: within_block_spearman,
    MetricName.USER_FISHER_PEARSON: user_fisher_pearson,
    MetricName.USER_FISHER_SPEARMAN: user_fisher_spearman,
}


def _require_levels(data: Scored) -> None:
    for column in (data.gold, data.predicted):
        if not np.isin(column, np.arange(1, LEVELS + 1)).all():
            raise ValueError(f"QWK needs whole scores 1-{LEVELS}")


def _why(data: Scored, name: MetricName) -> UndefinedMetric:
    """Why a metric of at least one turn is undefined."""
    if name in {MetricName.USER_FISHER_PEARSON, MetricName.USER_FISHER_SPEARMAN}:
        return UndefinedMetric.NO_USABLE_USER
    if name in {MetricName.PEARSON, MetricName.SPEARMAN, MetricName.QWK}:
        gold = data.gold
    elif name in {MetricName.WITHIN_USER_PEARSON, MetricName.WITHIN_USER_SPEARMAN}:
        gold = centred(data.gold, data.users)
    elif name in {MetricName.WITHIN_BLOCK_PEARSON, MetricName.WITHIN_BLOCK_SPEARMAN}:
        gold = centred(data.gold, data.blocks)
    else:
        return UndefinedMetric.ONE_CLASS
    return (
        UndefinedMetric.CONSTANT_GOLD if np.ptp(gold) == 0 else UndefinedMetric.CONSTANT_PREDICTION
    )


def _centred(data: Scored, groups: NDArray[np.intp]) -> tuple[FloatArray, FloatArray]:
    """Both columns less the mean of each turn's group."""
    return centred(data.gold, groups), centred(data.predicted, groups)


def _fisher_mean(
    data: Scored,
    weights: FloatArray,
    measure: Callable[[FloatArray, FloatArray, FloatArray], FloatArray],
) -> FloatArray:
    """Users are drawn whole, so a user's correlation does not change with the draw."""
    total = np.zeros(len(weights))
    share = np.zeros(len(weights))
    for user in range(data.user_count):
        own = np.flatnonzero(data.users == user)
        gold, predicted = data.gold[own], data.predicted[own]
        if len(own) < MIN_TURNS_PER_USER or min(gold.std(), predicted.std()) < _FLAT_SPREAD:
            continue
        value = measure(gold, predicted, np.ones((1, len(own))))[0]
        z = np.arctanh(np.clip(value, -_FISHER_LIMIT, _FISHER_LIMIT))
        drawn = weights[:, own[0]] * len(own)
        total += drawn * z
        share += drawn
    return np.tanh(ratio(total, share))


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """The mean stated score of the `n` turns that were predicted alike."""

    predicted: int
    stated: float
    n: int


def reliability(pairs: Iterable[tuple[int, int]]) -> tuple[ReliabilityPoint, ...]:
    """Points from (predicted, stated) scores, by predicted score.

    A judge on the user's own scale lies on the diagonal.
    """
    stated: dict[int, list[int]] = defaultdict(list)
    for predicted, score in pairs:
        stated[predicted].append(score)
    return tuple(
        ReliabilityPoint(predicted, sum(scores) / len(scores), len(scores))
        for predicted, scores in sorted(stated.items())
    )


def longer_wins(text_a: str, text_b: str) -> Verdict:
    """The response with more characters, white space at its ends aside; a tie at equal length."""
    lead = len(text_a.strip()) - len(text_b.strip())
    if lead == 0:
        return Verdict.TIE
    return Verdict.A if lead > 0 else Verdict.B


def majority(verdicts: Iterable[Verdict]) -> Verdict | None:
    """Which response more people chose; a tie where as many chose each, None where nobody said."""
    given = list(verdicts)
    if not given:
        return None
    lead = given.count(Verdict.A) - given.count(Verdict.B)
    if lead == 0:
        return Verdict.TIE
    return Verdict.A if lead > 0 else Verdict.B
