"""What a judge leans to without and with preferences, and the change (seed 001, table 2, figure 3).

Position bias, consistency, length bias and self-preference are those of benchmark.core.bias,
length_bias and self_preference. The change is paired: it is measured on the comparisons that have
the figure both before and after. The units of intervals are sessions, whoever labelled their
comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval
from benchmark.core.accuracy import (
    Bools,
    Floats,
    Integers,
    bootstrap_sums,
    by_unit,
    pooled,
    share_interval,
)
from benchmark.core.bias import firsts_and_seconds, read_and_alike
from benchmark.core.decisions import Winners, codes, winners
from benchmark.core.length_bias import SlopeFit, doublings, slope_fit, wald
from benchmark.core.response_bias import ResponsePair
from benchmark.core.self_preference import own_counts, own_side
from benchmark.core.trust import BASE, SELECTED, Condition, HumanLabel, JudgedComparison
from judging.core.endpoints import family_of


@dataclass(frozen=True, slots=True)
class DecidedColumns:
    """Comparisons as somebody decided them; `human` and `won` as in benchmark.core.decisions.

    A row on which they decided nothing has no decision but ABSENT. `shown` is what they leaned to
    in each order, `unit` the session that a row is drawn with. `longer` is 1 where A is known to be
    the longer, -1 where B is, else 0; `doublings` how often B's length must be doubled to be A's.
    """

    comparison: Integers
    unit: Integers
    human: Winners
    won: Winners
    shown: Winners
    longer: Integers
    doublings: Floats


Counted = tuple[Bools, Floats]
"""By row, whether a figure says something of it, and what it counts on it, a column each."""


@dataclass(frozen=True, slots=True)
class BiasFigure:
    """How a figure is counted and computed; `n_at` is the column whose sum it rests on.

    `less` says that it is a share, the first column of the second, less so much. Of any other,
    `held` are the columns of what a unit holds, as for `units_of`.
    """

    counts: Callable[[DecidedColumns], Counted]
    statistic: Callable[[Floats], Floats]
    n_at: int
    less: float | None = None
    held: tuple[int, ...] = ()


def _position_counts(said: DecidedColumns) -> Counted:
    first, second = firsts_and_seconds(said.shown)
    return first + second > 0, _columns(first, first + second)


def _gap(said: DecidedColumns) -> int:
    """The paper's |#first - #second|, in verdicts."""
    first, second = firsts_and_seconds(said.shown)
    return abs(int(first.sum()) - int(second.sum()))


def _consistency_counts(said: DecidedColumns) -> Counted:
    readable, alike = read_and_alike(said.shown)
    return readable, _columns(alike, readable)


def _longer_counts(said: DecidedColumns) -> Counted:
    named = np.abs(said.won) == 1
    hits = named & (said.won == said.longer[:, None])
    total = named.sum(axis=1)
    return (said.longer != 0) & (total > 0), _columns(hits.sum(axis=1), total)


def _own_counts(
    pairs: Mapping[int, ResponsePair], family: str
) -> Callable[[DecidedColumns], Counted]:
    own = {key: own_side(pair.model_a, pair.model_b, family) for key, pair in pairs.items()}

    def counts(said: DecidedColumns) -> Counted:
        ours = np.array([own.get(key, 0) for key in said.comparison.tolist()], dtype=np.int64)
        told, points = own_counts(ours, said.human, said.won)
        return told, _columns(points, np.ones(len(ours)))

    return counts


def _columns(*counts: Integers | Bools | Floats) -> Floats:
    return np.column_stack(counts).astype(np.float64)


def _beyond_half(sums: Floats) -> Floats:
    return pooled(sums) - 0.5


def _advantage(sums: Floats) -> Floats:
    gap: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return gap


_POSITION: Final = BiasFigure(_position_counts, _beyond_half, 1, less=0.5)
_CONSISTENCY: Final = BiasFigure(_consistency_counts, pooled, 1, less=0.0)
_LONGER: Final = BiasFigure(_longer_counts, pooled, 1, less=0.0)
"""P(longer wins)."""


def _own_figure(pairs: Mapping[int, ResponsePair], family: str) -> BiasFigure:
    """The win rate of a family's responses minus the people's."""
    return BiasFigure(_own_counts(pairs, family), _advantage, 4, held=(1, 3))


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
    before, after = (_decided(rows, each, pairs) for each in (BASE, voice))
    family = family_of(judge)
    settings = _Settings(before, after, seed, draws)
    return Leans(
        position=settings.told(_POSITION),
        gaps=(_gap(before), _gap(after)),
        consistency=settings.told(_CONSISTENCY),
        longer=settings.told(_LONGER),
        slope=settings.slope(),
        own=settings.told(_own_figure(pairs, family)),
        family=family,
    )


def _decided(
    rows: Sequence[JudgedComparison], voice: Condition, pairs: Mapping[int, ResponsePair]
) -> DecidedColumns:
    won = winners(row.decisions.get(voice, {}) for row in rows)
    leant = any(row.shown.get(voice) for row in rows)
    shown = winners(row.leaning(voice) for row in rows) if leant else won
    return _with_lengths([(row.comparison, row.unit, row.human) for row in rows], won, shown, pairs)


def _with_lengths(
    rows: Sequence[tuple[int, int, Verdict]],
    won: Winners,
    shown: Winners,
    pairs: Mapping[int, ResponsePair],
) -> DecidedColumns:
    """The columns of rows with comparison, unit and the person's verdict."""
    lengths = np.array(
        [_lengths_of(pairs.get(key)) for key, _unit, _human in rows], dtype=np.float64
    ).reshape(-1, 2)
    return DecidedColumns(
        comparison=np.array([key for key, _unit, _human in rows], dtype=np.int64),
        unit=np.array([unit for _key, unit, _human in rows], dtype=np.int64),
        human=codes(human for _key, _unit, human in rows),
        won=won,
        shown=shown,
        longer=np.sign(lengths[:, 0] - lengths[:, 1]).astype(np.int64),
        doublings=doublings(*lengths.T),
    )


def _lengths_of(pair: ResponsePair | None) -> tuple[int, int]:
    """Both lengths; equal ones where either is unknown, which say nothing either."""
    if pair is None or pair.length_a is None or pair.length_b is None:
        return 0, 0
    return pair.length_a, pair.length_b


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
    given = list(labels)
    won = winners({one.shown or Order.COMBINED: one.verdict} for _who, one in given)
    rows = [(one.comparison, one.unit, one.verdict) for _who, one in given]
    said = _with_lengths(rows, won, won, pairs)
    settings = _Settings(said, said, seed, draws)
    return AnnotatorBias(
        position=settings.estimate(_POSITION),
        gap=_gap(said),
        longer=settings.estimate(_LONGER),
        slope=_slope(said, _told_by_length(said)),
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
    """What the figures of one judge share; both columns are of the same rows."""

    before: DecidedColumns
    after: DecidedColumns
    seed: int
    draws: int

    def told(self, figure: BiasFigure) -> BeforeAfter:
        (had, before), (has, after) = figure.counts(self.before), figure.counts(self.after)
        width = before.shape[1]
        held = figure.held or (figure.n_at,)
        change = replace(
            figure,
            statistic=_Change(figure.statistic, width),
            n_at=width + figure.n_at,
            less=None,
            held=(*held, *(width + column for column in held)),
        )
        return BeforeAfter(
            base=self._estimate((had, before), figure),
            selected=self._estimate((has, after), figure),
            change=self._estimate((had & has, np.hstack([before, after])), change),
        )

    def estimate(self, figure: BiasFigure) -> Estimate:
        """The figure before alone."""
        return self._estimate(figure.counts(self.before), figure)

    def _estimate(self, counted: Counted, figure: BiasFigure) -> Estimate:
        told, counts = counted
        if not told.any():
            return NOTHING
        sums = by_unit(self.before.unit[told], counts[told])
        total = sums.sum(axis=0)
        value = float(figure.statistic(total[None])[0])
        if figure.less is None:
            interval = bootstrap_sums(
                sums, figure.statistic, seed=self.seed, draws=self.draws, held=figure.held
            )
        else:
            interval = _shifted(share_interval(sums), -figure.less)
        return Estimate(value, interval, n=int(total[figure.n_at]))

    def slope(self) -> BeforeAfter:
        had, has = _told_by_length(self.before), _told_by_length(self.after)
        return BeforeAfter(
            base=_slope(self.before, had),
            selected=_slope(self.after, has),
            change=_slope_change(self.before, self.after, had & has),
        )


def _told_by_length(said: DecidedColumns) -> Bools:
    """Where responses of known and different length have a winner."""
    told: Bools = (said.longer != 0) & (np.abs(said.won) == 1).any(axis=1)
    return told


def _fit(said: DecidedColumns, told: Bools) -> SlopeFit | None:
    won = said.won[told]
    return slope_fit(said.doublings[told], (won == 1).sum(axis=1), (won == -1).sum(axis=1))


def _slope(said: DecidedColumns, told: Bools) -> Estimate:
    fit = _fit(said, told)
    if fit is None:
        return NOTHING
    n = _named(said, told)
    if fit.value is None:
        return Estimate(None, None, n, unbounded=True)
    parts, held = (_per_session(said, told, each) for each in (fit.influence, fit.held))
    return Estimate(fit.value, wald(fit.value, parts, held), n)


def _slope_change(before: DecidedColumns, after: DecidedColumns, both: Bools) -> Estimate:
    first, second = _fit(before, both), _fit(after, both)
    if first is None or second is None or first.value is None or second.value is None:
        return NOTHING
    value = second.value - first.value
    influence = _per_session(before, both, second.influence - first.influence)
    held = _per_session(before, both, (first.held + second.held) / 2)
    return Estimate(value, wald(value, influence, held), _named(after, both))


def _named(said: DecidedColumns, told: Bools) -> int:
    """The verdicts with a winner."""
    return int((np.abs(said.won[told]) == 1).sum())


def _per_session(said: DecidedColumns, told: Bools, parts: Floats) -> Floats:
    summed: Floats = by_unit(said.unit[told], parts[:, None])[:, 0]
    return summed


def _shifted(share: Interval | None, by: float) -> Interval | None:
    return share and replace(share, low=share.low + by, high=share.high + by)
