"""How an evaluator does with fewer training users: one point for each number of them.

A figure is the mean over the draws of a size. Its interval resamples users, all draws of a
size together, so it says how far other people would move it; the lowest and the highest single
draw stand beside it, which say how far other training users would.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from annotation.core.intervals import FloatArray, Interval
from annotation.core.intervals import bootstrap as bootstrap_interval
from benchmark.core.metrics import METRICS, MetricName, Scored, scored
from judging.core.satisfaction_curve import CurveModel, CurveTurn

WHOLE: Final = (MetricName.PEARSON, MetricName.SPEARMAN, MetricName.QWK, MetricName.F1_DSAT)
EXPECTED: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_BLOCK_PEARSON,
)
"""What a point has, of whole and of unrounded scores; the latter's names end in `_expected`."""
CURVE_METRICS: Final = (*WHOLE, *(f"{name}_expected" for name in EXPECTED))


class CurveOn(StrEnum):
    """Whose turns a point is about."""

    HELD_OUT = "HELD_OUT"
    TEST = "TEST"


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """The mean over draws, its interval over users, and the lowest and highest draw."""

    value: float | None
    interval: Interval | None
    lowest: float | None
    highest: float | None


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The figures of models trained on `users` users, by name (CURVE_METRICS)."""

    on: CurveOn
    users: int
    draws: int
    turns: int
    figures: Mapping[str, CurveFigure]


def curve_points(
    models: Sequence[CurveModel],
    others: Sequence[CurveTurn],
    *,
    seed: int,
    bootstrap: int,
    pulse: Callable[[], None] = lambda: None,
) -> tuple[CurvePoint, ...]:
    """The points of a curve: those on held-out users, then those on the others, by size.

    Too few predicted users give no interval.

    Args:
        models: the trained models with their predictions.
        others: who and what was said of the others' turns, in order; scores are not read.
        seed: of the bootstrap over users.
        bootstrap: its resamples; 0 leaves the intervals out.
        pulse: called before every figure.
    """
    held_out: dict[int, list[Sequence[CurveTurn]]] = {}
    test: dict[int, list[Sequence[CurveTurn]]] = {}
    for model in models:
        if model.held_out:
            held_out.setdefault(model.users, []).append(model.held_out)
        said = [one for block in model.others for one in block]
        if said:
            test.setdefault(model.users, []).append(
                [
                    CurveTurn(turn.user, turn.gold, *one, turn.block)
                    for turn, one in zip(others, said, strict=True)
                ]
            )
    return tuple(
        _point(on, users, draws, seed=seed, bootstrap=bootstrap, pulse=pulse)
        for on, by_size in ((CurveOn.HELD_OUT, held_out), (CurveOn.TEST, test))
        for users, draws in sorted(by_size.items())
    )


def _point(
    on: CurveOn,
    users: int,
    draws: Sequence[Sequence[CurveTurn]],
    *,
    seed: int,
    bootstrap: int,
    pulse: Callable[[], None],
) -> CurvePoint:
    whole = [_scored(turns, [turn.score for turn in turns]) for turns in draws]
    unrounded = [_scored(turns, [turn.expected for turn in turns]) for turns in draws]
    clusters = [turn.user for turns in draws for turn in turns]
    asked = [(name.value, name, whole) for name in WHOLE]
    asked += [(f"{name}_expected", name, unrounded) for name in EXPECTED]
    figures = {}
    for key, name, data in asked:
        pulse()
        figures[key] = _figure(name, data, clusters, seed=seed, bootstrap=bootstrap)
    return CurvePoint(
        on=on,
        users=users,
        draws=len(draws),
        turns=len(clusters),
        figures=figures,
    )


def _scored(turns: Sequence[CurveTurn], predicted: Sequence[float]) -> Scored:
    return scored(
        [turn.gold for turn in turns],
        predicted,
        [turn.user for turn in turns],
        [(turn.user, turn.block) for turn in turns],
    )


def _figure(
    name: MetricName, data: Sequence[Scored], clusters: Sequence[str], *, seed: int, bootstrap: int
) -> CurveFigure:
    """The mean of a metric over draws; draws in which it is undefined are left out."""
    ends = np.cumsum([0, *(len(one.gold) for one in data)])
    metric = METRICS[name]

    def by_draw(weights: FloatArray) -> FloatArray:
        """One row a draw, one column a resample; nan where nobody of a draw was taken."""
        found = np.full((len(data), len(weights)), np.nan)
        for at, one in enumerate(data):
            own = weights[:, ends[at] : ends[at + 1]]
            taken = own.sum(axis=1) > 0
            found[at, taken] = metric(one, own[taken])
        return found

    def mean(weights: FloatArray) -> FloatArray:
        found = by_draw(weights)
        defined = ~np.isnan(found)
        counts = defined.sum(axis=0)
        totals: FloatArray = np.where(defined, found, 0.0).sum(axis=0)
        means: FloatArray = np.full_like(totals, np.nan)
        np.divide(totals, counts, out=means, where=counts > 0)
        return means

    single = by_draw(np.ones((1, len(clusters))))[:, 0]
    known = single[~np.isnan(single)]
    if not len(known):
        return CurveFigure(None, None, None, None)
    interval = None
    if bootstrap:
        interval = bootstrap_interval(
            mean,
            units=len(clusters),
            seed=seed,
            clusters=clusters,
            draws=bootstrap,
        )
    return CurveFigure(float(known.mean()), interval, float(known.min()), float(known.max()))
