"""What calibration did to a judge's scores: distributions before and after, user by user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop
from benchmark.core.metrics import Metric, MetricName, evaluate, scored
from judging.core.calibration import (
    MIN_HISTORY,
    Calibration,
    calibrate,
    history_mean,
    paper_reference_cdf,
    paper_reference_mean_shift,
)

LEVELS: Final = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class ScoreTriple:
    """One turn of a user: what was stated, predicted raw, and predicted after calibration."""

    user: int
    stated: int
    raw: int
    calibrated: int


@dataclass(frozen=True, slots=True)
class Histograms:
    """How many turns have each score of LEVELS: as stated, raw, calibrated."""

    stated: tuple[int, ...]
    raw: tuple[int, ...]
    calibrated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UserShift:
    """One user's mean scores; a calibrated mean near the stated one is what calibration is for."""

    user: int
    turns: int
    stated: float
    raw: float
    calibrated: float


def histograms(turns: Sequence[ScoreTriple]) -> Histograms:
    """The three distributions of the same turns."""
    return Histograms(
        stated=_counts(turn.stated for turn in turns),
        raw=_counts(turn.raw for turn in turns),
        calibrated=_counts(turn.calibrated for turn in turns),
    )


def _counts(scores: Iterable[int]) -> tuple[int, ...]:
    listed = list(scores)
    return tuple(listed.count(level) for level in LEVELS)


def user_shifts(turns: Iterable[ScoreTriple]) -> tuple[UserShift, ...]:
    """Every user's means, in the order in which they first occur."""
    by_user: dict[int, list[ScoreTriple]] = {}
    for turn in turns:
        by_user.setdefault(turn.user, []).append(turn)
    return tuple(
        UserShift(
            user=user,
            turns=len(own),
            stated=sum(turn.stated for turn in own) / len(own),
            raw=sum(turn.raw for turn in own) / len(own),
            calibrated=sum(turn.calibrated for turn in own) / len(own),
        )
        for user, own in by_user.items()
    )


METRICS: Final = (MetricName.PEARSON, MetricName.QWK, MetricName.F1_DSAT, MetricName.MAE)


class Recalibration(LabelledEnum):
    """How raw scores are mapped; the PAPER ones part ties by id and round halves to even."""

    RAW = "RAW", gettext_noop("none")
    MEAN_SHIFT = "MEAN_SHIFT", gettext_noop("mean shift")
    CDF = "CDF", gettext_noop("match to the user's distribution (CDF)")
    PAPER_MEAN_SHIFT = "PAPER_MEAN_SHIFT", gettext_noop("mean shift, as in the paper's code")
    PAPER_CDF = "PAPER_CDF", gettext_noop("match to the user's distribution, as in the paper")


@dataclass(frozen=True, slots=True)
class RawTurn:
    """One scored turn: whose, a name by which the released code parts ties, both scores."""

    user: int
    key: str
    stated: int
    raw: int


@dataclass(frozen=True, slots=True)
class RawBlock:
    """One user's turns of one scenario, and counts of the user's scores 1-5 elsewhere."""

    turns: tuple[RawTurn, ...]
    history: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """What the scores of one method are worth, on the same turns: the METRICS, and their mean."""

    method: Recalibration
    metrics: tuple[Metric, ...]
    mean: float | None


def recalibrated(block: RawBlock, method: Recalibration) -> tuple[int, ...]:
    """The scores of a block under a method, in order."""
    raw = [turn.raw for turn in block.turns]
    if sum(block.history) < MIN_HISTORY or not raw:
        return tuple(raw)
    if method is Recalibration.PAPER_MEAN_SHIFT:
        mean = float(history_mean(block.history))
        return paper_reference_mean_shift(raw, reference=raw, mean=mean)
    if method is Recalibration.PAPER_CDF:
        named = [(turn.key, float(turn.raw)) for turn in block.turns]
        return paper_reference_cdf(named, reference=[], history=block.history)
    results = calibrate(raw, method=Calibration(method.value), history=block.history)
    return tuple(result.score for result in results)


def compare(blocks: Iterable[RawBlock]) -> tuple[MethodFigures, ...]:
    """Every method on the same turns."""
    listed = list(blocks)
    return tuple(_figures(method, listed) for method in Recalibration)


def _figures(method: Recalibration, blocks: Sequence[RawBlock]) -> MethodFigures:
    turns = [turn for block in blocks for turn in block.turns]
    final = [score for block in blocks for score in recalibrated(block, method)]
    data = scored([turn.stated for turn in turns], final, [turn.user for turn in turns])
    return MethodFigures(
        method=method,
        metrics=tuple(evaluate(data, name) for name in METRICS),
        mean=sum(final) / len(final) if final else None,
    )
