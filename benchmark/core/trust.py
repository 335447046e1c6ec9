"""Can this judge stand in for this annotator? The figures of one annotator, and what they say.

Everything is computed from comparisons of the test part, which no preference was distilled from
and no selection has seen (protocols A1.7). Controls stand beside the result: the judge without
preferences, preferences distilled from shuffled labels, other annotators' preferences, the same
judge asked by a generic rubric, and baselines that ask nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval
from annotation.core.significance import holm
from benchmark.core.accuracy import (
    Accuracy,
    Gain,
    InvalidPolicy,
    JudgedColumns,
    gain,
    under_both,
    unit_of,
)
from benchmark.core.bias import (
    Consistency,
    PositionBias,
    consistency,
    human_position_bias,
    judge_position_bias,
)
from benchmark.core.decisions import Decisions, Shares, codes, winners


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One annotator in one scenario, or in all of them together (`scenario` None).

    Shares are 0..1, every `…_low` and `…_high` a 95 % interval. `low` and `high` are that of
    `selected` and None without it, `n` the comparisons behind it, `verdicts` the decisions on them.
    `stack` is the weighted vote, None where the judge has none.
    Where no preferences were judged, `n`, position bias and consistency are the base judge's. Over
    fewer than ten sessions no figure of a judge has an interval. `gain_p` is by
    sign flips over sessions, `gain_p_holm` the same adjusted for the annotators of a table, one
    family a scenario.
    """

    annotator: str
    scenario: str | None
    n: int
    verdicts: int
    base: float | None
    base_low: float | None
    base_high: float | None
    selected: float | None
    shuffled: float | None
    low: float | None
    high: float | None
    stack: float | None
    stack_low: float | None
    stack_high: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    gain_p: float | None
    gain_p_holm: float | None
    position_bias: float | None
    position_bias_low: float | None
    position_bias_high: float | None
    human_position_bias: float | None
    human_position_bias_low: float | None
    human_position_bias_high: float | None
    consistency: float | None
    consistency_low: float | None
    consistency_high: float | None
    unreadable: int


@dataclass(frozen=True, slots=True)
class ControlRow:
    """What stands beside an annotator's result in one scenario, or in all together (None).

    `control` is a panel's word, `of` whose preferences or which prompt where it needs saying.
    `value` is the agreement with the annotator, 0..1, with its 95 % interval.
    """

    annotator: str
    scenario: str | None
    control: str
    of: str
    n: int
    verdicts: int
    value: float | None
    low: float | None
    high: float | None
    unreadable: int


def control_rows(annotator: str, each: TrustFigures) -> Iterator[ControlRow]:
    """Every control that decided anything, for the scenarios that `report_rows` has rows for.

    They are the base judge, preferences from shuffled labels, other annotators' preferences, the
    same judge by a generic rubric, and what asks no judge at all.
    """
    together = (each.overall,) if len(each.scenarios) > 1 else ()
    for figures in (*each.scenarios, *together):
        for voice in (figures.base, figures.shuffled, *figures.others):
            agreement = voice.agreement
            if agreement.comparisons:
                yield ControlRow(
                    annotator=annotator,
                    scenario=figures.scenario,
                    control=voice.voice.panel.value.lower(),
                    of=voice.voice.annotator,
                    n=agreement.comparisons,
                    verdicts=agreement.verdicts,
                    value=agreement.value,
                    low=_low(agreement.interval),
                    high=_high(agreement.interval),
                    unreadable=agreement.unreadable,
                )


def report_rows(annotator: str, each: TrustFigures) -> Iterator[ReportRow]:
    """A row for each scenario, then one for all together if there are several.

    A scenario without a decision on a labelled comparison has no row.
    """
    for figures in each.scenarios:
        yield _row(annotator, figures)
    if len(each.scenarios) > 1:
        yield _row(annotator, each.overall)


def adjusted(rows: Sequence[ReportRow]) -> tuple[ReportRow, ...]:
    """The rows of several annotators, each `gain_p_holm` adjusted for those of its scenario."""
    families: dict[str | None, list[int]] = {}
    for place, row in enumerate(rows):
        families.setdefault(row.scenario, []).append(place)
    found: dict[int, float | None] = {}
    for places in families.values():
        found |= zip(places, holm([rows[place].gain_p for place in places]), strict=True)
    return tuple(replace(row, gain_p_holm=found[place]) for place, row in enumerate(rows))


def _row(annotator: str, figures: Figures) -> ReportRow:
    selected = figures.selected if figures.selected.agreement.comparisons else figures.base
    agreement, gained = selected.agreement, figures.gain
    base, with_preferences = figures.base.agreement, figures.selected.agreement
    stack = next((each.agreement for each in figures.others if each.voice == STACK), None)
    return ReportRow(
        annotator=annotator,
        scenario=figures.scenario,
        n=agreement.comparisons,
        verdicts=agreement.verdicts,
        base=base.value,
        base_low=_low(base.interval),
        base_high=_high(base.interval),
        selected=with_preferences.value,
        shuffled=figures.shuffled.agreement.value,
        low=_low(with_preferences.interval),
        high=_high(with_preferences.interval),
        stack=None if stack is None else stack.value,
        stack_low=None if stack is None else _low(stack.interval),
        stack_high=None if stack is None else _high(stack.interval),
        gain=gained.value,
        gain_low=_low(gained.interval),
        gain_high=_high(gained.interval),
        gain_p=gained.p,
        gain_p_holm=gained.p,
        position_bias=selected.position.value,
        position_bias_low=_low(selected.position.interval),
        position_bias_high=_high(selected.position.interval),
        human_position_bias=figures.human.value,
        human_position_bias_low=_low(figures.human.interval),
        human_position_bias_high=_high(figures.human.interval),
        consistency=selected.consistency.value,
        consistency_low=_low(selected.consistency.interval),
        consistency_high=_high(selected.consistency.interval),
        unreadable=agreement.unreadable,
    )


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high


class ConditionKind(StrEnum):
    """Under which preferences a judge decided."""

    BASE = "BASE"  # none
    SELECTED = "SELECTED"  # the set selected for the annotator
    STACK = "STACK"  # several ways to judge, weighted by how well each foretells held-out labels
    PERSONAL = "PERSONAL"  # what stands in for the annotator: the stack, or the set without one
    SHUFFLED = "SHUFFLED"  # the set selected from randomly flipped labels of the annotator
    OTHER = "OTHER"  # the set selected for somebody else
    RUBRIC = "RUBRIC"  # another prompt, which takes no preferences
    LONGER = "LONGER"  # no judge: the longer response
    MAJORITY = "MAJORITY"  # no judge: what most other annotators said


@dataclass(frozen=True, slots=True, order=True)
class Condition:
    """A panel, and for OTHER whose set it is, for RUBRIC which prompt."""

    panel: ConditionKind
    annotator: str = ""


BASE = Condition(ConditionKind.BASE)
SELECTED = Condition(ConditionKind.SELECTED)
STACK = Condition(ConditionKind.STACK)
PERSONAL = Condition(ConditionKind.PERSONAL)
SHUFFLED = Condition(ConditionKind.SHUFFLED)
LONGER = Condition(ConditionKind.LONGER)
MAJORITY = Condition(ConditionKind.MAJORITY)
_OWN = frozenset({BASE, SELECTED, SHUFFLED})
_BESIDE = (
    ConditionKind.STACK,
    ConditionKind.OTHER,
    ConditionKind.RUBRIC,
    ConditionKind.LONGER,
    ConditionKind.MAJORITY,
)
"""What else may decide, in the order in which it is shown."""


@dataclass(frozen=True, slots=True)
class HumanLabel:
    """One human verdict, in the comparison's coordinates, and the order it was shown in.

    A comparison that names no `session` is a session of its own.
    """

    comparison: int
    scenario: str
    verdict: Verdict
    shown: Order | None
    session: int | None = None

    @property
    def unit(self) -> int:
        """What intervals draw."""
        return unit_of(self.session, self.comparison)


@dataclass(frozen=True, slots=True)
class JudgedComparison:
    """One test comparison with an annotator's verdict and the judge's decisions, by voice.

    One that names no `session` is a session of its own. `shown` holds, of voices that are read by
    l*, what they leaned to in each order; `shares`, of voices that are several sets, what those
    decided on average: their decisions are those of the first.
    """

    comparison: int
    scenario: str
    human: Verdict
    decisions: Mapping[Condition, Decisions]
    annotator: int = 0
    session: int | None = None
    shown: Mapping[Condition, Decisions] = field(default_factory=dict)
    shares: Mapping[Condition, Shares] = field(default_factory=dict)

    @property
    def unit(self) -> int:
        """What intervals draw."""
        return unit_of(self.session, self.comparison)

    def leaning(self, voice: Condition) -> Decisions:
        """What a voice's position bias and consistency are read from."""
        return self.shown.get(voice) or self.decisions.get(voice, {})


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """One voice's agreement under the asked policy and the other one."""

    voice: Condition
    agreement: Accuracy
    other_policy: Accuracy


@dataclass(frozen=True, slots=True)
class ConditionFigures(ControlFigures):
    """The same with its bias and its consistency."""

    position: PositionBias
    consistency: Consistency


@dataclass(frozen=True, slots=True)
class Figures:
    """Judge and human in one scenario, or in all of them together (`scenario` None).

    `others` are what else decided anything there: other annotators' sets, rubrics, baselines.
    """

    scenario: str | None
    human: PositionBias
    base: ConditionFigures
    selected: ConditionFigures
    shuffled: ControlFigures
    others: tuple[ControlFigures, ...]
    gain: Gain
    gain_over_shuffled: Gain


class TrustFinding(StrEnum):
    """The answer in one word, best first; templates say it in a sentence.

    All but the first three rest on 95 % intervals over sessions.
    """

    NOTHING = "NOTHING"  # no test comparison has both a human verdict and the judge's
    NOT_SELECTED = "NOT_SELECTED"  # the base judge alone was asked
    TOO_FEW = "TOO_FEW"  # fewer sessions than an interval needs
    BETTER = "BETTER"  # above chance, and the gain over the base judge is above zero
    ALIKE = "ALIKE"  # above chance, no clear gain or loss by preferences
    WORSE = "WORSE"  # above chance, but less than without preferences
    CHANCE = "CHANCE"  # not to be told from a coin
    AGAINST = "AGAINST"  # below chance


@dataclass(frozen=True, slots=True)
class TrustFigures:
    """Everything that the trust page says of pairwise verdicts."""

    finding: TrustFinding
    overall: Figures
    scenarios: tuple[Figures, ...]
    policy: InvalidPolicy
    seed: int


def trust_figures(
    cases: Iterable[JudgedComparison],
    labels: Iterable[HumanLabel],
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
) -> TrustFigures:
    """The figures of one annotator and one judge.

    Args:
        cases: test comparisons that the annotator labelled and the judge was asked about.
        labels: every label of the annotator: a person's position bias is measured on all that
            they labelled.
        seed: of every bootstrap.
        policy: what a verdict that could not be read counts as.
    """
    rows, given = list(cases), list(labels)
    table = _Table.of(rows, seed=seed, policy=policy)
    overall = table.figures(None, np.ones(len(rows), dtype=np.bool_), given)
    scenarios = np.array([case.scenario for case in rows], dtype=object)
    return TrustFigures(
        finding=_finding(overall),
        overall=overall,
        scenarios=tuple(
            table.figures(
                name, scenarios == name, [each for each in given if each.scenario == name]
            )
            for name in dict.fromkeys(scenarios)
        ),
        policy=policy,
        seed=seed,
    )


def columns_by_voice(
    cases: Sequence[JudgedComparison], voices: Iterable[Condition]
) -> dict[Condition, JudgedColumns]:
    """All cases by column as each voice decided them."""
    key = np.array([case.comparison for case in cases], dtype=np.int64)
    session = np.array([case.unit for case in cases], dtype=np.int64)
    human = codes(case.human for case in cases)
    by_log_odds = {voice for case in cases for voice in case.shown}
    averaged = {voice for case in cases for voice in case.shares}
    return {
        voice: JudgedColumns(
            key=key,
            session=session,
            human=human,
            won=winners(case.decisions.get(voice, {}) for case in cases),
            shown=winners(case.leaning(voice) for case in cases) if voice in by_log_odds else None,
            shares=np.array([case.shares.get(voice, _NO_SHARES) for case in cases])
            if voice in averaged
            else None,
        )
        for voice in voices
    }


_NO_SHARES: Shares = np.zeros((len(Order), 4))
"""Of a comparison on which a voice decided nothing."""


def _standing(voice: Condition) -> tuple[int, str]:
    return _BESIDE.index(voice.panel), voice.annotator


@dataclass(frozen=True, slots=True)
class _Table:
    """The cases as each voice decided them, and what every figure of a page shares."""

    voices: Mapping[Condition, JudgedColumns]
    seed: int
    policy: InvalidPolicy

    @classmethod
    def of(cls, cases: Sequence[JudgedComparison], *, seed: int, policy: InvalidPolicy) -> _Table:
        voices = {voice for case in cases for voice in case.decisions} | _OWN
        return cls(columns_by_voice(cases, voices), seed, policy)

    def figures(
        self, scenario: str | None, places: NDArray[np.bool_], labels: Sequence[HumanLabel]
    ) -> Figures:
        rows = {voice: each.at(places).decided() for voice, each in self.voices.items()}
        beside = {voice for voice, each in rows.items() if len(each.key)} - _OWN
        base, selected, shuffled = (rows[voice] for voice in (BASE, SELECTED, SHUFFLED))
        return Figures(
            scenario=scenario,
            human=human_position_bias((label.verdict, label.shown) for label in labels),
            base=self._measured(BASE, base),
            selected=self._measured(SELECTED, selected),
            shuffled=self._control(SHUFFLED, shuffled),
            others=tuple(
                self._control(voice, rows[voice]) for voice in sorted(beside, key=_standing)
            ),
            gain=gain(base, selected, seed=self.seed, policy=self.policy),
            gain_over_shuffled=gain(shuffled, selected, seed=self.seed, policy=self.policy),
        )

    def _control(self, voice: Condition, rows: JudgedColumns) -> ControlFigures:
        return ControlFigures(voice, *under_both(rows, seed=self.seed, policy=self.policy))

    def _measured(self, voice: Condition, rows: JudgedColumns) -> ConditionFigures:
        agreement, other_policy = under_both(rows, seed=self.seed, policy=self.policy)
        return ConditionFigures(
            voice=voice,
            agreement=agreement,
            other_policy=other_policy,
            position=judge_position_bias(rows.leaning, sessions=rows.session, seed=self.seed),
            consistency=consistency(rows.leaning, sessions=rows.session, seed=self.seed),
        )


def _finding(overall: Figures) -> TrustFinding:
    if not overall.selected.agreement.comparisons:
        told = overall.base.agreement.comparisons
        return TrustFinding.NOT_SELECTED if told else TrustFinding.NOTHING
    interval = overall.selected.agreement.interval
    if interval is None:
        return TrustFinding.TOO_FEW
    if interval.high < 0.5:
        return TrustFinding.AGAINST
    if interval.low <= 0.5:
        return TrustFinding.CHANCE
    gained = overall.gain.interval
    if gained is None or gained.low <= 0 <= gained.high:
        return TrustFinding.ALIKE
    return TrustFinding.BETTER if gained.low > 0 else TrustFinding.WORSE
