"""Every worker looks after all runs: the ones that are left take up what a dead one held.

The same tick asks whether ratings came to rest that the learned evaluator has not learned from.

It is the worker's own timer that ticks, not a message: a message may die with the worker that
holds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from celery import Celery, bootsteps
from django.conf import settings

TASKS: Final = ("judging.tasks.watch_runs", "judging.tasks.watch_ratings")


class RunWatcher(bootsteps.StartStopStep):
    """A step of a worker's consumer: asks for a look at the runs at once, then again and again."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    tasks: tuple[str, ...] = TASKS

    def __init__(self, parent: Any, **kwargs: Any) -> None:
        self._ticking: Any = None
        super().__init__(parent, **kwargs)

    def start(self, parent: Any) -> None:
        """Begins to tick, twice in the time after which a run counts as left."""
        seconds = settings.RUN_STALE_SECONDS / 2
        asked = (parent.app, seconds, self.tasks)
        ask_for_a_look(*asked)
        self._ticking = parent.timer.call_repeatedly(seconds, ask_for_a_look, asked)

    def stop(self, parent: Any) -> None:  # noqa: ARG002 - Celery's signature
        """Stops ticking, as where the broker was lost; starting again begins anew."""
        if self._ticking is not None:
            self._ticking.cancel()
            self._ticking = None


def leave_runs() -> None:
    """Has the workers of this process take up no run that somebody left."""
    RunWatcher.tasks = TASKS[1:]


def ask_for_a_look(app: Celery, seconds: float, tasks: Sequence[str]) -> None:
    """Sends the messages; one that waited until the next is sent is dropped."""
    for task in tasks:
        app.send_task(task, expires=seconds)
