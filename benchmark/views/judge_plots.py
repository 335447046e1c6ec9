"""The charts of the tables of judges: without preferences and with them, one below the other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from django.utils.translation import gettext as _

from annotation.core.charts import IntervalPlot, IntervalRow, Mark, interval_plot
from annotation.templatetags.look import percent, points
from benchmark.core.before_after import BeforeAfter
from benchmark.queries.judge_tables import JudgeLine, TablesPage
from benchmark.views.judge_cells import Write, in_percent, in_points, interval_text, way_name

_LITTLE: Final = 0.1
"""Bias that the axis shows at least, either way, so that next to none looks like it."""


@dataclass(frozen=True, slots=True)
class LeanPlot:
    """A chart of one figure before and after, with its title."""

    title: str
    label: str
    plot: IntervalPlot


def lean_plots(page: TablesPage) -> tuple[LeanPlot, ...]:
    """Figure 3 and table 2 drawn: each judge without preferences, and with them below."""
    drawn = [
        (
            _("Position bias"),
            _("Position bias of each judge, base and with preferences; the table has the numbers"),
            [row for line in page.lines for row in _rows(line, line.leans.position, in_points)],
            points,
            0.0,
            (-_LITTLE, _LITTLE),
        ),
        (
            _("Consistency across orders"),
            _("Consistency of each judge, base and with preferences; the table has the numbers"),
            [row for line in page.lines for row in _rows(line, line.leans.consistency, in_percent)],
            percent,
            None,
            (),
        ),
    ]
    return tuple(
        LeanPlot(
            title,
            label,
            interval_plot(rows, write=write, reference=reference, include=include),
        )
        for title, label, rows, write, reference, include in drawn
        if rows
    )


def _rows(line: JudgeLine, told: BeforeAfter, write: Write) -> list[IntervalRow]:
    way = way_name(line.name)
    name = f"{line.name.judge}, {way}" if way else line.name.judge
    voices = (
        (told.base, _("%(judge)s, base") % {"judge": name}, "c2", Mark.SQUARE),
        (told.selected, _("%(judge)s, with preferences") % {"judge": name}, "c1", Mark.CIRCLE),
    )
    return [
        IntervalRow(
            label=label,
            value=each.value,
            low=each.interval.low if each.interval else None,
            high=each.interval.high if each.interval else None,
            text=f"{write(each.value)} ({interval_text(each.interval, write)})",
            css=css,
            mark=mark,
            strong=css == "c1",
        )
        for each, label, css, mark in voices
        if each.n
    ]
