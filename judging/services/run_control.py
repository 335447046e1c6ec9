"""Stopping runs, trying again what failed, and taking up what was left lying."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, F, OuterRef, Q
from django.db.models.query import QuerySet
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.core.runs import TARGETS
from judging.models import JudgeRun, RunKind, RunStatus, RunUnit
from judging.queries.runs import EARLIER, UNFINISHED, unit_rows
from judging.services.batches import ComputingStage, UnitStage
from judging.services.heartbeats import has_died
from judging.services.judges import BATCH_FILE, check_models, endpoint_for
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
    """Leave an unfinished run that one is at work on: who asks for it takes it up at once.

    No worker does so by itself; see `idle`.
    """
    JudgeRun.objects.filter(pk=run_id, generation=generation, status=RunStatus.RUNNING).update(
        status=RunStatus.PENDING, generation=F("generation") + 1
    )


@transaction.atomic
def reset_failed(run_id: int) -> int:
    """Makes a run that is over, or left, ready to go on: what failed is pending again.

    What was answered stays, unparseable replies included: the same question gets the same reply.
    The runs of its units are made ready, too, where they ended before their time or calls in them
    failed; of those that others started the units choose anew, as do units that rest on such a one.
    Returns how many rows are pending now; the caller dispatches.

    Raises:
        Refused: the run, or an equal one, is under way; its verdicts were imported; what it made
            is in use (`Kind.resting`).
    """
    run = reopen(run_id)
    incomplete = _reset_units(run)
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
    ended |= Q(pk__in=incomplete)
    children = list(JudgeRun.objects.filter(ended, pk__in=waiting.values("child")))
    own = set(waiting.filter(reused=False).values_list("child", flat=True))
    waiting.filter(reused=True, child__in=children).update(child=None, reused=False)
    for child in children:
        if child.pk in own:
            reset_failed(child.pk)
    return pending


def is_in_use(run: JudgeRun) -> bool:
    """Whether what a run made is in use, so that `reset_failed` refuses it (`Kind.resting`)."""
    try:
        kind_of(run.kind).resting(run, ())
    except Refused:
        return True
    return False


def _reset_units(run: JudgeRun) -> list[int]:
    """Has units whose runs lack answers done again, with what rests on them; gives those runs."""
    ended = unit_rows(run.pk).filter(child__status__in=FINISHED).select_related("child")
    again = [unit for unit in ended if unit.child is not None and has_failed_rows(unit.child)]
    for unit in kind_of(run.kind).resting(run, again):
        choose_anew(unit)
    done = unit_rows(run.pk).filter(pk__in=[unit.pk for unit in again], status=JudgmentStatus.DONE)
    done.update(status=JudgmentStatus.PENDING)
    return [unit.child_id for unit in again if unit.child_id is not None]


def has_failed_rows(run: JudgeRun) -> bool:
    """Whether calls of a run failed. A query for each stage."""
    stages = [each for each in kind_of(run.kind).stages if not isinstance(each, ComputingStage)]
    return any(stage.rows(run.pk).filter(status=JudgmentStatus.FAILED).exists() for stage in stages)


def choose_anew(unit: RunUnit) -> None:
    """Have a unit done again, by the run that it needs then: the same one where nothing changed."""
    plan = unit.plan
    if unit.child_id is not None and not unit.reused:
        plan = plan | {EARLIER: [*plan.get(EARLIER, ()), unit.child_id]}
        if not RunUnit.objects.filter(child=unit.child_id).exclude(pk=unit.pk).exists():
            cancel(unit.child_id)  # else one that a retry has made ready would be left lying
    anew = {"child": None, "reused": False, "error_code": "", "result": {}, "plan": plan}
    unit_rows(unit.run_id).filter(pk=unit.pk).update(status=JudgmentStatus.PENDING, **anew)


def reopen(run_id: int) -> JudgeRun:
    """Makes a run that is over, or left, ready to go on from its first stage.

    The caller dispatches it.

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
    ready = Q(status__in=FINISHED)
    if can_be_resumed(run):
        ready |= Q(status=run.status, generation=run.generation)
    check_models(run)
    try:
        with transaction.atomic():
            reopened = JudgeRun.objects.filter(ready, pk=run_id).update(
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


class Idle(StrEnum):
    """What a worker does with an unfinished run that nobody is at work on.

    RESUMED is taken up. INTERRUPTED was put down by whoever worked on it, with Ctrl-C. REPLACED was
    left, and then its owner started another about the same, with other settings. Those two wait for
    their owner.
    """

    RESUMED = "RESUMED"
    INTERRUPTED = "INTERRUPTED"
    REPLACED = "REPLACED"


def idle(run: JudgeRun) -> Idle | None:
    """What a worker does with a run; None where it is at work, over, or another run's step."""
    if run.status not in UNFINISHED or not is_left(run) or _is_a_step(run):
        return None
    if run.status == RunStatus.PENDING and run.stage:
        return Idle.INTERRUPTED
    return Idle.REPLACED if _is_replaced(run) else Idle.RESUMED


def _is_a_step(run: JudgeRun) -> bool:
    """Whether an unfinished run works on it: whoever works on that one takes up this one, too."""
    waiting = run.unit_of.filter(status=JudgmentStatus.PENDING, run__status__in=UNFINISHED)
    return waiting.exists()


def _is_replaced(run: JudgeRun) -> bool:
    """Whether its owner started another of the same judge about the same after it fell silent."""
    if run.heartbeat_at is None:
        return False
    later = JudgeRun.objects.filter(
        pk__gt=run.pk,
        created_at__gt=run.heartbeat_at,
        kind=run.kind,
        dataset=run.dataset_id,
        annotator=run.annotator_id,
        judge=run.judge,
        created_by=run.created_by_id,
        unit_of=None,
    )
    about = run.config.get(TARGETS)
    return any(config.get(TARGETS) == about for config in later.values_list("config", flat=True))


def idle_runs() -> list[tuple[JudgeRun, Idle]]:
    """The unfinished runs that nobody is at work on, and what a worker does with each."""
    runs = JudgeRun.objects.filter(status__in=UNFINISHED).order_by("pk")
    found = [(run, idle(run)) for run in runs.select_related("dataset", "annotator", "endpoint")]
    return [(run, what) for run, what in found if what is not None]


def runs_at_work() -> list[JudgeRun]:
    """The runs that somebody is at work on, as far as can be told; without their steps."""
    runs = JudgeRun.objects.filter(status=RunStatus.RUNNING).order_by("pk")
    found = runs.select_related("dataset", "annotator", "endpoint")
    return [run for run in found if not is_left(run) and not _is_a_step(run)]


def can_be_resumed(run: JudgeRun) -> bool:
    """Whether somebody may tell an unfinished run to go on: nobody does, or long waits in vain.

    While another run goes on, this one waits its turn.
    """
    found = idle(run)
    if found is not Idle.RESUMED or (run.status == RunStatus.RUNNING and has_died(run.worker)):
        return found is not None
    since = timezone.now() - timedelta(seconds=settings.RUN_STALE_SECONDS)
    at_work = JudgeRun.objects.filter(status__in=UNFINISHED, heartbeat_at__gt=since)
    return (run.heartbeat_at or run.created_at) < since and not at_work.exists()


def silent_runs(*, for_seconds: float) -> tuple[SilentRun, ...]:
    """Runs that workers take up and that gave no sign of life for so long.

    A run that was never dispatched counts from when it was made.
    """
    before = timezone.now() - timedelta(seconds=for_seconds)
    silent = Q(heartbeat_at__lte=before) | Q(heartbeat_at=None, created_at__lte=before)
    rows = JudgeRun.objects.filter(silent, status__in=UNFINISHED).order_by("pk")
    return tuple(seen(run) for run in rows if idle(run) is Idle.RESUMED)


def seen(run: JudgeRun) -> SilentRun:
    """A run as it is at this moment."""
    return SilentRun(run.pk, run.generation, _stamp(run.heartbeat_at))


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
