"""What holds for all tests: none has to be quick, for a busy machine is no fault of the code."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.core.cache import cache
from django.db import connection
from django.test import TransactionTestCase
from django.utils import translation
from hypothesis import settings

from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from judging.llm import client
from judging.llm.pacing import Patience
from judging.services import batches, learned
from tests.factory import count_anew
from tests.migrated import copy_migrated, create_migrated, drop, remove

settings.register_profile("unhurried", deadline=None, max_examples=25)
settings.register_profile("thorough", deadline=None)  # of the core, where coverage is measured
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "unhurried"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out files without a test of theirs where only the marked tests are to run."""
    if config.option.markexpr != "browser or processes" or collection_path.suffix != ".py":
        return None
    text = collection_path.read_text(encoding="utf-8")
    return None if "mark.browser" in text or "mark.processes" in text else True


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Keep the garbage collector from twelve thousand tests that stay: a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(20_000, 20, 20)  # and seldom afterwards: a tenth of the time of views
        gc.enable()


@pytest.fixture(autouse=True)
def _nothing_left_over() -> Iterator[None]:
    """Leave the language of a test's last request, names and kept figures to no test after it."""
    count_anew()
    yield
    translation.deactivate()
    cache.clear()


@pytest.fixture(scope="session", autouse=True)
def _few_trees() -> Iterator[None]:
    """Train evaluators with a tenth of their trees: what is tested of them does not take more."""
    few = partial(Settings, general=GeneralSettings(trees=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learned, "Settings", few)
        yield


@pytest.fixture(scope="session", autouse=True)
def _short_waits() -> Iterator[None]:
    """Try calls as often as always, with a fiftieth of the waits between tries."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(client, "Patience", partial(Patience, first_wait=0.01))
        yield


@pytest.fixture(scope="session", autouse=True)
def _still_frozen() -> Iterator[None]:
    """Have no batch unfreeze what was collected: pytest looks for garbage five times at its end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "_few_collections", nullcontext)
        yield


@pytest.fixture(scope="session", autouse=True)
def _emptied() -> Iterator[None]:
    """Empty the tables after a test that committed, but for what migrating fills.

    Django's own way, `flush`, empties all and then looks for every permission anew: a sixth of the
    time of a browser's test. And PostgreSQL's TRUNCATE makes the files of every table anew, which
    takes it a second or two; a test's few rows are deleted at once.
    """
    kept = {"django_content_type", "auth_permission"}

    def empty(_test: TransactionTestCase) -> None:
        there = connection.introspection.django_table_names(only_existing=True)
        names = map(connection.ops.quote_name, sorted(set(there) - kept))
        # Together: who refers to whom is asked at the end.
        connection.ops.execute_sql_flush([f"DELETE FROM {name}" for name in names])  # noqa: S608

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", empty)
        yield


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool, django_db_modify_db_settings: None) -> Iterator[bool]:  # noqa: FBT001
    """Have the tests begin with a copy of a migrated database."""
    database = django_settings.DATABASES["default"]
    if "sqlite3" in database["ENGINE"]:
        path = Path(database["TEST"]["NAME"])
        copy_migrated(path)
        yield True
        remove(path)
        return
    server = "postgres://{USER}:{PASSWORD}@{HOST}:{PORT}".format_map(database)
    name = database["TEST"]["NAME"] or f"test_{database['NAME']}"
    drop(server, name)
    create_migrated(server, name)
    yield True
    drop(server, name)
