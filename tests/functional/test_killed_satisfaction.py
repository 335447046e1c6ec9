"""Kill -9 at random moments of a satisfaction run whose endpoint fails a fifth of its calls.

Real processes: the server with its embedded worker on SQLite, a Celery worker on PostgreSQL and
Redis. In the end everything is as in a run that nobody disturbed, byte for byte; every memory is
written and every turn scored, or says why not; and no stored reply is asked for again.
`make kill-test` kills more often.
"""

from __future__ import annotations

import os
import random
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.children import Child
from tests.functional.test_killed_judging import GARBAGE, Flaky
from tests.functional.test_killed_runs import (
    Site,
    canonical,
    free_port,
    kill,
    on_postgres,
    on_sqlite,
)

pytestmark = pytest.mark.processes

PEOPLE, SCENARIOS, TURNS = 6, 3, 5
MEMORIES = PEOPLE * SCENARIOS
SCORES = MEMORIES * TURNS
CONCURRENCY = 4
UNCOMMITTED = 64  # replies that may wait to be stored, besides those under way
KILLS = 8 if "KILL_TEST" in os.environ else 2
PATIENCE = 120.0

MAKE = f"""
from tests.judging.ratings import make_ratings
make_ratings(people={PEOPLE}, scenarios={SCENARIOS}, turns={TURNS})
"""
SUBMIT = """
from annotation.models import Dataset
from judging.submission import submit
from tests.judging.study import planned_satisfaction
submit([planned_satisfaction(dataset=Dataset.objects.get(), judge="llm")])
"""
FINISH = """
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
run_to_end(JudgeRun.objects.get().pk)
"""
REPORT = """
import json
from annotation.exports import ExportFormat
from annotation.models import Dataset
from benchmark.queries.response_bias import calibration_page
from judging.exports import EXPORTS
from judging.models import JudgeRun
page = calibration_page(JudgeRun.objects.get().pk)
print("REPORT", page.histograms, page.before, page.after, page.fallbacks, page.users)
for kind in ("memories", "satisfaction_judgments"):
    text = "".join(EXPORTS[kind].blocks(Dataset.objects.get(), ExportFormat.JSONL))
    for row in map(json.loads, text.splitlines()):
        for other in ("created_at", "call"):  # a call's name holds its endpoint's address
            row.pop(other, None)
        print("REPORT", json.dumps(row, sort_keys=True))
"""


def flaky() -> Flaky:
    return Flaky(rule="longer", latency=0.12, hang=30.0)


def options(llm: Flaky) -> dict[str, Any]:
    return {
        "endpoint": llm,
        "make": MAKE + SUBMIT,
        "LLM_CONCURRENCY": str(CONCURRENCY),
        "LLM_TIMEOUT_SECONDS": "1.5",
    }


def report(found: Site) -> str:
    """What the pages and exports say of the run, without when it was said."""
    lines = found.manage("shell", "-v", "0", "-c", REPORT).splitlines()
    told = [line for line in lines if line.startswith("REPORT")]
    assert len(told) == 1 + MEMORIES + SCORES
    return "\n".join(told)


def stored(found: Site) -> int:
    return int(found.query("SELECT count(*) FROM judging_llmcall")[0][0])


def lost(found: Site, llm: Flaky) -> int:
    """Calls that neither failed nor left a reply: what died with a process."""
    return int(llm.stats()["calls"]) - llm.failed - stored(found)


def statuses(found: Site, table: str) -> Counter[str]:
    return Counter(dict(found.query(f"SELECT status, count(*) FROM {table} GROUP BY status")))  # noqa: S608


def check_rows(found: Site) -> None:
    """Every row has its answer or its reason, and no score that nobody gave."""
    memories = statuses(found, "judging_usermemory")
    scores = statuses(found, "judging_satisfactionjudgment")
    assert (memories.total(), scores.total()) == (MEMORIES, SCORES)
    assert "PENDING" not in memories + scores
    assert min(memories["DONE"], scores["DONE"]) > 0
    assert memories["UNPARSEABLE"] + scores["UNPARSEABLE"] > 0  # the endpoint did talk nonsense
    silent = "status != 'DONE' AND error_code = ''"
    scored = "status != 'DONE' AND (score IS NOT NULL OR calibrated IS NOT NULL)"
    missing = "status = 'DONE' AND (score IS NULL OR calibrated IS NULL OR call_id IS NULL)"
    for table, wrong in (
        ("judging_usermemory", silent),
        ("judging_satisfactionjudgment", f"({silent}) OR ({scored}) OR ({missing})"),
    ):
        assert found.query(f"SELECT count(*) FROM {table} WHERE {wrong}") == [(0,)]  # noqa: S608
    garbage = f"SELECT count(*) FROM judging_satisfactionjudgment WHERE raw = '{GARBAGE}'"  # noqa: S608
    assert found.query(garbage) == [(scores["UNPARSEABLE"],)]


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> str:
    """The report of a run that nobody disturbed, against an endpoint that fails as often."""
    llm = flaky()
    with on_sqlite(tmp_path_factory.mktemp("calm"), **options(llm)) as found:
        found.manage("shell", "-c", FINISH)
        assert llm.failed > 5
        check_rows(found)
        return report(found)


def torture(found: Site, llm: Flaky, start: Callable[[], Child], seed: int) -> str:
    """Kills what works on the run at random moments; the report once it is through."""
    rng = random.Random(seed)
    before = 0
    for moment in sorted(rng.uniform(0.05, 0.85) for _ in range(KILLS)):
        process = start()
        wait(lambda: stored(found) >= moment * (MEMORIES + SCORES) or found.status() == "DONE")  # noqa: B023
        time.sleep(rng.uniform(0.0, 0.2))
        kill(process)
        assert found.status() == "RUNNING", "the run was over before it could be killed"
        assert 0 <= lost(found, llm) - before <= UNCOMMITTED + CONCURRENCY
        before = lost(found, llm)
        came_in, committed = len(llm.bodies), found.committed()
    start()
    wait(lambda: found.status() not in {"PENDING", "RUNNING"})
    assert found.status() == "DONE"
    committed -= found.committed(f"reply = '{GARBAGE}'")  # that is asked once more, as an attempt
    again = committed.intersection(canonical(body) for body in list(llm.bodies)[came_in:])
    assert not again, f"{len(again)} of {len(committed)} committed replies were paid for again"
    assert lost(found, llm) == before  # each reply once: the last part lost nothing
    check_rows(found)
    return report(found)


def wait(until: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_killed_server_ends_as_if_it_had_not_been(tmp_path: Path, expected: str):
    llm = flaky()
    with on_sqlite(tmp_path, **options(llm)) as found:

        def start() -> Child:
            return found.start("manage.py", "serve", "--port", str(free_port()))

        assert torture(found, llm, start, seed=1) == expected


def test_a_killed_worker_ends_as_if_it_had_not_been(tmp_path: Path, expected: str):
    llm = flaky()
    with on_postgres(tmp_path, **options(llm)) as found:

        def start() -> Child:
            return found.start("-m", "celery", "-A", "sensejudge_site", "worker", "-c", "2")

        assert torture(found, llm, start, seed=2) == expected
