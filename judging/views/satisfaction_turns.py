"""The turns of a satisfaction run: the human label beside the judgment."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext
from django.views.decorators.http import require_safe

from annotation.core.refusals import text_of
from annotation.views.access import SignedInRequest, reader_required
from judging.models import JudgeRun, RunKind
from judging.queries.satisfaction.turns import Show, filter_from, turn_of_run, turns_of_run


@require_safe
@reader_required
def run_turns(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Every judged turn of a run, a page at a time."""
    run = _satisfaction_run(run_id)
    wanted = filter_from(request.GET.dict())
    context = {
        "run": run,
        "wanted": wanted,
        "shows": _shows(),
        "listed": turns_of_run(run, wanted, page=request.GET.get("page", "1")),
    }
    return render(request, "judging/run_turns.html", context)


@require_safe
@reader_required
def run_turn(request: SignedInRequest, run_id: int, judgment_id: int) -> HttpResponse:
    """One judged turn with what the judge read of it."""
    run = _satisfaction_run(run_id)
    turn = turn_of_run(run, judgment_id)
    if turn is None:
        raise Http404
    code = turn.row.error_code
    context = {"run": run, "turn": turn, "error": gettext(text_of(code)) if code else ""}
    return render(request, "judging/run_turn.html", context)


def _satisfaction_run(run_id: int) -> JudgeRun:
    return get_object_or_404(
        JudgeRun.objects.select_related("dataset"), pk=run_id, kind=RunKind.SATISFACTION
    )


def _shows() -> list[tuple[str, str]]:
    return [
        (Show.ALL.value, gettext("all turns")),
        (Show.APART.value, gettext("judge and user differ")),
        (Show.MISSED.value, gettext("dissatisfied, judged satisfied")),
        (Show.FALSE_ALARM.value, gettext("satisfied, judged dissatisfied")),
        (Show.WITHOUT.value, gettext("without a score")),
    ]
