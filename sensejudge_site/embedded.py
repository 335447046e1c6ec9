"""The Celery worker as a thread of the web process: the one-process default.

The thread is a daemon: it dies with the process, and rows say what is left to do. At start the
runs that somebody left are taken up, unless they are to wait for their owners.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable

from celery.worker import WorkController

from judging.models import JudgeRun
from judging.submission import resume
from sensejudge_site.celery import app
from sensejudge_site.run_watcher import leave_runs

log = logging.getLogger(__name__)

RESTART_SECONDS = 1.0


class EmbeddedWorker(threading.Thread):
    """One worker with the `solo` pool: batches of several runs take turns."""

    def __init__(self) -> None:
        super().__init__(name="celery-worker", daemon=True)
        self._controller: WorkController | None = None
        self._stopping = threading.Event()

    def run(self) -> None:
        """Take tasks until the process ends; a worker that broke is replaced."""
        while not self._stopping.is_set():
            self._controller = app.WorkController(
                pool="solo",
                concurrency=1,
                without_gossip=True,
                without_mingle=True,
                without_heartbeat=True,
                hostname="embedded@localhost",
            )
            self._controller.start()
            if not self._stopping.wait(RESTART_SECONDS):
                log.error("The embedded worker ended by itself; starting another.")

    def stop(self, *, timeout: float = 10.0) -> None:
        """Finish the task under way and end the thread, within `timeout` seconds."""
        self._stopping.set()
        if self._controller is not None:
            self._controller.stop(in_sighandler=True)
        self.join(timeout)


def start_embedded_worker(runs: Iterable[JudgeRun] | None) -> EmbeddedWorker:
    """Start the thread, after dropping old messages.

    Args:
        runs: what it takes up; None for no run that it was not told of since, now and later.
    """
    app.control.purge()
    if runs is None:
        leave_runs()
    worker = EmbeddedWorker()
    worker.start()
    resume(runs or ())
    return worker
