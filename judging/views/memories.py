"""User memories: the list of a run, one memory, and its editing."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext, ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused, text_of
from annotation.models import User
from annotation.queries.withheld import is_anything_withheld
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.core.satisfaction_settings import satisfaction_settings
from judging.forms.memories import MemoryForm
from judging.models import JudgeRun, RunKind, UserMemory
from judging.queries.satisfaction.memories import (
    memories_of_run,
    memories_of_user,
    memory_page,
    visible_memory,
)
from judging.queries.satisfaction.memory_turns import turns_of_memory
from judging.services.memories import may_edit, revise_memory
from judging.submission import submit_satisfaction, update_memories
from judging.views.run_starts import say_attached


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
    try:
        started = submit_satisfaction(
            dataset=run.dataset,
            judge=run.judge,
            annotator=run.annotator,
            settings=replace(satisfaction_settings(run.config), memories_of=run.pk),
            created_by=request.user,
        )
    except Refused as error:
        messages.error(request, gettext(error.text))
        return redirect("judging:run-memories", run_id=run_id)
    say_attached(request, [started])
    return redirect("judging:run", run_id=started.pk)


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
    found = turns_of_memory(row, score=score, scenario=scenario, page=request.GET.get("page", "1"))
    own = row.user_id == request.user.pk
    context = {"row": row, "found": found, "score": score, "scenario": scenario, "own": own}
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
