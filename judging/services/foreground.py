"""Working a run off in this process, without a broker: what the management commands do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from judging.models import JudgeRun
from judging.queries.runs import UNFINISHED
from judging.services.batches import IdRange
from judging.services.interrupts import TerminatedError
from judging.services.judges import JudgeOpener, open_judge
from judging.services.run_control import is_left, put_down
from judging.services.runs import dispatch, run_batch

_POLL_SECONDS: Final = 0.5


def run_to_end(
    run_id: int,
    *,
    opener: JudgeOpener = open_judge,
    observer: Callable[[int], None] | None = None,
    on_wait: Callable[[JudgeRun], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> JudgeRun:
    """Works a run off until it is finished, by whomever.

    While somebody else is at work on it (a worker, or the same command elsewhere), this waits, and
    takes the run over once they give no sign of life. Interrupted, it leaves the run to its
    owner: the same command goes on with it, or its page; no worker does by itself. Ended by
    SIGTERM, it leaves the run to whoever is quicker.

    Args:
        run_id: of a run whose rows are written.
        opener: how the judge is opened.
        observer: told how many answers each commit wrote.
        on_wait: told once that somebody else is at work on the run.
        sleep: waits.
    """
    waits = False
    while (run := JudgeRun.objects.get(pk=run_id)).status in UNFINISHED:
        if is_left(run):
            _work_off(run, opener, observer)
            continue
        if on_wait is not None and not waits:
            on_wait(run)
        waits = True
        sleep(_POLL_SECONDS)
    return run


def _work_off(run: JudgeRun, opener: JudgeOpener, observer: Callable[[int], None] | None) -> None:
    """Goes as far as nobody else takes the run over; does nothing where somebody was quicker."""
    following = dispatch(run.pk, generation=run.generation)
    try:
        while following is not None:
            # Nobody shares the work: all batches of a stage are one, and no call waits for another.
            whole = IdRange(following.batches[0].first, following.batches[-1].last)
            following = run_batch(
                run.pk, following.generation, whole, opener=opener, observer=observer
            )
    except TerminatedError:
        message = f"Terminated. Run {run.pk} keeps what was answered; a worker resumes it, or "
        raise TerminatedError(f"{message}the same command does.") from None
    except KeyboardInterrupt:
        put_down(run.pk, generation=run.generation + 1)
        message = f"Interrupted. Run {run.pk} keeps what was answered; "
        raise KeyboardInterrupt(f"{message}the same command resumes it.") from None
