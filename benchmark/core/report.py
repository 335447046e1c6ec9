"""The figures of trust as flat rows: what the report and its files hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from annotation.core.intervals import Interval
from annotation.core.quality import HitShare
from annotation.core.significance import holm
from benchmark.core.trust import STACK, Figures, TrustFigures


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One annotator in one scenario, or in all of them together (`scenario` None).

    Shares are 0..1, every `…_low` and `…_high` a 95 % interval. `low` and `high` are that of
    `selected` and None without it. `stack` is the weighted vote, None where the judge has none.
    `own` is what stands in for the annotator: the weighted vote where `stands_in` is `stack`, else
    what `selected` is, which is the base judge's where `stands_in` is `base`: no set was better.
    `n`, the comparisons, `verdicts`, the decisions on them, position bias and consistency are of
    what stands in, and where no preferences were judged the base judge's. Over
    fewer than ten sessions no figure of a judge has an interval. `gain_p` is by
    sign flips over sessions, `gain_p_holm` the same adjusted for the annotators of a table, one
    family a scenario; the gain of what stands in likewise. `edited` says that preferences were
    edited after their test verdicts were there to see.
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
    stands_in: str
    own: float | None
    own_low: float | None
    own_high: float | None
    own_gain: float | None
    own_gain_low: float | None
    own_gain_high: float | None
    own_gain_p: float | None
    own_gain_p_holm: float | None
    edited: bool = False


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


def repeats_rows(annotator: str, scenario: str | None, own: HitShare) -> Iterator[ControlRow]:
    """How often the annotator repeated their own answer, `repeats`; nothing where none was asked.

    `n` are hidden repeats, each with one answer.
    """
    if own.answers:
        yield ControlRow(
            annotator=annotator,
            scenario=scenario,
            control="repeats",
            of=annotator,
            n=own.answers,
            verdicts=own.answers,
            value=own.value,
            low=_low(own.interval),
            high=_high(own.interval),
            unreadable=0,
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
    """The rows of several annotators, each Holm's p adjusted for those of its scenario."""
    families: dict[str | None, list[int]] = {}
    for place, row in enumerate(rows):
        families.setdefault(row.scenario, []).append(place)
    found = list(rows)
    for places in families.values():
        gains = holm([rows[place].gain_p for place in places])
        own = holm([rows[place].own_gain_p for place in places])
        for place, p, own_p in zip(places, gains, own, strict=True):
            found[place] = replace(rows[place], gain_p_holm=p, own_gain_p_holm=own_p)
    return tuple(found)


def _row(annotator: str, figures: Figures) -> ReportRow:
    result, gained = figures.result, figures.gain
    agreement = result.agreement
    base, with_preferences = figures.base.agreement, figures.selected.agreement
    stack = next((each.agreement for each in figures.others if each.voice == STACK), None)
    own, own_gained = figures.own.agreement, figures.own_gain
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
        position_bias=result.position.value,
        position_bias_low=_low(result.position.interval),
        position_bias_high=_high(result.position.interval),
        human_position_bias=figures.human.value,
        human_position_bias_low=_low(figures.human.interval),
        human_position_bias_high=_high(figures.human.interval),
        consistency=result.consistency.value,
        consistency_low=_low(result.consistency.interval),
        consistency_high=_high(result.consistency.interval),
        unreadable=agreement.unreadable,
        stands_in=figures.own.voice.panel.value.lower() if own.comparisons else "",
        own=own.value,
        own_low=_low(own.interval),
        own_high=_high(own.interval),
        own_gain=own_gained.value,
        own_gain_low=_low(own_gained.interval),
        own_gain_high=_high(own_gained.interval),
        own_gain_p=own_gained.p,
        own_gain_p_holm=own_gained.p,
    )


def _low(interval: Interval | None) -> float | None:
    return None if interval is None else interval.low


def _high(interval: Interval | None) -> float | None:
    return None if interval is None else interval.high
