"""What a stored report holds behind an evaluator's line: gains, scenarios, users, reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotation.core.intervals import Interval, ends
from benchmark.core.metrics import Metric, MetricName, UndefinedMetric
from benchmark.core.satisfaction_chances import (
    ChanceBin,
    ChanceEstimate,
    ChanceFigures,
    LikelyReasons,
)
from benchmark.core.satisfaction_groups import BY_SCENARIO, GAINED, EvaluatorGain
from benchmark.core.satisfaction_reasons import COLUMNS, ReasonFigures


@dataclass(frozen=True, slots=True)
class ScenarioMetrics:
    """One scenario: how many turns of how many users, and the metrics by name."""

    scenario: str
    turns: int
    users: int
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class UserRow:
    """One user: means of stated and predicted scores, and the metrics by name."""

    id: int
    name: str
    turns: int
    stated: float
    predicted: float
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class StoredDetails:
    """All that stands behind a line; empty in reports of before they were kept."""

    gains: dict[str, EvaluatorGain]
    scenarios: tuple[ScenarioMetrics, ...]
    users: tuple[UserRow, ...]
    reasons: ReasonFigures | None
    likely: LikelyReasons | None
    chances: ChanceFigures | None

    @property
    def shown_gains(self) -> tuple[tuple[MetricName, EvaluatorGain], ...]:
        """The gains in the order of a table's columns."""
        return tuple((name, self.gains[name]) for name in GAINED if name in self.gains)

    @property
    def scenario_metrics(self) -> tuple[MetricName, ...]:
        """The metrics of a scenario, in the order of its columns."""
        return BY_SCENARIO if self.scenarios else ()

    @property
    def reason_rows(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The rows of the confusion table with what was stated."""
        if self.reasons is None:
            return ()
        return tuple(zip(COLUMNS, self.reasons.table, strict=True))


def details_in(stored: Mapping[str, Any]) -> StoredDetails:
    """The details of one stored evaluator."""
    reasons = stored.get("reasons")
    return StoredDetails(
        gains={name: _gain(one) for name, one in stored.get("gains", {}).items()},
        scenarios=tuple(
            ScenarioMetrics(
                one["scenario"], one["turns"], one["users"], dict(metrics_of(one["metrics"]))
            )
            for one in stored.get("scenarios", ())
        ),
        users=tuple(
            UserRow(
                one["id"],
                one["name"],
                one["turns"],
                one["stated"],
                one["predicted"],
                dict(metrics_of(one["metrics"])),
            )
            for one in stored.get("users", ())
        ),
        reasons=None
        if reasons is None
        else ReasonFigures(
            tuple(tuple(row) for row in reasons["table"]),
            reasons["both"],
            reasons["right"],
            reasons["commonest"],
        ),
        likely=_likely(stored.get("likely")),
        chances=_chances(stored.get("chances")),
    )


def _likely(stored: Mapping[str, Any] | None) -> LikelyReasons | None:
    if stored is None:
        return None
    return LikelyReasons(
        turns=stored["turns"],
        accuracy=_estimate(stored["accuracy"]),
        top_2=_estimate(stored["top_2"]),
        macro_f1=_estimate(stored["macro_f1"]),
        commonest=stored["commonest"],
        commonest_f1=stored["commonest_f1"],
        gain=_estimate(stored["gain"]),
    )


def _chances(stored: Mapping[str, Any] | None) -> ChanceFigures | None:
    if stored is None:
        return None
    return ChanceFigures(
        turns=stored["turns"],
        bins=tuple(ChanceBin(*one) for one in stored["bins"]),
        error=_estimate(stored["error"]),
        brier=_estimate(stored["brier"]),
        base_brier=stored["base_brier"],
    )


def _estimate(stored: Mapping[str, Any]) -> ChanceEstimate:
    return ChanceEstimate(stored["value"], _interval(stored))


def metrics_of(
    stored: Mapping[str, Mapping[str, Any]], suffix: str = ""
) -> Iterator[tuple[str, Metric]]:
    """Stored metrics by name with a suffix."""
    for name, one in stored.items():
        undefined = None if one["undefined"] is None else UndefinedMetric(one["undefined"])
        yield f"{name}{suffix}", Metric(one["value"], undefined, _interval(one))


def cells_of(metrics: Mapping[str, Metric]) -> dict[str, object]:
    """Metrics as cells of a file: the value, `_low` and `_high`."""
    found: dict[str, object] = {}
    for name, metric in metrics.items():
        found[name] = metric.value
        found.update(ends(metric.interval, f"{name}_"))
    return found


def _gain(stored: Mapping[str, Any]) -> EvaluatorGain:
    return EvaluatorGain(stored["value"], _interval(stored), stored["p"])


def _interval(stored: Mapping[str, Any]) -> Interval | None:
    return None if stored["low"] is None else Interval(stored["low"], stored["high"])
