"""Stopping runs, trying again what failed, and taking up what was left lying."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.query import QuerySet
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.models import JudgeRun, RunKind, RunStatus, RunUnit
from judging.queries.runs import UNFINISHED, unit_rows
from judging.services.batches import ComputingStage, UnitStage
from judging.services.heartbeats import has_died
from judging.services.judges import BATCH_FILE, check_model, endpoint_for
from judging.services.kinds import kind_of

FINISHED: Final = (RunStatus.DONE, RunStatus.FAILED, RunStatus.CANCELLED)


@transaction.atomic
def cancel(run_id: int) -> bool:
    """Stops a run; batches under way drop themselves at their next commit. False: it was over.

    The runs of its units stop as well, unless somebody started them by themselves, or another
    unfinished run waits for them.
    """
    now = timezone.now()
    under_way = Q(status__in=(*UNFINISHED, RunStatus.BATCH))
    stopped = {"status": RunStatus.CANCELLED, "generation": F("generation") + 1}
    found = JudgeRun.objects.filter(under_way, pk=run_id).update(**stopped, finished_at=now)
    if found:  # only now: a child that is being chosen at this moment is there once that is done
        own = JudgeRun.objects.filter(pk__in=unit_rows(run_id).values("child"))
        # Else two runs cancelled at once would each leave a shared child to the other.
        locked = own.select_for_update(no_key=True).order_by("pk")
        children = list(locked.values_list("pk", flat=True))
        units = RunUnit.objects.filter(child=OuterRef("pk"))
        waiting = units.filter(run__status__in=UNFINISHED, status=JudgmentStatus.PENDING)
        alone = Exists(units.filter(reused=False)) & ~Exists(waiting)
        JudgeRun.objects.filter(alone, under_way, pk__in=children).update(
            **stopped, finished_at=now
        )
    return bool(found)


def put_down(run_id: int, *, generation: int) -> None:
    """Leave an unfinished run that one is at work on: whoever comes next takes it up at once."""
    JudgeRun.objects.filter(pk=run_id, generation=generation, status=RunStatus.RUNNING).update(
        status=RunStatus.PENDING, generation=F("generation") + 1
    )


@transaction.atomic
def reset_failed(run_id: int) -> int:
    """Makes a finished run ready to go on: what failed, and what a stop left, is pending again.

    What was answered stays, unparseable replies included: the same question gets the same reply.
    The runs of pending units that ended before their time are made ready, too; of those that
    others started the units choose anew.
    Returns how many rows are pending now; the caller dispatches.

    Raises:
        Refused: the run, or an equal one, is under way; its verdicts were imported.
    """
    run = reopen(run_id)
    pending = 0
    for stage in kind_of(run.kind).stages:
        if isinstance(stage, ComputingStage):
            continue
        rows: QuerySet[Any] = stage.rows(run_id)
        emptied = {} if isinstance(stage, UnitStage) else {"raw": ""}
        rows.filter(status=JudgmentStatus.FAILED).update(
            status=JudgmentStatus.PENDING, error_code="", **emptied
        )
        pending += rows.filter(status=JudgmentStatus.PENDING).count()
    ended = Q(status__in=(RunStatus.FAILED, RunStatus.CANCELLED)) | ~Q(error_code="")
    waiting = unit_rows(run_id).filter(status=JudgmentStatus.PENDING, child__status__in=FINISHED)
    children = list(JudgeRun.objects.filter(ended, pk__in=waiting.values("child")))
    own = set(waiting.filter(reused=False).values_list("child", flat=True))
    waiting.filter(reused=True, child__in=children).update(child=None, reused=False)
    for child in children:
        if child.pk in own:
            reset_failed(child.pk)
    return pending


def reopen(run_id: int) -> JudgeRun:
    """Makes a finished run ready to go on from its first stage; the caller dispatches it.

    Its endpoints are asked as they are configured now, `llm` as the LLM_* settings of this process
    say.

    Raises:
        Refused: the run is under way; an equal one is; its verdicts were imported; an endpoint is
            not in use any more, or was given another model.
    """
    run = JudgeRun.objects.get(pk=run_id)
    if run.kind == RunKind.RECORDED:
        raise Refused("run:recorded")
    for endpoint in (run.writer_endpoint, run.endpoint):
        if endpoint is not None:
            endpoint_for(endpoint.name)
    run = JudgeRun.objects.select_related("endpoint", "writer_endpoint").get(pk=run_id)
    for stage in kind_of(run.kind).stages:
        check_model(run, stage.name)
    try:
        with transaction.atomic():
            reopened = JudgeRun.objects.filter(pk=run_id, status__in=FINISHED).update(
                status=RunStatus.BATCH if run.config.get(BATCH_FILE) else RunStatus.PENDING,
                stage="",
                generation=F("generation") + 1,
                error_code="",
                error_detail="",
                heartbeat_at=timezone.now(),
                finished_at=None,
            )
    except IntegrityError as error:  # run_under_way_once
        raise Refused("run:equal-under-way") from error
    if not reopened:
        raise Refused("run:not-finished")
    return run


@dataclass(frozen=True, slots=True)
class SilentRun:
    """An unfinished run with its last sign of life (ISO 8601, "" where it never gave one)."""

    run_id: int
    generation: int
    last_beat: str


def is_left(run: JudgeRun) -> bool:
    """Whether nobody is at work on an unfinished run, as far as can be told from here."""
    limit: int = settings.RUN_STALE_SECONDS
    return (
        run.status == RunStatus.PENDING
        or run.heartbeat_at is None
        or (timezone.now() - run.heartbeat_at).total_seconds() > limit
        or has_died(run.worker)
    )


def silent_runs(*, for_seconds: float) -> tuple[SilentRun, ...]:
    """Unfinished runs that gave no sign of life for so long.

    A run that was never dispatched counts from when it was made.
    """
    before = timezone.now() - timedelta(seconds=for_seconds)
    silent = Q(heartbeat_at__lte=before) | Q(heartbeat_at=None, created_at__lte=before)
    rows = JudgeRun.objects.filter(silent, status__in=UNFINISHED).order_by("pk")
    return tuple(
        SilentRun(run_id, generation, _stamp(beat))
        for run_id, generation, beat in rows.values_list("pk", "generation", "heartbeat_at")
    )


def still_silent(run_id: int, *, generation: int, last_beat: str) -> bool:
    """Whether an unfinished run is as it was seen before."""
    found = (
        JudgeRun.objects.filter(pk=run_id, generation=generation, status__in=UNFINISHED)
        .values_list("heartbeat_at")
        .first()
    )
    return found is not None and _stamp(found[0]) == last_beat


def _stamp(beat: datetime | None) -> str:
    return "" if beat is None else beat.isoformat()
