"""Signs of life: a run whose worker gives none is taken over by another one."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

from django.conf import settings
from django.utils import timezone

from judging.models import JudgeRun, RunStatus


def this_process() -> str:
    """Host, number and start of this process, without spaces in them.

    Numbers alone are given to others later, and in each container they begin anew.
    """
    pid = os.getpid()
    return f"{_host()} {pid} {_start(pid)}"


def has_died(process: str) -> bool:
    """Whether a process is known to have died; nobody can tell that of one on another host."""
    match process.split():
        case [host, number, start] if host == _host():
            pid = int(number)
        case _:
            return False
    try:
        os.kill(pid, 0)  # asks whether it is there, and no more
    except ProcessLookupError:
        return True
    except PermissionError:
        pass  # it is there, and somebody else's
    return "-" not in (found := _start(pid), start) and found != start


@cache
def _host() -> str:
    """Within what numbers of processes mean the same: a start of a machine, and a container."""
    parts = [socket.gethostname()[:60]]
    with contextlib.suppress(OSError):  # a system without /proc has no containers either
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip())
        parts.append(str(Path("/proc/self/ns/pid").stat().st_ino))
    return "/".join(parts)


def _start(pid: int) -> str:
    """When a process began, in ticks since the system's start; "-" where that cannot be read."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return "-"
    return words[19].decode()


MOST_SECONDS_BETWEEN: Final = 5.0


def seconds_between_beats() -> float:
    """Often enough that a run at work never looks as if it were left."""
    stale: int = settings.RUN_STALE_SECONDS
    return min(MOST_SECONDS_BETWEEN, stale / 4)


class SupersededError(Exception):
    """The run was dispatched anew, cancelled or failed while somebody was at work on it."""

    code = "run:superseded"


def beat(run: JudgeRun) -> None:
    """Notes a sign of life.

    Raises:
        SupersededError: the run no longer is at this generation.
    """
    alive = JudgeRun.objects.filter(
        pk=run.pk, generation=run.generation, status=RunStatus.RUNNING
    ).update(heartbeat_at=timezone.now(), worker=this_process())
    if not alive:
        raise SupersededError


class Pulse:
    """Gives a sign of life every few seconds, however often it is called in a long computation."""

    def __init__(self, run: JudgeRun, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._run = run
        self._clock = clock
        self._beaten = clock()

    def __call__(self) -> None:
        """Gives a sign of life where one is due.

        Raises:
            SupersededError: somebody else has the run now.
        """
        if self._clock() - self._beaten >= seconds_between_beats():
            beat(self._run)
            self._beaten = self._clock()
