"""Kill -9 while two models answer in a construction, run it again: rows as without a kill."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.benchmark.construction import TwoModels
from tests.functional.test_killed_runs import PATIENCE, canonical, kill, on_sqlite

pytestmark = pytest.mark.processes

MAKE = """
import os
from tests.benchmark.construction import REQUESTS, make_raw
from tests.factory import make_endpoint
poem = "Write poem {0} on rain in {0} verses, with birds in verse {0} and stars."
make_raw(REQUESTS | {f"poem {n}": poem.format(n) for n in range(8)})
for name in ("strong", "weak"):
    make_endpoint(name=name, base_url=os.environ["LLM_BASE_URL"], model=f"{name}-1", concurrency=4)
"""
MODELS = ("--judge", "llm", "--strong", "strong", "--weak", "weak")
COMMAND = ("manage.py", "construct", "--source", "raw", "--to", "one", *MODELS, "--json")
ROWS = """
SELECT key, dropped_at, reason FROM benchmark_constructionitem
JOIN annotation_session session ON session.id = session_id
"""


def test_a_killed_construction_gives_the_same_rows(tmp_path: Path):
    llm = TwoModels(latency=0.05)
    settings = {"RUN_STALE_SECONDS": "600", "LLM_CONCURRENCY": "4"}
    with on_sqlite(tmp_path, endpoint=llm, make=MAKE, **settings) as site:
        process = site.start(*COMMAND)
        deadline = time.monotonic() + PATIENCE
        while len(llm.bodies) < 24:  # dialogues are sorted, and the strong model has begun
            assert process.poll() is None, "it was over before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.01)
        kill(process)
        paid, committed = len(llm.bodies), site.committed()
        told = json.loads(site.manage(*COMMAND[1:]))
        again = [canonical(body) for body in list(llm.bodies)[paid:]]
        assert committed.isdisjoint(again)
        rows = {key: (stage, reason) for key, stage, reason in site.query(ROWS)}
        assert rows == {f"poem {n}": ("", "") for n in range(8)} | {
            "copied": ("", ""),
            "copy": ("DUPLICATES", "EXACT"),
            "short": ("QUALITY", "SHORT"),
            "mail": ("PRIVACY", "EMAIL"),
            "simple": ("SORTING", "too simple"),
            "train": ("", ""),
            "weak": ("CHALLENGE", "WEAK_WINS"),
            "alike": ("CHALLENGE", "EQUAL"),
            "silent": ("CHALLENGE", "NO_ANSWER"),
        }
        assert told["kept"] == 10
        runs = "SELECT kind FROM judging_judgerun ORDER BY id"
        kinds = ["CONSTRUCT", "SORT", "GENERATE", "GENERATE", "TEST"]
        assert [kind for (kind,) in site.query(runs)] == kinds
