"""Learned evaluators of a dataset: their versions with what made them, and training another one."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from annotation.core.refusals import text_of
from annotation.models import Dataset
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.models import RunStatus
from judging.queries.satisfaction.learned import learned_page, learned_version_page
from judging.submission import submit_training


@require_safe
@reader_required
def learned(request: SignedInRequest, slug: str) -> HttpResponse:
    """Every version, the newest first, which one is in use, and where training stands."""
    found = learned_page(get_object_or_404(Dataset, slug=slug))
    code = found.failed.error_code if found.failed is not None else ""
    context = {"found": found, "error": _(text_of(code)) if code else ""}
    return render(request, "judging/learned.html", context)


@require_safe
@reader_required
def learned_version(request: SignedInRequest, slug: str, version: int) -> HttpResponse:
    """One version: its figures on held-out users, its manifest, and the runs that used it."""
    found = learned_version_page(get_object_or_404(Dataset, slug=slug), version=version)
    if found is None:
        raise Http404
    return render(request, "judging/learned_version.html", {"found": found})


@require_POST
@manager_required
def train(request: SignedInRequest, slug: str) -> HttpResponse:
    """Train on the ratings as they are; asking while it is under way leads to that run."""
    run = submit_training(dataset=get_object_or_404(Dataset, slug=slug), created_by=request.user)
    if run.status == RunStatus.RUNNING:
        messages.info(request, _("The evaluator is already being trained."))
    return redirect("judging:run", run_id=run.pk)
