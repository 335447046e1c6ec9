"""What stands behind an evaluator's line in the table: gains, scenarios, users, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.core.metrics import MetricName
from benchmark.core.satisfaction_evaluation import GoldBlock, Predictions
from benchmark.core.satisfaction_groups import (
    Gain,
    ScenarioFigures,
    UserFigures,
    by_scenario,
    by_user,
    gains,
)
from benchmark.core.satisfaction_reasons import ReasonFigures, reason_figures


@dataclass(frozen=True, slots=True)
class EvaluatorDetails:
    """One evaluator in one setting; `reasons` is None where it never names one."""

    gains: Mapping[MetricName, Gain]
    scenarios: tuple[ScenarioFigures, ...]
    users: tuple[UserFigures, ...]
    reasons: ReasonFigures | None


def details_of(
    blocks: Sequence[GoldBlock],
    predictions: Predictions,
    reference: Predictions,
    *,
    seed: int,
    draws: int,
) -> EvaluatorDetails:
    """All of them; arguments as for `gains`."""
    return EvaluatorDetails(
        gains=gains(blocks, predictions, reference, seed=seed, draws=draws),
        scenarios=by_scenario(blocks, predictions, seed=seed, draws=draws),
        users=by_user(blocks, predictions),
        reasons=reason_figures(blocks, predictions),
    )
