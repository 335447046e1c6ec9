"""Which process is at work, so that others on its host can see that it has died."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def this_process() -> str:
    """Host, number and start of this process; numbers alone are given to others later."""
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


def _host() -> str:
    return socket.gethostname()[:100]


def _start(pid: int) -> str:
    """When a process began, in ticks since the system's start; "-" where that cannot be read."""
    try:
        words = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
    except OSError:
        return "-"
    return words[19].decode()
