from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import OperationalError, connection, connections

from sensejudge_site.sqlite3.base import DatabaseWrapper

pytestmark = pytest.mark.django_db

SECONDS = 30


@pytest.fixture
def connect(tmp_path):
    """Makes connections to one empty database; they are closed at the end."""
    opened = []

    def made(timeout=SECONDS):
        options = {"transaction_mode": "IMMEDIATE", "timeout": timeout}
        settings = {
            **connection.settings_dict,
            "NAME": str(tmp_path / "rows.sqlite3"),
            "OPTIONS": options,
        }
        wrapper = DatabaseWrapper(settings, f"own-{len(opened)}")
        wrapper.inc_thread_sharing()
        opened.append(wrapper)
        return wrapper

    yield made
    for wrapper in opened:
        wrapper.close()


def begin(wrapper):
    wrapper.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)


def run(wrapper, statement="SELECT 1"):
    with wrapper.cursor() as cursor:
        return cursor.execute(statement).fetchall()


def test_a_transaction_begins_once_the_one_before_it_has_ended(connect):
    first, second = connect(), connect()
    begin(first)
    waiting, seen = Event(), []

    def follow():
        waiting.set()
        begin(second)
        seen.extend(run(second, "SELECT name FROM sqlite_master"))
        second.commit()

    with ThreadPoolExecutor(1) as threads:
        follower = threads.submit(follow)
        assert waiting.wait(SECONDS)
        run(first, "CREATE TABLE written (id INTEGER)")
        first.commit()
        follower.result(SECONDS)
    assert seen == [("written",)]


@pytest.mark.parametrize("end", ["commit", "rollback", "close"])
def test_the_next_in_line_goes_on_however_a_transaction_ended(connect, end):
    first, second = connect(), connect(timeout=0.01)
    begin(first)
    getattr(first, end)()
    begin(second)
    assert run(second) == [(1,)]
    second.rollback()


def test_who_waited_long_enough_goes_on_and_is_refused_by_sqlite(connect):
    first, second = connect(), connect(timeout=0.01)
    begin(first)
    with pytest.raises(OperationalError, match="locked"):
        begin(second)
    second.close()
    first.commit()


def test_a_transaction_that_could_not_begin_keeps_nobody_waiting(connect):
    outside, first, second = connect(), connect(timeout=0.01), connect(timeout=0.01)
    run(outside, "BEGIN IMMEDIATE")  # as another process would
    with pytest.raises(OperationalError, match="locked"):
        begin(first)
    run(outside, "ROLLBACK")
    begin(second)
    assert run(second) == [(1,)]
    second.commit()


def test_the_site_s_own_sqlite_waits_in_line():
    if connection.vendor != "sqlite":
        pytest.skip("this site is on another database")
    assert isinstance(connections["default"], DatabaseWrapper)
