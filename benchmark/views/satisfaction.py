"""The verification report of satisfaction evaluators: one table, and the same as a file."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from annotation.core.tables import csv_lines
from benchmark.core.paper_satisfaction import TABLE_2
from benchmark.queries.choices import UnknownChoiceError
from benchmark.queries.satisfaction_report import SatisfactionReport, satisfaction_report
from benchmark.views.readers import require_sees_everyone


@require_GET
@login_required
def satisfaction(request: HttpRequest) -> HttpResponse:
    """The newest report, or the one asked for, with the paper's figures beside it."""
    found = _asked(request)
    return render(request, "benchmark/satisfaction.html", {"found": found, "paper": TABLE_2})


@require_GET
@login_required
def satisfaction_csv(request: HttpRequest) -> HttpResponse:
    """Every figure of a report with its interval."""
    found = _asked(request)
    rows = [row.record() for row in found.rows] if found else []
    response = HttpResponse(
        "".join(csv_lines(list(rows[0]) if rows else [], rows)),
        content_type="text/csv; charset=utf-8",
    )
    response["Content-Disposition"] = 'attachment; filename="satisfaction.csv"'
    return response


def _asked(request: HttpRequest) -> SatisfactionReport | None:
    require_sees_everyone(request)
    try:
        return satisfaction_report(request.GET.get("report", ""))
    except UnknownChoiceError as error:
        raise Http404 from error
