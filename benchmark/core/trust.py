"""Can this judge stand in for this annotator? The figures of one annotator, and what they say.

Everything is computed from comparisons of the test part, which no preference was distilled from
and no selection has seen (protocols A1.7). Controls stand beside the result: the judge without
preferences, preferences distilled from shuffled labels, and other annotators' preferences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import Accuracy, Decisions, Gain, InvalidPolicy, Judged, accuracy, gain
from benchmark.core.bias import (
    Consistency,
    PositionBias,
    consistency,
    human_position_bias,
    judge_position_bias,
)


class Panel(StrEnum):
    """Under which preferences a judge decided."""

    BASE = "BASE"  # none
    SELECTED = "SELECTED"  # the set selected for the annotator
    SHUFFLED = "SHUFFLED"  # the set selected from randomly flipped labels of the annotator
    OTHER = "OTHER"  # the set selected for somebody else


@dataclass(frozen=True, slots=True, order=True)
class Voice:
    """A panel, and for OTHER whose set it is."""

    panel: Panel
    annotator: str = ""


BASE = Voice(Panel.BASE)
SELECTED = Voice(Panel.SELECTED)
SHUFFLED = Voice(Panel.SHUFFLED)


@dataclass(frozen=True, slots=True)
class Case:
    """One test comparison with the annotator's verdict and the judge's decisions, by voice."""

    comparison: int
    scenario: str
    human: Verdict
    decisions: Mapping[Voice, Decisions]


@dataclass(frozen=True, slots=True)
class VoiceFigures:
    """One voice's agreement under the asked policy and the other one, its bias, its consistency."""

    voice: Voice
    agreement: Accuracy
    other_policy: Accuracy
    position: PositionBias
    consistency: Consistency


@dataclass(frozen=True, slots=True)
class ScenarioFigures:
    """Agreement in one scenario without and with preferences."""

    scenario: str
    base: VoiceFigures
    selected: VoiceFigures
    shuffled: VoiceFigures
    gain: Gain


class Finding(StrEnum):
    """The answer in one word, best first; templates say it in a sentence.

    All but the first two rest on 95 % intervals over comparisons.
    """

    NOTHING = "NOTHING"  # no test comparison has both a human verdict and the judge's
    NOT_SELECTED = "NOT_SELECTED"  # the base judge alone was asked
    BETTER = "BETTER"  # above chance, and the gain over the base judge is above zero
    ALIKE = "ALIKE"  # above chance, no clear gain or loss by preferences
    WORSE = "WORSE"  # above chance, but less than without preferences
    CHANCE = "CHANCE"  # not to be told from a coin
    AGAINST = "AGAINST"  # below chance


@dataclass(frozen=True, slots=True)
class TrustFigures:
    """Everything that the trust page says of pairwise verdicts.

    `voices` holds those with decisions, SELECTED first, then BASE, SHUFFLED and other annotators'.
    """

    finding: Finding
    voices: tuple[VoiceFigures, ...]
    human: PositionBias
    gain_over_base: Gain
    gain_over_shuffled: Gain
    scenarios: tuple[ScenarioFigures, ...]
    policy: InvalidPolicy
    seed: int

    def of(self, voice: Voice) -> VoiceFigures | None:
        """The figures of one voice, None where it never decided."""
        return next((each for each in self.voices if each.voice == voice), None)


def trust_figures(
    cases: Iterable[Case],
    labels: Iterable[tuple[Verdict, Order | None]],
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
) -> TrustFigures:
    """The figures of one annotator and one judge.

    Args:
        cases: test comparisons that the annotator labelled and the judge was asked about.
        labels: every label of the annotator, with the order it was shown in where known: a
            person's position bias is measured on all that they labelled.
        seed: of every bootstrap.
        policy: what a verdict that could not be read counts as.
    """
    rows = list(cases)
    measure = _measure(seed, policy)
    voices = [measure(rows, voice) for voice in _voices(rows)]
    judged = {each.voice: each for each in voices}
    gained = _gain(rows, BASE, seed=seed, policy=policy)
    return TrustFigures(
        finding=_finding(judged.get(BASE), judged.get(SELECTED), gained),
        voices=tuple(voices),
        human=human_position_bias(labels),
        gain_over_base=gained,
        gain_over_shuffled=_gain(rows, SHUFFLED, seed=seed, policy=policy),
        scenarios=tuple(
            ScenarioFigures(
                scenario=scenario,
                base=measure(own, BASE),
                selected=measure(own, SELECTED),
                shuffled=measure(own, SHUFFLED),
                gain=_gain(own, BASE, seed=seed, policy=policy),
            )
            for scenario, own in by_scenario(rows).items()
        ),
        policy=policy,
        seed=seed,
    )


def by_scenario(cases: Iterable[Case]) -> dict[str, list[Case]]:
    """Cases by scenario, in the order in which scenarios first appear."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.scenario, []).append(case)
    return groups


def judged_by(cases: Iterable[Case], voice: Voice) -> list[Judged]:
    """The cases as one voice decided them; those without a decision of it are left out."""
    return [
        Judged(case.comparison, case.human, case.decisions[voice])
        for case in cases
        if case.decisions.get(voice)
    ]


def _voices(cases: Iterable[Case]) -> list[Voice]:
    heard = {voice for case in cases for voice, given in case.decisions.items() if given}
    order = [Panel.SELECTED, Panel.BASE, Panel.SHUFFLED, Panel.OTHER]
    return sorted(heard, key=lambda voice: (order.index(voice.panel), voice.annotator))


def _measure(seed: int, policy: InvalidPolicy) -> Callable[[Sequence[Case], Voice], VoiceFigures]:
    (other,) = set(InvalidPolicy) - {policy}

    def measured(cases: Sequence[Case], voice: Voice) -> VoiceFigures:
        rows = judged_by(cases, voice)
        decisions = [row.decisions for row in rows]
        return VoiceFigures(
            voice=voice,
            agreement=accuracy(rows, seed=seed, policy=policy),
            other_policy=accuracy(rows, seed=seed, policy=other),
            position=judge_position_bias(decisions, seed=seed),
            consistency=consistency(decisions),
        )

    return measured


def _gain(cases: Sequence[Case], over: Voice, *, seed: int, policy: InvalidPolicy) -> Gain:
    return gain(judged_by(cases, over), judged_by(cases, SELECTED), seed=seed, policy=policy)


def _finding(base: VoiceFigures | None, selected: VoiceFigures | None, gained: Gain) -> Finding:
    if selected is None or selected.agreement.interval is None:
        has_base = base is not None and base.agreement.interval is not None
        return Finding.NOT_SELECTED if has_base else Finding.NOTHING
    interval = selected.agreement.interval
    if interval.high < 0.5:
        return Finding.AGAINST
    if interval.low <= 0.5:
        return Finding.CHANCE
    if gained.interval is not None and gained.interval.low > 0:
        return Finding.BETTER
    if gained.interval is not None and gained.interval.high < 0:
        return Finding.WORSE
    return Finding.ALIKE
