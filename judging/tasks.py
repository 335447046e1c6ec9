"""What a worker does. Messages only say which rows to look at; rows say what is left to do."""

from __future__ import annotations

from typing import Final

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.db import OperationalError

from judging.services import run_control, runs
from judging.services.runs import Dispatch
from judging.services.stages import IdRange

RETRIES: Final = 5


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def dispatch_run(*, run_id: int) -> None:
    """Take a run up: enqueue its batches, and somebody to watch over it."""
    following = runs.dispatch(run_id)
    if following is not None:
        _enqueue(following)
        _watch_later(run_id, following.generation)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def run_batch(*, run_id: int, generation: int, first: int, last: int) -> None:
    """Work a batch off; the last one of a stage enqueues the next stage's."""
    following = runs.run_batch(run_id, generation, IdRange(first, last))
    if following is not None:
        _enqueue(following)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def watch_run(*, run_id: int, generation: int) -> None:
    """Look after a run now and then: where its workers fell silent, it is taken up again."""
    if not runs.is_current(run_id, generation):
        return
    if run_control.take_stale(older_than_seconds=settings.RUN_STALE_SECONDS, run_id=run_id):
        dispatch_run.delay(run_id=run_id)
    else:
        _watch_later(run_id, generation)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def resume_runs(*, older_than_seconds: float) -> None:
    """Take up every unfinished run that fell silent, and watch over the others."""
    for run_id in run_control.take_stale(older_than_seconds=older_than_seconds):
        dispatch_run.delay(run_id=run_id)
    for run_id, generation in run_control.under_way():
        _watch_later(run_id, generation)


@worker_ready.connect
def resume_when_ready(**_signal: object) -> None:
    """A worker that starts looks for what another one left lying."""
    resume_runs.delay(older_than_seconds=settings.RUN_STALE_SECONDS)


def _enqueue(following: Dispatch) -> None:
    for ids in following.batches:
        run_batch.delay(
            run_id=following.run_id, generation=following.generation, first=ids.first, last=ids.last
        )


def _watch_later(run_id: int, generation: int) -> None:
    watch_run.apply_async(
        kwargs={"run_id": run_id, "generation": generation},
        countdown=settings.RUN_STALE_SECONDS,
    )
