"""What a worker does of the kinds of run that this app adds; rows say what is left to do.

A run that is taken up again later comes by `judging.tasks`, which serve every kind.
"""

from __future__ import annotations

from typing import Final

from celery import shared_task
from django.db import OperationalError

from judging.services import runs
from judging.services.batches import IdRange
from judging.services.runs import Dispatch

RETRIES: Final = 5


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def dispatch_run(*, run_id: int, generation: int) -> None:
    """Take a run up: enqueue its first batches."""
    following = runs.dispatch(run_id, generation=generation)
    if following is not None:
        _enqueue(following)


@shared_task(autoretry_for=(OperationalError,), max_retries=RETRIES, retry_backoff=True)
def run_batch(*, run_id: int, generation: int, first: int, last: int) -> None:
    """Go on with a unit, or compute; what follows comes behind the batches of other runs."""
    following = runs.run_batch(run_id, generation, IdRange(first, last))
    if following is not None:
        _enqueue(following)


def _enqueue(following: Dispatch) -> None:
    for ids in following.batches:
        run_batch.delay(
            run_id=following.run_id, generation=following.generation, first=ids.first, last=ids.last
        )
