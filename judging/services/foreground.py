"""Working a run off in this process, without a broker: what the management commands do."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from django.conf import settings
from django.utils import timezone

from judging.models import JudgeRun
from judging.queries.runs import UNFINISHED
from judging.services.judges import JudgeOpener, open_judge
from judging.services.runs import dispatch, run_batch
from judging.services.stages import IdRange

_POLL_SECONDS: Final = 0.5


def run_to_end(
    run_id: int,
    *,
    opener: JudgeOpener = open_judge,
    observer: Callable[[int], None] | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> JudgeRun:
    """Works a run off until it is finished, by whomever.

    Where a worker takes the run over (it may, when a server starts meanwhile), this waits for it,
    and takes the run back once that worker gives no sign of life.

    Args:
        run_id: of a run whose rows are written.
        opener: how the judge is opened.
        observer: told how many answers each commit wrote.
        sleep: waits.
    """
    while True:
        following = dispatch(run_id)
        while following is not None:
            # Nobody shares the work: all batches of a stage are one, and no call waits for another.
            whole = IdRange(following.batches[0].first, following.batches[-1].last)
            following = run_batch(
                run_id, following.generation, whole, opener=opener, observer=observer
            )
        while (run := JudgeRun.objects.get(pk=run_id)).status in UNFINISHED:
            if _is_stale(run):
                break
            sleep(_POLL_SECONDS)
        else:
            return run


def _is_stale(run: JudgeRun) -> bool:
    silent = (timezone.now() - (run.heartbeat_at or run.created_at)).total_seconds()
    limit: int = settings.RUN_STALE_SECONDS
    return silent > limit
