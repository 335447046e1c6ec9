"""Studies: one's own to label, and all of them to manage."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.forms.studies import StatusForm, StudyForm
from annotation.models import Study, StudyStatus
from annotation.queries.studies import (
    all_studies,
    annotator_choices,
    dataset_choices,
    item_rows,
    my_studies,
    my_study,
    scenario_choices,
    study_items,
    study_page,
)
from annotation.services.studies import EmptyStudyError, create_study, set_status
from annotation.views.access import SignedInRequest, manager_required

ITEMS_PER_PAGE = 50


@require_GET
@login_required
def studies(request: SignedInRequest) -> HttpResponse:
    """What there is to label; for those who see everyone, every study."""
    context = {
        "mine": my_studies(request.user, timezone.now()),
        "all": all_studies() if request.user.sees_everyone else None,
    }
    return render(request, "annotation/studies.html", context)


@require_GET
@login_required
def study(request: SignedInRequest, slug: str) -> HttpResponse:
    """One study: its guidelines and what is left, or how far everybody is."""
    if not request.user.sees_everyone:
        mine = my_study(request.user, slug, timezone.now())
        if mine is None:
            raise Http404
        return render(request, "annotation/my_study.html", {"study": mine})
    page = study_page(slug, timezone.now())
    if page is None:
        raise Http404
    items = Paginator(study_items(slug), ITEMS_PER_PAGE).get_page(request.GET.get("page"))
    context = {"study": page, "page": items, "items": item_rows(list(items))}
    return render(request, "annotation/study.html", context)


@require_http_methods(["GET", "POST"])
@manager_required
def new_study(request: SignedInRequest) -> HttpResponse:
    """Plan a study: first the dataset, then the rest."""
    datasets = dataset_choices()
    dataset = request.GET.get("dataset", "")
    if dataset not in dict(datasets):
        return render(request, "annotation/new_study.html", {"datasets": datasets})
    form = StudyForm(
        request.POST if request.method == "POST" else None,
        scenarios=scenario_choices(dataset),
        annotators=annotator_choices(),
    )
    if request.method == "POST" and form.is_valid():
        try:
            return redirect("annotation:study", create_study(form.plan(dataset), by=request.user))
        except EmptyStudyError:
            form.add_error("scenarios", _("They hold nothing that can be asked about in this way."))
    context = {"datasets": datasets, "dataset": dataset, "form": form}
    return render(
        request, "annotation/new_study.html", context, status=422 if form.is_bound else 200
    )


@require_POST
@manager_required
def study_status(request: SignedInRequest, slug: str) -> HttpResponse:
    """Open, pause or close a study."""
    form = StatusForm(request.POST)
    if not form.is_valid():
        raise BadRequest("no such status")
    try:
        set_status(study=slug, status=StudyStatus(form.cleaned_data["status"]), by=request.user)
    except Study.DoesNotExist as missing:
        raise Http404 from missing
    return redirect("annotation:study", slug)
