"""What a worker does. Messages only say which rows to look at; rows say what is left to do."""

from __future__ import annotations

from typing import Final

from celery import shared_task
from django.conf import settings
from django.db import OperationalError
from django.utils import timezone

from judging.services import kinds, run_control, runs
from judging.services.batches import IdRange
from judging.services.runs import Dispatch

RETRIES: Final = 5


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def dispatch_run(*, run_id: int, generation: int | None = None) -> None:
    """Take a run up: enqueue its batches."""
    following = runs.dispatch(run_id, generation=generation)
    if following is not None:
        _enqueue(following)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def run_batch(*, run_id: int, generation: int, first: int, last: int) -> None:
    """Work a batch off; the last one of a stage enqueues the next stage's."""
    following = runs.run_batch(run_id, generation, IdRange(first, last))
    if following is not None:
        _enqueue(following)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def watch_runs() -> None:
    """Look for runs that fell silent; every worker asks for this now and then.

    Batches of such a run may only be waiting behind those of others. So it is looked at once more
    by a message behind all that wait.
    """
    for silent in run_control.silent_runs(for_seconds=settings.RUN_STALE_SECONDS):
        look_again.delay(
            run_id=silent.run_id, generation=silent.generation, last_beat=silent.last_beat
        )


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def look_again(*, run_id: int, generation: int, last_beat: str) -> None:
    """Take a silent run up where nothing of it was begun meanwhile: its messages are lost."""
    if run_control.still_silent(run_id, generation=generation, last_beat=last_beat):
        dispatch_run(run_id=run_id, generation=generation)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def watch_ratings() -> None:
    """Train learned evaluators again whose ratings changed; every worker asks now and then."""
    for run in kinds.start_due_trainings(now=timezone.now()):
        dispatch_run.delay(run_id=run.pk, generation=run.generation)


def _enqueue(following: Dispatch) -> None:
    for ids in following.batches:
        run_batch.delay(
            run_id=following.run_id, generation=following.generation, first=ids.first, last=ids.last
        )
