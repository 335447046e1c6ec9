"""Runs: the list, one run with its progress, starting, stopping and trying again."""

from __future__ import annotations

from typing import Any, Final
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.core.numbers import number_in
from annotation.core.refusals import Refused, text_of
from annotation.models import User
from annotation.queries.datasets import dataset_of
from annotation.views.access import SignedInRequest, reader_required, whole_export
from judging.core.error_texts import cause_in
from judging.core.runs import WITHDRAWN, RunProgress, StageName
from judging.exports import EXPORTS
from judging.forms.runs import BudgetForm
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.generation import (
    families_of_judges,
    generated_page,
    judges_of_family,
)
from judging.queries.run_lists import run_list
from judging.queries.run_pages import compared_runs, comparison_page, run_page
from judging.queries.runs import UNFINISHED, applied_scenarios, run_progress
from judging.queries.satisfaction.learned import steps_learned
from judging.queries.satisfaction.memories import memories_of_run
from judging.services.endpoints import set_budget
from judging.services.run_control import can_be_resumed, cancel, is_in_use
from judging.submission import retry_run

STOP_POLLING: Final = 286
"""htmx's answer to a part that polls: take this, and do not ask again."""


@require_safe
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, the newest first."""
    researcher(request)
    found = run_list(dataset=request.GET.get("dataset", ""), page=request.GET.get("page", ""))
    generated = [found.dataset and line.kind == RunKind.GENERATE for line in found.lines]
    context = {
        "found": found,
        "page": found.page,
        "generated": any(generated),
        "newest_generated": any(generated[:1]),
        "unfinished": any(line.status in UNFINISHED for line in found.lines),
    }
    return render(request, "judging/runs.html", context)


@require_safe
@login_required
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run: what was asked, how far it is, what came of it."""
    researcher(request)
    found = run_page(run_id, page=request.GET.get("page", ""))
    context: dict[str, Any] = {
        "found": found,
        "page": found.page,
        "applied": applied_scenarios(found.run),
    }
    if found.run.kind == RunKind.GENERATE:
        context["page"] = generated_page(run_id, page=request.GET.get("page", ""))
        context["kin"] = judges_of_family(
            found.run.dataset_id, [found.run.config["judge"]["model"]]
        )
    else:
        context["kin"] = families_of_judges([found.run])
    if any(each.stage is StageName.MEMORY and each.errors for each in found.progress.stages):
        context["unwritten"] = memories_of_run(found.run, unwritten=True)
    return render(
        request,
        "judging/run.html",
        context
        | _progress_context(found.run, found.progress, failed_below=any(n for _, n in found.units)),
    )


@require_safe
@login_required
def progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """The part of a run's page that asks for itself until the run is over."""
    researcher(request)
    run = get_object_or_404(JudgeRun, pk=run_id)
    context = _progress_context(run, run_progress(run_id))
    if context["unfinished"]:
        return render(request, "judging/_progress.html", context)
    response = render(request, "judging/_progress.html", context, status=STOP_POLLING)
    response["HX-Refresh"] = "true"  # the rest of the page shows what came of the run
    return response


def _progress_context(
    run: JudgeRun, found: RunProgress, *, failed_below: bool = False
) -> dict[str, Any]:
    """What the progress of a run shows; `failed_below` says that calls failed in its steps."""
    is_left = can_be_resumed(run)
    return {
        "is_left": is_left,
        "progress": found,
        "progress_status": RunStatus(found.status),
        "unfinished": found.status in UNFINISHED,
        "can_have_budget": found.can_have_budget,
        "budget_spent": found.error_code == LlmCode.BUDGET_SPENT,
        "errors": [
            (gettext(text_of(code)), code, count, found.said.get(code, ""))
            for code, count in found.errors
        ],
        "error": " ".join(gettext(text_of(code)) for code in _reasons(found)),
        "endpoint_failed": any(code.startswith("llm:") for code, _count in found.errors),
        "waits_in_queue": found.status == RunStatus.PENDING and not is_left,
        "learned": steps_learned(run),
        "waits_for_file": found.status == RunStatus.BATCH,
        "can_retry": found.status not in (*UNFINISHED, RunStatus.BATCH)
        and found.kind != RunKind.RECORDED
        and (_may_be_asked_again(found) or failed_below)
        and not is_in_use(run),
    }


def _may_be_asked_again(found: RunProgress) -> bool:
    return bool(found.error_code) or any(code not in WITHDRAWN for code, _count in found.errors)


def _reasons(found: RunProgress) -> list[str]:
    """The codes that tell why a run ended before its time, the failure that stopped it last."""
    return [code for code in (found.error_code, cause_in(found.error_detail)) if code]


@require_POST
@login_required
def retry(request: HttpRequest, run_id: int) -> HttpResponse:
    """Ask again for what failed; a cancelled run goes on."""
    manager_only(request)
    get_object_or_404(JudgeRun, pk=run_id)
    try:
        retry_run(run_id)
    except Refused as refused:
        messages.warning(request, gettext(refused.text))
    return redirect("judging:run", run_id=run_id)


@require_POST
@login_required
def budget(request: HttpRequest, run_id: int) -> HttpResponse:
    """Change what a run may cost; a run that ended for want of money goes on where asked to."""
    manager_only(request)
    get_object_or_404(JudgeRun, pk=run_id)
    form = BudgetForm(request.POST)
    if not form.is_valid():
        messages.error(request, gettext(text_of("budget:negative")))
        return redirect("judging:run", run_id=run_id)
    try:
        set_budget(run_id, form.cleaned_data["budget"])
        if form.cleaned_data["go_on"]:
            retry_run(run_id)
    except Refused as error:
        messages.error(request, gettext(error.text))
    return redirect("judging:run", run_id=run_id)


@require_POST
@login_required
def stop(request: HttpRequest, run_id: int) -> HttpResponse:
    """Stop a run; what was answered stays."""
    manager_only(request)
    get_object_or_404(JudgeRun, pk=run_id)
    if not cancel(run_id):
        messages.info(request, gettext("The run has already finished."))
    return redirect("judging:run", run_id=run_id)


@require_safe
@login_required
def comparison(request: HttpRequest, run_id: int, comparison_id: int) -> HttpResponse:
    """What a run made of one comparison: every reply, in both orders side by side."""
    researcher(request)
    found = comparison_page(run_id, comparison_id)
    scenario = found.comparison.turn.session.scenario_id
    plans = {plan.scenario_id: plan for plan in applied_scenarios(found.run)}
    context = {"found": found, "applied": plans.get(scenario)}
    return render(request, "judging/run_comparison.html", context)


def _reader(request: HttpRequest) -> User:
    """Whoever is signed in; `login_required` saw to that."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def researcher(request: HttpRequest) -> User:
    """Whoever is signed in, where they may see what judges were asked."""
    reader = _reader(request)
    if not reader.sees_everyone:
        raise PermissionDenied(gettext("Annotators cannot see judge runs."))
    return reader


def manager_only(request: HttpRequest) -> User:
    """Whoever is signed in, where they may start and stop runs."""
    reader = _reader(request)
    if not reader.is_manager:
        raise PermissionDenied(gettext("Only managers can start, stop or repeat runs."))
    return reader


@require_safe
@login_required
def compare(request: HttpRequest) -> HttpResponse:
    """The runs whose numbers are asked for."""
    researcher(request)
    numbers = map(number_in, request.GET.getlist("run"))
    ids = [number for number in numbers if number is not None]
    runs, pairs = compared_runs(ids)
    columns = [
        {
            "one": one,
            "status": RunStatus(one.run.status),
            "errors": [(gettext(text_of(code)), code, n) for code, n in one.progress.errors],
        }
        for one in runs
    ]
    unfinished = any(one.run.status in UNFINISHED for one in runs)
    scores = runs and all(one.run.kind == RunKind.SATISFACTION for one in runs)
    context = {
        "together": urlencode({"run": [one.run.pk for one in runs]}, doseq=True) if scores else "",
        "pairs": pairs,
        "columns": columns,
        "unfinished": unfinished,
        "kin": families_of_judges(one.run for one in runs),
    }
    return render(request, "judging/run_compare.html", context)


@require_safe
@reader_required
def export(_request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download of one kind, for those who see everyone."""
    return whole_export(EXPORTS[kind], dataset_of(slug), format_name)
