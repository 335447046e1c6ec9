"""How far do the annotators agree? The page, the items behind its numbers, and its tables."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.http import Http404, HttpResponse, QueryDict
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.agreement import Coefficient
from annotation.core.agreement_report import AgreementReport
from annotation.core.intervals import ends
from annotation.core.tables import Row, csv_lines
from annotation.exports import ExportFormat
from annotation.forms.agreement import AgreementForm, AgreementRowsForm
from annotation.queries.agreement import (
    AgreementPage,
    AgreementScope,
    agreement_page,
    answered_rows,
)
from annotation.views.access import SignedInRequest, reader_required
from annotation.views.downloads import download

COLUMNS = (
    "dataset", "kind", "ties", "group", "name", "measure",
    "value", "low", "high", "items", "answers", "undefined",
)  # fmt: skip

AnyForm = TypeVar("AnyForm", bound=AgreementForm)


def _asked(form: type[AnyForm], parameters: QueryDict) -> AnyForm:
    filled = form(parameters)
    if not filled.is_valid():
        raise Http404
    return filled


def _page(request: SignedInRequest) -> AgreementPage:
    return agreement_page(_asked(AgreementForm, request.GET).question())


def scope_query(scope: AgreementScope, **more: object) -> str:
    """The parameters of an address that asks the same question."""
    question = scope.question
    asked: dict[str, object] = {
        "dataset": question.dataset,
        "kind": question.kind,
        "ties": "in" if question.ties else "out",
        "scenario": question.scenario,
        "models": question.models,
        **more,
    }
    return urlencode({name: value for name, value in asked.items() if value not in {None, ""}})


@require_safe
@reader_required
def agreement(request: SignedInRequest) -> HttpResponse:
    """The figures of a dataset's annotators."""
    page = _page(request)
    context: dict[str, Any] = {"page": page, "scope": page.scope}
    if page.report is not None:
        context |= {
            "report": page.report,
            "overall": page.report.overall,
            "query": scope_query(page.scope),
            "scenario_rows": [
                (row, scope_query(page.scope, scenario=row.figures.key)) for row in page.scenarios
            ],
            "model_rows": [(row, scope_query(page.scope, models=row.name)) for row in page.models],
            "matrix": _matrix(page.scope, page.report),
            "pairs": _pairs(page.scope, page.report),
        }
    return render(request, "annotation/agreement.html", context)


def _pairs(scope: AgreementScope, report: AgreementReport) -> list[dict[str, Any]]:
    """Two annotators a row, with the address of the items that both answered."""
    return [
        {
            "first": scope.name(each.first),
            "second": scope.name(each.second),
            "overlap": each,
            "query": scope_query(scope, first=each.first, second=each.second),
        }
        for each in report.overlaps
    ]


def _matrix(
    scope: AgreementScope, report: AgreementReport
) -> list[tuple[str, list[dict[str, Any] | None]]]:
    """Every annotator with the cells of all annotators; None on the diagonal and without items."""
    cells = {}
    for each in _pairs(scope, report):
        overlap = each["overlap"]
        cells[overlap.first, overlap.second] = cells[overlap.second, overlap.first] = each
    people = report.annotators
    return [(scope.name(row), [cells.get((row, column)) for column in people]) for row in people]


@require_safe
@reader_required
def agreement_rows(request: SignedInRequest) -> HttpResponse:
    """The items behind a number, with everybody's answers."""
    form = _asked(AgreementRowsForm, request.GET)
    found = answered_rows(
        form.question(),
        between=form.between(),
        outcome=form.cleaned_data["outcome"],
        page=request.GET.get("page", ""),
    )
    context = {
        "found": found,
        "scope": found.scope,
        "page": found.page,
        "back": scope_query(found.scope),
    }
    return render(request, "annotation/agreement_rows.html", context)


@require_safe
@reader_required
def agreement_csv(request: SignedInRequest) -> HttpResponseBase:
    """Every figure of the page as a table."""
    page = _page(request)
    if page.report is None:
        raise Http404
    lines = csv_lines(COLUMNS, _table(page, page.report))
    return download(
        lines, name=f"{page.scope.question.dataset}-agreement", format_=ExportFormat.CSV
    )


def _table(page: AgreementPage, report: AgreementReport) -> Iterator[Row]:
    groups: list[tuple[str, str, tuple[Coefficient, ...]]] = [
        ("all", "", report.overall.coefficients),
        *(("scenario", row.name, row.figures.coefficients) for row in page.scenarios),
        *(("models", row.name, row.figures.coefficients) for row in page.models),
        *(
            ("annotators", f"{row['first']} / {row['second']}", row["overlap"].coefficients)
            for row in _pairs(page.scope, report)
        ),
    ]
    for group, name, found in groups:
        for each in found:
            yield {"group": group, "name": name, **_cells(page.scope, each)}


def _cells(scope: AgreementScope, each: Coefficient) -> Row:
    return {
        "dataset": scope.question.dataset,
        "kind": scope.question.kind,
        "ties": "in" if scope.question.ties else "out",
        "measure": each.measure.value,
        "value": each.value,
        **ends(each.interval),
        "items": each.items,
        "answers": each.answers,
        "undefined": each.undefined.value if each.undefined else None,
    }
