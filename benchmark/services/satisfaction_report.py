"""A comparison of evaluators as JSON; benchmark.queries.satisfaction_report reads it back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from annotation.core.intervals import ends
from annotation.models import Dataset
from annotation.queries.participants import names_of
from benchmark.core.learning_curve import CurvePoint, curve_points
from benchmark.core.metrics import Metric, MetricName
from benchmark.core.satisfaction_chances import ChanceEstimate, ChanceFigures, LikelyReasons
from benchmark.core.satisfaction_evaluation import EvaluatorFigures
from benchmark.core.satisfaction_groups import EvaluatorDetails, EvaluatorGain
from benchmark.queries.satisfaction import evaluation_turns
from judging.core.rules import Level
from judging.core.satisfaction_curve import CurveTurn, curve_sizes, learning_curve
from judging.core.satisfaction_model import Settings
from judging.queries.satisfaction.labels import examples

DEFAULT_DRAWS: Final = 5


def checked_curve_sizes(
    train: Dataset, sizes: Sequence[int], *, level: Level = Level.TURN
) -> tuple[int, ...]:
    """The numbers of training users of a curve; the usual ones without any.

    Raises:
        Refused: there are too few users.
    """
    taught = examples(dataset_id=train.pk, level=level)
    return curve_sizes(len({one.block.user for one in taught}), sizes)


def evaluate_learning_curve(
    *,
    train: Dataset,
    test: Dataset,
    level: Level = Level.TURN,
    sizes: Sequence[int] = (),
    draws: int = DEFAULT_DRAWS,
    seed: int,
    bootstrap: int,
    settings: Settings | None = None,
    observer: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Train on growing groups of one dataset's users, and see how they do on everybody else.

    Args:
        train: whose users are learned from; those held out in a draw are predicted.
        test: whose users are predicted as well, as far as they did not rate in `train`.
        level: what was rated, single responses or whole sessions.
        sizes: numbers of training users; the usual ones without any.
        draws: groups of each size.
        seed: of the groups and of the bootstrap.
        bootstrap: resamples of users; 0 leaves the intervals out.
        settings: how to train; the defaults are the evaluator's one setting.
        observer: told of each model that was trained, with 1, and of each step after, with 0.

    Returns:
        The `settings` and `rows` of a report; benchmark.queries.satisfaction reads it back.

    Raises:
        Refused: there are too few users, or all are satisfied throughout.
    """
    taught = examples(dataset_id=train.pk, level=level)
    chosen = curve_sizes(len({one.block.user for one in taught}), sizes)
    known = set(names_of(dataset=train).values())
    names = names_of(dataset=test)
    turns = evaluation_turns(test.pk, level=level)
    fresh = [
        (stored.block, gold)
        for stored, gold in zip(turns.stored, turns.gold, strict=True)
        if names[gold.user] not in known
    ]
    models = learning_curve(
        taught,
        [block for block, _gold in fresh],
        sizes=chosen,
        draws=draws,
        seed=seed,
        settings=settings,
        observer=observer,
    )
    said = [
        CurveTurn(str(gold.user), score, score, score, gold.scenario)
        for _block, gold in fresh
        for score in gold.gold
    ]
    points = curve_points(
        models,
        said,
        seed=seed,
        bootstrap=bootstrap,
        pulse=lambda: None if observer is None else observer(0),
    )
    return {
        "settings": {
            "train": train.slug,
            "test": test.slug,
            "sizes": list(chosen),
            "draws": draws,
            "seed": seed,
            "bootstrap": bootstrap,
            **({} if level is Level.TURN else {"level": level.value}),
        },
        "rows": [stored_point(one) for one in points],
    }


def stored_point(point: CurvePoint) -> dict[str, Any]:
    """A point as JSON; benchmark.queries.satisfaction reads it back."""
    return {
        "on": point.on.value,
        "users": point.users,
        "draws": point.draws,
        "turns": point.turns,
        "figures": {
            name: {
                "value": one.value,
                **ends(one.interval),
                "lowest": one.lowest,
                "highest": one.highest,
            }
            for name, one in point.figures.items()
        },
    }


def stored(
    result: EvaluatorFigures,
    details: EvaluatorDetails,
    names: Mapping[int, str],
    *,
    missing: Mapping[str, int],
) -> dict[str, Any]:
    """One evaluator in one setting.

    Args:
        result: its figures.
        details: what is behind them.
        names: of the users within their dataset.
        missing: by code how many turns have no score.
    """
    reasons = details.reasons
    return {
        "name": result.name,
        "setting": result.setting,
        "turns": result.turns,
        "missing": result.missing,
        "missing_by_code": dict(missing),
        "seconds": result.seconds,
        "whole": _metrics(result.whole),
        "expected": _metrics(result.expected),
        "gains": stored_gains(details.gains),
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
            **ends(reasons.interval),
        },
        "likely": None if details.likely is None else stored_likely(details.likely),
        "chances": None if details.chances is None else stored_chances(details.chances),
    }


def stored_gains(gains: Mapping[Any, EvaluatorGain]) -> dict[str, Any]:
    """What it gains over the reference, by metric."""
    return {
        str(name): {"value": gain.value, **ends(gain.interval), "p": gain.p}
        for name, gain in gains.items()
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
