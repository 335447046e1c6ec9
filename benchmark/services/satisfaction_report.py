"""A comparison of evaluators as JSON; benchmark.queries.satisfaction_report reads it back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from annotation.core.intervals import ends
from benchmark.core.metrics import Metric, MetricName
from benchmark.core.satisfaction_chances import ChanceEstimate, ChanceFigures, LikelyReasons
from benchmark.core.satisfaction_details import EvaluatorDetails
from benchmark.core.satisfaction_evaluation import EvaluatorFigures


def stored(
    result: EvaluatorFigures, details: EvaluatorDetails, names: Mapping[int, str]
) -> dict[str, Any]:
    """One evaluator in one setting; `names` are those of the users within their dataset."""
    reasons = details.reasons
    return {
        "name": result.name,
        "setting": result.setting,
        "turns": result.turns,
        "missing": result.missing,
        "seconds": result.seconds,
        "whole": _metrics(result.whole),
        "expected": _metrics(result.expected),
        "gains": stored_gains(details),
        "scenarios": [
            {
                "scenario": one.scenario,
                "turns": one.turns,
                "users": one.users,
                "metrics": _metrics(one.metrics),
            }
            for one in details.scenarios
        ],
        "users": [
            {
                "id": one.user,
                "name": names[one.user],
                "turns": one.turns,
                "stated": one.stated,
                "predicted": one.predicted,
                "metrics": _metrics(one.metrics),
            }
            for one in details.users
        ],
        "reasons": None
        if reasons is None
        else {
            "table": [list(row) for row in reasons.table],
            "both": reasons.both,
            "right": reasons.right,
            "commonest": reasons.commonest,
        },
        "likely": None if details.likely is None else stored_likely(details.likely),
        "chances": None if details.chances is None else stored_chances(details.chances),
    }


def stored_gains(details: EvaluatorDetails) -> dict[str, Any]:
    """What it gains over the reference, by metric."""
    return {
        name.value: {"value": gain.value, **ends(gain.interval), "p": gain.p}
        for name, gain in details.gains.items()
    }


def stored_likely(found: LikelyReasons) -> dict[str, Any]:
    """How often its likeliest reason is the user's own."""
    return {
        "turns": found.turns,
        "accuracy": _estimate(found.accuracy),
        "top_2": _estimate(found.top_2),
        "macro_f1": _estimate(found.macro_f1),
        "commonest": found.commonest,
        "commonest_f1": found.commonest_f1,
        "gain": _estimate(found.gain),
    }


def stored_chances(found: ChanceFigures) -> dict[str, Any]:
    """How right its chances of dissatisfaction are; a bin is turns, mean chance, share."""
    return {
        "turns": found.turns,
        "bins": [[one.turns, one.chance, one.share] for one in found.bins],
        "error": _estimate(found.error),
        "brier": _estimate(found.brier),
        "base_brier": found.base_brier,
    }


def _estimate(found: ChanceEstimate) -> dict[str, float | None]:
    return {"value": found.value, **ends(found.interval)}


def _metrics(metrics: Mapping[MetricName, Metric]) -> dict[str, Any]:
    return {
        name.value: {
            "value": metric.value,
            "undefined": None if metric.undefined is None else metric.undefined.value,
            **ends(metric.interval),
        }
        for name, metric in metrics.items()
    }
