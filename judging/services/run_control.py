"""Stopping runs, trying again what failed, and taking up what was left lying."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from judging.models import JudgeRun, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.kinds import STAGES
from judging.services.stages import AskingStage

FINISHED: Final = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)


class RunNotFinishedError(Exception):
    """Only a finished run can be tried again."""

    code = "run:not-finished"


def cancel(run_id: int) -> bool:
    """Stops a run; batches under way drop themselves at their next commit. False: it was over."""
    now = timezone.now()
    return bool(
        JudgeRun.objects.filter(pk=run_id, status__in=UNFINISHED).update(
            status=RunStatus.CANCELLED, generation=F("generation") + 1, finished_at=now
        )
    )


@transaction.atomic
def reset_failed(run_id: int) -> int:
    """Makes a finished run ready to go on: what failed, and what a stop left, is pending again.

    What was answered stays, unparseable replies included: the same question gets the same reply.
    Returns how many rows are pending now; the caller dispatches.

    Raises:
        RunNotFinishedError: the run is under way.
    """
    run = JudgeRun.objects.get(pk=run_id)
    if not JudgeRun.objects.filter(pk=run_id, status__in=FINISHED).update(
        status=RunStatus.PENDING,
        stage="",
        generation=F("generation") + 1,
        error_code="",
        error_detail="",
        heartbeat_at=timezone.now(),
        finished_at=None,
    ):
        raise RunNotFinishedError
    pending = 0
    for stage in STAGES[run.kind]:
        if isinstance(stage, AskingStage):
            rows = stage.rows(run_id)
            rows.filter(status=JudgmentStatus.FAILED).update(
                status=JudgmentStatus.PENDING, error_code="", raw=""
            )
            pending += rows.filter(status=JudgmentStatus.PENDING).count()
    return pending


def take_stale(*, older_than_seconds: float, run_id: int | None = None) -> tuple[int, ...]:
    """Unfinished runs that gave no sign of life for so long; each is handed out once.

    A run that was never dispatched counts from when it was made. The caller dispatches them.

    Args:
        older_than_seconds: 0 for all unfinished runs, where nobody else can be at work.
        run_id: look at this run alone.
    """
    now = timezone.now()
    before = now - timedelta(seconds=older_than_seconds)
    silent = Q(heartbeat_at__lte=before) | Q(heartbeat_at=None, created_at__lte=before)
    stale = JudgeRun.objects.filter(silent, status__in=UNFINISHED).order_by("pk")
    if run_id is not None:
        stale = stale.filter(pk=run_id)
    return tuple(
        found
        for found, heartbeat in stale.values_list("pk", "heartbeat_at")
        if JudgeRun.objects.filter(pk=found, status__in=UNFINISHED, heartbeat_at=heartbeat).update(
            heartbeat_at=now
        )
    )


def under_way() -> tuple[tuple[int, int], ...]:
    """Runs that somebody works on, each with its generation."""
    return tuple(
        JudgeRun.objects.filter(status=RunStatus.RUNNING)
        .order_by("pk")
        .values_list("pk", "generation")
    )
