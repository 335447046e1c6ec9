"""How evaluators of satisfaction compare on the same turns (seed 003, section 4).

An evaluator is anything that gives each turn of each block a whole score and, where it can, an
expected one: a baseline that knows no response, a judge's stored scores under some calibration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from annotation.core.choices import Reason, is_satisfied
from benchmark.core.metrics import Metric, MetricName, Scored, evaluate, scored
from judging.core.calibration import (
    Calibration,
    calibrate,
    cdf_expected,
    history_mean,
    score_counts,
)
from judging.core.satisfaction_baselines import (
    Baseline,
    Prediction,
    majority,
    mean,
    median,
    spread_by_history,
)


@dataclass(frozen=True, slots=True)
class GoldBlock:
    """One user's rated turns of one scenario.

    `keys` are stable and distinct within the block; `history` counts the user's scores 1-5 in
    other scenarios, lowest first. `reasons` are those given for the scores, None where satisfied.
    """

    user: int
    scenario: str
    keys: tuple[str, ...]
    gold: tuple[int, ...]
    history: tuple[int, ...]
    reasons: tuple[Reason | None, ...] = ()


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """What a judge said of one turn; `expected` where it knows probabilities."""

    score: int
    expected: float | None = None
    reason: Reason | None = None


class JudgeSetting(StrEnum):
    """How a judge's stored scores are used. CDF_EXPECTED ranks a block by expected scores."""

    RAW = "raw"
    MEAN_SHIFT = "mean_shift"
    CDF = "cdf"
    CDF_EXPECTED = "cdf_expected"


Predictions = Sequence[Sequence[Prediction | None]]
"""For each block and turn the prediction; None where there is none."""

WHOLE: Final = tuple(MetricName)
EXPECTED: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.MAE,
    MetricName.RMSE,
    MetricName.AUC,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_USER_SPEARMAN,
    MetricName.WITHIN_BLOCK_PEARSON,
    MetricName.WITHIN_BLOCK_SPEARMAN,
)


@dataclass(frozen=True, slots=True)
class EvaluatorFigures:
    """One evaluator in one setting. `missing` turns have no prediction and stand in no metric."""

    name: str
    setting: str
    turns: int
    missing: int
    whole: Mapping[MetricName, Metric]
    expected: Mapping[MetricName, Metric]
    seconds: float


def baseline_predictions(
    baseline: Baseline, blocks: Sequence[GoldBlock], *, train: Sequence[int]
) -> Predictions:
    """What a baseline says of every turn.

    Args:
        baseline: which.
        blocks: the turns.
        train: counts of the training users' scores 1-5, lowest first; a HISTORY baseline falls
            back to its GLOBAL sibling for a user without history.
    """
    rule = _RULES[baseline]
    overall = rule(train)
    results: list[Sequence[Prediction | None]] = []
    for block in blocks:
        size = len(block.gold)
        if baseline not in _BY_HISTORY or not any(block.history):
            results.append([overall] * size)
        elif baseline is Baseline.HISTORY_CDF:
            results.append(spread_by_history(block.keys, history=block.history))
        else:
            results.append([rule(block.history)] * size)
    return results


_BY_HISTORY: Final = (Baseline.HISTORY_MEAN, Baseline.HISTORY_MEDIAN, Baseline.HISTORY_CDF)
_RULES: Final = {
    Baseline.GLOBAL_MEAN: mean,
    Baseline.GLOBAL_MEDIAN: median,
    Baseline.GLOBAL_MAJORITY: majority,
    Baseline.HISTORY_MEAN: mean,
    Baseline.HISTORY_MEDIAN: median,
    Baseline.HISTORY_CDF: mean,
}


def judge_predictions(
    setting: JudgeSetting,
    blocks: Sequence[GoldBlock],
    judged: Sequence[Sequence[JudgedTurn | None]],
) -> Predictions:
    """A judge's stored scores under one calibration, block by block (protocols A2.4)."""
    return [
        _judged_block(setting, block, turns) for block, turns in zip(blocks, judged, strict=True)
    ]


def _judged_block(
    setting: JudgeSetting, block: GoldBlock, turns: Sequence[JudgedTurn | None]
) -> Sequence[Prediction | None]:
    """Calibrate the scored turns among themselves and put them back in their places."""
    scored_turns = [turn for turn in turns if turn is not None]
    raw = [float(turn.score) for turn in scored_turns]
    graded = [
        float(turn.score) if turn.expected is None else turn.expected for turn in scored_turns
    ]
    method = _METHODS[setting]
    ranked = graded if setting is JudgeSetting.CDF_EXPECTED else raw
    calibrated = calibrate(ranked, method=method, history=block.history)
    if method is Calibration.RAW or any(one.fallback for one in calibrated):
        scores, expected = [turn.score for turn in scored_turns], graded
    else:
        scores = [one.score for one in calibrated]
        expected = _unrounded(method, ranked, graded, block.history)
    predictions = iter(
        [
            Prediction(score, value, None if is_satisfied(score) else turn.reason)
            for score, value, turn in zip(scores, expected, scored_turns, strict=True)
        ]
    )
    return [None if turn is None else next(predictions) for turn in turns]


_METHODS: Final = {
    JudgeSetting.RAW: Calibration.RAW,
    JudgeSetting.MEAN_SHIFT: Calibration.MEAN_SHIFT,
    JudgeSetting.CDF: Calibration.CDF,
    JudgeSetting.CDF_EXPECTED: Calibration.CDF,
}


def _unrounded(
    method: Calibration, ranked: Sequence[float], graded: Sequence[float], history: Sequence[int]
) -> list[float]:
    if method is Calibration.CDF:
        return list(cdf_expected(ranked, history=history))
    shift = float(history_mean(history)) - sum(ranked) / max(1, len(ranked))
    return [value + shift for value in graded]


def figures(
    name: str,
    setting: str,
    blocks: Sequence[GoldBlock],
    predictions: Predictions,
    *,
    seconds: float,
    seed: int,
    draws: int,
    pulse: Callable[[], None] = lambda: None,
) -> EvaluatorFigures:
    """Every metric of one evaluator, on whole and on expected scores.

    Args:
        name: of the evaluator.
        setting: how it was used.
        blocks: the turns.
        predictions: for each of them.
        seconds: what the predictions took.
        seed: of the user-clustered bootstrap.
        draws: its resamples; 0 leaves the intervals out.
        pulse: called after every metric.
    """

    def metric(data: Scored, one: MetricName) -> Metric:
        found = evaluate(data, one, seed=seed if draws else None, draws=draws)
        pulse()
        return found

    rows = [
        (gold, prediction, (block.user, block.scenario))
        for block, own in zip(blocks, predictions, strict=True)
        for gold, prediction in zip(block.gold, own, strict=True)
    ]
    known = [(gold, found, block) for gold, found, block in rows if found is not None]
    gold, places = [row[0] for row in known], [row[2] for row in known]
    users = [user for user, _scenario in places]
    whole = scored(gold, [found.score for _, found, _ in known], users, places)
    expected = scored(gold, [found.expected for _, found, _ in known], users, places)
    return EvaluatorFigures(
        name=name,
        setting=setting,
        turns=len(known),
        missing=len(rows) - len(known),
        whole={one: metric(whole, one) for one in WHOLE},
        expected={one: metric(expected, one) for one in EXPECTED},
        seconds=seconds,
    )


def counts_of(blocks: Sequence[GoldBlock]) -> tuple[int, ...]:
    """Counts of the gold scores 1-5 of all blocks, lowest first."""
    return score_counts([score for block in blocks for score in block.gold])
