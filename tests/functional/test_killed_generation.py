"""Kill -9 while a model answers questions of two turns: no reply is paid for twice.

The command is killed while second turns are asked, and run again: every second turn continues the
reply that was stored for its first, and no call whose reply was stored comes in again.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from tests.fake_llm import FakeLlm
from tests.functional.test_killed_runs import canonical, kill, on_sqlite

pytestmark = pytest.mark.processes

SESSIONS, PATIENCE = 80, 90.0
MAKE = f"""
from tests.factory import make_dataset, make_scenario, make_session, make_turn
scenario = make_scenario(make_dataset(slug="data"))
for number in range({SESSIONS}):
    session = make_session(scenario)
    make_turn(session, user_message=f"First {{number}}")
    make_turn(session, user_message=f"Then {{number}}")
"""
COMMAND = ("generate", "--dataset", "data", "--models", "llm", "--json")
LINES = """
SELECT one.status, before.status, text.continues_id = before.response_id
FROM judging_generatedresponse one
LEFT JOIN annotation_response text ON text.id = one.response_id
LEFT JOIN judging_generatedresponse before ON before.id = one.previous_id
"""


def test_a_killed_generation_pays_for_no_reply_twice(tmp_path: Path):
    llm = FakeLlm(latency=0.1)
    with on_sqlite(tmp_path, endpoint=llm, make=MAKE, RUN_STALE_SECONDS="1") as site:
        process = site.start("manage.py", *COMMAND)
        deadline = time.monotonic() + PATIENCE
        while len(site.committed()) <= SESSIONS:
            assert process.poll() is None, "the run was over before it could be killed"
            assert time.monotonic() < deadline
            time.sleep(0.02)
        kill(process)
        stored, before = site.committed(), len(llm.bodies)
        assert SESSIONS < len(stored) < 2 * SESSIONS
        done = json.loads(site.manage(*COMMAND))
        assert (done["generated"], done["failed"]) == (2 * SESSIONS, 0)
        rest = [canonical(body) for body in list(llm.bodies)[before:]]
        assert stored.isdisjoint(rest)
        assert len(rest) == len(set(rest)) == 2 * SESSIONS - len(stored)
        assert {tuple(map(str, row)) for row in site.query(LINES)} == {
            ("DONE", "None", "None"),
            ("DONE", "DONE", "1"),
        }
        again = json.loads(site.manage(*COMMAND))
        assert (again["generated"], again["calls"], again["responses"]) == (2 * SESSIONS, 0, 0)
        assert len(llm.bodies) == before + len(rest)
