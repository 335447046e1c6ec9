"""Kill -9 of a command at a random moment, beside a server that was started meanwhile.

While the command works the server leaves its run alone; once it is dead the server takes the run
up. Every question is paid for once, those in flight at the kill at most twice. `make kill-test`
kills each command ten times.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.children import Child
from tests.fake_llm import FakeLlm
from tests.functional.test_killed_runs import (
    PATIENCE,
    Site,
    canonical,
    free_port,
    kill,
    on_sqlite,
)

pytestmark = pytest.mark.processes

KILLS = 10 if "KILL_TEST" in os.environ else 1
CONCURRENCY = 4
LATENCY = 0.3
LATEST = 40  # calls before the kill; each run has more than 50
STALE = 6
COMMANDS = {
    "DISTIL": ("distil", "--no-control", "--dataset", "{pairs}", "--judge", "llm"),
    "TEST": ("judge", "--preferences", "none", "--dataset", "{pairs}", "--judge", "llm"),
    "EVALUATE": (
        *("evaluate_satisfaction", "--train", "rated-{n}", "--test", "rated-{n}"),
        *("--evaluators", "llm", "history_mean", "--bootstrap", "0"),
    ),
}
"""By the kind of their run; each kill has datasets of its own, whose questions nobody asked."""
KINDS = tuple(COMMANDS) if "KILL_TEST" in os.environ else ("DISTIL", "EVALUATE")
"""Those tried; `judge` takes longest, and works as `distil` does."""
MAKE = f"""
from django.db import transaction
from annotation.models import Response
from tests.benchmark.services.test_satisfaction_evaluation import make_rated_dataset
from tests.judging.study import make_study
with transaction.atomic():
    for n in range({max(KILLS, len(COMMANDS))}):
        make_study(comparisons=60)
    for n in range({KILLS}):
        make_rated_dataset(f"rated-{{n}}", users=("ann", "cid", "dan", "eve", "fay"))
    for row in Response.objects.all():
        row.text += f" This is number {{row.pk}}."
        row.save()
"""


def site_of(tmp_path: Path, *, stale: int) -> Iterator[Site]:
    endpoint = FakeLlm(rule="longer", latency=LATENCY)
    settings = {"RUN_STALE_SECONDS": str(stale), "LLM_CONCURRENCY": str(CONCURRENCY)}
    with on_sqlite(tmp_path, endpoint=endpoint, make=MAKE, **settings) as found:
        yield found


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    yield from site_of(tmp_path, stale=STALE)


@pytest.fixture
def patient_site(tmp_path: Path) -> Iterator[Site]:
    """Where no sign of life is too old, however busy the machine is."""
    yield from site_of(tmp_path, stale=600)


def serve(site: Site, *options: str) -> Child:
    return site.start("manage.py", "serve", "--port", str(free_port()), *options)


def pairs(site: Site) -> Iterator[str]:
    named = "SELECT slug FROM annotation_dataset WHERE slug NOT LIKE 'rated-%' ORDER BY id"
    return iter([slug for (slug,) in site.query(named)])


def words(kind: str, pairs: str, n: int = 0) -> list[str]:
    return [word.format(pairs=pairs, n=n) for word in COMMANDS[kind]]


def status(site: Site, kind: str) -> tuple[str, int]:
    """Of the newest run of a kind: how it is, and how often it was taken up."""
    newest = f"SELECT status, generation FROM judging_judgerun WHERE kind = '{kind}' ORDER BY id"  # noqa: S608
    rows = site.query(newest)
    return rows[-1] if rows else ("", 0)


def wait(until) -> None:
    deadline = time.monotonic() + PATIENCE
    while not until():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def asked(site: Site, since: int) -> Counter[str]:
    return Counter(canonical(body) for body in list(site.llm.bodies)[since:])


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_command_is_followed_by_a_server_that_pays_for_nothing_twice(site, kind):
    rng = random.Random(f"{kind} {os.environ.get('KILL_TEST', '')}")
    slugs, twice, lost = pairs(site), 0, 0
    for n in range(KILLS):
        before = len(site.llm.bodies)
        moment = before + rng.randint(1, LATEST)
        site.llm.most_answers = site.llm.answered + moment - before  # and the run is not over yet
        command = site.start("manage.py", *words(kind, next(slugs), n))
        wait(lambda: len(site.llm.bodies) > before)  # noqa: B023
        server = serve(site)
        wait(lambda: len(site.llm.bodies) >= moment)  # noqa: B023
        time.sleep(rng.uniform(0.0, LATENCY))
        assert status(site, kind) == ("RUNNING", 1)
        kill(command)
        paid, committed = asked(site, before), site.committed()
        assert max(paid.values()) == 1
        in_flight = paid.keys() - committed
        site.llm.most_answers = math.inf
        wait(lambda: status(site, kind)[0] == "DONE")
        again = {body for body, count in asked(site, before).items() if count > 1}
        assert again <= in_flight
        assert asked(site, before).total() == len(asked(site, before)) + len(again)
        twice, lost = twice + len(again), lost + len(in_flight)
        kill(server)
    print(f"{kind}: {KILLS} kills, {len(site.llm.bodies)} calls, {lost} in flight, {twice} again")  # noqa: T201


def test_a_server_beside_a_working_command_leaves_its_run_alone(patient_site):
    site, slugs = patient_site, pairs(patient_site)
    for kind in KINDS:
        before = len(site.llm.bodies)
        command = site.start("manage.py", *words(kind, next(slugs)))
        wait(lambda: len(site.llm.bodies) > before)  # noqa: B023
        server = serve(site)
        assert command.wait(PATIENCE) == 0
        assert status(site, kind) == ("DONE", 1)
        assert max(asked(site, before).values()) == 1
        kill(server)


def test_a_server_may_leave_what_a_command_left_and_never_takes_up_what_was_replaced(site):
    command = words("DISTIL", next(pairs(site)))
    first = site.start("manage.py", *command)
    wait(lambda: len(site.llm.bodies) > CONCURRENCY)
    kill(first)
    before = len(site.llm.bodies)
    server = serve(site, "--no-resume")
    time.sleep(2 * STALE)
    assert (status(site, "DISTIL"), len(site.llm.bodies)) == (("RUNNING", 1), before)
    kill(server)
    site.manage(*command, "--dev", "2")
    before = len(site.llm.bodies)
    serve(site)
    time.sleep(2 * STALE)
    assert site.query("SELECT status FROM judging_judgerun ORDER BY id") == [
        ("RUNNING",),
        ("DONE",),
    ]
    assert len(site.llm.bodies) == before
