"""Kill -9 while rubrics are induced (SPUR): what was answered is not paid for again.

A real process on SQLite is killed twice: while reasons are drawn from single turns, and when all
of that is condensed but the rubrics themselves are not answered. In the end the rubrics and the
scores are those of a run that nobody disturbed.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.fake_llm import Act, FakeLlm
from tests.functional.test_killed_runs import Site, canonical, kill, on_sqlite

pytestmark = pytest.mark.processes

# Two halves of the users teach each other: 45 turns each, of which 18 satisfied (no chunks) and
# 27 dissatisfied (two chunks).
PEOPLE, SCENARIOS, TURNS = 6, 3, 5
REASONS = SCORES = PEOPLE * SCENARIOS * TURNS
CONDENSED, RUBRICS = 4, 4
PATIENCE = 90.0
ASKED_FOR_RUBRICS = "than this number:\n\n10\n"

MAKE = f"""
from tests.judging.ratings import make_ratings
from judging.core.rules import SatisfactionSettings
from judging.core.rules import Variant
from judging.submission import submit
from tests.judging.study import planned_satisfaction
dataset = make_ratings(people={PEOPLE}, scenarios={SCENARIOS}, turns={TURNS})
settings = SatisfactionSettings(variant=Variant.SPUR)
submit([planned_satisfaction(dataset=dataset, judge="llm", settings=settings)])
"""
FINISH = """
from judging.models import InducedRubric, JudgeRun, SatisfactionJudgment
from judging.services.foreground import run_to_end
print("REPORT", run_to_end(JudgeRun.objects.get().pk).status)
for row in InducedRubric.objects.order_by("pk"):
    print("REPORT", row.step, row.fold, row.satisfied, row.position, row.status, repr(row.text))
for row in SatisfactionJudgment.objects.order_by("pk"):
    print("REPORT", row.pk, row.status, row.score, row.calibrated)
"""


def finished(site: Site) -> list[str]:
    """Works the run off to its end; what became of it, line by line."""
    told = site.manage("shell", "-v", "0", "-c", FINISH).splitlines()
    return [line for line in told if line.startswith("REPORT")]


def undisturbed(site: Site, folder: Path) -> list[str]:
    """What a copy of the deployment ends with."""
    shutil.copytree(site.env["SENSEJUDGE_VAR"], folder)
    return finished(replace(site, env=site.env | {"SENSEJUDGE_VAR": str(folder)}))


def killed_when(site: Site, ready: Callable[[], bool]) -> set[str]:
    """Starts the work and kills it at a moment; the calls whose replies are stored then."""
    process = site.start("manage.py", "shell", "-v", "0", "-c", FINISH)
    deadline = time.monotonic() + PATIENCE
    while not ready():
        assert process.poll() is None, "the run was over before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.02)
    kill(process)
    assert site.status() == "RUNNING"
    return site.committed()


def test_a_killed_induction_pays_for_no_reply_twice(tmp_path: Path):
    llm, folder = FakeLlm(latency=0.05), tmp_path / "killed"
    folder.mkdir()
    with on_sqlite(folder, endpoint=llm, make=MAKE, RUN_STALE_SECONDS="1") as site:
        expected = undisturbed(site, tmp_path / "calm")
        assert expected[0] == "REPORT DONE"
        assert len(expected) == 1 + REASONS + CONDENSED + RUBRICS + SCORES
        calls = llm.stats()["calls"]
        assert calls == len(expected) - 1
        llm.bodies.clear()

        llm.told = {"p5 kind 2": Act(delay=PATIENCE)}  # so that this stage cannot be over
        drawing = killed_when(site, lambda: len(site.committed()) >= REASONS // 3)
        assert len(drawing) <= REASONS - TURNS

        first = len(llm.bodies)
        llm.told = {ASKED_FOR_RUBRICS: Act(delay=PATIENCE)}
        condensed = killed_when(site, lambda: waiting(llm, first) == RUBRICS)
        assert len(condensed) == REASONS + CONDENSED
        assert drawing.isdisjoint(canonical(body) for body in list(llm.bodies)[first:])

        second = len(llm.bodies)
        llm.told = {}
        assert finished(site) == expected
        rest = [canonical(body) for body in list(llm.bodies)[second:]]
        assert condensed.isdisjoint(rest)
        assert len(rest) == len(set(rest)) == RUBRICS + SCORES


def waiting(llm: FakeLlm, since: int) -> int:
    """How many calls for rubrics came in, none of which is answered."""
    return sum(
        ASKED_FOR_RUBRICS in body["messages"][-1]["content"] for body in list(llm.bodies)[since:]
    )
