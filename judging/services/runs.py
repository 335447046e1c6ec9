"""The life of a run: dispatched, worked off batch by batch, taken from stage to stage, finished.

A run is rows, so nothing about it is kept in memory or in a queue: what is left to do is a query.
`generation` grows at each dispatch and with each interruption; a batch of an older generation drops
itself. Every step may be cut short by a kill and done again.
"""

from __future__ import annotations

import contextlib
import logging
from dataclasses import dataclass
from typing import Any, Final

from django.db import Error as DatabaseError
from django.db import InterfaceError, OperationalError
from django.db.models import Count, F
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.core.runs import WRITING, StageName
from judging.llm.errors import EndpointDownError, LlmCode
from judging.models import JudgeRun, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services.abilities import find_abilities
from judging.services.batches import (
    AskingStage,
    BatchWork,
    ComputingStage,
    IdRange,
    Observer,
    Stage,
    UnitStage,
    ask_batch,
)
from judging.services.heartbeats import Pulse, SupersededError, beat, this_process
from judging.services.judges import BATCH_FILE, JudgeOpener, check_models, open_judge
from judging.services.kinds import kind_of
from judging.services.replies import drop_claims_of_the_dead

log = logging.getLogger(__name__)

CRASHED: Final = "run:crashed"
"""Something that nobody foresaw stopped the run; `error_detail` has the first line of it."""
ENDPOINT_DOWN: Final = "run:endpoint-down"
"""The endpoint failed call after call; `error_detail` is the code and text of the last failure."""
BATCH_ROWS: Final = 256
BATCH_ROUNDS: Final = 16
"""A batch keeps all places busy so many times over: its last calls leave places empty."""
BATCH_ROWS_WITHOUT_CALLS: Final = 2048
_COMPUTED: Final = IdRange(0, 0)
_DETAIL_LENGTH: Final = 500


@dataclass(frozen=True, slots=True)
class Dispatch:
    """Batches to be worked off, in any order and by anybody, at one generation of a run."""

    run_id: int
    generation: int
    batches: tuple[IdRange, ...]


def dispatch(run_id: int, *, generation: int | None = None) -> Dispatch | None:
    """Takes a run up, new or interrupted; None where it is finished or somebody was quicker.

    Args:
        run_id: which run.
        generation: only where it still is at this one.
    """
    run = JudgeRun.objects.get(pk=run_id)
    if run.status not in UNFINISHED or generation not in (None, run.generation):
        return None
    now = timezone.now()
    taken = JudgeRun.objects.filter(
        pk=run_id, generation=run.generation, status__in=UNFINISHED
    ).update(
        generation=F("generation") + 1,
        status=RunStatus.RUNNING,
        stage=run.stage or kind_of(run.kind).stages[0].name,
        started_at=run.started_at or now,
        heartbeat_at=now,
        worker=this_process(),
    )
    if not taken:
        return None
    drop_claims_of_the_dead(run_id)  # or others would wait for its calls
    if not run.generation:
        _find_abilities(run)
    return _go_on(run_id, run.generation + 1)


def _find_abilities(run: JudgeRun) -> None:
    """Finds out what the endpoints of a run can do, where nobody knows.

    Only before its first call: later it would be asked in another form than it has begun in.
    """
    if run.config.get(BATCH_FILE):
        return
    with contextlib.suppress(Refused):  # one cannot be asked at all: a batch says so
        check_models(run)
        for endpoint in (run.writer_endpoint, run.endpoint):
            if endpoint is not None:
                find_abilities(endpoint)


def run_batch(
    run_id: int,
    generation: int,
    ids: IdRange,
    *,
    opener: JudgeOpener = open_judge,
    observer: Observer | None = None,
) -> Dispatch | None:
    """Works a batch off; returns the next stage's batches where this was the last of its stage.

    A batch whose run was dispatched anew, cancelled or finished meanwhile does nothing.
    """
    run = _current(run_id, generation)
    if run is None:
        return None
    try:
        beat(run)
        return _work_off(run, ids, opener=opener, observer=observer)
    except SupersededError:
        return None
    except Refused as error:
        _stop(run, error.code, error.detail)
        return None
    except EndpointDownError as error:
        log.warning("Run %d stopped asking: %s", run.pk, error)
        asked = run.written_by if run.stage in WRITING else run.judge
        _stop(run, ENDPOINT_DOWN, f"{asked}: {error}" if run.writer else str(error))
        return None
    except (OperationalError, InterfaceError) as error:
        # The database is away, and the run is taken up again once it is there. But what is called
        # an operational error may also be one that every further try meets.
        if _failed_here_before(run, ids):
            log.error("Run %d failed twice at the same place.", run.pk, exc_info=error)
            _stop(run, CRASHED, f"{type(error).__name__}: {error}")
        raise
    except Exception as error:
        log.error("Run %d crashed.", run.pk, exc_info=error)
        _stop(run, CRASHED, f"{type(error).__name__}: {error}")
        raise


_failures: Final[dict[int, set[tuple[object, ...]]]] = {}
"""Where batches of runs failed in this process: kept here, for the database may be away."""


def _failed_here_before(run: JudgeRun, ids: IdRange) -> bool:
    """Whether a batch failed at the same place before, with no reply and no answer since.

    False if the database cannot be asked: then it is away, and nobody can be called either.
    """
    try:
        place = (run.stage, ids, _pending(run), run.calls.count())
    except DatabaseError:
        return False
    places = _failures.setdefault(run.pk, set())
    was_there = place in places
    places.add(place)
    return was_there


def _pending(run: JudgeRun) -> int:
    stage = _stage(run)
    if isinstance(stage, ComputingStage):
        return 0
    return stage.rows(run.pk).filter(status=JudgmentStatus.PENDING).count()


def _current(run_id: int, generation: int) -> JudgeRun | None:
    """The run with its endpoints, where it still is at this generation.

    Most runs have one endpoint or none, and a join of three wide tables takes longest to put.
    """
    found = JudgeRun.objects.filter(pk=run_id, generation=generation, status=RunStatus.RUNNING)
    run = next(iter(found), None)
    if run is not None:
        _ = run.endpoint, run.writer_endpoint  # not later, where an event loop runs
    return run


def _stage(run: JudgeRun) -> Stage:
    return next(stage for stage in kind_of(run.kind).stages if stage.name == run.stage)


def _work_off(
    run: JudgeRun, ids: IdRange, *, opener: JudgeOpener, observer: Observer | None
) -> Dispatch | None:
    match stage := _stage(run):
        case ComputingStage():
            return _compute(run, stage)
        case UnitStage():
            return _work(run, stage, ids, opener=opener, observer=observer)
        case _:
            check_models(run)
            ask_batch(run, stage, ids, opener=opener, observer=observer)
            return _after_batch(run, stage)


def _compute(run: JudgeRun, stage: ComputingStage) -> Dispatch | None:
    has_more = stage.compute(run)
    return _go_on(run.pk, run.generation) if has_more or _advance(run) else None


def _work(
    run: JudgeRun,
    stage: UnitStage,
    ids: IdRange,
    *,
    opener: JudgeOpener,
    observer: Observer | None,
) -> Dispatch | None:
    """Goes on with a unit; the next message takes the first that is pending then."""
    pulse = Pulse(run)

    def alive(answers: int) -> None:
        pulse()
        if observer is not None:
            observer(answers)

    unit = stage.rows(run.pk).filter(pk=ids.first, status=JudgmentStatus.PENDING).first()
    if unit is not None:
        stage.work(run, unit, BatchWork(opener, alive))
    if stage.rows(run.pk).filter(status=JudgmentStatus.PENDING).exists() or _advance(run):
        return _go_on(run.pk, run.generation)
    return None


def _after_batch(run: JudgeRun, stage: AskingStage[Any, Any]) -> Dispatch | None:
    """The next stage's batches, where no row of this one is pending and nobody was quicker."""
    if stage.rows(run.pk).filter(status=JudgmentStatus.PENDING).exists():
        return None
    return _go_on(run.pk, run.generation) if _advance(run) else None


def _go_on(run_id: int, generation: int) -> Dispatch | None:
    """The batches of the first stage that has some; past the last stage the run is finished."""
    run = _current(run_id, generation)
    while run is not None and run.status == RunStatus.RUNNING:
        stage = _stage(run)
        is_passed_over = isinstance(stage, ComputingStage) and not stage.is_needed(run)
        if not is_passed_over:
            batches = (_COMPUTED,) if isinstance(stage, ComputingStage) else _batches(run, stage)
            if batches:
                return Dispatch(run_id, generation, batches)
        if not _advance(run):
            run = _current(run_id, generation)
    return None


def _batches(run: JudgeRun, stage: AskingStage[Any, Any] | UnitStage) -> tuple[IdRange, ...]:
    """Pending rows as ranges of ids, in the order in which they were planned.

    Of units there is the first alone: a later one may need what comes of it.
    """
    size = BATCH_ROWS_WITHOUT_CALLS
    endpoint = run.endpoint_at(stage.name)
    if endpoint is not None:
        size = max(BATCH_ROWS, BATCH_ROUNDS * endpoint.concurrency)
    pending = list(
        stage.rows(run.pk)
        .filter(status=JudgmentStatus.PENDING)
        .order_by("pk")
        .values_list("pk", flat=True)
    )
    if isinstance(stage, UnitStage):
        return tuple(IdRange(first, first) for first in pending[:1])
    parts = [pending[start : start + size] for start in range(0, len(pending), size)]
    return tuple(IdRange(part[0], part[-1]) for part in parts)


def _advance(run: JudgeRun) -> bool:
    """Takes a run past its stage, once: of several who try, one succeeds."""
    names = [stage.name for stage in kind_of(run.kind).stages]
    following = names[names.index(StageName(run.stage)) + 1 :]
    now = timezone.now()
    mine = JudgeRun.objects.filter(
        pk=run.pk, generation=run.generation, status=RunStatus.RUNNING, stage=run.stage
    )
    if following:
        advanced = bool(mine.update(stage=following[0], heartbeat_at=now))
        if advanced:
            run.stage = following[0]
        return advanced
    failure = _failure(run)
    status = RunStatus.FAILED if failure else RunStatus.DONE
    advanced = bool(
        mine.update(
            status=status,
            error_code=failure or _cut_short(run),
            heartbeat_at=now,
            finished_at=now,
        )
    )
    if advanced:
        run.status = status
    return advanced


def _failure(run: JudgeRun) -> str | None:
    """The most frequent error of a stage without any answer; None where every stage has one."""
    for stage in kind_of(run.kind).stages:
        if isinstance(stage, ComputingStage):
            continue
        rows = stage.rows(run.pk)
        worst = (
            rows.exclude(error_code="")
            .order_by()
            .values_list("error_code")
            .annotate(count=Count("pk"))
            .order_by("-count", "error_code")
            .first()
        )
        if worst is not None and not rows.filter(status=JudgmentStatus.DONE).exists():
            return str(worst[0])
    return None


def _cut_short(run: JudgeRun) -> str:
    """`budget:spent` where the money ended before the rows did; "" otherwise."""
    code = LlmCode.BUDGET_SPENT.value
    stages = [each for each in kind_of(run.kind).stages if not isinstance(each, ComputingStage)]
    return (
        code if any(stage.rows(run.pk).filter(error_code=code).exists() for stage in stages) else ""
    )


def _stop(run: JudgeRun, code: str, detail: str) -> None:
    """Stops a run before its end; what is pending stays so, for `retry`."""
    _failures.pop(run.pk, None)
    JudgeRun.objects.filter(pk=run.pk, generation=run.generation, status=RunStatus.RUNNING).update(
        status=RunStatus.FAILED,
        error_code=code,
        error_detail=detail[:_DETAIL_LENGTH],
        finished_at=timezone.now(),
    )
