"""Starting the kinds of run that this app adds; then, on commit, a message to the workers."""

from __future__ import annotations

from django.db import transaction

from benchmark.tasks import dispatch_run
from judging.models import JudgeRun, RunStatus
from judging.services.kinds import write


def submit(planned: JudgeRun, *, again: bool = False) -> JudgeRun:
    """Starts a planned run, or gives the equal one that is under way; see `kinds.write`.

    Where the broker cannot be reached the run waits: workers look for such runs.
    """
    with transaction.atomic():
        run = write(planned, again=again)
        if run.status == RunStatus.PENDING:
            run_id, generation = run.pk, run.generation

            def tell_workers() -> None:
                dispatch_run.delay(run_id=run_id, generation=generation)

            # Not a partial: where a robust hook fails, Django asks it for its name.
            transaction.on_commit(tell_workers, robust=True)
    return run
