"""Where an evaluator of satisfaction does well: its gain over another, by scenario, by user."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist
from typing import Final

import numpy as np

from annotation.core.choices import Reason, is_satisfied
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    FloatArray,
    Interval,
    Units,
    bootstrap_values,
    clustered_wilson,
    percentile_interval,
)
from benchmark.core.metrics import METRICS, Metric, MetricName, evaluate, scored
from benchmark.core.satisfaction_chances import (
    ChanceFigures,
    LikelyReasons,
    chance_figures,
    likely_reasons,
)
from benchmark.core.satisfaction_evaluation import GoldBlock, Predictions
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_decisions import REASONS

GAINED: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.QWK,
    MetricName.F1_DSAT,
    MetricName.MAE,
)
"""On what evaluators are compared with one another, of whole scores; a lower MAE is better."""

BY_SCENARIO: Final = (*GAINED, MetricName.WITHIN_USER_PEARSON)
BY_USER: Final = (MetricName.PEARSON, MetricName.MAE)


@dataclass(frozen=True, slots=True)
class EvaluatorGain:
    """An evaluator's figure less the reference's, on the same turns.

    `value` is None where either is undefined; `p` is two-sided, of no difference.
    """

    value: float | None
    interval: Interval | None = None
    p: float | None = None


def gains(
    blocks: Sequence[GoldBlock],
    predictions: Predictions,
    reference: Predictions,
    *,
    seed: int,
    draws: int,
    pulse: Callable[[], None] = lambda: None,
) -> Mapping[MetricName, EvaluatorGain]:
    """What an evaluator adds to a reference: a paired bootstrap over users.

    A draw of users is the same for both, so that what they share cancels. p is `_two_sided`. Too
    few users give neither interval nor p.

    Args:
        blocks: the turns; those that either leaves without a score are left out.
        predictions: the evaluator's.
        reference: what it is compared with.
        seed: of the draws.
        draws: how many; 0 leaves interval and p out.
        pulse: called before every metric.
    """
    pairs = [
        (gold, one.score, other.score, block.user)
        for block, own, theirs in zip(blocks, predictions, reference, strict=True)
        for gold, one, other in zip(block.gold, own, theirs, strict=True)
        if one is not None and other is not None
    ]
    return paired_gains(pairs, seed=seed, draws=draws, pulse=pulse)


def paired_gains(
    turns: Sequence[tuple[int, int, int, int]],
    *,
    seed: int,
    draws: int = DEFAULT_DRAWS,
    pulse: Callable[[], None] = lambda: None,
) -> Mapping[MetricName, EvaluatorGain]:
    """The same for turns that both scored: the user's score, the evaluator's, the reference's.

    The last number of each turn is the unit that is drawn, its user or, of one user, its session.
    Other arguments as for `gains`.
    """
    gold, units = [turn[0] for turn in turns], [turn[3] for turn in turns]
    first = scored(gold, [turn[1] for turn in turns], units)
    second = scored(gold, [turn[2] for turn in turns], units)

    drawn_users = Units.of_rows(units)

    def gain(name: MetricName) -> EvaluatorGain:
        pulse()
        metric = METRICS[name]

        def difference(weights: FloatArray) -> FloatArray:
            result: FloatArray = metric(first, weights) - metric(second, weights)
            return result

        value = float(difference(np.ones((1, len(turns))))[0]) if turns else np.nan
        if np.isnan(value):
            return EvaluatorGain(None)
        if not draws or drawn_users.few:
            return EvaluatorGain(value)
        drawn = bootstrap_values(
            difference, units=len(turns), seed=seed, clusters=units, draws=draws
        )
        interval = percentile_interval(drawn, units=drawn_users)
        p = None if interval is None else _two_sided(drawn, drawn_users)
        return EvaluatorGain(value, interval, p)

    return {name: gain(name) for name in GAINED}


def _two_sided(drawn: FloatArray, users: Units) -> float:
    """The level at which an interval of these draws ends at no difference: `tails` inverted.

    Where a share of draws lies on the smaller side, counting one more than seen, it is 2 P(T > t)
    with t = -Phi^-1(share) sqrt((m - 1) / m) and m - 1 degrees of freedom for m effective users.
    """
    from scipy.special import stdtr

    defined = drawn[~np.isnan(drawn)]
    smaller = min(int((defined <= 0).sum()), int((defined >= 0).sum()))
    far = NormalDist().inv_cdf(min(0.5, (smaller + 1) / (len(defined) + 1)))
    freedom = users.effective - 1
    return 2 * float(stdtr(freedom, far * sqrt(freedom / users.effective)))


@dataclass(frozen=True, slots=True)
class ScenarioFigures:
    """An evaluator's metrics of whole scores in one scenario."""

    scenario: str
    turns: int
    users: int
    metrics: Mapping[MetricName, Metric]


def by_scenario(
    blocks: Sequence[GoldBlock],
    predictions: Predictions,
    *,
    seed: int,
    draws: int,
    pulse: Callable[[], None] = lambda: None,
) -> tuple[ScenarioFigures, ...]:
    """The scenarios in the order in which they first occur, without turns that have no score."""
    known = list(_known(blocks, predictions))
    found = []
    for scenario in dict.fromkeys(block.scenario for block in blocks):
        rows = [row for row in known if row[0].scenario == scenario]
        users = [block.user for block, _gold, _one in rows]
        data = scored([gold for _b, gold, _o in rows], [one.score for _b, _g, one in rows], users)
        metrics = {}
        for name in BY_SCENARIO:
            metrics[name] = evaluate(data, name, seed=seed if draws else None, draws=draws)
            pulse()
        found.append(ScenarioFigures(scenario, len(rows), len(set(users)), metrics))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class UserFigures:
    """An evaluator's figures for one user: means of stated and predicted scores, and metrics."""

    user: int
    turns: int
    stated: float
    predicted: float
    metrics: Mapping[MetricName, Metric]


def by_user(blocks: Sequence[GoldBlock], predictions: Predictions) -> tuple[UserFigures, ...]:
    """Every user with a scored turn, in the order in which they first occur; no intervals."""
    rows: dict[int, list[tuple[int, int]]] = {}
    for block, gold, one in _known(blocks, predictions):
        rows.setdefault(block.user, []).append((gold, one.score))
    return figures_of_users(rows)


def figures_of_users(rows: Mapping[int, Sequence[tuple[int, int]]]) -> tuple[UserFigures, ...]:
    """The same from each user's pairs of stated and predicted scores, of at least one turn."""
    found = []
    for user, own in rows.items():
        stated, predicted = [row[0] for row in own], [row[1] for row in own]
        data = scored(stated, predicted, [user] * len(own))
        found.append(
            UserFigures(
                user=user,
                turns=len(own),
                stated=sum(stated) / len(own),
                predicted=sum(predicted) / len(own),
                metrics={name: evaluate(data, name) for name in BY_USER},
            )
        )
    return tuple(found)


def _known(
    blocks: Sequence[GoldBlock], predictions: Predictions
) -> Iterator[tuple[GoldBlock, int, Prediction]]:
    for block, own in zip(blocks, predictions, strict=True):
        for gold, one in zip(block.gold, own, strict=True):
            if one is not None:
                yield block, gold, one


@dataclass(frozen=True, slots=True)
class EvaluatorDetails:
    """One evaluator in one setting; what it never says is None: reasons, chances of them."""

    gains: Mapping[MetricName, EvaluatorGain]
    scenarios: tuple[ScenarioFigures, ...]
    users: tuple[UserFigures, ...]
    reasons: ReasonFigures | None
    likely: LikelyReasons | None
    chances: ChanceFigures | None


def details_of(
    blocks: Sequence[GoldBlock],
    predictions: Predictions,
    reference: Predictions,
    *,
    seed: int,
    draws: int,
    pulse: Callable[[], None] = lambda: None,
) -> EvaluatorDetails:
    """All of them; arguments as for `gains`."""
    found = gains(blocks, predictions, reference, seed=seed, draws=draws, pulse=pulse)
    scenarios = by_scenario(blocks, predictions, seed=seed, draws=draws, pulse=pulse)
    likely = likely_reasons(blocks, predictions, seed=seed, draws=draws)
    pulse()
    return EvaluatorDetails(
        gains=found,
        scenarios=scenarios,
        users=by_user(blocks, predictions),
        reasons=reason_figures(blocks, predictions),
        likely=likely,
        chances=chance_figures(blocks, predictions, seed=seed, draws=draws),
    )


SATISFIED: Final = "SATISFIED"
UNKNOWN: Final = "UNKNOWN"
COLUMNS: Final = (*(reason.value for reason in REASONS), UNKNOWN, SATISFIED)
"""Rows and columns of the table; UNKNOWN is dissatisfied without a reason on record."""


@dataclass(frozen=True, slots=True)
class ReasonFigures:
    """The confusion of reasons: `table[stated][predicted]` counts turns, in the order of COLUMNS.

    Of `both` turns for which each names a reason, `right` name the same one; always naming the
    reason that is stated most often among them would name `commonest` right. `interval` is of
    `share`, with users as units.
    """

    table: tuple[tuple[int, ...], ...]
    both: int
    right: int
    commonest: int
    interval: Interval | None = None

    @property
    def share(self) -> float | None:
        """Share of named reasons that are right; None where none is named."""
        return self.right / self.both if self.both else None


def reason_figures(blocks: Sequence[GoldBlock], predictions: Predictions) -> ReasonFigures | None:
    """Stated against predicted reasons; None for an evaluator that never names one."""
    names = {reason.value for reason in REASONS}
    cells: Counter[tuple[str, str]] = Counter()
    by_user: dict[int, list[float]] = {}
    for block, own in zip(blocks, predictions, strict=True):
        for score, reason, one in zip(block.gold, block.reasons, own, strict=True):
            if one is not None:
                cell = _word(score, reason), _word(one.score, one.reason)
                cells[cell] += 1
                if names.issuperset(cell):
                    counts = by_user.setdefault(block.user, [0.0, 0.0])
                    counts[0] += cell[0] == cell[1]
                    counts[1] += 1
    if not any(predicted in names for _stated, predicted in cells):
        return None
    both = {cell: n for cell, n in cells.items() if names.issuperset(cell)}
    stated: Counter[str] = Counter()
    for (given, _predicted), n in both.items():
        stated[given] += n
    return ReasonFigures(
        table=tuple(tuple(cells[row, column] for column in COLUMNS) for row in COLUMNS),
        both=sum(both.values()),
        right=sum(n for (given, predicted), n in both.items() if given == predicted),
        commonest=max(stated.values(), default=0),
        interval=clustered_wilson(*np.array([*by_user.values()]).reshape(-1, 2).T),
    )


def _word(score: int, reason: Reason | None) -> str:
    if is_satisfied(score):
        return SATISFIED
    return reason.value if reason in REASONS else UNKNOWN
