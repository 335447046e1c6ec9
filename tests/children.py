"""Python processes that begin as forks of one that has imported the packages already.

To start Python with Django takes a second of processor time or two, and a test of kills starts up
to ten processes. These are as real: each has its environment, its group and its end. How they
start otherwise is tested in test_manage.py, test_kept_secret.py and test_proxy.py.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import runpy
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from tests.paths import ROOT

_FORKS = get_context("forkserver")
_FORKS.set_forkserver_preload(["tests.preloaded"])
_PR_SET_PDEATHSIG = 1


class Child:
    """A process in a group of its own that dies with the tests; asked as `Popen` is.

    Args:
        arguments: as Python takes them: a script or -m and a module, and their own.
        env: the whole environment.
        said: where its output and its errors go; nowhere if there is none.
    """

    def __init__(
        self, arguments: Sequence[str], *, env: Mapping[str, str], said: Path | None = None
    ) -> None:
        to = (f"{said}.out", f"{said}.err") if said else (os.devnull, os.devnull)
        self._process = _FORKS.Process(target=_run, args=([*arguments], dict(env), to))
        self._process.start()
        assert self._process.pid is not None
        self.pid = self._process.pid
        with suppress(ProcessLookupError):  # it has ended already
            while os.getpgid(self.pid) != self.pid:
                time.sleep(0.001)

    def poll(self) -> int | None:
        """How it ended, if it has: below 0 the signal."""
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        """How it ended.

        Raises:
            subprocess.TimeoutExpired: it has not, after so many seconds.
        """
        self._process.join(timeout)
        code = self.poll()
        if code is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout)
        return code


def output_of(arguments: Sequence[str], *, env: Mapping[str, str], timeout: float) -> str:
    """What a process printed that ran to its end and ended well."""
    said = Path(env["SENSEJUDGE_VAR"]) / f"said-{time.monotonic_ns()}"
    child = Child(arguments, env=env, said=said)
    try:
        assert child.wait(timeout) == 0, Path(f"{said}.err").read_text(encoding="utf-8")
    finally:
        if child.poll() is None:
            os.killpg(child.pid, signal.SIGKILL)
    return Path(f"{said}.out").read_text(encoding="utf-8")


def _run(arguments: list[str], env: dict[str, str], to: tuple[str, str]) -> None:
    """Be that process."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    for number, path in enumerate(to, 1):
        opened = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(opened, number)
        os.close(opened)
    os.chdir(ROOT)
    os.environ.clear()
    os.environ.update(env)
    if env.get("PYTHONWARNINGS") == "ignore":
        warnings.simplefilter("ignore")
    sys.path.insert(0, str(ROOT))
    os.setsid()  # last: whoever waits for it may kill from here on
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            runpy.run_path(arguments[0], run_name="__main__")
    finally:
        sys.stdout.flush()
        atexit._run_exitfuncs()
