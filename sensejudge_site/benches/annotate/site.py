"""A scratch deployment on loopback: its own folder, its own database, a real server process."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, Self

from annotation.core.refusals import Refused

HOST: Final = "127.0.0.1"
_PATIENCE: Final = 1800.0  # seconds for one command
_START_PATIENCE: Final = 60.0
_DEFAULT: Final = ("manage.py", "serve")
_PRODUCTION: Final = (
    *("-m", "granian", "--interface", "wsgi", "--http", "1"),
    *("--workers", "2", "--blocking-threads", "4"),
    "sensejudge_site.wsgi:application",
)
_ROOT: Final = Path(__file__).resolve().parents[3]
_DEPLOYMENT: Final = (
    "DATABASE_URL",
    "CELERY_BROKER_URL",
    "SECRET_KEY",
    "ALLOWED_HOSTS",
    "CSRF_TRUSTED_ORIGINS",
    "HTTPS",
    "DEBUG",
    "STATICFILES_BACKEND",
)


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: its port, the seconds until it answered, its first process."""

    port: int
    seconds: float
    pid: int

    def cpu_seconds(self) -> float | None:
        """Processor time that its processes have used; None where the system does not tell."""
        ticks = 0
        for pid in _family(self.pid):
            try:
                words = Path(f"/proc/{pid}/stat").read_text("ascii").rpartition(")")[2].split()
            except OSError:
                return None
            ticks += int(words[11]) + int(words[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def resident_mb(self) -> float | None:
        """Memory that its processes hold; None where the system does not tell."""
        pages = 0
        for pid in _family(self.pid):
            try:
                pages += int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
            except OSError:
                return None
        return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@dataclass(frozen=True, slots=True)
class Site:
    """A scratch deployment: what its processes are started with, and the checkout they run."""

    env: dict[str, str]
    root: Path = _ROOT

    def having(self, **env: str) -> Self:
        """The same deployment with further environment variables."""
        return replace(self, env={**self.env, **env})

    @property
    def on_postgres(self) -> bool:
        """Whether it runs on PostgreSQL, and so under granian."""
        return "DATABASE_URL" in self.env

    def manage(self, *arguments: str) -> str:
        """Run a command to its end; its output.

        Raises:
            Refused: it did not exit with 0.
        """
        return self.python("manage.py", *arguments)

    def ask(self, module: str, *arguments: str) -> Any:
        """Run a module of this package to its end; the JSON that it prints.

        Raises:
            Refused: it did not exit with 0.
        """
        return json.loads(self.python("-m", f"{__package__}.{module}", *arguments))

    def python(self, *arguments: str) -> str:
        """Run this interpreter to its end; its output.

        Raises:
            Refused: it did not exit with 0.
        """
        done = subprocess.run(  # noqa: S603 - this interpreter, with words of this package
            [sys.executable, *arguments],
            cwd=self.root,
            env=self.env,
            check=False,
            capture_output=True,
            text=True,
            timeout=_PATIENCE,
        )
        if done.returncode:
            lines = done.stderr.strip().splitlines() or ["no word of why"]
            message = f"{' '.join(arguments)}: {lines[-1]}"
            raise Refused("bench:failed", message)
        return done.stdout

    @contextmanager
    def server(self, *options: str, host: str = HOST) -> Iterator[Server]:
        """A server until the end of the block, started as the documents say, with further options.

        Raises:
            Refused: it does not come up.
        """
        port = free_port()
        started = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - this interpreter, with words of this package
            [sys.executable, *self._server, "--host", host, "--port", str(port), *options],
            cwd=self.root,
            env=self.env,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            _wait_for(process, host, port)
            yield Server(port, time.perf_counter() - started, process.pid)
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait(timeout=10)

    @property
    def _server(self) -> tuple[str, ...]:
        """As the documents start one on such a database."""
        return _PRODUCTION if self.on_postgres else _DEFAULT


@contextmanager
def scratch_site(*, database: str | None = None, root: Path = _ROOT) -> Iterator[Site]:
    """An empty deployment of a checkout: SQLite in a new folder, or a PostgreSQL database.

    Args:
        database: the address of the database; "" for SQLite, None for what DATABASE_URL says.
        root: the checkout whose code runs.
    """
    url = os.environ.get("DATABASE_URL", "") if database is None else database
    kept = {name: value for name, value in os.environ.items() if name not in _DEPLOYMENT}
    with tempfile.TemporaryDirectory(prefix="sensejudge-bench-") as folder:
        env = {
            **kept,
            "SENSEJUDGE_VAR": folder,
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
        }
        if url.startswith("postgres"):
            env["DATABASE_URL"] = url
        yield Site(env, root)


def _family(pid: int) -> Iterator[int]:
    """A process and those that it started, and so on."""
    yield pid
    for listed in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = listed.read_text("ascii").split()
        except OSError:  # a thread that has just ended
            continue
        for child in children:
            yield from _family(int(child))


def free_port() -> int:
    """A port of this machine that nobody listens on at the moment."""
    with socket.socket() as listening:
        listening.bind((HOST, 0))
        port: int = listening.getsockname()[1]
        return port


def _wait_for(process: subprocess.Popen[bytes], host: str, port: int) -> None:
    """Until the sign-in page comes."""
    end = time.perf_counter() + _START_PATIENCE
    while time.perf_counter() < end and process.poll() is None:
        connection = http.client.HTTPConnection(host, port, timeout=5)
        try:
            connection.request("GET", "/sign-in/", headers={"Host": HOST})
            if connection.getresponse().status == http.HTTPStatus.OK:
                return
        except OSError:
            time.sleep(0.02)
        finally:
            connection.close()
    message = "the server did not come up"
    raise Refused("bench:failed", message)
