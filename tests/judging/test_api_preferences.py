from __future__ import annotations

import pytest

from tests.factory import make_call, make_preference, make_run, make_scenario, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def versions():
    """A preference and its edit, which is switched off."""
    run = make_run(kind="DISTIL", status="DONE")
    fields = {"run": run, "scenario": make_scenario(run.dataset), "kind": "EDITED"}
    first = make_preference(text="Prefers lists.", **fields)
    editor = make_user(username="ed")
    second = make_preference(
        version=2, previous=first, root=first, active=False, edited_by=editor, **fields
    )
    return first, second


def test_every_version_is_listed_with_who_wrote_it(client, versions):
    first, second = versions
    client.force_login(make_user(role="VIEWER"))
    found = client.get("/api/v1/preferences/", {"root": first.pk}).json()["results"]
    assert [(row["id"], row["version"], row["edited_by"], row["active"]) for row in found] == [
        (second.pk, 2, "ed", False)
    ]
    assert found[0]["previous"] == first.pk
    on = client.get("/api/v1/preferences/", {"active": "true", "kind": "EDITED"}).json()["results"]
    assert [row["id"] for row in on] == [first.pk]


def test_a_preference_has_the_reply_it_was_read_from(client, versions):
    first, second = versions
    first.call = make_call(reply="Lists, I say.")
    first.save()
    client.force_login(make_user(role="VIEWER"))
    rows = client.get("/api/v1/preferences/").json()["results"]
    assert {(row["id"], row["call"], row["raw"]) for row in rows} == {
        (first.pk, "c" * 64, "Lists, I say."),
        (second.pk, None, ""),
    }


def test_annotators_have_no_access(client, versions):
    client.force_login(make_user())
    assert client.get("/api/v1/preferences/").status_code == 403
