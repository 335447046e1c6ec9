"""What a judge leans to without and with preferences, and the change (seed 001, table 2, figure 3).

Position bias, consistency, length bias and self-preference are those of benchmark.core.bias,
length_bias and self_preference. The change is paired: it is measured on the comparisons that have
the figure both before and after. Intervals draw comparisons, whoever labelled them; those of the
slope are Wald intervals clustered by comparison. Where a comparison stands but once, consistency
and the position bias of people are shares of independent trials: they have Wilson's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotation.core.choices import Order
from annotation.core.intervals import DEFAULT_DRAWS, Interval, wilson
from benchmark.core.lean_counts import (
    CONSISTENCY,
    POSITION,
    POSITION_OF_PEOPLE,
    BiasFigure,
    DecidedComparison,
    gap,
    lengths_of,
    longer_figure,
    own_figure,
    winners,
)
from benchmark.core.leanings import ResponsePair
from benchmark.core.length_bias import Sized, slope_fit, wald
from benchmark.core.resampling import Floats, bootstrap_sums, by_unit
from benchmark.core.self_preference import family_of
from benchmark.core.trust import BASE, SELECTED, Case, HumanLabel


@dataclass(frozen=True, slots=True)
class Estimate:
    """A figure with its interval, and the verdicts or comparisons (`n`) that it rests on.

    `value` is None without any. An `unbounded` slope has none either: the longer always, or never,
    wins.
    """

    value: float | None
    interval: Interval | None
    n: int
    unbounded: bool = False


NOTHING: Final = Estimate(None, None, 0)


@dataclass(frozen=True, slots=True)
class BeforeAfter:
    """A figure of the base judge, under the selected preferences, and after minus before."""

    base: Estimate
    selected: Estimate
    change: Estimate


@dataclass(frozen=True, slots=True)
class Leans:
    """The figures of one judge.

    `position` is P(first shown wins) - 1/2 and `gaps` the paper's |#first - #second| in verdicts,
    before and after; `longer` is P(longer wins) and `slope` the log-odds of twice the length; `own`
    is the win rate of the judge's own `family` minus the people's.
    """

    position: BeforeAfter
    gaps: tuple[int, int]
    consistency: BeforeAfter
    longer: BeforeAfter
    slope: BeforeAfter
    own: BeforeAfter
    family: str


@dataclass(frozen=True, slots=True)
class PeopleLean:
    """The same of those who labelled: what a judge's figures are read beside."""

    position: Estimate
    gap: int
    longer: Estimate
    slope: Estimate


def leans(
    cases: Iterable[Case],
    pairs: Mapping[int, ResponsePair],
    *,
    judge: str,
    seed: int,
    draws: int = DEFAULT_DRAWS,
) -> Leans:
    """The figures of one judge on the comparisons of one annotator, or of several.

    Args:
        cases: what it decided.
        pairs: what is known of the responses, by comparison.
        judge: its name, or that of its model.
        seed: of every bootstrap.
        draws: of every bootstrap.
    """
    rows = list(cases)
    before, after = (
        [
            DecidedComparison(case.comparison, case.annotator, case.human, case.decisions[voice])
            for case in rows
            if case.decisions.get(voice)
        ]
        for voice in (BASE, SELECTED)
    )
    family = family_of(judge)
    settings = _Settings(before, after, pairs, seed, draws)
    return Leans(
        position=settings.told(POSITION),
        gaps=(gap(before), gap(after)),
        consistency=settings.told(CONSISTENCY),
        longer=settings.told(longer_figure(pairs)),
        slope=settings.slope(),
        own=settings.told(own_figure(pairs, family)),
        family=family,
    )


def people_lean(
    labels: Iterable[tuple[int, HumanLabel]],
    pairs: Mapping[int, ResponsePair],
    *,
    seed: int,
    draws: int = DEFAULT_DRAWS,
) -> PeopleLean:
    """The figures of those who labelled.

    Args:
        labels: annotator and label.
        pairs: as for `leans`.
        seed: of every bootstrap.
        draws: of every bootstrap.
    """
    said = [
        DecidedComparison(
            one.comparison, who, one.verdict, {one.shown or Order.COMBINED: one.verdict}
        )
        for who, one in labels
    ]
    settings = _Settings(said, (), pairs, seed, draws)
    return PeopleLean(
        position=settings.told(POSITION_OF_PEOPLE).base,
        gap=gap(said),
        longer=settings.told(longer_figure(pairs)).base,
        slope=settings.slope().base,
    )


@dataclass(frozen=True, slots=True)
class _Settings:
    """What the figures of one judge share."""

    before: Sequence[DecidedComparison]
    after: Sequence[DecidedComparison]
    pairs: Mapping[int, ResponsePair]
    seed: int
    draws: int

    def told(self, figure: BiasFigure) -> BeforeAfter:
        before, after = _counted(self.before, figure), _counted(self.after, figure)
        both = {key: (*before[key], *told) for key, told in after.items() if key in before}
        width = len(next(iter(both.values()))) // 2 if both else 0

        def change(sums: Floats) -> Floats:
            gained: Floats = figure.statistic(sums[:, width:]) - figure.statistic(sums[:, :width])
            return gained

        return BeforeAfter(
            base=self._estimate(before, figure),
            selected=self._estimate(after, figure),
            change=self._estimate(both, BiasFigure(figure.counts, change, width + figure.n_at)),
        )

    def _estimate(
        self, counts: Mapping[tuple[int, int], tuple[float, ...]], figure: BiasFigure
    ) -> Estimate:
        if not counts:
            return NOTHING
        sums = by_unit([comparison for comparison, _who in counts], np.array([*counts.values()]))
        total = sums.sum(axis=0)
        value = float(figure.statistic(total[None])[0])
        if figure.trials and len(sums) == len(counts):
            interval = _shifted(wilson(total[0], total[1]), value - float(total[0] / total[1]))
        else:
            interval = bootstrap_sums(sums, figure.statistic, seed=self.seed, draws=self.draws)
        return Estimate(value, interval, n=int(total[figure.n_at]))

    def slope(self) -> BeforeAfter:
        before, after = (_sized(said, self.pairs) for said in (self.before, self.after))
        both = [key for key in after if key in before]
        return BeforeAfter(
            base=_slope(before),
            selected=_slope(after),
            change=_slope_change(
                {key: before[key] for key in both}, {key: after[key] for key in both}
            ),
        )


_Sizes = Mapping[tuple[int, int], Sized]
"""By comparison and annotator, what was said of responses of known and different length."""


def _slope(rows: _Sizes) -> Estimate:
    fit = slope_fit(list(rows.values()))
    if fit is None:
        return NOTHING
    n = sum(len(winners(row.verdicts)) for row in rows.values())
    if fit.value is None:
        return Estimate(None, None, n, unbounded=True)
    return Estimate(fit.value, wald(fit.value, _per_comparison(rows, fit.influence)), n)


def _slope_change(before: _Sizes, after: _Sizes) -> Estimate:
    first, second = slope_fit(list(before.values())), slope_fit(list(after.values()))
    if first is None or second is None or first.value is None or second.value is None:
        return NOTHING
    value = second.value - first.value
    influence = _per_comparison(before, second.influence - first.influence)
    n = sum(len(winners(row.verdicts)) for row in after.values())
    return Estimate(value, wald(value, influence), n)


def _per_comparison(rows: _Sizes, influence: Floats) -> Floats:
    summed: Floats = by_unit([comparison for comparison, _who in rows], influence[:, None])[:, 0]
    return summed


def _sized(
    said: Iterable[DecidedComparison], pairs: Mapping[int, ResponsePair]
) -> dict[tuple[int, int], Sized]:
    found = {}
    for one in said:
        lengths = lengths_of(pairs.get(one.comparison))
        verdicts = tuple(one.decisions.values())
        if lengths is not None and winners(verdicts):
            found[one.comparison, one.annotator] = Sized(*lengths, verdicts)
    return found


def _counted(
    said: Iterable[DecidedComparison], figure: BiasFigure
) -> dict[tuple[int, int], tuple[float, ...]]:
    return {
        (one.comparison, one.annotator): counts
        for one in said
        if (counts := figure.counts(one)) is not None
    }


def _shifted(share: Interval | None, by: float) -> Interval | None:
    return share and replace(share, low=share.low + by, high=share.high + by)
