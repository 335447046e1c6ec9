"""What people would say of all targets, from a judge's scores of all and people's labels of some.

Prediction-powered inference with power tuning (Angelopoulos, Duchi and Zrnic 2023, PPI++): of N
targets the judge scores each (f), people label n (y). The mean of the judge over all is corrected
by what it errs on the labelled ones, so its bias goes whatever the judge is; how much it narrows
the interval depends on its correlation with people. A label is a row of its own, a target that
nobody labelled is one row, and rows of one unit (a session, a user) vary together.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import (
    Interval,
    Units,
    cluster_index,
    ends,
    student_quantile,
    wilson_of_spread,
)

Floats = NDArray[np.float64]

FEWEST_LABELS: Final = 20
FLAT: Final = 1e-20
"""A variance below this is rounding."""
MOST_TIMES: Final = 4
"""Labels of a half, or the mean of several people's, vary less than hits and misses, which makes
them count for more trials than there are. Ten units of independent trials vary by a quarter of what
they should in one sample of a hundred: for more than this many times as many they never count."""
SHARE: Final = (0.0, 1.0)
"""Between what shares lie: wins with a half for a tie, agreement, rates."""


class Obstacle(StrEnum):
    """Why nothing is corrected; each has a mend."""

    OUT_OF_RANGE = "OUT_OF_RANGE"  # the judge scores on another scale
    FEW_LABELS = "FEW_LABELS"
    NOT_RANDOM = "NOT_RANDOM"  # the labels are no random part of the targets
    OTHER_TARGETS = "OTHER_TARGETS"  # people rated conversations, the judge turns, or vice versa


class MeanEstimate(NamedTuple):
    """A mean over `rows` of `units`; no interval where those are too few.

    Nor has a score one that is the same everywhere: what does not vary says nothing of how it may.
    """

    value: float
    interval: Interval | None
    rows: int
    units: Units


@dataclass(frozen=True, slots=True)
class JudgedRows:
    """What a judge said of each row, and people where they did.

    Attributes:
        scores: the judge's f, (N,).
        labels: people's y on the same scale, (N,), nan where there is none.
        units: the number of each row's unit, (N,), from 0.
        chances: with what probability a row was labelled, (N,), above 0; None where all were as
            likely.
    """

    scores: Floats
    labels: Floats
    units: NDArray[np.intp]
    chances: Floats | None = None

    @classmethod
    def of(
        cls,
        rows: Sequence[tuple[float, float | None, Hashable]],
        chances: Sequence[float] | None = None,
    ) -> JudgedRows:
        """From rows of score, label and unit.

        Raises:
            ValueError: a probability is not above 0 and at most 1, or not every row has one.
        """
        drawn = None if chances is None else np.asarray(chances, dtype=np.float64)
        if drawn is not None and (
            len(drawn) != len(rows) or not ((drawn > 0) & (drawn <= 1)).all()
        ):
            raise ValueError("every row needs a probability above 0 and at most 1")
        index, _units = cluster_index([unit for _f, _y, unit in rows], units=len(rows))
        return cls(
            np.array([score for score, _y, _unit in rows], dtype=np.float64),
            np.array([np.nan if y is None else y for _f, y, _unit in rows], dtype=np.float64),
            index,
            drawn,
        )

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows have a label."""
        known: NDArray[np.bool_] = ~np.isnan(self.labels)
        return known


@dataclass(frozen=True, slots=True)
class CorrectedFigure:
    """A mean by people alone, by the judge alone, and corrected, of the same targets.

    `corrected` is None exactly where there is an `obstacle`; `missing` labels would mend too few.
    `targets` counts what was scored, of which several labels make several rows in the means.
    `on_labelled` is the judge's mean over the labelled rows, whose difference from that of people
    is its bias. `weight` is lambda, how much of the judge counts; `correlation` is r of labels and
    scores, None where either does not vary. `by_chance` says that labels count in all of these for
    as many as they stand for.
    """

    human: MeanEstimate | None
    judge: MeanEstimate
    corrected: MeanEstimate | None
    weight: float | None
    correlation: float | None
    labels: int
    targets: int
    obstacle: Obstacle | None
    missing: int = 0
    on_labelled: float | None = None
    by_chance: bool = False

    @property
    def saved(self) -> float | None:
        """How many labels one label is worth beside the judge: 1 / (1 - r^2 (1 - n/N)).

        None if the judge saves nothing, as it does not count or everything is labelled, and for
        labels drawn with different probabilities, of which that formula does not hold.
        """
        r, unlabelled = self.correlation, 1 - self.labels / self.judge.rows
        if self.by_chance or not self.weight or r is None or not unlabelled:
            return None
        rest = 1 - r * r * unlabelled
        return 1 / rest if rest > 0 else None

    @property
    def order(self) -> tuple[bool, float]:
        """What rows are sorted by: the corrected ones first, each part by its best known value."""
        best = self.corrected or self.human or self.judge
        return self.corrected is None, -best.value

    def cells(self, judge: str = "judge_only") -> dict[str, object]:
        """All of it as cells of a row; None where there is nothing.

        Args:
            judge: the name of the judge's own mean.
        """
        cells: dict[str, object] = {}
        ways: tuple[tuple[str, MeanEstimate | None], ...] = (
            ("human", self.human),
            (judge, self.judge),
            ("corrected", self.corrected),
        )
        for name, found in ways:
            cells[name] = None if found is None else found.value
            cells |= ends(None if found is None else found.interval, f"{name}_")
        return cells | {
            f"{judge.removesuffix('_only')}_on_labelled": self.on_labelled,
            "labels": self.labels,
            "targets": self.targets,
            "lambda": self.weight,
            "r": self.correlation,
            "labels_saved": self.saved,
            "refused": None if self.obstacle is None else self.obstacle.value.lower(),
            "missing_labels": self.missing,
        }


def corrected(
    rows: JudgedRows, *, is_random: bool, bounds: tuple[float, float] = SHARE
) -> CorrectedFigure:
    """People alone, the judge alone, and the judge corrected by people (protocols A6.3).

    With f the scores, y the labels and e = y - lambda f: lambda = cov(y, f) / var f, clipped to
    0..1, and the estimate is lambda mean_N(f) + mean_n(e). If the probabilities pi of a label are
    known, labels weigh w = 1 / pi: lambda is the weighted covariance over the weighted variance of
    the labelled rows, and the estimate lambda mean_N(f) + sum w e / sum w. The variance sums what
    the rows of a unit add to that, both means together, squared and divided by 1 less what the unit
    holds of the labels' weight, for it pulls the mean towards itself (CR2). People alone are the
    same with lambda = 0, as it is with as many labels as targets.

    Args:
        rows: at least one.
        is_random: whether the labelled rows are a random part of all; not asked where
            probabilities are known.
        bounds: the lowest and highest label that the scale has; SHARE takes Wilson's interval, any
            other Student's.
    """
    known = rows.labelled
    n, total = int(known.sum()), len(rows.scores)
    obstacle, missing = _obstacle(rows, n, is_random=is_random, bounds=bounds)
    human = weight = r = estimate = on_labelled = None
    stands = _stands_for(rows, known)
    held = stands / max(1.0, float(stands.sum()))
    if n:
        mean, around = deviations(rows, 0.0)
        human = _estimate(mean, around, rows.units, held, MOST_TIMES * n, bounds)
        on_labelled = float(np.average(rows.scores[known], weights=stands[known]))
        r = _correlation(rows.labels[known], rows.scores[known], stands[known])
    judged = float(rows.scores.mean())
    of_judge, every = (rows.scores - judged) / total, np.full(total, 1 / total)
    if obstacle is None:
        weight = _weight(rows, known)
        value, around = deviations(rows, weight)
        estimate = _estimate(value, around, rows.units, held, MOST_TIMES * n, bounds)
    return CorrectedFigure(
        human=human,
        judge=_estimate(judged, of_judge, rows.units, every, MOST_TIMES * total, bounds),
        corrected=estimate,
        weight=weight,
        correlation=r,
        labels=n,
        targets=total,
        obstacle=obstacle,
        missing=missing,
        on_labelled=on_labelled,
        by_chance=rows.chances is not None,
    )


def deviations(rows: JudgedRows, weight: float) -> tuple[float, Floats]:
    """The corrected mean, and what each row adds to its error, (N,).

    Args:
        rows: with a label at least.
        weight: lambda, as of their `CorrectedFigure`; 0 for people alone.
    """
    known = rows.labelled
    stands = _stands_for(rows, known)
    weights, judged = float(stands.sum()), float(rows.scores.mean())
    rest = np.where(known, rows.labels - weight * rows.scores, 0.0)
    mean = float((stands * rest).sum()) / weights
    of_judge = weight * (rows.scores - judged) / len(rows.scores)
    return weight * judged + mean, of_judge + stands * (rest - mean) / weights


def clustered_mean(
    values: Sequence[float],
    units: Sequence[Hashable],
    *,
    bounds: tuple[float, float] = SHARE,
) -> MeanEstimate:
    """A mean with its interval by units, as `corrected` gives that of people alone.

    Args:
        values: at least one.
        units: of each value.
        bounds: as for `corrected`.
    """
    told = np.asarray(values, dtype=np.float64)
    index, _units = cluster_index(units, units=len(told))
    mean, rows = float(told.mean()), len(told)
    return _estimate(mean, (told - mean) / rows, index, np.full(rows, 1 / rows), rows, bounds)


def _obstacle(
    rows: JudgedRows, n: int, *, is_random: bool, bounds: tuple[float, float]
) -> tuple[Obstacle | None, int]:
    low, high = bounds
    if (rows.scores < low).any() or (rows.scores > high).any():
        return Obstacle.OUT_OF_RANGE, 0
    if n < FEWEST_LABELS:
        return Obstacle.FEW_LABELS, FEWEST_LABELS - n
    if not is_random and rows.chances is None:
        return Obstacle.NOT_RANDOM, 0
    return None, 0


def _stands_for(rows: JudgedRows, known: NDArray[np.bool_]) -> Floats:
    """For how many rows each label counts, one or 1 / chance; 0 without a label."""
    stands = known.astype(np.float64)
    return stands if rows.chances is None else stands / rows.chances


def _weight(rows: JudgedRows, known: NDArray[np.bool_]) -> float:
    labels, scores = rows.labels[known], rows.scores[known]
    if rows.chances is None:
        spread = float(rows.scores.var(ddof=1))
        together = float(np.cov(labels, scores)[0, 1])
    else:
        weights = 1 / rows.chances[known]
        around = scores - np.average(scores, weights=weights)
        spread = float(weights @ around**2)
        together = float(weights @ (around * labels))
    if spread < FLAT:
        return 0.0
    return min(1.0, max(0.0, together / spread))


def _correlation(labels: Floats, scores: Floats, weights: Floats) -> float | None:
    """Of labels, each for as many as it stands for; None where either does not vary."""
    first, second = (each - np.average(each, weights=weights) for each in (labels, scores))
    spreads = [float((weights * each) @ each) for each in (first, second)]
    if min(spreads) < FLAT:
        return None
    return float((weights * first) @ second) / sqrt(spreads[0] * spreads[1])


def _estimate(
    value: float,
    around: Floats,
    units: NDArray[np.intp],
    held: Floats,
    trials: int,
    bounds: tuple[float, float],
) -> MeanEstimate:
    """A mean with its interval.

    Args:
        value: the mean.
        around: what each row adds to its error.
        units: of each row.
        held: how much of the labels each row holds, 1 in all; 0 of a row without one.
        trials: the most independent trials that a share may count as.
        bounds: as for `corrected`.
    """
    low, high = bounds
    value = min(high, max(low, value))
    holding = np.bincount(units, weights=held).astype(np.float64)
    told, rows = Units.of(holding), int((held > 0).sum())
    if told.few:
        return MeanEstimate(value, None, rows, told)
    spread = float((np.bincount(units, weights=around) ** 2 / (1 - holding)).sum())
    if bounds == SHARE:
        interval = wilson_of_spread(value, spread, units=told, trials=trials)
        return MeanEstimate(value, interval, rows, told)
    if spread < FLAT:
        return MeanEstimate(value, None, rows, told)
    half = student_quantile(told.effective - 1) * sqrt(spread)
    interval = Interval(max(low, value - half), min(high, value + half))
    return MeanEstimate(value, interval, rows, told)
