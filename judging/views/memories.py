"""User memories: the list of a run, one memory, and its editing."""

from __future__ import annotations

from dataclasses import replace

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from annotation.models import User
from annotation.views.access import SignedInRequest, manager_required, reader_required
from judging.core.error_texts import error_text
from judging.core.satisfaction_settings import satisfaction_settings
from judging.forms.memories import MemoryForm
from judging.models import JudgeRun, RunKind, UserMemory
from judging.queries.satisfaction.memories import (
    memories_of_run,
    memories_of_user,
    memory_page,
    visible_memory,
)
from judging.services.judges import UnknownJudgeError
from judging.services.memories import MemoryNotEditableError, may_edit, revise_memory
from judging.services.satisfaction_runs import NothingToScoreError
from judging.submission import submit_satisfaction


@require_GET
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
    except (NothingToScoreError, UnknownJudgeError) as error:
        messages.error(request, gettext(error_text(error.code)))
        return redirect("judging:run-memories", run_id=run_id)
    return redirect("judging:run", run_id=started.pk)


@require_GET
@login_required
def my_memories(request: SignedInRequest) -> HttpResponse:
    """What judges wrote about the reader."""
    rows = memories_of_user(request.user.pk)
    return render(request, "judging/my_memories.html", {"rows": rows})


@require_GET
@login_required
def memory(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """One memory: statistics, texts, and the turns that they cite."""
    reader = request.user
    row = _memory_for(reader, memory_id)
    page = memory_page(row)
    context = {
        "page": page,
        "own": row.user_id == reader.pk,
        "editable": page.is_newest and page.memory is not None and may_edit(row, reader),
        "error": gettext(error_text(row.error_code)) if row.error_code else "",
    }
    return render(request, "judging/memory.html", context)


@require_http_methods(["GET", "POST"])
@login_required
def edit_memory(request: SignedInRequest, memory_id: int) -> HttpResponse:
    """Edit the texts; saving makes the next version."""
    reader = request.user
    row = _memory_for(reader, memory_id)
    if not may_edit(row, reader):
        raise PermissionDenied
    page = memory_page(row)
    if page.memory is None or not page.is_newest:
        messages.warning(request, gettext(error_text(MemoryNotEditableError.code)))
        return redirect("judging:memory", memory_id=page.versions[0].id)
    form = MemoryForm(request.POST if request.method == "POST" else None, memory=page.memory)
    if form.is_bound and form.is_valid():
        try:
            saved = revise_memory(row, edit=form.edit(), editor=reader)
        except MemoryNotEditableError as error:
            form.add_error(None, gettext(error_text(error.code)))
        else:
            messages.success(request, gettext("Saved as version %d.") % saved.version)
            return redirect("judging:memory", memory_id=saved.pk)
    status = 422 if form.is_bound else 200
    context = {"page": page, "form": form, "own": row.user_id == reader.pk}
    return render(request, "judging/memory_edit.html", context, status=status)


def _memory_for(reader: User, memory_id: int) -> UserMemory:
    row = visible_memory(memory_id, reader_id=reader.pk, sees_everyone=reader.sees_everyone)
    if row is None:
        raise Http404
    return row
