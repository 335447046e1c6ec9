"""The tables of judges, cell by cell: how a figure is written and where its rows stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from annotation.core.intervals import Interval
from annotation.templatetags.look import difference, percent, points
from benchmark.core.before_after import BeforeAfter, Estimate, Leans
from benchmark.core.judges import Agreement, JudgeCell, JudgeFigures, Mean
from benchmark.queries.judges import (
    AS_THE_PAPER,
    JudgeLine,
    JudgeWay,
    TablesPage,
    TablesScope,
)
from benchmark.queries.rows import NumberOwner
from benchmark.templatetags.figures import p_relation, prompt_name, share_number

Write = Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class Cell:
    """One figure: written, with its interval, what it rests on, and where that is to be seen.

    `aside` is the figure under the other policy for `unreadable` replies, "" where there are none.
    `p` is that of a gain, "" of any other figure.
    """

    text: str
    interval: str = ""
    n: int = 0
    url: str = ""
    unreadable: int = 0
    aside: str = ""
    p: str = ""


EMPTY = Cell("–")
_CHANGE: Final = 2


@dataclass(frozen=True, slots=True)
class TableLine:
    """One row of a judge: which voice or difference, how it is marked, and its cells."""

    label: str
    css: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True, slots=True)
class JudgeGroup:
    """The rows of one judge (None: of the people).

    `of` counts the annotators that it stands in for, where they are not all that are asked about.
    """

    name: JudgeWay | None
    way: str
    of: int | None
    lines: tuple[TableLine, ...]
    edited: bool = False


def tables_query(scope: TablesScope) -> dict[str, str]:
    """The parameters of an address that asks the same question."""
    question = scope.question
    return {
        "dataset": scope.dataset.slug if scope.dataset else "",
        "of": scope.of,
        "rule": question.rule.value,
        "policy": question.policy.value,
    }


def way_name(name: JudgeWay) -> str:
    """How a judge was asked, in words; "" where it was asked as the paper does."""
    if name.recorded:
        return _("recorded")
    if name.way == AS_THE_PAPER:
        return _("selected as by the paper's code")
    return prompt_name(name.way) if name.way else ""


def agreement_table(page: TablesPage) -> tuple[JudgeGroup, ...]:
    """Table 1: for each judge a row a voice and one for the gain; scenarios, mean, all pooled."""
    return tuple(_agreement_group(page, line) for line in page.lines)


def _agreement_group(page: TablesPage, line: JudgeLine) -> JudgeGroup:
    urls = _Urls(page.scope, line.name)

    def voice(
        label: str,
        css: str,
        behind: NumberOwner,
        told: str,
        figures: JudgeFigures = line.figures,
    ) -> TableLine:
        cells = {cell.scenario: cell for cell in figures.cells}
        shown = [cells.get(name) for name in page.columns]
        return TableLine(
            label,
            css,
            (
                *(
                    _agreement(getattr(each, told), urls.of(behind, each)) if each else EMPTY
                    for each in shown
                ),
                *([_mean(getattr(figures.means, told), in_percent)] if shown else []),
                _agreement(getattr(figures.overall, told), urls.of(behind, figures.overall)),
            ),
        )

    def gained(
        label: str,
        css: str,
        behind: NumberOwner,
        told: str,
        figures: JudgeFigures = line.figures,
    ) -> TableLine:
        cells = {cell.scenario: cell for cell in figures.cells}
        shown = [cells.get(name) for name in page.columns]

        def cell(each: JudgeCell | None) -> Cell:
            if each is None:
                return EMPTY
            gain = getattr(each, told)
            url = urls.of(behind, each) if gain.comparisons else ""
            interval = interval_text(gain.interval, points)
            return Cell(in_points(gain.value), interval, gain.comparisons, url, p=p_text(gain.p))

        means = [_mean(getattr(figures.means, told), in_points)] if shown else []
        return TableLine(label, css, (*map(cell, shown), *means, cell(figures.overall)))

    overall, own = line.figures.overall, line.own
    best = "" if own else "best"
    lines = [voice(_("base"), "", NumberOwner.BASE, "base")]
    if own is not None:
        lines += [
            voice(_("weighted vote"), "best", NumberOwner.OWN, "selected", own),
            gained(_("gain (pp)"), "", NumberOwner.OWN, "gain", own),
        ]
    if overall.selected.asked.comparisons:
        behind = NumberOwner.SELECTED
        lines += [
            voice(_("with preferences"), best, behind, "selected"),
            gained(_("gain (pp)"), "", behind, "gain"),
        ]
    if overall.shuffled.asked.comparisons:
        lines += [
            voice(_("shuffled labels"), "control", NumberOwner.SHUFFLED, "shuffled"),
            gained(
                _("stand-in over shuffled (pp)"),
                "control",
                NumberOwner.SELECTED if own is None else NumberOwner.OWN,
                "gain_over_shuffled",
                own or line.figures,
            ),
        ]
    return JudgeGroup(
        line.name, way_name(line.name), _part(page.scope, line), tuple(lines), line.edited
    )


def _part(scope: TablesScope, line: JudgeLine) -> int | None:
    pooled = scope.annotator is None and not scope.gold
    return line.annotators if pooled and line.annotators < len(scope.annotators) else None


def lean_table(page: TablesPage) -> tuple[JudgeGroup, ...]:
    """Table 2 and figure 3: for each judge base, with preferences, and the change; people first."""
    groups = [_lean_group(page.scope, line) for line in page.lines]
    people = page.people
    if people is None:
        return tuple(groups)
    cells = (
        _estimate(people.position, in_points),
        Cell(str(people.gap)) if people.position.n else EMPTY,
        EMPTY,
        _estimate(people.longer, in_percent),
        _estimate(people.slope, _slope),
        EMPTY,
    )
    return (JudgeGroup(None, "", None, (TableLine(_("human labels"), "", cells),)), *groups)


def _lean_group(scope: TablesScope, line: JudgeLine) -> JudgeGroup:
    urls = _Urls(scope, line.name)

    def row(label: str, css: str, place: int, url: str, leans: Leans = line.leans) -> TableLine:
        told: Sequence[tuple[BeforeAfter, Write, Write]] = (
            (leans.position, in_points, in_points),
            (leans.consistency, in_percent, in_points),
            (leans.longer, in_percent, in_points),
            (leans.slope, _slope, _slope),
            (leans.own, in_points, in_points),
        )
        cells = [
            _estimate(
                (each.base, each.selected, each.change)[place],
                change if place == _CHANGE else write,
                url,
            )
            for each, write, change in told
        ]
        gaps = (*leans.gaps, leans.gaps[1] - leans.gaps[0])
        ordered = bool(
            (leans.position.base, leans.position.selected, leans.position.change)[place].n
        )
        gap = Cell(difference(gaps[place], 0) if place == _CHANGE else str(gaps[place]))
        return TableLine(label, css, (cells[0], gap if ordered else EMPTY, *cells[1:]))

    lines = [row(_("base"), "", 0, urls.of(NumberOwner.BASE, None))]
    if line.own_leans is not None:
        url = urls.of(NumberOwner.OWN, None)
        lines += [
            row(_("weighted vote"), "best", 1, url, line.own_leans),
            row(_("change"), "", _CHANGE, "", line.own_leans),
        ]
    if line.figures.overall.selected.asked.comparisons:
        best = "" if line.own_leans else "best"
        lines += [
            row(_("with preferences"), best, 1, urls.of(NumberOwner.SELECTED, None)),
            row(_("change"), "", _CHANGE, ""),
        ]
    return JudgeGroup(line.name, way_name(line.name), _part(scope, line), tuple(lines), line.edited)


@dataclass(frozen=True, slots=True)
class _Urls:
    """Where the comparisons behind one judge's cells stand."""

    scope: TablesScope
    name: JudgeWay

    def of(self, behind: NumberOwner, cell: JudgeCell | None) -> str:
        ids = {each.name: each.id for each in self.scope.scenarios}
        scenario = ids.get(cell.scenario or "") if cell else None
        parameters = {
            **tables_query(self.scope),
            "judge": self.name.judge,
            "way": self.name.way,
            "voice": behind.value,
            **({} if scenario is None else {"scenario": str(scenario)}),
        }
        return f"{reverse('benchmark:judge-rows')}?{urlencode(parameters)}"


def _agreement(told: Agreement, url: str) -> Cell:
    asked = told.asked
    return Cell(
        text=in_percent(asked.value),
        interval=interval_text(asked.interval, in_percent),
        n=asked.comparisons,
        url=url if asked.comparisons or asked.unreadable else "",
        unreadable=asked.unreadable,
        aside=in_percent(told.other.value) if asked.unreadable else "",
    )


def _mean(told: Mean, write: Write) -> Cell:
    interval = interval_text(told.interval, points if write is in_points else write)
    return Cell(write(told.value), interval, p=p_text(told.p))


def _estimate(told: Estimate, write: Write, url: str = "") -> Cell:
    if told.unbounded:
        return Cell(_("unbounded"), n=told.n, url=url)
    return _cell(told.value, told.interval, told.n, write, url)


def _cell(value: float | None, interval: Interval | None, n: int, write: Write, url: str) -> Cell:
    return Cell(write(value), interval_text(interval, write), n, url if n else "")


def in_percent(value: float | None) -> str:
    """A share of 0-1."""
    return percent(value, 1)


def in_points(value: float | None) -> str:
    """A difference of shares."""
    return points(value, 1)


def _slope(value: float | None) -> str:
    return difference(value, 2)


def p_text(p: float | None) -> str:
    """The p of a gain; "" without one."""
    return "" if p is None else f"p {p_relation(p)}"


def interval_text(interval: Interval | None, write: Write) -> str:
    """The ends of an interval; "" without one."""
    if interval is None:
        return ""
    if write is in_percent:
        return f"{share_number(interval.low)} … {share_number(interval.high)}"
    return f"{write(interval.low)} … {write(interval.high)}"
