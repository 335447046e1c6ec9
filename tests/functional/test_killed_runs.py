"""Kill -9 at any moment, start again: every judgment once, and no committed reply paid for twice.

Real processes: the server with its embedded worker on SQLite and a broker of files; Celery workers
on PostgreSQL and Redis where both are there; and the command that needs no worker at all.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.children import Child, output_of
from tests.fake_llm import FakeLlm
from tests.migrated import DEPLOYMENT, copy_migrated, create_migrated
from tests.paths import ROOT

pytestmark = pytest.mark.processes

SCENARIOS = 2
COMPARISONS = 20  # of them 10 in dev
DISTILLED = SCENARIOS * (11 + 6)  # ten pairs and all of them; in the control five are flipped
JUDGMENTS = SCENARIOS * 10 * 2 * (1 + 11 + 6)
PATIENCE = 90.0
POSTGRES = "postgres://postgres@127.0.0.1:5432"

SUBMIT = """
from annotation.models import Dataset, User
from judging.submission import submit
from tests.judging.study import planned_distillation
dataset = Dataset.objects.get()
submit([planned_distillation(dataset=dataset, annotator=User.objects.get(), judge="llm")])
"""
STATE_ABILITIES = """
from judging.services.endpoints import endpoint_row_from_settings
row = endpoint_row_from_settings()
row.has_logprobs, row.has_json_schema, row.has_system_role = False, False, True
row.measured_address = row.address
row.save()
"""
"""Nobody asks what the endpoint can do: what comes in are the calls of runs."""
MAKE_STUDY = f"""
from tests.judging.study import make_study
make_study(scenarios={SCENARIOS}, comparisons={COMPARISONS})
"""


@dataclass
class Site:
    """One deployment: its environment, its database, and the processes that were started."""

    env: dict[str, str]
    query: Callable[[str], list[tuple]]
    llm: FakeLlm
    processes: list[Child | subprocess.Popen[bytes]] = field(default_factory=list)

    def manage(self, *arguments: str) -> str:
        """Runs a command to its end; what it printed."""
        return output_of(["manage.py", *arguments], env=self.env, timeout=PATIENCE)

    def start(self, *command: str) -> Child:
        """Starts a process in a group of its own, so that its children die with it."""
        process = Child(command, env=self.env)
        self.processes.append(process)
        return process

    def count(self, status: str) -> int:
        """Answers of both kinds with a status."""
        return sum(
            count
            for table in ("judging_preference", "judging_judgment")
            for stored, count in self.query(
                f"SELECT status, count(*) FROM {table} WHERE run_id > 0 GROUP BY status"  # noqa: S608
            )
            if stored == status
        )

    def wait_until(self, answered: int) -> None:
        """Waits until so many rows are answered."""
        self._wait(lambda: self.count("DONE") >= answered, f"{answered} answers")

    def hold_back(self, answered: int) -> None:
        """Has the endpoint answer enough for so many rows, and no more."""
        self.llm.most_answers = self.llm.answered + answered - self.count("DONE")

    def wait_for_the_end(self) -> None:
        """Waits until the run is over."""
        self._wait(lambda: self.status() not in {"PENDING", "RUNNING"}, "the end of the run")

    def status(self) -> str:
        """The run's."""
        return str(self.query("SELECT status FROM judging_judgerun")[0][0])

    def committed(self, where: str = "true") -> set[str]:
        """The bodies of calls whose replies are stored."""
        rows = self.query(f"SELECT request FROM judging_llmcall WHERE {where}")  # noqa: S608
        return {
            canonical(row[0] if isinstance(row[0], dict) else json.loads(row[0])) for row in rows
        }

    def _wait(self, done: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < deadline, f"still no {what}: {self.count('DONE')} answers"
            time.sleep(0.05)


def canonical(body: dict) -> str:
    return json.dumps(body, sort_keys=True)


def start_redis(port: int) -> subprocess.Popen[bytes]:
    """Starts a broker that keeps nothing, and dies with the tests where that can be had."""
    setpriv = shutil.which("setpriv")
    with_us = [setpriv, "--pdeathsig", "KILL"] if setpriv else []
    return subprocess.Popen(
        [*with_us, "redis-server", "--port", str(port), "--save", "", "--bind", "127.0.0.1"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill(process: Child | subprocess.Popen[bytes]) -> None:
    """Kill -9, the whole group, where it has not ended by itself."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(10)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@contextmanager
def site(
    tmp_path: Path,
    query: Callable[[str], list[tuple]],
    *,
    endpoint: FakeLlm | None = None,
    make: str = MAKE_STUDY,
    **env: str,
) -> Iterator[Site]:
    """A migrated deployment with the data that some code makes, and an endpoint of its own."""
    with endpoint or FakeLlm(rule="longer", latency=0.05) as llm:
        found = Site(
            env={
                **{name: value for name, value in os.environ.items() if name not in DEPLOYMENT},
                "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
                "SENSEJUDGE_VAR": str(tmp_path),
                "SECRET_KEY": "only-for-tests",
                "LLM_BASE_URL": llm.base_url,
                "LLM_MODEL": "fake",
                "LLM_CONCURRENCY": "8",
                "RUN_STALE_SECONDS": "4",
                "STATICFILES_BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage",
                "PYTHONWARNINGS": "ignore",
                **env,
            },
            query=query,
            llm=llm,
        )
        try:
            if "DATABASE_URL" not in env:
                copy_migrated(tmp_path / "sensejudge.sqlite3")
            found.manage("shell", "-c", STATE_ABILITIES + make)
            yield found
        finally:
            for process in found.processes:
                if process.poll() is None:
                    kill(process)


@contextmanager
def on_sqlite(tmp_path: Path, **options: Any) -> Iterator[Site]:
    """SQLite and a broker of files; options are those of `site`."""

    def query(sql: str) -> list[tuple]:
        with sqlite3.connect(tmp_path / "sensejudge.sqlite3", timeout=20) as connection:
            return connection.execute(sql).fetchall()

    with site(tmp_path, query, **options) as found:
        yield found


@pytest.fixture
def small_site(tmp_path: Path) -> Iterator[Site]:
    """Where a dead worker is known to be dead: nothing waits until its sign of life is too old."""
    with on_sqlite(tmp_path, RUN_STALE_SECONDS="600") as found:
        yield found


@pytest.fixture
def large_site(tmp_path: Path) -> Iterator[Site]:
    with on_postgres(tmp_path) as found:
        yield found


@contextmanager
def on_postgres(tmp_path: Path, **options: Any) -> Iterator[Site]:
    """PostgreSQL, and a Redis of its own; skipped where either is not there."""
    if shutil.which("redis-server") is None:
        pytest.skip("there is no redis-server on this machine")
    try:
        admin = psycopg.connect(f"{POSTGRES}/postgres", autocommit=True, connect_timeout=2)
    except psycopg.OperationalError as error:
        pytest.skip(f"there is no PostgreSQL on 127.0.0.1: {error}")
    port = free_port()
    broker = start_redis(port)
    name = f"killed_{uuid.uuid4().hex[:12]}"
    create_migrated(POSTGRES, name)
    try:
        with psycopg.connect(f"{POSTGRES}/{name}", autocommit=True) as connection:

            def query(sql: str) -> list[tuple]:
                return connection.execute(sql).fetchall()

            options["DATABASE_URL"] = f"{POSTGRES}/{name}"
            options["CELERY_BROKER_URL"] = f"redis://127.0.0.1:{port}/0"
            with site(tmp_path, query, **options) as found:
                yield found
    finally:
        admin.execute(f"DROP DATABASE {name} WITH (FORCE)")
        admin.close()
        kill(broker)


def check_that_nothing_was_lost_or_paid_twice(found: Site, paid_before: list[tuple[int, set[str]]]):
    """`paid_before`: at each restart, how many calls had come in and which were committed."""
    assert found.status() == "DONE"
    assert found.count("DONE") == DISTILLED + JUDGMENTS
    assert found.query("SELECT count(*) FROM judging_preferenceset") == [(SCENARIOS * 2,)]
    asked = [canonical(body) for body in found.llm.bodies]
    for came_in, committed in paid_before:
        again = committed.intersection(asked[came_in:])
        assert not again, f"{len(again)} of {len(committed)} committed replies were paid for again"
    assert len(set(asked)) == found.query("SELECT count(*) FROM judging_llmcall")[0][0]


def kill_twice(found: Site, start: Callable[[], Child]) -> None:
    restarts = []
    for answered in (10, DISTILLED + 100):
        found.hold_back(answered)
        process = start()
        found.wait_until(answered)
        kill(process)
        assert found.status() == "RUNNING"
        restarts.append((len(found.llm.bodies), found.committed()))
    found.llm.most_answers = math.inf
    start()
    found.wait_for_the_end()
    check_that_nothing_was_lost_or_paid_twice(found, restarts)


def test_a_killed_server_goes_on_when_it_starts_again(small_site):
    small_site.manage("shell", "-c", SUBMIT)
    kill_twice(
        small_site, lambda: small_site.start("manage.py", "serve", "--port", str(free_port()))
    )


def test_killed_workers_are_followed_by_others(large_site):
    large_site.manage("shell", "-c", SUBMIT)
    kill_twice(
        large_site,
        lambda: large_site.start("-m", "celery", "-A", "sensejudge_site", "worker", "-c", "2"),
    )


def test_one_of_two_workers_dies_and_the_other_finishes(large_site):
    """Nobody starts anew: the one that is left takes up what the dead one held."""
    large_site.manage("shell", "-c", SUBMIT)
    large_site.hold_back(DISTILLED + 100)
    workers = [
        large_site.start(
            "-m", "celery", "-A", "sensejudge_site", "worker", "-c", "1", "-n", f"w{number}"
        )
        for number in range(2)
    ]
    large_site.wait_until(DISTILLED + 100)
    kill(workers[0])
    restart = [(len(large_site.llm.bodies), large_site.committed())]
    large_site.llm.most_answers = math.inf
    large_site.wait_for_the_end()
    # The other one may have been at any call meanwhile, so only the rows are certain.
    assert restart[0][0] <= len(large_site.llm.bodies)
    check_that_nothing_was_lost_or_paid_twice(large_site, [])


def test_a_killed_command_goes_on_when_it_is_given_again(small_site):
    dataset = small_site.query("SELECT slug FROM annotation_dataset")[0][0]
    command = ("manage.py", "distil", "--dataset", dataset, "--judge", "llm")
    kill_twice(small_site, lambda: small_site.start(*command))
    assert small_site.query("SELECT count(*) FROM judging_judgerun") == [(1,)]
