"""Kill -9 in the middle of runs that take their steps by other runs, start again: nothing is lost.

An injection check, an ablation and a comparison of evaluators, one after the other, each killed
once and given again.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.fake_llm import FakeLlm
from tests.functional.test_killed_runs import PATIENCE, canonical, kill, on_sqlite

pytestmark = pytest.mark.processes

MAKE = """
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.judging.study import make_study
make_study(comparisons=8)
make_rated_dataset("rated", users=("eve", "fay"))
"""
COMMANDS = {
    "CHECK": ("injection_check", "--judge", "llm", "--pairs", "1"),
    "ABLATE": ("ablate", "--vary", "preferences", "--judge", "llm"),
    "EVALUATE": ("evaluate_satisfaction", "--train", "rated", "--test", "rated"),
}
"""By the kind of their run; the dataset of the pairs has a name that is made."""


def test_long_runs_go_on_where_a_kill_left_them(tmp_path: Path):
    endpoint = FakeLlm(rule="longer", latency=0.05)
    settings = {"RUN_STALE_SECONDS": "600", "LLM_CONCURRENCY": "4"}
    with on_sqlite(tmp_path, endpoint=endpoint, make=MAKE, **settings) as found:
        slug = found.query("SELECT slug FROM annotation_dataset ORDER BY id")[0][0]
        for kind, (name, *options) in COMMANDS.items():
            more = ["--evaluators", "llm", "history_mean"] if kind == "EVALUATE" else []
            more += [] if kind == "EVALUATE" else ["--dataset", slug]
            command = ("manage.py", name, *options, *more)
            before = len(found.llm.bodies)
            process = found.start(*command)
            deadline = time.monotonic() + PATIENCE
            while len(found.llm.bodies) < before + 12:
                assert time.monotonic() < deadline
                time.sleep(0.02)
            kill(process)
            paid, committed = len(found.llm.bodies), found.committed()
            status = f"SELECT status FROM judging_judgerun WHERE kind = '{kind}'"  # noqa: S608
            assert found.query(status) == [("RUNNING",)]
            found.manage(*command[1:])
            assert found.query(status) == [("DONE",)]
            again = committed.intersection(
                canonical(body) for body in list(found.llm.bodies)[paid:]
            )
            assert not again
        assert found.query("SELECT kind FROM benchmark_verificationreport ORDER BY id") == [
            ("ablation",),
            ("satisfaction",),
        ]
        waiting = "SELECT count(*) FROM judging_rununit WHERE status != 'DONE'"
        assert found.query(waiting) == [(0,)]
