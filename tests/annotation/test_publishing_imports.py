"""How an import is published: nothing is locked while it reads, nothing seen before its end."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import DatabaseError, connection
from django.utils import timezone

from annotation.models import (
    Comparison,
    Dataset,
    PairwiseLabel,
    Response,
    Scenario,
    Session,
    Turn,
    User,
)
from annotation.services.imports import publishing
from annotation.services.imports.staging import Staging
from tests.annotation.records import LATER, everything, import_rows, pair, rated
from tests.factory import make_user
from tests.refusals import refuses

pytestmark = pytest.mark.django_db
TREE = (Scenario, Session, Turn, Response, Comparison)


@pytest.fixture
def much(monkeypatch):
    """Every import counts as a long one, and is written in parts of two rows."""
    monkeypatch.setattr(publishing, "_ROWS_AT_ONCE", 0)
    monkeypatch.setattr(publishing, "_PART_ROWS", 2)
    monkeypatch.setattr(publishing, "_PART_SESSIONS", 1)


@pytest.fixture
def killed(monkeypatch, much):
    """The process dies before the last transaction: nothing is cleared away."""

    def die(*_arguments, **_options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Staging, "publish", die)
    monkeypatch.setattr(publishing, "_clear_if_possible", lambda _hidden: None)


@pytest.mark.django_db(transaction=True)
def test_no_transaction_is_open_while_rows_are_read(tmp_path):
    seen = []
    import_rows(tmp_path, pair(), progress=lambda _rows: seen.append(connection.in_atomic_block))
    assert seen == [False]


def test_a_long_import_stores_what_a_short_one_does(tmp_path, much, monkeypatch):
    first = import_rows(tmp_path, *everything())
    assert not Dataset.with_staged.filter(staged_at__isnull=False).exists()
    assert Session.objects.get(key="k").original_user == User.objects.get(username="data:User_1")
    monkeypatch.undo()
    again = import_rows(tmp_path, *everything(), now=LATER)
    assert (again.fault_count, again.created, again.unchanged) == (0, 0, first.rows)
    assert import_rows(tmp_path, *everything(), dataset="other").objects == first.objects


def test_a_long_import_adds_to_a_stored_dataset(tmp_path, much):
    import_rows(tmp_path, pair(), rated())
    longer = rated()
    longer["turns"].append({"user": "b", "responses": [{"text": "B", "model": "m"}]})
    more = [
        pair(annotator="bob"),
        pair(prompt="q", scenario="new"),
        longer,
        rated(key="k2", user="User_2"),
    ]
    report = import_rows(tmp_path, *more)
    assert (report.created, report.fault_count) == (4, 0)
    assert Dataset.with_staged.count() == 1
    assert {row.dataset.slug for row in Session.objects.all()} == {"data"}
    assert {row.dataset.slug for row in Scenario.objects.all()} == {"data"}
    assert Session.objects.get(key="k2").original_user.username == "data:User_2"
    assert import_rows(tmp_path, *more).unchanged == 4


def test_nobody_sees_what_a_killed_import_left(tmp_path, killed, client):
    client.force_login(make_user(role="ADMIN"))
    with pytest.raises(KeyboardInterrupt):
        import_rows(tmp_path, pair(), rated(), dataset="data")
    left = Comparison.objects.get()
    assert Dataset.objects.count() == 0
    for address in (
        f"/datasets/{Dataset.with_staged.get().slug}/",
        f"/sessions/{left.turn.session_id}/",
        f"/comparisons/{left.pk}/",
        f"/api/v1/comparisons/{left.pk}/",
    ):
        assert client.get(address).status_code == 404
    for listed in ("comparisons", "labels", "satisfaction-labels"):
        assert client.get(f"/api/v1/{listed}/").json()["results"] == []
    for listed in ("user", "pairwiselabel", "satisfactionlabel", "goldlabel"):
        page = client.get(f"/admin/annotation/{listed}/").content.decode()
        assert "data:" not in page
        assert "field-" not in page or listed == "user"
    assert "staged-" not in client.get("/datasets/").content.decode()


def test_what_a_killed_import_left_goes_once_it_is_silent(tmp_path, killed, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        import_rows(tmp_path, pair(), pair(prompt="q"))
    publishing.clear_leftovers()
    assert Session.objects.count() == 2
    Dataset.with_staged.update(staged_at=timezone.now() - timedelta(minutes=2))
    publishing.clear_leftovers()
    assert not Dataset.with_staged.exists()
    assert not any(table.objects.exists() for table in (*TREE, PairwiseLabel, User))
    monkeypatch.undo()
    assert import_rows(tmp_path, pair(), pair(prompt="q")).created == 2


def test_a_rater_whom_a_later_import_took_over_stays(tmp_path, killed, monkeypatch):
    with pytest.raises(KeyboardInterrupt):
        import_rows(tmp_path, pair())
    monkeypatch.undo()
    assert import_rows(tmp_path, pair()).objects["raters"] == 0
    Dataset.with_staged.filter(staged_at__isnull=False).update(
        staged_at=timezone.now() - timedelta(minutes=2)
    )
    publishing.clear_leftovers()
    assert Dataset.with_staged.count() == Session.objects.count() == 1
    assert PairwiseLabel.objects.get().annotator.username == "data:ann"


def test_what_was_written_ahead_goes_where_the_rest_fails(tmp_path, much, monkeypatch):
    def full(*_arguments, **_options):
        raise DatabaseError("database or disk is full")

    monkeypatch.setattr(Staging, "publish", full)
    with pytest.raises(DatabaseError, match="full"):
        import_rows(tmp_path, pair(), rated())
    assert not Dataset.with_staged.exists()
    assert not any(table.objects.exists() for table in (*TREE, PairwiseLabel, User))


def test_an_import_that_was_taken_for_dead_stores_nothing(tmp_path, much, monkeypatch):
    beat = publishing._beat

    def late(hidden):
        Dataset.with_staged.update(staged_at=timezone.now() - timedelta(minutes=2))
        publishing.clear_leftovers()
        beat(hidden)

    monkeypatch.setattr(publishing, "_beat", late)
    with refuses("import:outrun"):
        import_rows(tmp_path, pair())
    assert not Dataset.with_staged.exists()


def test_rows_are_compared_anew_where_others_wrote_in_the_meantime(tmp_path):
    made = []

    def others(_rows):
        if not made:
            made.append(Dataset.objects.create(slug="data", name="Theirs"))

    report = import_rows(tmp_path, pair(), {"type": "dataset", "name": "Ours"}, progress=others)
    assert [fault.field for fault in report.faults] == ["name"]
    assert not Session.objects.exists()


def test_others_who_never_stop_are_told_of(tmp_path):
    def others(_rows):
        Dataset.objects.filter(slug="data").delete()
        Dataset.objects.create(slug="data", name="data")

    with refuses("import:outrun"):
        import_rows(tmp_path, pair(), progress=others)
    assert not Session.objects.exists()
