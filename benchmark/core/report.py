"""The report's rows: agreement of judge and annotator by scenario, before and after preferences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmark.core.trust import Figures, TrustFigures


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One annotator in one scenario, or in all of them together (`scenario` None).

    Shares are 0..1. `low` and `high` are the 95 % interval of `selected`, `n` the comparisons
    behind it, `verdicts` the decisions on them. Where no preferences were judged, `n`, interval,
    position bias and consistency are the base judge's.
    """

    annotator: str
    scenario: str | None
    n: int
    verdicts: int
    base: float | None
    selected: float | None
    shuffled: float | None
    low: float | None
    high: float | None
    gain: float | None
    gain_low: float | None
    gain_high: float | None
    position_bias: float | None
    human_position_bias: float | None
    consistency: float | None
    unreadable: int


def report_rows(annotator: str, each: TrustFigures) -> Iterator[ReportRow]:
    """A row for each scenario, then one for all together if there are several.

    A scenario without a decision on a labelled comparison has no row.
    """
    for figures in each.scenarios:
        yield _row(annotator, figures)
    if len(each.scenarios) > 1:
        yield _row(annotator, each.overall)


def _row(annotator: str, figures: Figures) -> ReportRow:
    selected = figures.selected if figures.selected.agreement.comparisons else figures.base
    agreement, gained = selected.agreement, figures.gain
    return ReportRow(
        annotator=annotator,
        scenario=figures.scenario,
        n=agreement.comparisons,
        verdicts=agreement.verdicts,
        base=figures.base.agreement.value,
        selected=figures.selected.agreement.value,
        shuffled=figures.shuffled.agreement.value,
        low=agreement.interval.low if agreement.interval else None,
        high=agreement.interval.high if agreement.interval else None,
        gain=gained.value,
        gain_low=gained.interval.low if gained.interval else None,
        gain_high=gained.interval.high if gained.interval else None,
        position_bias=selected.position.value,
        human_position_bias=figures.human.value,
        consistency=selected.consistency.value,
        unreadable=agreement.unreadable,
    )
