"""`manage.py` itself: what is no fault of the program ends in a sentence, not in a stack trace."""

from __future__ import annotations

import os
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from tests.children import Child
from tests.migrated import copy_migrated
from tests.paths import ROOT

pytestmark = pytest.mark.processes


def _environment(**env: str) -> dict[str, str]:
    usual = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return {**usual, "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings", **env}


def _error_of(folder: Path, *arguments: str, **env: str) -> str:
    """What a command says that fails with 1."""
    env = _environment(SENSEJUDGE_VAR=str(folder), **env)
    child = Child(["manage.py", *arguments], env=env, said=folder / "said")
    assert child.wait(60) == 1
    return (folder / "said.err").read_text(encoding="utf-8")


def _manage(*arguments: str, **env: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=_environment(**env),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_a_command_before_the_first_migrate_says_what_to_run(tmp_path: Path) -> None:
    command = _manage("leaderboard", "--dataset", "any", SENSEJUDGE_VAR=str(tmp_path))
    _, said = command.communicate(timeout=60)
    assert command.returncode == 1
    assert said == "The database is not up to date: run `manage.py migrate` first.\n"


def test_traceback_shows_it_all_the_same(tmp_path: Path) -> None:
    assert "no such table" in _error_of(tmp_path, "leaderboard", "--dataset", "any", "--traceback")


def test_a_database_that_does_not_answer_is_named(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        address = f"postgres://nobody@127.0.0.1:{port}/nothing"
        said = _error_of(tmp_path, "leaderboard", "--dataset", "any", DATABASE_URL=address)
    assert said.startswith("The database cannot be reached: ")
    assert "Traceback" not in said


def test_a_reader_that_has_enough_is_no_fault() -> None:
    with _manage("help", "--commands") as command:
        assert command.stdout is not None
        assert command.stderr is not None
        command.stdout.close()
        assert command.stderr.read() == ""
        assert command.wait(timeout=60) == 1


@pytest.mark.parametrize(
    "arguments", [("migrate",), ("leaderboard", "--dataset", "any")], ids=" ".join
)
def test_a_database_of_another_version_is_left_alone(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    copy_migrated(tmp_path / "sensejudge.sqlite3")
    with closing(sqlite3.connect(tmp_path / "sensejudge.sqlite3")) as database, database:
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) "
            "VALUES ('annotation', '0006_reveal_turns', '2026-11-01')"
        )
        database.execute("DROP TABLE annotation_dataset")
    error = _error_of(tmp_path, *arguments)
    assert "This database was created by another version of SenseJudge. Export its data" in error
    assert "Traceback" not in error
