"""User memories: the list of a run, one memory, and its editing."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused, text_of
from annotation.models import Dataset, User
from annotation.queries.withheld import is_anything_withheld
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.core.rules import Level, SatisfactionSettings
from judging.core.runs import HISTORY
from judging.forms.preferences import MemoryForm
from judging.models import JudgeRun, RunKind, RunStatus, UserMemory
from judging.queries.configurations import satisfaction_settings, targets_of
from judging.queries.satisfaction.learned import learned_page, learned_version_page
from judging.queries.satisfaction.memories import (
    memories_of_run,
    memories_of_user,
    memory_page,
    turns_of_memory,
    visible_memory,
)
from judging.queries.satisfaction.turns import Show, filter_from, turn_of_run, turns_of_run
from judging.services.kinds import plan
from judging.services.memories import may_edit, revise_memory
from judging.services.run_requests import RunRequest
from judging.submission import submit, update_memories
from judging.views.run_starts import say_started


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
    dataset = get_object_or_404(Dataset, slug=slug)
    whole = request.POST.get("level") == Level.SESSION
    wanted = RunRequest(
        kind=RunKind.TRAIN,
        dataset=dataset,
        satisfaction=SatisfactionSettings(level=Level.SESSION if whole else Level.TURN),
        created_by=request.user,
    )
    (run,) = submit(plan(wanted))
    if run.status == RunStatus.RUNNING:
        messages.info(request, _("The evaluator is already being trained."))
    return redirect("judging:run", run_id=run.pk)


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
        (Show.SCORED.value, gettext("with a score")),
        (Show.UNRATED.value, gettext("not rated")),
        (Show.CONTROL.value, gettext("originals beside other responses")),
    ]


@require_safe
@reader_required
def run_memories(request: SignedInRequest, run_id: int) -> HttpResponse:
    """The memories of a run."""
    run = get_object_or_404(
        JudgeRun.objects.select_related("dataset"), pk=run_id, kind=RunKind.SATISFACTION
    )
    listed = memories_of_run(run, page=request.GET.get("page", "1"))
    return render(request, "judging/memories.html", {"run": run, "listed": listed})


@require_POST
@manager_required
def rescore(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Score the same turns once more, with the newest memories of a run, edits included."""
    run = get_object_or_404(
        JudgeRun.objects.select_related("dataset", "annotator"),
        pk=run_id,
        kind=RunKind.SATISFACTION,
    )
    named = run.config.get(HISTORY)
    try:
        history = Dataset.objects.filter(slug=named).first() if named else None
        if named and history is None:
            raise Refused("run:no-history", f"there is no dataset {named!r} any more")
        wanted = RunRequest(
            kind=RunKind.SATISFACTION,
            dataset=run.dataset,
            annotator=run.annotator,
            judge=run.judge,
            satisfaction=replace(satisfaction_settings(run.config), memories_of=run.pk),
            targets=targets_of(run.config),
            sets_dataset=history,
            created_by=request.user,
        )
        started = submit(plan(wanted))
    except Refused as error:
        messages.error(request, gettext(error.text))
        return redirect("judging:run-memories", run_id=run_id)
    say_started(request, started)
    return redirect("judging:run", run_id=started[0].pk)


@require_POST
@manager_required
def update_run_memories(request: SignedInRequest, run_id: int) -> HttpResponse:
    """Have the outdated memories of a run written anew from the ratings of today."""
    run = get_object_or_404(JudgeRun, pk=run_id, kind=RunKind.SATISFACTION)
    _update(request, run)
    return redirect("judging:run-memories", run_id=run_id)


@require_POST
@manager_required
def update_memory(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """Have one memory written anew from the ratings of today, as its next version."""
    row = get_object_or_404(UserMemory.objects.select_related("run"), pk=memory_id)
    _update(request, row.run, memory_id=row.pk)
    return redirect("judging:memory", memory_id=memory_id)


def _update(request: SignedInRequest, run: JudgeRun, *, memory_id: int | None = None) -> None:
    try:
        planned = update_memories(run.pk, memory_id=memory_id)
    except Refused as error:
        messages.error(request, gettext(error.text))
        return
    text = ngettext("Rewriting %(n)d memory.", "Rewriting %(n)d memories.", planned)
    messages.success(request, text % {"n": planned})


@require_safe
@login_required
def my_memories(request: SignedInRequest) -> HttpResponse:
    """What judges wrote about the reader."""
    only = request.user.only
    context = {
        "rows": memories_of_user(request.user.pk, only=only),
        "withheld": is_anything_withheld(only),
    }
    return render(request, "judging/my_memories.html", context)


@require_safe
@login_required
def memory(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """One memory: statistics, texts, and the turns that they cite."""
    reader = request.user
    row = _memory_for(reader, memory_id)
    page = memory_page(row, only=reader.only)
    context = {
        "page": page,
        "own": row.user_id == reader.pk,
        "editable": page.is_editable and may_edit(row, reader),
        "error": gettext(text_of(row.error_code)) if row.error_code else "",
    }
    return render(request, "judging/memory.html", context)


@require_safe
@login_required
def memory_turns(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """The rated turns that a memory counts, of one score or scenario."""
    row = _memory_for(request.user, memory_id)
    asked = request.GET.get("score", "")
    score = int(asked) if asked in {"1", "2", "3", "4", "5"} else None
    scenario = request.GET.get("scenario", "")
    number = request.GET.get("page", "1")
    turns, page = turns_of_memory(row, score=score, scenario=scenario, page=number)
    context = {
        "row": row,
        "turns": turns,
        "page": page,
        "score": score,
        "scenario": scenario,
        "own": row.user_id == request.user.pk,
    }
    return render(request, "judging/memory_turns.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def edit_memory(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """Edit the texts; saving makes the next version."""
    reader = request.user
    row = _memory_for(reader, memory_id)
    if not may_edit(row, reader):
        raise PermissionDenied
    page = memory_page(row, only=reader.only)
    if page.memory is None or not page.is_editable:
        messages.warning(request, gettext(text_of("memory:not-editable")))
        return redirect("judging:memory", memory_id=page.newest_id)
    form = MemoryForm(request.POST if request.method == "POST" else None, memory=page.memory)
    if form.is_bound and form.is_valid():
        try:
            saved = revise_memory(row, edit=form.edit(), editor=reader)
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            messages.success(request, gettext("Saved as version %d.") % saved.version)
            return redirect("judging:memory", memory_id=saved.pk)
    status = 422 if form.is_bound else 200
    context = {"page": page, "form": form, "own": row.user_id == reader.pk}
    return render(request, "judging/memory_edit.html", context, status=status)


def _memory_for(reader: User, memory_id: int) -> UserMemory:
    row = visible_memory(memory_id, only=reader.only)
    if row is None:
        raise Http404
    return row
