"""Whatever refuses a request, it is answered in a sentence: a page, or the API's JSON."""

from __future__ import annotations

import base64
import errno
import re
import sqlite3
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.db import DataError, InterfaceError, OperationalError, connection
from django.test import Client
from django.urls import URLResolver, get_resolver

from annotation.models import Role
from annotation.services.disk import is_full
from sensejudge_site.middleware import is_unavailable, is_unstorable
from tests.factory import make_run, make_user

pytestmark = pytest.mark.django_db

NEED_NO_ROWS = {"/sign-in/", "/language/", "/theme/", "/api/schema/"}
"""Addresses that answer strangers without the database."""


@pytest.fixture
def visitor() -> Client:
    """Somebody who sees the page of an error, as everybody does."""
    client = Client(raise_request_exception=False)
    client.force_login(make_user(role=Role.ADMIN))
    return client


@pytest.fixture
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that nobody reaches any more."""

    def refuse(*_arguments: object, **_options: object) -> None:
        raise OperationalError("connection refused")

    monkeypatch.setattr(connection, "cursor", refuse)
    monkeypatch.setattr(connection, "_savepoint", refuse)


def paths(patterns: list[Any] | None = None, start: str = "/") -> Iterator[str]:
    """An address of every route, with the first of a choice and 1 for other parameters."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        path = f"{start}{each.pattern}"
        if isinstance(each, URLResolver):
            yield from paths(each.url_patterns, path)
            continue
        path = re.sub(r"\(\?P<\w+>(\w+)\|[^()]*\)", r"\1", path)
        path = re.sub(r"\(\?P<\w+>[^()]*\)|<[^>]+>", "1", path)
        yield re.sub(r"[\\^$]", "", path)


class TestDatabaseAway:
    @pytest.mark.parametrize("method", ["get", "head", "post"])
    def test_every_page_says_so(self, visitor, away, method):
        asked = sorted({path for path in paths() if path not in NEED_NO_ROWS})
        assert len(asked) > 100
        answers = {path: getattr(visitor, method)(path) for path in asked}
        statuses = {path: each.status_code for path, each in answers.items()}
        refused = {401, 404, 405} if method == "post" else {302, 401, 404, 405}
        odd = {path: status for path, status in statuses.items() if status not in {503, *refused}}
        assert not odd
        assert sum(status == 503 for status in statuses.values()) > 60

    def test_a_page_says_what_to_do(self, visitor, away):
        answer = visitor.get("/studies/")
        assert answer.status_code == 503
        assert "The database is not responding" in answer.content.decode()
        assert "Try again in a minute." in answer.content.decode()
        assert answer.headers["Retry-After"] == "30"

    def test_the_api_says_so_in_its_own_shape(self, visitor, away):
        answer = visitor.get("/api/v1/labels/")
        assert answer.status_code == 503
        assert answer.json()["code"] == "api:unavailable"

    @pytest.mark.parametrize("path", ["/studies/", "/api/v1/labels/"])
    def test_a_full_disk_is_said(self, visitor, monkeypatch, path):
        def fails(*_args):
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr("django.test.client.ClientHandler.resolve_request", fails)
        answer = visitor.get(path)
        assert answer.status_code == 507
        assert "disk is full" in answer.content.decode().replace("&#x27;", "'")

    def test_our_own_faults_stay_faults(self, visitor, monkeypatch):
        monkeypatch.setattr("annotation.api.views.Dataset.objects", None)
        monkeypatch.setattr("annotation.api.views.DatasetViewSet.queryset", None)
        answer = visitor.get("/api/v1/datasets/")
        assert answer.status_code == 500
        assert answer.json()["code"] == "api:server_error"


def raised(error: type[Exception], cause: Exception | None) -> Exception:
    try:
        raise error("refused") from cause
    except error as made:
        return made


def of_sqlite(code: int) -> Exception:
    made = sqlite3.OperationalError("refused")
    made.sqlite_errorcode = code
    return made


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (raised(OperationalError, psycopg.OperationalError("refused")), True),
        (raised(OperationalError, psycopg.errors.AdminShutdown()), True),
        (raised(InterfaceError, psycopg.InterfaceError("the connection is closed")), True),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_BUSY)), True),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_FULL)), True),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_IOERR_FSYNC)), True),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_ERROR)), False),
        (raised(DataError, psycopg.DataError("NUL")), False),
        (ValueError(), False),
        (None, False),
    ],
)
def test_what_means_that_it_is_away(error, away):
    assert is_unavailable(error) is away


@pytest.mark.parametrize(
    ("error", "unstorable"),
    [
        (raised(DataError, psycopg.DataError("NUL")), True),
        (raised(DataError, psycopg.errors.NumericValueOutOfRange()), True),
        (raised(DataError, psycopg.errors.DivisionByZero()), False),
        (OverflowError("Python int too large to convert to SQLite INTEGER"), True),
        (OverflowError("math range error"), False),
        (None, False),
    ],
)
def test_what_no_column_can_hold(error, unstorable):
    assert is_unstorable(error) is unstorable


class TestUnstorable:
    @pytest.mark.parametrize(
        "path",
        [
            f"/admin/judging/preference/?run={2**63}",
            f"/admin/judging/judgerun/?id__in={10**30}",
            "/admin/judging/judgerun/?q=%00",
            "/admin/judging/judgerun/?judge=%00",
            "/trust/ablations/?dataset=%00",
            "/runs/?dataset=%00",
            "/api/v1/runs/?judge=%00",
            f"/api/v1/preferences/?run={10**30}",
            f"/api/v1/labels/{10**30}/",
            f"/runs/{10**18}/",
            f"/runs/{2**64}/",
            f"/runs/{'9' * 5000}/",
            f"/runs/compare/?run={'9' * 5000}&run={2**64}",
            f"/trust/satisfaction/?report={'9' * 5000}",
            f"/runs/?page={'9' * 5000}",
        ],
    )
    def test_it_is_refused_or_not_found(self, visitor, path):
        make_run()
        assert visitor.get(path).status_code in {200, 302, 400, 404}

    def test_a_name_that_no_user_can_have_gets_no_token(self, client):
        client.raise_request_exception = False
        sent = base64.b64encode(b"a\x00b:password").decode()
        answer = client.post("/api/v1/token/", headers={"Authorization": f"Basic {sent}"})
        assert answer.status_code in {400, 401, 403}


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (raised(OperationalError, psycopg.errors.DiskFull()), True),
        (raised(OperationalError, psycopg.errors.AdminShutdown()), False),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_FULL)), True),
        (raised(OperationalError, of_sqlite(sqlite3.SQLITE_BUSY)), False),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (None, False),
    ],
)
def test_what_means_that_a_disk_is_full(error, full):
    assert is_full(error) is full
