"""The controls beside a test run: which were judged, what the others would take, starting one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_POST, require_safe

from annotation.core.refusals import Refused, text_of
from annotation.models import User
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.core.estimates import RunEstimate
from judging.forms.preferences import ControlForm
from judging.models import JudgeRun, RunKind
from judging.queries.runs import RUBRIC, OtherSet, RunControls, run_controls
from judging.services.estimates import MOST_PROMPTS, estimate_test_run
from judging.services.pairwise_plans import asked_test_run
from judging.submission import submit_test_run
from judging.views.run_starts import say_attached


@dataclass(frozen=True, slots=True)
class OtherLine:
    """Another annotator's set with what judging under it would take, None where it was judged."""

    found: OtherSet
    estimate: RunEstimate | None


@require_safe
@reader_required
def controls(request: SignedInRequest, run_id: int) -> HttpResponse:
    """The controls of a test run, and what those that were not judged would take."""
    found = run_controls(_run_of(run_id))
    missing = [each for each in found.others if each.tried is None]
    most = max(50, MOST_PROMPTS // (len(missing) + 1))
    context: dict[str, Any] = {
        "found": found,
        "run": found.run,
        "others": [
            OtherLine(
                each, _estimate(found, most, sets_of=each.annotator) if each in missing else None
            )
            for each in found.others
        ],
        "has_prices": found.run.endpoint is not None and found.run.endpoint.has_prices,
    }
    if found.rubric is None and found.can_rubric:
        context["rubric_estimate"] = _estimate(found, most, prompt=RUBRIC)
    return render(request, "judging/run_controls.html", context)


def _estimate(found: RunControls, most: int, **control: Any) -> RunEstimate | None:
    """What a control would take; None where it cannot be judged."""
    try:
        return estimate_test_run(asked_test_run(**_asked(found.run, **control)), most=most)
    except Refused:
        return None


def _asked(run: JudgeRun, *, sets_of: int | None = None, **more: Any) -> dict[str, Any]:
    owner = {} if sets_of is None else {"sets_of": User.objects.get(pk=sets_of)}
    return {
        "dataset": run.dataset,
        "annotator": run.annotator,
        "judge": run.judge,
        **owner,
        **more,
    }


@require_POST
@manager_required
def start_control(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Judge the run's comparisons under another annotator's preferences, or by a generic rubric."""
    run = _run_of(run_id)
    found = run_controls(run)
    form = ControlForm(request.POST, others=[each.annotator for each in found.others])
    if not form.is_valid():
        messages.error(request, gettext(text_of("run:no-control")))
        return redirect("judging:run-controls", run_id=run_id)
    other = form.other()
    control: dict[str, Any] = {"prompt": RUBRIC} if other is None else {"sets_of": other}
    try:
        started = submit_test_run(
            **_asked(run, **control),
            budget=form.cleaned_data["budget"],
            created_by=request.user,
        )
    except Refused as error:
        messages.error(request, gettext(error.text))
        return redirect("judging:run-controls", run_id=run_id)
    say_attached(request, [started])
    return redirect("judging:run", run_id=started.pk)


def _run_of(run_id: int) -> JudgeRun:
    """A test run that applied its annotator's own preferences."""
    run = (
        JudgeRun.objects.filter(pk=run_id, kind=RunKind.TEST, annotator__isnull=False)
        .select_related("dataset", "annotator", "endpoint", "parent")
        .first()
    )
    if run is None or run.parent is None or run.parent.annotator_id != run.annotator_id:
        raise Http404
    return run
