from __future__ import annotations

import subprocess
import sys

import pytest

from judging.services.heartbeats import has_died, this_process


@pytest.fixture
def other():
    """A process that prints how it is known, and stays until its input ends."""
    code = (
        "import django; django.setup();"
        "from judging.services.heartbeats import this_process; print(this_process()); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        yield process
        process.kill()


def test_a_process_is_known_to_have_died_once_it_has(other):
    name = other.stdout.readline().strip()
    assert not has_died(name)
    other.kill()
    other.wait(10)
    assert has_died(name)


def test_a_process_that_got_the_number_of_a_dead_one_is_another():
    host, number, start = this_process().split()
    assert not has_died(f"{host} {number} {start}")
    assert has_died(f"{host} {number} {int(start) - 1}")


def test_nobody_tells_of_a_process_elsewhere_or_of_none_that_it_died():
    _host, number, start = this_process().split()
    assert not has_died(f"elsewhere {number} {int(start) - 1}")
    name, machine, container = _host.split("/")
    for other in (f"{name}/{machine}/1", f"{name}/other-start/{container}"):
        assert not has_died(f"{other} {number} {int(start) - 1}")
    assert not has_died("")


def test_a_process_that_may_not_be_asked_lives(monkeypatch):
    def refuse(_number, _signal):
        raise PermissionError

    monkeypatch.setattr("os.kill", refuse)
    assert not has_died(this_process())
