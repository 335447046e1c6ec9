"""Deciding where annotators disagree: the queue, one item after another, nobody named."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.adjudication import QueuePart
from annotation.core.answers import Target, TargetKind
from annotation.core.refusals import Refused
from annotation.forms.adjudication import DecisionForm, QueueForm
from annotation.queries.adjudication import (
    AdjudicationQuestion,
    adjudication_queue,
    disputed_item,
    next_to_decide,
)
from annotation.services.adjudication import decide
from annotation.views.access import SignedInRequest, manager_required

CONFLICT = 409
UNPROCESSABLE = 422


def _question(request: SignedInRequest) -> AdjudicationQuestion:
    form = QueueForm(request.GET)
    if not form.is_valid():
        raise Http404
    return form.question()


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
    meanwhile = None
    if sent is not None and form.is_valid():
        try:
            decide(
                target=target,
                decision=form.decision(found.order),
                rationale=form.cleaned_data["rationale"],
                replaces=form.cleaned_data["replaces"],
                by=request.user,
                now=timezone.now(),
            )
        except Refused:
            found = disputed_item(target, study=question.study) or found
            if found.decision is not None:
                meanwhile = form.shown(found.decision.answer)
                sent["replaces"] = found.decision.decided_at.isoformat()
        else:
            messages.success(request, _("Decided: %(item)s.") % {"item": found.key})
            return redirect(f"{reverse('annotation:adjudicate-next')}?{_query(question)}")
    names = (_("First response"), _("Second response")) if len(found.responses) > 1 else ("",)
    context = {
        "item": found,
        "form": form,
        "meanwhile": meanwhile,
        "sides": list(zip(names, found.responses, strict=False)),
        "query": _query(question),
    }
    return render(
        request,
        "annotation/adjudicate.html",
        context,
        status=CONFLICT if meanwhile else UNPROCESSABLE if form.is_bound else 200,
    )
