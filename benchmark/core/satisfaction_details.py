"""What stands behind an evaluator's line in the table: gains, scenarios, users, reasons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from benchmark.core.metrics import MetricName
from benchmark.core.satisfaction_chances import (
    ChanceFigures,
    LikelyReasons,
    chance_figures,
    likely_reasons,
)
from benchmark.core.satisfaction_evaluation import GoldBlock, Predictions
from benchmark.core.satisfaction_groups import (
    EvaluatorGain,
    ScenarioFigures,
    UserFigures,
    by_scenario,
    by_user,
    gains,
)
from benchmark.core.satisfaction_reasons import ReasonFigures, reason_figures


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
) -> EvaluatorDetails:
    """All of them; arguments as for `gains`."""
    return EvaluatorDetails(
        gains=gains(blocks, predictions, reference, seed=seed, draws=draws),
        scenarios=by_scenario(blocks, predictions, seed=seed, draws=draws),
        users=by_user(blocks, predictions),
        reasons=reason_figures(blocks, predictions),
        likely=likely_reasons(blocks, predictions, seed=seed, draws=draws),
        chances=chance_figures(blocks, predictions, seed=seed, draws=draws),
    )
