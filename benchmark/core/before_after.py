"""What a judge leans to without and with preferences, and the change (seed 001, table 2, figure 3).

Position bias, consistency, length bias and self-preference are those of benchmark.core.bias,
length_bias and self_preference. The change is paired: it is measured on the comparisons that have
the figure both before and after. The units of intervals are sessions, whoever labelled their
comparisons; where each comparison has one row, those of the position bias of people are
comparisons, for each was shown in an order of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, independent_share
from benchmark.core.accuracy import (
    Floats,
    Integers,
    bootstrap_sums,
    by_unit,
    pooled,
    share_interval,
)
from benchmark.core.bias import shown_side
from benchmark.core.decisions import Decisions
from benchmark.core.length_bias import Sized, slope_fit, wald
from benchmark.core.response_bias import ResponsePair
from benchmark.core.self_preference import Rivals, own_points
from benchmark.core.trust import BASE, SELECTED, Condition, HumanLabel, JudgedComparison
from judging.core.endpoints import family_of
from judging.core.judge_agreement import is_consistent


@dataclass(frozen=True, slots=True)
class DecidedComparison:
    """One comparison as somebody decided it; `shown` is what they leaned to in each order."""

    comparison: int
    annotator: int
    human: Verdict
    decisions: Decisions
    unit: int
    shown: Decisions

    @property
    def key(self) -> tuple[int, int, int]:
        """Comparison, annotator, and the session that it is drawn with."""
        return self.comparison, self.annotator, self.unit


_Key = tuple[int, int, int]
Counts = Callable[[DecidedComparison], tuple[float, ...] | None]
"""What a figure counts on one comparison; None where it says nothing of it."""


@dataclass(frozen=True, slots=True)
class BiasFigure:
    """How a figure is counted and computed; `n_at` is the column whose sum it rests on.

    `less` says that it is a share, the first column of the second, less so much; `apart` that rows
    on different comparisons are independent trials though they are of one session.
    """

    counts: Counts
    statistic: Callable[[Floats], Floats]
    n_at: int
    less: float | None = None
    apart: bool = False


def _sides(said: DecidedComparison) -> list[int | None]:
    return [shown_side(winner, order) for order, winner in said.shown.items() if winner is not None]


def _position_counts(said: DecidedComparison) -> tuple[float, ...] | None:
    sides = _sides(said)
    first, second = sides.count(1), sides.count(-1)
    return (first, first + second) if first + second else None


def gap(said: Iterable[DecidedComparison]) -> int:
    """The paper's |#first - #second|, in verdicts."""
    sides = [side for one in said for side in _sides(one)]
    return abs(sides.count(1) - sides.count(-1))


def _consistency_counts(said: DecidedComparison) -> tuple[float, ...] | None:
    one, other = said.shown.get(Order.ORIGINAL), said.shown.get(Order.SWAPPED)
    if one is None or other is None:
        return None
    return float(is_consistent(one, other)), 1.0


def _longer_counts(pairs: Mapping[int, ResponsePair]) -> Counts:
    def counts(said: DecidedComparison) -> tuple[float, ...] | None:
        lengths = lengths_of(pairs.get(said.comparison))
        won = winners(tuple(said.decisions.values()))
        if lengths is None or not won:
            return None
        longer = Verdict.A if lengths[0] > lengths[1] else Verdict.B
        return won.count(longer), len(won)

    return counts


def _own_counts(pairs: Mapping[int, ResponsePair], family: str) -> Counts:
    def counts(said: DecidedComparison) -> tuple[float, ...] | None:
        pair = pairs.get(said.comparison)
        if pair is None:
            return None
        verdicts = tuple(said.decisions.values())
        points = own_points(Rivals(pair.model_a, pair.model_b, said.human, verdicts), family)
        return None if points is None else (*points, 1.0)

    return counts


def lengths_of(pair: ResponsePair | None) -> tuple[int, int] | None:
    """Both lengths where they are known and differ."""
    if pair is None or pair.length_a is None or pair.length_b is None:
        return None
    return None if pair.length_a == pair.length_b else (pair.length_a, pair.length_b)


def winners(verdicts: Iterable[Verdict | None]) -> list[Verdict]:
    """The verdicts with a winner."""
    return [each for each in verdicts if each is Verdict.A or each is Verdict.B]


def _beyond_half(sums: Floats) -> Floats:
    return pooled(sums) - 0.5


def _advantage(sums: Floats) -> Floats:
    gap: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return gap


POSITION: Final = BiasFigure(_position_counts, _beyond_half, 1, less=0.5)
POSITION_OF_PEOPLE: Final = BiasFigure(_position_counts, _beyond_half, 1, less=0.5, apart=True)
CONSISTENCY: Final = BiasFigure(_consistency_counts, pooled, 1, less=0.0)


def longer_figure(pairs: Mapping[int, ResponsePair]) -> BiasFigure:
    """P(longer wins)."""
    return BiasFigure(_longer_counts(pairs), pooled, 1, less=0.0)


def own_figure(pairs: Mapping[int, ResponsePair], family: str) -> BiasFigure:
    """The win rate of a family's responses minus the people's."""
    return BiasFigure(_own_counts(pairs, family), _advantage, 4)


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
class AnnotatorBias:
    """The same of those who labelled: what a judge's figures are read beside."""

    position: Estimate
    gap: int
    longer: Estimate
    slope: Estimate


def leans(
    cases: Iterable[JudgedComparison],
    pairs: Mapping[int, ResponsePair],
    *,
    judge: str,
    seed: int,
    draws: int = DEFAULT_DRAWS,
    voice: Condition = SELECTED,
) -> Leans:
    """The figures of one judge on the comparisons of one annotator, or of several.

    Args:
        cases: what it decided.
        pairs: what is known of the responses, by comparison.
        judge: its name, or that of its model.
        seed: of every bootstrap.
        draws: of every bootstrap.
        voice: what is read as `selected`; PERSONAL, of cases that have it, is what stands in.
    """
    rows = list(cases)
    before, after = (
        [
            DecidedComparison(
                case.comparison,
                case.annotator,
                case.human,
                case.decisions[each],
                unit=case.unit,
                shown=case.leaning(each),
            )
            for case in rows
            if case.decisions.get(each)
        ]
        for each in (BASE, voice)
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
) -> AnnotatorBias:
    """The figures of those who labelled.

    Args:
        labels: annotator and label.
        pairs: as for `leans`.
        seed: of every bootstrap.
        draws: of every bootstrap.
    """
    said = [
        DecidedComparison(one.comparison, who, one.verdict, own, unit=one.unit, shown=own)
        for who, one in labels
        for own in [{one.shown or Order.COMBINED: one.verdict}]
    ]
    settings = _Settings(said, (), pairs, seed, draws)
    return AnnotatorBias(
        position=settings.told(POSITION_OF_PEOPLE).base,
        gap=gap(said),
        longer=settings.told(longer_figure(pairs)).base,
        slope=settings.slope().base,
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """A statistic of the columns from `width` on minus the same of those before."""

    statistic: Callable[[Floats], Floats]
    width: int

    def __call__(self, sums: Floats) -> Floats:
        return self.statistic(sums[:, self.width :]) - self.statistic(sums[:, : self.width])


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
        change = _Change(figure.statistic, width)

        return BeforeAfter(
            base=self._estimate(before, figure),
            selected=self._estimate(after, figure),
            change=self._estimate(both, BiasFigure(figure.counts, change, width + figure.n_at)),
        )

    def _estimate(self, counts: Mapping[_Key, tuple[float, ...]], figure: BiasFigure) -> Estimate:
        if not counts:
            return NOTHING
        sums = by_unit(_units(counts), np.array([*counts.values()]))
        total = sums.sum(axis=0)
        value = float(figure.statistic(total[None])[0])
        if figure.less is None:
            interval = bootstrap_sums(sums, figure.statistic, seed=self.seed, draws=self.draws)
        elif figure.apart and len({comparison for comparison, *_whose in counts}) == len(counts):
            interval = _shifted(independent_share(total[0], int(total[1])), -figure.less)
        else:
            interval = _shifted(share_interval(sums), -figure.less)
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


_Sizes = Mapping[_Key, Sized]
"""By comparison and annotator, what was said of responses of known and different length."""


def _slope(rows: _Sizes) -> Estimate:
    fit = slope_fit(list(rows.values()))
    if fit is None:
        return NOTHING
    n = sum(len(winners(row.verdicts)) for row in rows.values())
    if fit.value is None:
        return Estimate(None, None, n, unbounded=True)
    return Estimate(fit.value, wald(fit.value, _per_session(rows, fit.influence)), n)


def _slope_change(before: _Sizes, after: _Sizes) -> Estimate:
    first, second = slope_fit(list(before.values())), slope_fit(list(after.values()))
    if first is None or second is None or first.value is None or second.value is None:
        return NOTHING
    value = second.value - first.value
    influence = _per_session(before, second.influence - first.influence)
    n = sum(len(winners(row.verdicts)) for row in after.values())
    return Estimate(value, wald(value, influence), n)


def _per_session(rows: _Sizes, influence: Floats) -> Floats:
    summed: Floats = by_unit(_units(rows), influence[:, None])[:, 0]
    return summed


def _units(keys: Iterable[_Key]) -> Integers:
    return np.fromiter((unit for _comparison, _who, unit in keys), dtype=np.int64)


def _sized(
    said: Iterable[DecidedComparison], pairs: Mapping[int, ResponsePair]
) -> dict[_Key, Sized]:
    found = {}
    for one in said:
        lengths = lengths_of(pairs.get(one.comparison))
        verdicts = tuple(one.decisions.values())
        if lengths is not None and winners(verdicts):
            found[one.key] = Sized(*lengths, verdicts)
    return found


def _counted(
    said: Iterable[DecidedComparison], figure: BiasFigure
) -> dict[_Key, tuple[float, ...]]:
    return {one.key: counts for one in said if (counts := figure.counts(one)) is not None}


def _shifted(share: Interval | None, by: float) -> Interval | None:
    return share and replace(share, low=share.low + by, high=share.high + by)
