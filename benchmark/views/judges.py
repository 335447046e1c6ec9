"""All judges side by side: the papers' tables, the comparisons behind a cell, and both as files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import IntervalPlot, IntervalRow, Mark, interval_plot
from annotation.templatetags.look import percent, points
from annotation.views.access import csv_file, table_asked
from benchmark.core.before_after import BeforeAfter
from benchmark.core.judges import Record, agreement_records, lean_records, people_record
from benchmark.forms import POLICIES, RULES, TableRowsForm, TablesForm, asked
from benchmark.queries import judges as rows_queries
from benchmark.queries.judges import JudgeLine, TablesPage, TablesScope, tables_page
from benchmark.queries.kept import kept
from benchmark.queries.rows import VerdictMatch
from benchmark.queries.trust import SEED
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from benchmark.views.judge_cells import (
    Write,
    agreement_table,
    in_percent,
    in_points,
    interval_text,
    lean_table,
    tables_query,
    way_name,
)

_LITTLE: Final = 0.1
"""Bias that the axis shows at least, either way, so that next to none looks like it."""


def lean_plots(page: TablesPage) -> list[tuple[str, str, IntervalPlot]]:
    """Figure 3 and table 2 drawn: each judge without preferences, and with them below.

    Title, what the chart shows for those who cannot see it, and the chart.
    """
    drawn = [
        (
            _("Position bias"),
            _("Position bias of each judge, base and with preferences; the table has the numbers"),
            [row for line in page.lines for row in _rows(line, "position", in_points)],
            points,
            0.0,
            (-_LITTLE, _LITTLE),
        ),
        (
            _("Consistency across orders"),
            _("Consistency of each judge, base and with preferences; the table has the numbers"),
            [row for line in page.lines for row in _rows(line, "consistency", in_percent)],
            percent,
            None,
            (),
        ),
    ]
    return [
        (title, label, interval_plot(rows, write=write, reference=reference, include=include))
        for title, label, rows, write, reference, include in drawn
        if rows
    ]


def _rows(line: JudgeLine, figure: str, write: Write) -> list[IntervalRow]:
    told: BeforeAfter = getattr(line.own_leans or line.leans, figure)
    way = way_name(line.name)
    name = f"{line.name.judge}, {way}" if way else line.name.judge
    own = _("%(judge)s, weighted vote") if line.own_leans else _("%(judge)s, with preferences")
    voices = (
        (told.base, _("%(judge)s, base") % {"judge": name}, "c2", Mark.SQUARE),
        (told.selected, own % {"judge": name}, "c1", Mark.CIRCLE),
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


@require_safe
@login_required
def judges(request: HttpRequest) -> HttpResponse:
    """Agreement by scenario and what judges lean to, a line a judge; to htmx the figures alone."""
    require_sees_everyone(request)
    found = kept(tables_page, asked(TablesForm, request.GET).question())
    page = found.page
    context: dict[str, Any] = {
        "page": page,
        "kept": found,
        "scope": page.scope,
        "rules": RULES,
        "policies": POLICIES,
        "figures_id": FIGURES_ID,
        "query": urlencode(tables_query(page.scope)),
        "agreement": agreement_table(page),
        "leans": lean_table(page),
        "plots": lean_plots(page),
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_judges.html" if is_part else "benchmark/judges.html"
    return render(request, template, context)


@require_safe
@login_required
def judge_rows(request: HttpRequest) -> HttpResponse:
    """The comparisons behind a cell, with the person's verdict and the judge's decisions."""
    require_sees_everyone(request)
    form = asked(TableRowsForm, request.GET)
    found = rows_queries.table_rows(
        form.question(),
        name=form.name(),
        behind=form.behind(),
        scenario=form.cleaned_data["scenario"],
        outcome=form.outcome_asked(),
        page=request.GET.get("page", ""),
    )
    context = {
        "found": found,
        "scope": found.scope,
        "page": found.page,
        "back": urlencode(tables_query(found.scope)),
        "outcomes": [(each.value, found.counts[each]) for each in VerdictMatch],
    }
    return render(request, "benchmark/judge_rows.html", context)


@require_safe
@login_required
def judges_csv(request: HttpRequest) -> HttpResponse:
    """A table as a file: agreement by scenario, or (`table=leanings`) what judges lean to."""
    require_sees_everyone(request)
    name = table_asked(request, _TABLES)
    page = tables_page(asked(TablesForm, request.GET).question())
    said = {**tables_query(page.scope), "of": _whom(page.scope), "seed": SEED}
    return csv_file(f"judges-{name}", _TABLES[name](page), said)


def _whom(scope: TablesScope) -> str:
    """Whom the judges are held against, in words of the file."""
    if scope.gold:
        return "gold"
    return scope.annotator.name if scope.annotator else "all annotators"


def _line_said(line: JudgeLine) -> Record:
    runs = " ".join(map(str, line.runs))
    return {
        "judge": line.name.judge,
        "asked": line.name.way,
        "run": runs,
        "edited": line.edited,
    }


def _agreement_records(page: TablesPage) -> Iterator[Record]:
    for line in page.lines:
        name = _line_said(line)
        yield from agreement_records(name, line.figures, line.own)


def _lean_records(page: TablesPage) -> Iterator[Record]:
    for line in page.lines:
        name = _line_said(line)
        yield from lean_records(name, line.leans, line.own_leans)
    if page.people is not None:
        yield people_record({"judge": "", "asked": "", "run": "", "edited": False}, page.people)


_TABLES = {"agreement": _agreement_records, "leanings": _lean_records}
