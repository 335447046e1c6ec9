"""How far do the annotators agree? Figures, the items behind them, and deciding disagreements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.adjudication import QueuePart
from annotation.core.agreement import Coefficient
from annotation.core.agreement_report import AgreementReport
from annotation.core.intervals import ends
from annotation.core.labelling import Target, TargetKind
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.forms import asked
from annotation.forms.agreement import AgreementForm, AgreementRowsForm, DecisionForm, QueueForm
from annotation.queries.adjudication import (
    AdjudicationQuestion,
    adjudication_queue,
    changed_gold,
    disputed_item,
    next_to_decide,
)
from annotation.queries.agreement import (
    AgreementPage,
    AgreementScope,
    agreement_page,
    answered_rows,
)
from annotation.services.quality import decide
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    csv_file,
    manager_required,
    reader_required,
)

COLUMNS = (
    "dataset", "study", "kind", "ties", "group", "name", "measure",
    "value", "low", "high", "items", "answers", "undefined",
)  # fmt: skip


def _page(request: SignedInRequest) -> AgreementPage:
    return agreement_page(
        asked(AgreementForm, request.GET, code="agreement:unknown-choice").question()
    )


def scope_query(scope: AgreementScope, **more: object) -> str:
    """The parameters of an address that asks the same question."""
    question = scope.question
    asked: dict[str, object] = {
        "dataset": question.dataset,
        "kind": question.kind,
        "ties": "in" if question.ties else "out",
        "scenario": question.scenario,
        "models": question.models,
        "study": question.study,
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
                (name, figures, scope_query(page.scope, scenario=figures.key))
                for name, figures in page.scenarios
            ],
            "model_rows": [
                (name, figures, scope_query(page.scope, models=name))
                for name, figures in page.models
            ],
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
    form = asked(AgreementRowsForm, request.GET, code="agreement:unknown-choice")
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
    question, names = page.scope.question, dict(page.scope.scenarios)
    rows = ({**dict.fromkeys(COLUMNS), **row} for row in _table(page, page.report))
    said = {
        "filter_scenario": names.get(question.scenario or 0),
        "filter_models": question.models,
        "seed": page.seed,
    }
    return csv_file(f"{question.dataset}-agreement", rows, said)


def _table(page: AgreementPage, report: AgreementReport) -> Iterator[Row]:
    groups: list[tuple[str, str, tuple[Coefficient, ...]]] = [
        ("all", "", report.overall.coefficients),
        *(("scenario", name, figures.coefficients) for name, figures in page.scenarios),
        *(("models", name, figures.coefficients) for name, figures in page.models),
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
        "study": scope.question.study,
        "kind": scope.question.kind,
        "ties": "in" if scope.question.ties else "out",
        "measure": each.measure.value,
        "value": each.value,
        **ends(each.interval),
        "items": each.items,
        "answers": each.answers,
        "undefined": each.undefined.value if each.undefined else None,
    }


CONFLICT = 409


def _question(request: SignedInRequest) -> AdjudicationQuestion:
    return asked(QueueForm, request.GET, code="adjudication:unknown-queue").question()


def _query(question: AdjudicationQuestion) -> str:
    asked = {"dataset": question.dataset, "kind": question.kind, "study": question.study}
    return urlencode({name: value for name, value in asked.items() if value})


@require_safe
@manager_required
def queue(request: SignedInRequest) -> HttpResponse:
    """The items, the most disputed first."""
    found = adjudication_queue(_question(request), page=request.GET.get("page", ""))
    context = {
        "queue": found,
        "page": found.page,
        "query": _query(found.question),
        "parts": [
            (QueuePart.OPEN.value, _("undecided")),
            (QueuePart.DECIDED.value, _("decided")),
            (QueuePart.ALL.value, _("all")),
        ],
    }
    return render(request, "annotation/adjudication.html", context)


@require_safe
@manager_required
def next_item(request: SignedInRequest) -> HttpResponse:
    """To the most disputed item that is left; to the queue where none is."""
    question = _question(request)
    target = next_to_decide(question)
    if target is None:
        address = reverse("annotation:adjudication")
    else:
        address = reverse("annotation:adjudicate", args=[target.kind.value, target.id])
    return redirect(f"{address}?{_query(question)}")


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def item(request: SignedInRequest, kind: str, number: str) -> HttpResponse:
    """One item with its responses; a decision stores it and leads to the next."""
    question = _question(request)
    target = Target(TargetKind(kind), int(number))
    found = disputed_item(target, study=question.study)
    if found is None:
        raise Http404
    sent = request.POST.copy() if request.method == "POST" else None
    form = DecisionForm(sent, kind=target.kind, stands=found.decision)
    meanwhile = changed = None
    if sent is not None and form.is_valid():
        try:
            decide(
                target=target,
                decision=form.decision(found.order),
                rationale=form.cleaned_data["rationale"],
                replaces=form.cleaned_data["replaces"],
                over=form.cleaned_data["over"],
                by=request.user,
                now=timezone.now(),
            )
        except Refused as refused:
            found = disputed_item(target, study=question.study) or found
            if refused.code == "adjudication:changes-gold":
                changed = changed_gold(target, form.decision(found.order))
                sent["over"] = "" if changed is None else str(changed.value)
            elif found.decision is not None:
                meanwhile = form.shown(found.decision.answer)
                sent["replaces"] = found.decision.decided_at.isoformat()
        else:
            messages.success(request, _("Decided: %(item)s.") % {"item": found.key.shown})
            return redirect(f"{reverse('annotation:adjudicate-next')}?{_query(question)}")
    names = (_("First response"), _("Second response")) if len(found.responses) > 1 else ("",)
    context = {
        "item": found,
        "form": form,
        "meanwhile": meanwhile,
        "changed": changed,
        "changed_answer": form.shown(changed.answer) if changed else "",
        "sides": list(zip(names, found.responses, strict=False)),
        "query": _query(question),
    }
    return render(
        request,
        "annotation/adjudicate.html",
        context,
        status=CONFLICT if meanwhile or changed else UNPROCESSABLE if form.is_bound else 200,
    )
