"""Can this judge stand in for this annotator? The figures of one annotator, and what they say.

Everything is computed from comparisons of the test part, which no preference was distilled from
and no selection has seen (protocols A1.7). Controls stand beside the result: the judge without
preferences, preferences distilled from shuffled labels, other annotators' preferences, the same
judge asked by a generic rubric, and baselines that ask nobody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Order, Verdict
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
from benchmark.core.decisions import ABSENT, Decisions, Shares, codes, shares_of, winners


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
    SHORTER = "SHORTER"  # no judge: the shorter one
    FIRST = "FIRST"  # no judge: the one that the annotator was shown first
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
SHORTER = Condition(ConditionKind.SHORTER)
FIRST = Condition(ConditionKind.FIRST)
MAJORITY = Condition(ConditionKind.MAJORITY)
RULES: Final = (LONGER, SHORTER, FIRST)
"""What decides without reading either response."""
_OWN = frozenset({BASE, SELECTED, SHUFFLED, PERSONAL})
_BESIDE = (
    ConditionKind.STACK,
    ConditionKind.OTHER,
    ConditionKind.RUBRIC,
    ConditionKind.LONGER,
    ConditionKind.SHORTER,
    ConditionKind.FIRST,
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
    decided on average: their decisions are those of the first. `in_place` says that the base judge
    decided in place of a selected set, for none was better.
    """

    comparison: int
    scenario: str
    human: Verdict
    decisions: Mapping[Condition, Decisions]
    annotator: int = 0
    session: int | None = None
    shown: Mapping[Condition, Decisions] = field(default_factory=dict)
    shares: Mapping[Condition, Shares] = field(default_factory=dict)
    in_place: bool = False

    @property
    def unit(self) -> int:
        """What intervals draw."""
        return unit_of(self.session, self.comparison)

    @property
    def own(self) -> JudgedComparison:
        """It with a voice more, PERSONAL: the weighted vote, or the selected set without one."""
        voice = STACK if self.decisions.get(STACK) else SELECTED
        return replace(
            self,
            decisions=_heard_as(PERSONAL, voice, self.decisions),
            shown=_heard_as(PERSONAL, voice, self.shown),
            shares=_heard_as(PERSONAL, voice, self.shares),
        )

    def leaning(self, voice: Condition) -> Decisions:
        """What a voice's position bias and consistency are read from."""
        return self.shown.get(voice) or self.decisions.get(voice, {})


Said = TypeVar("Said")


def _heard_as(
    name: Condition, voice: Condition, said: Mapping[Condition, Said]
) -> Mapping[Condition, Said]:
    return {**said, name: said[voice]} if voice in said else said


@dataclass(frozen=True, slots=True)
class ControlFigures:
    """One voice's agreement under the asked policy and the other one."""

    voice: Condition
    agreement: Accuracy
    other_policy: Accuracy

    def is_thin(self, result: Accuracy) -> bool:
        """Whether it decided on fewer than half of the comparisons of a result beside it."""
        return 2 * self.agreement.comparisons < result.comparisons


@dataclass(frozen=True, slots=True)
class ConditionFigures(ControlFigures):
    """The same with its bias and its consistency."""

    position: PositionBias
    consistency: Consistency


@dataclass(frozen=True, slots=True)
class Figures:
    """Judge and human in one scenario, or in all of them together (`scenario` None).

    `own` is what stands in for the annotator: the weighted vote (its voice is STACK), or what
    `selected` is (its voice is BASE where the base judge decided in place of every set).
    `gain_over_shuffled` is its gain over the control, which is used in the same way, where nothing
    learned stands in over none. `others` are what else decided anything there: the weighted vote,
    other annotators' sets, rubrics, baselines.
    """

    scenario: str | None
    human: PositionBias
    base: ConditionFigures
    selected: ConditionFigures
    shuffled: ControlFigures
    others: tuple[ControlFigures, ...]
    gain: Gain
    gain_over_shuffled: Gain
    own: ConditionFigures
    own_gain: Gain

    @property
    def result(self) -> ConditionFigures:
        """What the controls stand beside: what stands in, else the base judge."""
        return self.own if self.own.agreement.comparisons else self.base

    @property
    def best_rule(self) -> ControlFigures | None:
        """Of RULES that which agrees most, in hindsight; None where none decided anything."""
        rules = [each for each in self.others if each.voice in RULES and not self._thin(each)]
        return max(rules, key=lambda each: each.agreement.value or 0.0, default=None)

    def _thin(self, each: ControlFigures) -> bool:
        return each.is_thin(self.result.agreement)


class TrustFinding(StrEnum):
    """The answer in one word, best first; templates say it in a sentence.

    It is of what stands in for the annotator. All but the first three rest on 95 % intervals over
    sessions.
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
    """Everything that the trust page says of pairwise verdicts.

    `over_people` and `over_rule` are the gains of the result over the other annotators and over
    the best rule, over all scenarios; None where those decided nothing.
    """

    finding: TrustFinding
    overall: Figures
    scenarios: tuple[Figures, ...]
    policy: InvalidPolicy
    seed: int
    over_people: Gain | None = None
    over_rule: Gain | None = None

    @property
    def people(self) -> float | None:
        """How often most other annotators agree; None where they share too few sessions."""
        if self.over_people is None or self.over_people.interval is None:
            return None
        return next(
            (each.agreement.value for each in self.overall.others if each.voice == MAJORITY), None
        )


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
    rows, given = [case.own for case in cases], list(labels)
    table = _Table.of(rows, seed=seed, policy=policy)
    overall = table.figures(None, np.ones(len(rows), dtype=np.bool_), given)
    scenarios = np.array([case.scenario for case in rows], dtype=object)
    rule = overall.best_rule
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
        over_people=table.gain_over(MAJORITY, overall),
        over_rule=table.gain_over(rule.voice, overall) if rule is not None else None,
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
    decided = {
        voice: winners(case.decisions.get(voice, {}) for case in cases) for voice in set(voices)
    }
    return {
        voice: JudgedColumns(
            key=key,
            session=session,
            human=human,
            won=won,
            shown=winners(case.leaning(voice) for case in cases) if voice in by_log_odds else None,
            shares=np.array(
                [
                    case.shares.get(voice, alone)
                    for case, alone in zip(cases, shares_of(won), strict=True)
                ]
            )
            if voice in averaged
            else None,
        )
        for voice, won in decided.items()
    }


def _standing(voice: Condition) -> tuple[int, str]:
    return _BESIDE.index(voice.panel), voice.annotator


@dataclass(frozen=True, slots=True)
class _Table:
    """The cases as each voice decided them, and what every figure of a page shares."""

    voices: Mapping[Condition, JudgedColumns]
    in_place: NDArray[np.bool_]
    seed: int
    policy: InvalidPolicy

    @classmethod
    def of(cls, cases: Sequence[JudgedComparison], *, seed: int, policy: InvalidPolicy) -> _Table:
        voices = {voice for case in cases for voice in case.decisions} | _OWN
        in_place = np.array([case.in_place for case in cases], dtype=np.bool_)
        return cls(columns_by_voice(cases, voices), in_place, seed, policy)

    def figures(
        self, scenario: str | None, places: NDArray[np.bool_], labels: Sequence[HumanLabel]
    ) -> Figures:
        rows = {voice: each.at(places).decided() for voice, each in self.voices.items()}
        beside = {voice for voice, each in rows.items() if len(each.key)} - _OWN
        base, selected, shuffled = (rows[voice] for voice in (BASE, SELECTED, SHUFFLED))
        own = rows[PERSONAL]
        own_places = places & (self.voices[PERSONAL].won != ABSENT).any(axis=1)
        instead = BASE if self.in_place[own_places].all() else SELECTED
        stands_in = STACK if STACK in beside else instead
        if stands_in == BASE and len(own.key):  # beside it the control shows only its own harm
            shuffled = shuffled.at(np.zeros(len(shuffled.key), dtype=np.bool_))
        return Figures(
            scenario=scenario,
            human=human_position_bias((label.verdict, label.shown, label.unit) for label in labels),
            base=self._measured(BASE, base),
            selected=self._measured(SELECTED, selected),
            shuffled=self._control(SHUFFLED, shuffled),
            others=tuple(
                self._control(voice, rows[voice]) for voice in sorted(beside, key=_standing)
            ),
            gain=gain(base, selected, seed=self.seed, policy=self.policy),
            gain_over_shuffled=gain(shuffled, own, seed=self.seed, policy=self.policy),
            own=self._measured(stands_in, own),
            own_gain=gain(base, own, seed=self.seed, policy=self.policy),
        )

    def gain_over(self, voice: Condition, overall: Figures) -> Gain | None:
        """The gain of the result over a voice; None where the voice decided nothing."""
        if voice not in self.voices or not overall.result.agreement.comparisons:
            return None
        result = PERSONAL if overall.own.agreement.comparisons else BASE
        before, after = (self.voices[each].decided() for each in (voice, result))
        return gain(before, after, seed=self.seed, policy=self.policy)

    def _control(self, voice: Condition, rows: JudgedColumns) -> ControlFigures:
        return ControlFigures(voice, *under_both(rows, policy=self.policy))

    def _measured(self, voice: Condition, rows: JudgedColumns) -> ConditionFigures:
        agreement, other_policy = under_both(rows, policy=self.policy)
        return ConditionFigures(
            voice=voice,
            agreement=agreement,
            other_policy=other_policy,
            position=judge_position_bias(rows.leaning, sessions=rows.session),
            consistency=consistency(rows.leaning, sessions=rows.session),
        )


def _finding(overall: Figures) -> TrustFinding:
    if not overall.own.agreement.comparisons:
        told = overall.base.agreement.comparisons
        return TrustFinding.NOT_SELECTED if told else TrustFinding.NOTHING
    interval = overall.own.agreement.interval
    if interval is None:
        return TrustFinding.TOO_FEW
    if interval.high < 0.5:
        return TrustFinding.AGAINST
    if interval.low <= 0.5:
        return TrustFinding.CHANCE
    gained = overall.own_gain.interval
    if gained is None or gained.low <= 0 <= gained.high:
        return TrustFinding.ALIKE
    return TrustFinding.BETTER if gained.low > 0 else TrustFinding.WORSE
