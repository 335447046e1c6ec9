"""Ctrl-C and SIGTERM on a command that waits for replies: one line, a status, no call twice."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from tests.fake_llm import FakeLlm
from tests.functional.test_killed_judging import MAKE, PATIENCE, Deployment, wait
from tests.functional.test_killed_runs import STATE_ABILITIES
from tests.migrated import copy_migrated
from tests.paths import ROOT

pytestmark = pytest.mark.processes

CALLS = 40
FIRST = 6  # replies that come before the signal; the others wait until the command has ended
COMMANDS = {
    "judge": ("judge", "--dataset", "{}", "--judge", "llm", "--preferences", "none"),
    "generate": ("generate", "--dataset", "{}", "--models", "llm"),
}


@pytest.fixture
def site(tmp_path):
    with FakeLlm() as llm:
        deployment = Deployment(tmp_path, llm)
        deployment.env["LLM_TIMEOUT_SECONDS"] = str(PATIENCE)
        copy_migrated(tmp_path / "sensejudge.sqlite3")
        deployment.manage("shell", "-c", MAKE.format(count=CALLS // 2))
        yield deployment


# A shell that starts tests in the background has them ignore Ctrl-C, and so would the command.
LISTENING = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, "manage.py", *sys.argv[1:]])
"""


def ended_by(number, site, command):
    """Status and errors of a command that gets a signal while it waits for replies."""
    process = subprocess.Popen(
        [sys.executable, "-c", LISTENING, *command],
        env=site.env,
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait(lambda: site.stored() >= FIRST or process.poll() is not None)
        process.send_signal(number)
        _, said = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    return process.returncode, said.splitlines()


@pytest.mark.parametrize(
    ("name", "number", "code", "line", "status"),
    [
        ("judge", signal.SIGINT, 130, "Interrupted. Run 1 keeps what was answered", "PENDING"),
        ("generate", signal.SIGTERM, 143, "Terminated. Run 1 keeps what was answered", "RUNNING"),
    ],
)
def test_a_signal_ends_a_command_and_nothing_is_paid_twice(site, name, number, code, line, status):
    site.manage("shell", "-c", STATE_ABILITIES)
    site.llm.most_answers = FIRST
    command = [word.format(site.dataset) for word in COMMANDS[name]]
    assert site.llm.answered == 0
    returncode, said = ended_by(number, site, command)
    assert returncode == code
    assert [one for one in said if line in one] == said[-1:]
    assert "Traceback" not in "\n".join(said)
    assert site.query("SELECT status FROM judging_judgerun") == [(status,)]
    assert site.query("SELECT count(*) FROM judging_callclaim") == [(0,)]
    assert site.stored() == FIRST
    site.llm.most_answers = float("inf")
    site.manage(*command)
    assert site.query("SELECT status FROM judging_judgerun") == [("DONE",)]
    assert site.llm.answered == site.stored()
