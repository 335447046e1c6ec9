from __future__ import annotations

import errno
import sqlite3
from pathlib import Path

import pytest
from django.db import OperationalError

from annotation.models import Dataset
from tests.annotation.records import pair
from tests.annotation.test_views_import import lines, send
from tests.factory import make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


@pytest.fixture
def full_disk(monkeypatch):
    """Linux's own full disk: what is written there finds no room."""
    real = Path.open

    def opened(path, mode="r", *args, **more):
        target = Path("/dev/full") if "w" in mode and "uploads" in path.parts else path
        return real(target, mode, *args, **more)

    monkeypatch.setattr(Path, "open", opened)


FULL = "The server&#x27;s disk is full, so nothing was imported."


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full on this system")
def test_an_upload_that_finds_no_room_is_refused_and_leaves_nothing(manager, full_disk, settings):
    answer = send(manager, lines(pair()))
    assert answer.status_code == 422
    assert FULL in answer.content.decode()
    assert not Dataset.objects.exists()
    assert list((Path(settings.VAR_DIR) / "uploads").glob("*")) == []


def out_of_space(code):
    cause = sqlite3.OperationalError("database or disk is full")
    cause.sqlite_errorcode = code
    try:
        raise OperationalError(str(cause)) from cause
    except OperationalError as error:
        return error


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), 422),
        (out_of_space(sqlite3.SQLITE_FULL), 422),
        (out_of_space(sqlite3.SQLITE_BUSY), 503),
    ],
)
def test_an_import_that_finds_no_room_is_refused(manager, monkeypatch, error, status):
    def fails(*_args):
        raise error

    monkeypatch.setattr("annotation.services.imports.staging.Staging.write", fails)
    manager.raise_request_exception = False
    answer = send(manager, lines(pair()))
    assert answer.status_code == status
    assert (FULL in answer.content.decode()) == (status == 422)
    assert not Dataset.objects.exists()
