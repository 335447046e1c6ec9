"""Preferences as people own them: the lists, one with its past, and what is done to it."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.charts import BarChart, BarRow, bar_chart
from annotation.core.refusals import Refused, text_of
from annotation.models import User
from annotation.queries.withheld import is_anything_withheld
from annotation.templatetags.look import percent
from annotation.views.access import SignedInRequest, manager_required
from judging.core.estimates import total_of
from judging.forms.preferences import AgainForm, PreferenceForm
from judging.models import JudgeRun, Preference, RunKind
from judging.queries.preference_sets import SetPage, set_page
from judging.queries.preferences import (
    OwnedPreferences,
    distillations_of,
    first_run_of,
    owned_preferences,
    preference_page,
    visible_preference,
)
from judging.services.estimates import estimate_cells
from judging.services.kinds import plan
from judging.services.preference_edits import (
    add_preference,
    edit_preference,
    is_owned,
    may_edit,
    switch_preference,
)
from judging.services.rejudging import rejudged_cells
from judging.services.run_requests import RunRequest
from judging.submission import submit
from judging.views.run_starts import say_started


@require_safe
@login_required
def preference_set(request: SignedInRequest, set_id: int) -> HttpResponse:
    """A selected set with its texts, matrix, trace and null; annotators see their own."""
    found = set_page(set_id, only=request.user.only)
    context = {
        "found": found,
        "chosen": found.chosen,
        "plot": _columns_plot(found),
        "null_plot": _null_plot(found) if found.null else None,
    }
    return render(request, "judging/preference_set.html", context)


def _columns_plot(found: SetPage) -> BarChart:
    """Each column's share of right verdicts on the dev part; the selected ones stand out."""
    rows = [
        BarRow(
            label=str(number),
            value=column.correct / column.answered if column.answered else 0.0,
            text=f"{column.correct}/{column.answered}",
            css="c1" if column.selected else "control",
        )
        for number, column in enumerate(found.columns)
    ]
    return bar_chart(rows, write=percent, plot_height=96.0)


def _null_plot(found: SetPage) -> BarChart:
    """How often flipped labels were fitted how well; what reaches the real figure stands out."""
    rows = [
        BarRow(
            label=f"{accuracy * 100:.0f}",
            value=float(flips),
            text=str(flips),
            css="c1" if reached else "control",
        )
        for accuracy, flips, reached in found.null
    ]
    return bar_chart(rows, write=_count, plot_height=96.0)


def _count(value: float) -> str:
    return f"{value:.0f}"


@require_safe
@login_required
def my_preferences(request: SignedInRequest) -> HttpResponse:
    """What judges learned that the reader prefers."""
    only = request.user.only
    context = {
        "found": owned_preferences(distillations_of(request.user.pk), only=only),
        "editable": True,
        "withheld": is_anything_withheld(only),
    }
    return render(request, "judging/my_preferences.html", context)


@require_safe
@login_required
def run_preferences(request: SignedInRequest, run_id: int) -> HttpResponse:
    """The preferences of a distillation as they are now, and what judging them again would take."""
    run = _run_for(request.user, run_id)
    only = request.user.only
    (found,) = owned_preferences([run], only=only)
    context: dict[str, Any] = {
        "found": found,
        "withheld": is_anything_withheld(only),
        "editable": may_edit(run.annotator_id, request.user) and is_owned(run),
    }
    if request.user.is_manager and is_owned(run):
        context |= _again(found)
    return render(request, "judging/run_preferences.html", context)


def _again(found: OwnedPreferences) -> dict[str, Any]:
    """What judging again would take, or why it cannot be started; empty while it is under way."""
    if found.busy is not None or not found.waiting:
        return {}
    try:
        (run,) = plan(_judging_again(found.run))
        cells = rejudged_cells(run)
        estimate = estimate_cells(run, cells)
    except Refused as error:
        return {"refusal": gettext(error.text)}
    return {
        "estimates": [estimate],
        "total": total_of([estimate]),
        "to_judge": sum(cell.asks for cell in cells),
        "taken_over": sum(cell.known is not None for cell in cells),
        "has_prices": run.endpoint is not None and run.endpoint.has_prices,
    }


def _judging_again(run: JudgeRun, **more: Any) -> RunRequest:
    return RunRequest(kind=RunKind.DISTIL, dataset=run.dataset, parent=run, **more)


@require_POST
@manager_required
def judge_again(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Judge what was edited, select anew, and store the new set."""
    run = _run_for(request.user, run_id)
    form = AgainForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext(text_of("budget:negative")))
        return redirect("judging:run-preferences", run_id=run.pk)
    try:
        wanted = _judging_again(run, budget=form.cleaned_data["budget"], created_by=request.user)
        (started,) = submit(plan(wanted))
    except Refused as error:
        messages.error(request, gettext(error.text))
        return redirect("judging:run-preferences", run_id=run.pk)
    say_started(request, [started])
    return redirect("judging:run", run_id=started.pk)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new_preference(request: SignedInRequest, run_id: int, scenario_id: int) -> HttpResponse:
    """Add a text of one's own to a scenario, or to all of them (0)."""
    run = _run_for(request.user, run_id)
    (found,) = owned_preferences([run], only=request.user.only)
    scenario = next((each for each in found.scenarios if each.id == scenario_id), None)
    if scenario is None:
        raise Http404
    if not may_edit(run.annotator_id, request.user):
        raise PermissionDenied
    form = PreferenceForm(
        request.POST if request.method == "POST" else None,
        own=run.annotator_id == request.user.pk,
    )
    if form.is_bound and form.is_valid():
        try:
            added = add_preference(
                run,
                scenario_id=scenario_id or None,
                text=form.cleaned_data["text"],
                editor=request.user,
            )
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            messages.success(request, gettext("Added. It takes effect after the next judging run."))
            return redirect("judging:preference", preference_id=added.pk)
    context = {"run": run, "scenario": scenario.name, "form": form}
    status = 422 if form.is_bound else 200
    return render(request, "judging/preference_edit.html", context, status=status)


@require_safe
@login_required
def preference(request: SignedInRequest, preference_id: int) -> HttpResponse:
    """One preference: its text, where it comes from, and its versions."""
    row = _preference_for(request.user, preference_id)
    page = preference_page(row, only=request.user.only)
    context = {
        "page": page,
        "run": row.run,
        "own": row.annotator_id == request.user.pk,
        "editable": page.is_newest and _is_editable(row, request.user),
        "error": gettext(text_of(row.error_code)) if row.error_code else "",
    }
    return render(request, "judging/preference.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit(request: SignedInRequest, preference_id: int) -> HttpResponse:
    """Write another text; saving makes the next version."""
    row = _preference_for(request.user, preference_id)
    if not may_edit(row.annotator_id, request.user):
        raise PermissionDenied
    page = preference_page(row)
    if not (page.is_newest and _is_editable(row, request.user)):
        messages.warning(request, gettext(text_of("preference:not-editable")))
        return redirect("judging:preference", preference_id=page.versions[0][0].pk)
    form = PreferenceForm(
        request.POST if request.method == "POST" else None,
        own=row.annotator_id == request.user.pk,
        initial={"text": row.text},
    )
    if form.is_bound and form.is_valid():
        try:
            saved = edit_preference(row, text=form.cleaned_data["text"], editor=request.user)
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            messages.success(request, gettext("Saved as version %d.") % saved.version)
            return redirect("judging:preference", preference_id=saved.pk)
    context = {"page": page, "run": row.run, "scenario": row.scenario_name, "form": form}
    status = 422 if form.is_bound else 200
    return render(request, "judging/preference_edit.html", context, status=status)


@require_POST
@login_required
def switch(request: SignedInRequest, preference_id: int) -> HttpResponse:
    """Switch a preference off, or on again."""
    row = _preference_for(request.user, preference_id)
    if not may_edit(row.annotator_id, request.user):
        raise PermissionDenied
    active = request.POST.get("active") == "1"
    try:
        saved = switch_preference(row, active=active, editor=request.user)
    except Refused as error:
        messages.warning(request, gettext(error.text))
        return redirect("judging:preference", preference_id=row.pk)
    said = gettext("Enabled.") if saved.active else gettext("Disabled.")
    messages.success(request, said)
    return redirect("judging:preference", preference_id=saved.pk)


def _is_editable(row: Preference, user: User) -> bool:
    return (
        row.run is not None
        and row.control == "NONE"
        and is_owned(row.run)
        and may_edit(row.annotator_id, user)
    )


def _preference_for(reader: User, preference_id: int) -> Preference:
    row = visible_preference(preference_id, only=reader.only)
    if row is None:
        raise Http404
    return row


def _run_for(reader: User, run_id: int) -> JudgeRun:
    """The distillation of a number that the reader may see: their own, or anybody's."""
    run = first_run_of(run_id)
    if run is None or not (reader.sees_everyone or run.annotator_id == reader.pk):
        raise Http404
    return run
