"""The learning curve of the learned evaluator, computed once and kept as a report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotation.core.intervals import ends
from annotation.models import Dataset
from annotation.queries.annotators import names_of
from benchmark.core.learning_curve import CurvePoint, curve_points
from benchmark.models import VerificationReport
from benchmark.queries.learning_curve import CURVE_KIND
from benchmark.queries.satisfaction_evaluation import evaluation_turns
from judging.core.satisfaction_curve import CurveTurn, curve_sizes, learning_curve
from judging.core.satisfaction_expectation import Settings
from judging.queries.satisfaction.labels import examples

DEFAULT_DRAWS: Final = 5


@dataclass(frozen=True, slots=True)
class CurveReport:
    """A finished curve and the report that keeps it."""

    report_id: int
    sizes: tuple[int, ...]
    points: tuple[CurvePoint, ...]


def evaluate_learning_curve(
    *,
    train: Dataset,
    test: Dataset,
    sizes: Sequence[int] = (),
    draws: int = DEFAULT_DRAWS,
    seed: int,
    bootstrap: int,
    settings: Settings | None = None,
    observer: Callable[[int], None] | None = None,
) -> CurveReport:
    """Train on growing groups of one dataset's users, and keep how they do on everybody else.

    Args:
        train: whose users are learned from; those held out in a draw are predicted.
        test: whose users are predicted as well, as far as they did not rate in `train`.
        sizes: numbers of training users; the usual ones without any.
        draws: groups of each size.
        seed: of the groups and of the bootstrap.
        bootstrap: resamples of users; 0 leaves the intervals out.
        settings: how to train; the defaults are the evaluator's one setting.
        observer: told of each model that was trained, with 1.

    Raises:
        Refused: there are too few users, or all are satisfied throughout.
    """
    taught = examples(dataset_id=train.pk)
    chosen = curve_sizes(len({one.block.user for one in taught}), sizes)
    known = set(names_of(dataset=train).values())
    names = names_of(dataset=test)
    turns = evaluation_turns(test.pk)
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
        CurveTurn(str(gold.user), score, score, score)
        for _block, gold in fresh
        for score in gold.gold
    ]
    points = curve_points(models, said, seed=seed, bootstrap=bootstrap)
    report = VerificationReport.objects.create(
        dataset=test,
        kind=CURVE_KIND,
        settings={
            "train": train.slug,
            "test": test.slug,
            "sizes": list(chosen),
            "draws": draws,
            "seed": seed,
            "bootstrap": bootstrap,
        },
        rows=[stored_point(one) for one in points],
    )
    return CurveReport(report.pk, chosen, points)


def stored_point(point: CurvePoint) -> dict[str, Any]:
    """A point as JSON; benchmark.queries.learning_curve reads it back."""
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
