"""The key that a site makes for itself is there whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from sensejudge_site import kept_secret as kept_secret_module
from sensejudge_site.kept_secret import kept_secret
from tests.paths import ROOT

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
NOT_WHOLE = ["", "\n", "abc", "\0" * 67, "x" * 49]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "secret-key"


def started(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """What became of a process of a site that has no key of its own."""
    without = ("SECRET_KEY", "DATABASE_URL")
    env = {name: value for name, value in os.environ.items() if name not in without}
    env |= {"SENSEJUDGE_VAR": str(folder), "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings"}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_a_key_is_made_once_for_its_owner_alone(place):
    key = kept_secret(place)
    assert len(key) == 67
    assert kept_secret(place) == key
    assert place.stat().st_mode & 0o777 == 0o600
    assert list(place.parent.iterdir()) == [place]


@pytest.mark.parametrize("call", ["fsync", "link"])
def test_a_full_disk_leaves_no_file(place, monkeypatch, call):
    def refuse(*_arguments: object) -> None:
        raise FULL

    monkeypatch.setattr(os, call, refuse)
    with pytest.raises(ImproperlyConfigured, match="No space left on device"):
        kept_secret(place)
    assert not list(place.parent.iterdir())


def test_of_two_processes_that_make_it_one_key_stands(place):
    barrier = Barrier(8)

    def make(_number: int) -> str:
        barrier.wait()
        return kept_secret(place)

    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(make, range(8)))
    assert keys == {place.read_text()}


def test_a_key_made_meanwhile_is_not_overwritten(place, monkeypatch):
    link = os.link

    def too_late(made: str, path: Path) -> None:
        path.write_text("theirs" * 10)
        link(made, path)

    monkeypatch.setattr(os, "link", too_late)
    assert kept_secret(place) == "theirs" * 10
    assert list(place.parent.iterdir()) == [place]


class TestWithoutHardLinks:
    @pytest.fixture(autouse=True, params=[errno.EPERM, errno.ENOTSUP])
    def no_links(self, monkeypatch, request):
        def refuse(*_arguments: object) -> None:
            raise OSError(request.param, os.strerror(request.param))

        monkeypatch.setattr(os, "link", refuse)

    def test_a_key_is_made_all_the_same(self, place):
        test_a_key_is_made_once_for_its_owner_alone(place)

    def test_one_key_stands(self, place):
        test_of_two_processes_that_make_it_one_key_stands(place)
        assert list(place.parent.iterdir()) == [place]

    def test_a_key_made_meanwhile_is_not_overwritten(self, place, monkeypatch):
        touch = Path.touch

        def too_late(turn: Path, **options: Any) -> None:
            touch(turn, **options)
            place.write_text("theirs" * 10)

        monkeypatch.setattr(Path, "touch", too_late)
        assert kept_secret(place) == "theirs" * 10
        assert list(place.parent.iterdir()) == [place]

    @pytest.mark.parametrize("call", ["touch", "rename"])
    def test_a_full_disk_leaves_no_file(self, place, monkeypatch, call):
        def refuse(*_arguments: object, **_options: object) -> None:
            raise FULL

        monkeypatch.setattr(Path, call, refuse)
        with pytest.raises(ImproperlyConfigured, match="No space left on device"):
            kept_secret(place)
        assert not list(place.parent.iterdir())

    def test_a_start_that_broke_off_is_named(self, place, monkeypatch):
        monkeypatch.setattr(kept_secret_module, "_PATIENCE", 0.05)
        place.with_name("secret-key-turn").touch()
        with pytest.raises(ImproperlyConfigured, match="left secret-key-turn: delete it"):
            kept_secret(place)
        assert not place.exists()


@pytest.mark.parametrize("content", NOT_WHOLE)
def test_a_file_without_a_whole_key_is_named(place, content):
    place.write_text(content)
    with pytest.raises(ImproperlyConfigured, match=f"The secret key in {place} is incomplete"):
        kept_secret(place)
    assert place.read_text() == content


@pytest.mark.processes
@pytest.mark.parametrize("command", [["check"], ["serve"], ["migrate"], ["nonsense"]])
def test_every_command_says_so_in_one_line(place, command):
    place.touch()
    done = started(place.parent, "manage.py", *command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"The secret key in {place} is incomplete. ")
    assert done.stderr.count("\n") == 1


@pytest.mark.processes
def test_a_server_does_not_start_either(place):
    place.touch()
    done = started(place.parent, "-c", "from sensejudge_site.wsgi import application")
    assert done.returncode != 0
    assert f"The secret key in {place} is incomplete" in done.stderr.splitlines()[-1]
