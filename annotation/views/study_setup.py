"""Making a study, and changing its rules."""

from __future__ import annotations

from typing import Final

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_safe

from annotation.core.choices import StudyKind
from annotation.core.refusals import Refused
from annotation.core.study_rules import RuleFault
from annotation.forms.studies import CountsForm, StudyForm
from annotation.forms.study_rules import RulesForm
from annotation.queries.studies import (
    annotator_choices,
    dataset_choices,
    is_touched,
    scenario_choices,
    study_page,
)
from annotation.queries.study_targets import planned_counts
from annotation.services.studies import change_rules, create_study
from annotation.views.access import SignedInRequest, manager_required

UNPROCESSABLE: Final = 422

FAULTS: Final = {
    RuleFault.TOUCHED: gettext_lazy(
        "This changes what is asked, or which items there are: only a draft may change so."
    ),
    RuleFault.OVERLAP_DOWN: gettext_lazy("It can only go up, or answers would be too many."),
}


@require_http_methods(["GET", "HEAD", "POST"])
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
        plan = form.plan(dataset)
        try:
            slug = create_study(plan, by=request.user)
        except Refused as refused:
            form.add_error("scenarios", _(refused.text))
        else:
            talks = plan.kind is StudyKind.CONVERSATION
            return redirect("judging:conversation-setup" if talks else "annotation:study", slug)
    context = {"datasets": datasets, "dataset": dataset, "form": form}
    return render(
        request,
        "annotation/new_study.html",
        context,
        status=UNPROCESSABLE if form.is_bound else 200,
    )


@require_safe
@never_cache
@manager_required
def new_study_counts(request: SignedInRequest) -> HttpResponse:
    """What a study would hold, while its form is being filled in."""
    dataset = request.GET.get("dataset", "")
    if dataset not in dict(dataset_choices()):
        raise Http404
    form = CountsForm(
        request.GET, scenarios=scenario_choices(dataset), annotators=annotator_choices()
    )
    counts = planned_counts(form.plan(dataset)) if form.is_valid() else None
    context = {"counts": counts, "kind": request.GET.get("kind", "")}
    return render(request, "annotation/_study_counts.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def study_rules(request: SignedInRequest, slug: str) -> HttpResponse:
    """The rules of a study: those that harm no answer may change."""
    found = study_page(slug)
    if found is None:
        raise Http404
    row, page = found
    touched = is_touched(row)
    form = RulesForm(request.POST if request.method == "POST" else None, study=row, touched=touched)
    if request.method == "POST" and form.is_valid():
        try:
            change_rules(study=slug, rules=form.rules(), by=request.user)
        except Refused as refused:
            for each in refused.faults:
                form.add_error(each.name, FAULTS[each.fault])
        else:
            messages.success(request, _("Rules saved."))
            return redirect("annotation:study", slug)
    context = {"study": page, "form": form, "touched": touched}
    return render(
        request,
        "annotation/study_rules.html",
        context,
        status=UNPROCESSABLE if form.errors else 200,
    )
