"""The tables of judges as flat records: what their files and the report's JSON hold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import (
    DEFAULT_DRAWS,
    Interval,
    Units,
    ends,
    percentile_interval,
)
from benchmark.core.accuracy import (
    Accuracy,
    Floats,
    Gain,
    Integers,
    InvalidPolicy,
    JudgedColumns,
    by_unit,
    difference,
    drawn_values,
    gain_of,
    gain_p,
    mean_share_interval,
    pooled,
    share_interval,
    units_of,
)
from benchmark.core.before_after import AnnotatorBias, BeforeAfter, Estimate, Leans
from benchmark.core.trust import (
    BASE,
    SELECTED,
    SHUFFLED,
    Condition,
    JudgedComparison,
    columns_by_voice,
)

ALL = "all"
MEAN = "mean of scenarios"

Record = dict[str, object]


def agreement_records(
    judge: Mapping[str, object], figures: JudgeFigures, own: JudgeFigures | None = None
) -> Iterator[Record]:
    """A record a scenario, one of all pooled, and one of their mean; shares are 0..1.

    Args:
        judge: columns that say which judge, put first.
        figures: its line.
        own: the same of what stands in for the annotators; None where that is the selected set.
    """
    own = own or figures
    cells = zip((*figures.cells, figures.overall), (*own.cells, own.overall), strict=True)
    for cell, own_cell in cells:
        yield {**judge, "scenario": cell.scenario or ALL, **_cell(cell), **_own(own_cell)}
    means = figures.means
    yield {
        **judge,
        "scenario": MEAN,
        **dict.fromkeys(_cell(figures.overall)),
        **_mean(means.base, "base"),
        **_mean(means.selected, "selected"),
        **_mean(means.shuffled, "shuffled"),
        **_mean(means.gain, "gain"),
        "gain_p": means.gain.p,
        **_mean(means.gain_over_shuffled, "gain_over_shuffled"),
        "gain_over_shuffled_p": means.gain_over_shuffled.p,
        **dict.fromkeys(_own(own.overall)),
        **_mean(own.means.selected, "own"),
        **_mean(own.means.gain, "own_gain"),
        "own_gain_p": own.means.gain.p,
        "n": means.base.scenarios,
    }


def _cell(cell: JudgeCell) -> Record:
    return {
        "n": max(cell.base.asked.comparisons, cell.selected.asked.comparisons),
        **_agreement(cell.base, "base"),
        **_agreement(cell.selected, "selected"),
        **_gain(cell.gain, "gain"),
        **_agreement(cell.shuffled, "shuffled"),
        **_gain(cell.gain_over_shuffled, "gain_over_shuffled"),
    }


def _own(cell: JudgeCell) -> Record:
    return {**_agreement(cell.selected, "own"), **_gain(cell.gain, "own_gain")}


def _agreement(told: Agreement, name: str) -> Record:
    return {
        name: told.asked.value,
        **ends(told.asked.interval, f"{name}_"),
        f"{name}_verdicts": told.asked.verdicts,
        f"{name}_unreadable": told.asked.unreadable,
        f"{name}_{told.other.policy.lower()}": told.other.value,
    }


def _gain(told: Gain, name: str) -> Record:
    return {
        name: told.value,
        **ends(told.interval, f"{name}_"),
        f"{name}_p": told.p,
        f"{name}_n": told.comparisons,
    }


def _mean(told: Mean, name: str) -> Record:
    return {name: told.value, **ends(told.interval, f"{name}_")}


def lean_records(
    judge: Mapping[str, object], found: Leans, own: Leans | None = None
) -> Iterator[Record]:
    """What a judge leans to: a record without preferences, one with them, and the change.

    Then, where something else stands in for the annotators (`own`), one of that and its change.
    """
    yield from _lean_records(judge, found, ("base", "selected", "change"))
    if own is not None:
        yield from _lean_records(judge, own, ("", "own", "own_change"))


def _lean_records(
    judge: Mapping[str, object], found: Leans, voices: Sequence[str]
) -> Iterator[Record]:
    for place, voice in enumerate(voices):
        gap = found.gaps[place] if place < len(found.gaps) else None
        told = {
            "position_bias": found.position,
            "consistency": found.consistency,
            "longer_wins": found.longer,
            "length_slope": found.slope,
            "self_preference": found.own,
        }
        if voice and (_of(found.longer, place).n or _of(found.position, place).n):
            yield {
                **judge,
                "voice": voice,
                "family": found.family,
                "first_second_gap": gap,
                **{
                    key: value
                    for name, each in told.items()
                    for key, value in _estimate(_of(each, place), name).items()
                },
            }


def people_record(judge: Mapping[str, object], found: AnnotatorBias) -> Record:
    """The same of those who labelled, under the columns of a judge."""
    return {
        **judge,
        "voice": "people",
        "first_second_gap": found.gap,
        **_estimate(found.position, "position_bias"),
        **_estimate(found.longer, "longer_wins"),
        **_estimate(found.slope, "length_slope"),
    }


def _of(told: BeforeAfter, place: int) -> Estimate:
    return (told.base, told.selected, told.change)[place]


def _estimate(told: Estimate, name: str) -> Record:
    return {name: told.value, **ends(told.interval, f"{name}_"), f"{name}_n": told.n}


Places = NDArray[np.bool_]
"""Which cases of a judge are meant."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """A voice's agreement under the asked policy for unreadable replies, and under the other.

    The other is the share alone, without its interval.
    """

    asked: Accuracy
    other: Accuracy


@dataclass(frozen=True, slots=True)
class JudgeCell:
    """A judge in one scenario, or in all of them pooled (`scenario` None)."""

    scenario: str | None
    base: Agreement
    selected: Agreement
    shuffled: Agreement
    gain: Gain
    gain_over_shuffled: Gain


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of the `scenarios` that have a value, each counting once; None without any.

    `p` is that of a gain, as in benchmark.core.accuracy.Gain.
    """

    value: float | None
    interval: Interval | None
    scenarios: int
    p: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeMeans:
    """The paper's Overall column."""

    base: Mean
    selected: Mean
    shuffled: Mean
    gain: Mean
    gain_over_shuffled: Mean


@dataclass(frozen=True, slots=True)
class JudgeFigures:
    """One judge: its scenarios in the order of the cases, all pooled, and their mean."""

    cells: tuple[JudgeCell, ...]
    overall: JudgeCell
    means: JudgeMeans


def judge_figures(
    cases: Iterable[JudgedComparison],
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
    voice: Condition = SELECTED,
) -> JudgeFigures:
    """The line of one judge.

    Args:
        cases: what it decided on the comparisons of one annotator, or of several.
        seed: of every bootstrap.
        policy: what a verdict that could not be read counts as.
        draws: of every bootstrap.
        voice: what is read as `selected`; PERSONAL, of cases that have it, is what stands in.
    """
    rows = list(cases)
    names = list(dict.fromkeys(case.scenario for case in rows))
    scenarios = np.array([names.index(case.scenario) for case in rows], dtype=np.intp)
    columns = columns_by_voice(rows, (BASE, voice, SHUFFLED))
    table = _Table(
        comparisons=columns[BASE].key,
        sessions=columns[BASE].session,
        base=_points(columns[BASE]),
        selected=_points(columns[voice]),
        shuffled=_points(columns[SHUFFLED]),
        seed=seed,
        policy=policy,
        draws=draws,
    )
    groups = [scenarios == place for place in range(len(names))]
    return JudgeFigures(
        cells=tuple(table.cell(name, places) for name, places in zip(names, groups, strict=True)),
        overall=table.cell(None, np.ones(len(rows), dtype=np.bool_)),
        means=table.means(groups),
    )


@dataclass(frozen=True, slots=True)
class _Points:
    """What a voice earned on each case: points on `read` of `asked` decisions, or a human tie."""

    points: Floats
    read: Floats
    asked: Floats
    ties: Places

    def at_stake(self, policy: InvalidPolicy) -> Floats:
        """The decisions that count on each case."""
        return self.read if policy is InvalidPolicy.EXCLUDED else self.asked


def _points(rows: JudgedColumns) -> _Points:
    scored = rows.human != 0
    points, read = (rows.stakes(InvalidPolicy.EXCLUDED) * scored[:, None]).T
    asked = rows.asked
    return _Points(points, read, asked * scored.astype(np.float64), ~scored & (asked > 0))


@dataclass(frozen=True, slots=True)
class _Table:
    """The points of a judge's voices, and what all its figures share."""

    comparisons: Integers
    sessions: Integers
    base: _Points
    selected: _Points
    shuffled: _Points
    seed: int
    policy: InvalidPolicy
    draws: int

    def cell(self, scenario: str | None, places: Places) -> JudgeCell:
        return JudgeCell(
            scenario=scenario,
            base=self._agreement(self.base, places),
            selected=self._agreement(self.selected, places),
            shuffled=self._agreement(self.shuffled, places),
            gain=self._gain(self.base, places),
            gain_over_shuffled=self._gain(self.shuffled, places),
        )

    def means(self, groups: Sequence[Places]) -> JudgeMeans:
        def of(voice: _Points) -> Mean:
            told = [self._stakes(voice, each, self.policy)[1] for each in groups]
            shares = [(1.0, stakes) for stakes in told if len(stakes)]
            values = [_value(stakes, pooled) or 0.0 for _weight, stakes in shares]
            value = sum(values) / len(values) if values else None
            return Mean(value, mean_share_interval(shares), len(shares))

        def over(voice: _Points) -> Mean:
            paired = [self._paired(voice, each)[1] for each in groups]
            return replace(self._mean_gain(paired), p=gain_p(paired, seed=self.seed))

        return JudgeMeans(
            of(self.base),
            of(self.selected),
            of(self.shuffled),
            over(self.base),
            over(self.shuffled),
        )

    def _agreement(self, voice: _Points, places: Places) -> Agreement:
        (other,) = set(InvalidPolicy) - {self.policy}
        _comparisons, stakes = self._stakes(voice, places, self.policy)
        interval = share_interval(stakes)
        return Agreement(
            replace(self._accuracy(voice, places, self.policy), interval=interval),
            self._accuracy(voice, places, other),
        )

    def _accuracy(self, voice: _Points, places: Places, policy: InvalidPolicy) -> Accuracy:
        comparisons, stakes = self._stakes(voice, places, policy)
        return Accuracy(
            value=_value(stakes, pooled),
            interval=None,
            verdicts=int(stakes[:, 1].sum()),
            comparisons=comparisons,
            unreadable=int((voice.asked - voice.read)[places].sum()),
            ties=int(voice.ties[places].sum()),
            policy=policy,
            units=units_of(stakes),
        )

    def _gain(self, over: _Points, places: Places) -> Gain:
        comparisons, stakes = self._paired(over, places)
        return gain_of(stakes, comparisons=comparisons, seed=self.seed, draws=self.draws)

    def _stakes(self, voice: _Points, places: Places, policy: InvalidPolicy) -> tuple[int, Floats]:
        """Comparisons with anything at stake; points earned and at stake by session."""
        counts = voice.at_stake(policy)
        return self._by_session(places & (counts > 0), voice.points, counts)

    def _paired(self, over: _Points, places: Places) -> tuple[int, Floats]:
        """The same of a voice and of the selected preferences, where both have something."""
        before, after = over.at_stake(self.policy), self.selected.at_stake(self.policy)
        scored = places & (before > 0) & (after > 0)
        return self._by_session(scored, over.points, before, self.selected.points, after)

    def _by_session(self, places: Places, *columns: Floats) -> tuple[int, Floats]:
        """How many comparisons; columns summed over all that was said in one session."""
        comparisons = len(np.unique(self.comparisons[places]))
        return comparisons, by_unit(self.sessions[places], np.column_stack(columns)[places])

    def _mean_gain(self, groups: Sequence[Floats]) -> Mean:
        told = [(place, stakes) for place, stakes in enumerate(groups) if len(stakes)]
        if not told:
            return Mean(None, None, 0)
        values = [float(difference(stakes.sum(axis=0)[None])[0]) for _place, stakes in told]
        units = Units.of_strata(units_of(stakes, (1, 3)) for _place, stakes in told)
        drawn = np.mean(
            [
                drawn_values(stakes, difference, seed=[self.seed, place], draws=self.draws)
                for place, stakes in told
            ],
            axis=0,
        )
        return Mean(sum(values) / len(values), percentile_interval(drawn, units=units), len(told))


def _value(stakes: Floats, statistic: Callable[[Floats], Floats]) -> float | None:
    return float(statistic(stakes.sum(axis=0)[None])[0]) if len(stakes) else None
