"""Runs: the list, one run with its progress, starting, stopping and trying again."""

from __future__ import annotations

from typing import Any, Final

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.core.charts import BarChart, BarRow, bar_chart
from annotation.models import Dataset, User
from annotation.templatetags.look import percent
from judging.core.error_texts import error_text
from judging.core.run_progress import RunProgress
from judging.forms.runs import RunForm
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.run_pages import (
    NoSuchPageError,
    SetPage,
    comparison_page,
    run_list,
    run_page,
    set_page,
)
from judging.queries.runs import UNFINISHED, run_progress
from judging.services.judges import UnknownJudgeError
from judging.services.pairwise_plans import NotDistilledError, NothingToJudgeError
from judging.services.run_control import RecordedRunError, RunNotFinishedError, cancel
from judging.services.satisfaction_runs import NothingToScoreError
from judging.submission import (
    retry_run,
    submit_distillation,
    submit_distillations,
    submit_satisfaction,
    submit_test_run,
)

STOP_POLLING: Final = 286
"""htmx's answer to a part that polls: take this, and do not ask again."""


@require_GET
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    """All runs, the newest first."""
    _researcher(request)
    found = run_list(dataset=request.GET.get("dataset", ""), page=request.GET.get("page", ""))
    return render(request, "judging/runs.html", {"found": found, "page": found.page})


@require_GET
@login_required
def run(request: HttpRequest, run_id: int) -> HttpResponse:
    """One run: what was asked, how far it is, what came of it."""
    _researcher(request)
    try:
        found = run_page(run_id, page=request.GET.get("page", ""))
    except NoSuchPageError as error:
        raise Http404 from error
    context = {"found": found, "page": found.page, **_progress_context(found.progress)}
    return render(request, "judging/run.html", context)


@require_GET
@login_required
def progress(request: HttpRequest, run_id: int) -> HttpResponse:
    """The part of a run's page that asks for itself until the run is over."""
    _researcher(request)
    get_object_or_404(JudgeRun, pk=run_id)
    context = _progress_context(run_progress(run_id))
    if context["unfinished"]:
        return render(request, "judging/_progress.html", context)
    response = render(request, "judging/_progress.html", context, status=STOP_POLLING)
    response["HX-Refresh"] = "true"  # the rest of the page shows what came of the run
    return response


def _progress_context(found: RunProgress) -> dict[str, Any]:
    return {
        "progress": found,
        "progress_status": RunStatus(found.status),
        "unfinished": found.status in UNFINISHED,
        "errors": [(gettext(error_text(code)), code, count) for code, count in found.errors],
        "error": gettext(error_text(found.error_code)) if found.error_code else "",
        "can_retry": found.status not in UNFINISHED
        and found.kind != RunKind.RECORDED
        and (found.errors or found.error_code),
    }


@require_http_methods(["GET", "POST"])
@login_required
def new_run(request: HttpRequest) -> HttpResponse:
    """Choose a dataset, then what to run on it."""
    manager = _manager(request)
    slug = request.POST.get("dataset") or request.GET.get("dataset", "")
    datasets = list(Dataset.objects.order_by("name"))
    chosen = next((each for each in datasets if each.slug == slug), None)
    context: dict[str, Any] = {"datasets": datasets, "chosen": chosen}
    if chosen is None:
        return render(request, "judging/run_new.html", context)
    form = RunForm(
        request.POST if request.method == "POST" else None,
        dataset=chosen,
        initial={
            "kind": request.GET.get("kind", RunKind.DISTIL),
            "annotator": request.GET.get("annotator", ""),
        },
    )
    if form.is_bound and form.is_valid():
        try:
            started = _start(form, chosen, manager)
        except (
            NothingToJudgeError,
            NotDistilledError,
            NothingToScoreError,
            UnknownJudgeError,
        ) as error:
            form.add_error(None, gettext(error_text(error.code)))
        else:
            if len(started) == 1:
                return redirect("judging:run", run_id=started[0].pk)
            return redirect(f"{reverse('judging:runs')}?{urlencode({'dataset': chosen.slug})}")
    status = 422 if form.is_bound else 200
    return render(request, "judging/run_new.html", {**context, "form": form}, status=status)


def _start(form: RunForm, dataset: Dataset, manager: User) -> list[JudgeRun]:
    kind, judge, person = form.cleaned_data["kind"], form.cleaned_data["judge"], form.person()
    if kind == RunKind.DISTIL and person is None:
        return submit_distillations(dataset=dataset, judge=judge, created_by=manager)
    if kind == RunKind.SATISFACTION or person is None:
        return [
            submit_satisfaction(dataset=dataset, judge=judge, annotator=person, created_by=manager)
        ]
    submit = submit_distillation if kind == RunKind.DISTIL else submit_test_run
    return [submit(dataset=dataset, annotator=person, judge=judge, created_by=manager)]


@require_POST
@login_required
def retry(request: HttpRequest, run_id: int) -> HttpResponse:
    """Ask again for what failed; a cancelled run goes on."""
    _manager(request)
    get_object_or_404(JudgeRun, pk=run_id)
    try:
        retry_run(run_id)
    except RecordedRunError as error:
        messages.warning(request, gettext(error_text(error.code)))
    except RunNotFinishedError:
        messages.warning(request, gettext("The run is still under way."))
    return redirect("judging:run", run_id=run_id)


@require_POST
@login_required
def stop(request: HttpRequest, run_id: int) -> HttpResponse:
    """Stop a run; what was answered stays."""
    _manager(request)
    get_object_or_404(JudgeRun, pk=run_id)
    if not cancel(run_id):
        messages.info(request, gettext("The run was already over."))
    return redirect("judging:run", run_id=run_id)


@require_GET
@login_required
def preference_set(request: HttpRequest, set_id: int) -> HttpResponse:
    """A selected set with its texts, matrix and null; annotators see their own."""
    reader = _reader(request)
    try:
        found = set_page(set_id)
    except NoSuchPageError as error:
        raise Http404 from error
    if not reader.sees_everyone and found.chosen.annotator_id != reader.pk:
        raise Http404
    context = {"found": found, "chosen": found.chosen, "plot": _columns_plot(found)}
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


@require_GET
@login_required
def comparison(request: HttpRequest, run_id: int, comparison_id: int) -> HttpResponse:
    """What a run made of one comparison: every reply, in both orders side by side."""
    _researcher(request)
    try:
        found = comparison_page(run_id, comparison_id)
    except NoSuchPageError as error:
        raise Http404 from error
    return render(request, "judging/run_comparison.html", {"found": found})


def _reader(request: HttpRequest) -> User:
    """Whoever is signed in; `login_required` saw to that."""
    if not isinstance(request.user, User):
        raise PermissionDenied
    return request.user


def _researcher(request: HttpRequest) -> User:
    reader = _reader(request)
    if not reader.sees_everyone:
        raise PermissionDenied(gettext("Annotators do not see what judges were asked."))
    return reader


def _manager(request: HttpRequest) -> User:
    reader = _reader(request)
    if not reader.is_manager:
        raise PermissionDenied(gettext("Only managers start, stop or repeat runs."))
    return reader
