"""Kill -9 at random moments of a run against an endpoint that fails a fifth of its calls.

The report at the end is, byte for byte, that of a run that nobody disturbed; every item is judged
or says why not; and the endpoint was asked for each reply once, but for calls that failed and those
whose replies were not stored when the process died.

The large one (2,000 calls, ten kills) takes minutes and runs on demand: `make kill-test`.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.children import Child, output_of
from tests.fake_llm import Act, FakeLlm
from tests.functional.test_killed_runs import kill
from tests.migrated import DEPLOYMENT, copy_migrated

pytestmark = pytest.mark.processes

CONCURRENCY = 16
UNCOMMITTED = 64  # replies that may wait to be stored, besides those under way
PATIENCE = 300.0
GARBAGE = "Both have their merits; I would rather not say."

MAKE = """
from annotation.models import Response
from tests.judging.study import make_study
make_study(comparisons={count})
rows = list(Response.objects.all())
for row in rows:
    row.text = f"{{row.text}} This is number {{row.pk}}."
Response.objects.bulk_update(rows, ["text"], batch_size=500)
"""


class Flaky(FakeLlm):
    """Fails passingly in 15 % of first and second tries; to 5 % of questions it only has garbage.

    What becomes of a question in the end does not depend on how often it was asked.
    """

    failed = 0

    def __enter__(self) -> Flaky:
        super().__enter__()
        return self

    def _act(self, body):
        name = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
        self._seen[name] += 1
        question = next(one["content"] for one in body["messages"] if one["role"] == "user")
        if self._share(question, "garbage") < 0.05:  # of a question, and so of its second try too
            return Act(text=GARBAGE)
        drawn = self._share(name, self._seen[name])
        if self._seen[name] > 2 or drawn >= 0.15:
            return Act()
        self.failed += 1
        if drawn < 0.05:
            return Act(status=429, headers={"Retry-After": "0"})
        return Act(status=500) if drawn < 0.10 else Act(delay=self.hang)

    def _share(self, name: str, what: object) -> float:
        drawn = hashlib.sha256(f"{self.seed}:{name}:{what}".encode()).digest()
        return int.from_bytes(drawn[:8], "big") / 2**64


class Deployment:
    """A scratch deployment on SQLite with its own endpoint, and one command that does the work."""

    def __init__(self, folder: Path, llm: Flaky) -> None:
        self.folder, self.llm = folder, llm
        self.env = {
            **{name: value for name, value in os.environ.items() if name not in DEPLOYMENT},
            "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings",
            "SENSEJUDGE_VAR": str(folder),
            "SECRET_KEY": "only-for-tests",
            "LLM_BASE_URL": llm.base_url,
            "LLM_MODEL": "fake",
            "LLM_CONCURRENCY": str(CONCURRENCY),
            "LLM_TIMEOUT_SECONDS": "1.5",
            "PYTHONWARNINGS": "ignore",
        }

    @property
    def dataset(self) -> str:
        return str(self.query("SELECT slug FROM annotation_dataset")[0][0])

    @property
    def command(self) -> tuple[str, ...]:
        return ("judge", "--dataset", self.dataset, "--judge", "llm", "--preferences", "none")

    def lost(self) -> int:
        """Calls that neither failed nor left a reply: what died with a process."""
        return int(self.llm.stats()["calls"]) - self.llm.failed - self.stored()

    def manage(self, *arguments: str) -> str:
        return output_of(["manage.py", *arguments], env=self.env, timeout=PATIENCE)

    def query(self, sql: str) -> list[tuple]:
        with sqlite3.connect(self.folder / "sensejudge.sqlite3", timeout=20) as connection:
            return connection.execute(sql).fetchall()

    def stored(self) -> int:
        return int(self.query("SELECT count(*) FROM judging_llmcall")[0][0])

    def report(self) -> bytes:
        """The report, and every judgment with its verdict or its reason."""
        rows = self.query(
            'SELECT comparison_id, "order", status, verdict, error_code FROM judging_judgment '
            'ORDER BY comparison_id, "order"'
        )
        report = self.manage("report", "--dataset", self.dataset, "--json")
        return f"{report}\n{json.dumps(rows)}".encode()

    def kill_when(self, stored: int, delay: float) -> None:
        """Starts the command and kills it once so many replies are stored, and a moment later."""
        process = Child(["manage.py", *self.command], env=self.env)
        try:
            wait(lambda: self.stored() >= stored or process.poll() is not None)
            time.sleep(delay)
            assert process.poll() is None, "the run was over before it could be killed"
        finally:
            if process.poll() is None:
                kill(process)


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def torture(folder: Path, *, calls: int, kills: int, seed: int) -> Counter[str]:
    """Both runs; what the endpoint of the killed one saw."""
    rng = random.Random(seed)
    with Flaky(rule="longer", latency=0.05, hang=30.0) as llm:
        (folder / "calm").mkdir()
        calm = Deployment(folder / "calm", llm)
        copy_migrated(calm.folder / "sensejudge.sqlite3")
        calm.manage("shell", "-c", MAKE.format(count=calls // 2))
        shutil.copytree(calm.folder, folder / "killed")
        calm.manage(*calm.command)
        expected = calm.report()
    with Flaky(rule="longer", latency=0.05, hang=30.0) as llm:
        killed = Deployment(folder / "killed", llm)
        lost = 0
        for moment in sorted(rng.uniform(0.02, 0.9) for _ in range(kills)):
            killed.kill_when(round(moment * calls), rng.uniform(0.0, 0.15))
            assert 0 <= killed.lost() - lost <= UNCOMMITTED + CONCURRENCY
            lost = killed.lost()
        killed.manage(*killed.command)
        assert killed.report() == expected
        assert killed.lost() == lost  # each reply once: the last part lost nothing
        return Counter(
            calls=llm.stats()["calls"], stored=killed.stored(), failed=llm.failed, lost=lost
        ) + checked_statuses(killed, calls)


def checked_statuses(site: Deployment, calls: int) -> Counter[str]:
    """Judgments by status; every one has its verdict or its reason."""
    by_status = "SELECT status, count(*) FROM judging_judgment GROUP BY status"
    statuses = Counter(dict(site.query(by_status)))
    assert sum(statuses.values()) == calls
    assert set(statuses) == {"DONE", "UNPARSEABLE"}
    without = "status = 'DONE' AND verdict IS NULL OR status != 'DONE' AND error_code = ''"
    assert site.query(f"SELECT count(*) FROM judging_judgment WHERE {without}") == [(0,)]  # noqa: S608
    return statuses


def test_a_run_that_is_killed_three_times_ends_as_if_it_had_not_been(tmp_path):
    found = torture(tmp_path, calls=200, kills=3, seed=1)
    assert found["failed"] > 10  # the endpoint did fail


@pytest.mark.skipif("KILL_TEST" not in os.environ, reason="takes minutes: make kill-test")
def test_a_run_that_is_killed_ten_times_ends_as_if_it_had_not_been(tmp_path, capsys):
    seed = int(os.environ["KILL_TEST"] or 0)
    found = torture(tmp_path, calls=2000, kills=10, seed=seed)
    with capsys.disabled():
        sys.stdout.write(f"\nseed {seed}: {dict(found)}\n")
    assert found["failed"] > 100
