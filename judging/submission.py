"""Asking for a run: rows first, all of them or none; then, on commit, a message to the workers."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import transaction

from judging.models import JudgeRun, RunStatus
from judging.services import memory_updates, run_control
from judging.services.kinds import check_abilities, write
from judging.tasks import dispatch_run, look_again


def submit(runs: Iterable[JudgeRun], *, again: bool = False) -> list[JudgeRun]:
    """Starts planned runs, all of them or none.

    Endpoints are asked before the transaction: while one hangs, others can write.

    Raises:
        Refused: see `kinds.check_abilities`.
    """
    planned = list(runs)
    check_abilities(*planned)
    with transaction.atomic():
        started = [write(run, again=again) for run in planned]
        for run in started:
            enqueue_run(run)
    return started


def retry_run(run_id: int) -> int:
    """Asks again for what failed in a finished run, and goes on with a cancelled one.

    Returns how many rows are asked again.
    """
    with transaction.atomic():
        pending = run_control.reset_failed(run_id)
        enqueue_run(JudgeRun.objects.get(pk=run_id))
    return pending


def update_memories(run_id: int, *, memory_id: int | None = None) -> int:
    """Has a run's outdated memories written anew, or one; see `memory_updates.plan_updates`."""
    with transaction.atomic():
        planned = memory_updates.plan_updates(run_id, memory_id=memory_id)
        enqueue_run(JudgeRun.objects.get(pk=run_id))
    return planned


def enqueue_run(run: JudgeRun) -> None:
    """Tells the workers of a run once its rows are committed.

    A run that is under way already is left to those who work on it. Where the broker cannot be
    reached the run waits: workers look for such runs (`tasks.watch_runs`).
    """
    if run.status != RunStatus.PENDING:
        return
    run_id, generation = run.pk, run.generation

    def tell_workers() -> None:
        dispatch_run.delay(run_id=run_id, generation=generation)

    # Not a partial: where a robust hook fails, Django asks it for its name.
    transaction.on_commit(tell_workers, robust=True)


def resume(runs: Iterable[JudgeRun]) -> None:
    """Has left runs taken up, unless somebody begins to work on them meanwhile."""
    for run in runs:
        found = run_control.seen(run)
        look_again.delay(
            run_id=found.run_id, generation=found.generation, last_beat=found.last_beat
        )
