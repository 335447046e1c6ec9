"""The verification report of satisfaction evaluators: one table, what is behind it, files."""

from __future__ import annotations

from collections.abc import Iterator

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation.core.intervals import ends
from annotation.core.tables import Row, csv_lines
from benchmark.core.paper_satisfaction import TABLE_2, TABLE_3
from benchmark.core.satisfaction_groups import GAINED
from benchmark.core.satisfaction_reasons import COLUMNS
from benchmark.queries.choices import UnknownChoiceError
from benchmark.queries.satisfaction_details import cells_of
from benchmark.queries.satisfaction_report import (
    EvaluatorRow,
    SatisfactionReport,
    satisfaction_report,
)
from benchmark.views.readers import require_sees_everyone


@require_GET
@login_required
def satisfaction(request: HttpRequest) -> HttpResponse:
    """The newest report, or the one asked for, with the paper's figures beside it."""
    context = {"found": _asked(request), "gained": GAINED, "table_2": TABLE_2, "table_3": TABLE_3}
    return render(request, "benchmark/satisfaction.html", context)


@require_GET
@login_required
def satisfaction_evaluator(request: HttpRequest, place: int) -> HttpResponse:
    """One evaluator of a report, by its place from 1: scenarios, users, reasons."""
    found = _asked(request)
    if found is None or not 1 <= place <= len(found.rows):
        raise Http404
    context = {"found": found, "place": place, "row": found.rows[place - 1], "reasons": COLUMNS}
    return render(request, "benchmark/satisfaction_evaluator.html", context)


@require_GET
@login_required
def satisfaction_csv(request: HttpRequest) -> HttpResponse:
    """A table of a report: every figure, or (`table`) gains, scenarios, users or reasons."""
    found = _asked(request)
    table = request.GET.get("table", "figures")
    if table not in _TABLES:
        raise Http404
    rows = [
        {"evaluator": row.name, "setting": row.setting, **cells}
        for row in (found.rows if found else ())
        for cells in _TABLES[table](row)
    ]
    response = HttpResponse(
        "".join(csv_lines(list(rows[0]) if rows else [], rows)),
        content_type="text/csv; charset=utf-8",
    )
    name = "satisfaction" if table == "figures" else f"satisfaction-{table}"
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def _figures(row: EvaluatorRow) -> Iterator[Row]:
    yield row.record()


def _gains(row: EvaluatorRow) -> Iterator[Row]:
    for name, gain in row.details.shown_gains:
        yield {
            "metric": name.value,
            "gain": gain.value,
            **ends(gain.interval),
            "p": gain.p,
        }


def _scenarios(row: EvaluatorRow) -> Iterator[Row]:
    for one in row.details.scenarios:
        yield {
            "scenario": one.scenario,
            "turns": one.turns,
            "users": one.users,
            **cells_of(one.metrics),
        }


def _users(row: EvaluatorRow) -> Iterator[Row]:
    for one in row.details.users:
        yield {
            "user": one.name,
            "turns": one.turns,
            "stated": one.stated,
            "predicted": one.predicted,
            **{name: metric.value for name, metric in one.metrics.items()},
        }


def _reasons(row: EvaluatorRow) -> Iterator[Row]:
    for stated, counts in row.details.reason_rows:
        for predicted, turns in zip(COLUMNS, counts, strict=True):
            yield {"stated": stated, "predicted": predicted, "turns": turns}


_TABLES = {
    "figures": _figures,
    "gains": _gains,
    "scenarios": _scenarios,
    "users": _users,
    "reasons": _reasons,
}


def _asked(request: HttpRequest) -> SatisfactionReport | None:
    require_sees_everyone(request)
    try:
        return satisfaction_report(request.GET.get("report", ""))
    except UnknownChoiceError as error:
        raise Http404 from error
