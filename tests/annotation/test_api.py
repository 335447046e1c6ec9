"""The read-only API: who reads what, and the shape of errors."""

from __future__ import annotations

import base64
import subprocess

import pytest
from django.utils.translation import get_language
from drf_spectacular.generators import SchemaGenerator

from sensejudge_site.api_views import stored_schema
from tests import factory

pytestmark = pytest.mark.django_db

LISTS = ["datasets", "comparisons", "labels", "satisfaction-labels"]
JUDGE_LISTS = ["runs", "preferences", "preference-sets", "judgments", "satisfaction-judgments"]
BLIND_LISTS = ["datasets", "comparisons", *JUDGE_LISTS]


@pytest.mark.parametrize("name", LISTS + JUDGE_LISTS)
def test_nobody_reads_without_signing_in(client, name):
    answer = client.get(f"/api/v1/{name}/")
    assert answer.status_code == 401
    assert answer.json()["code"] == "api:not_authenticated"


@pytest.mark.parametrize("address", ["/api/v1/", "/api/v1/nothing/here/"])
def test_an_unknown_address_is_an_error_like_any_other(client, address):
    assert client.get(address).status_code == 401
    client.force_login(factory.make_user(role="VIEWER"))
    for answer in (client.get(address), client.post(address)):
        assert (answer.status_code, answer.json()["code"]) == (404, "api:not_found")
    assert client.get("/api/v1/labels").url == "/api/v1/labels/"


@pytest.mark.parametrize("name", BLIND_LISTS)
def test_an_annotator_stays_blind(client, name):
    client.force_login(factory.make_user(role="ANNOTATOR"))
    answer = client.get(f"/api/v1/{name}/")
    assert answer.status_code == 403
    assert answer.json()["message"].startswith("Annotators cannot read this.")


@pytest.mark.parametrize("name", LISTS + JUDGE_LISTS)
def test_a_viewer_reads_and_cannot_write(client, name):
    client.force_login(factory.make_user(role="VIEWER"))
    assert client.get(f"/api/v1/{name}/").status_code == 200
    assert client.post(f"/api/v1/{name}/", {}).status_code == (403 if name == "runs" else 405)


def test_an_annotator_reads_their_own_labels_only(client):
    mine, theirs = factory.make_label(), factory.make_label()
    client.force_login(mine.annotator)
    rows = client.get("/api/v1/labels/").json()["results"]
    assert [row["id"] for row in rows] == [mine.pk]
    assert client.get(f"/api/v1/labels/{theirs.pk}/").status_code == 404


def test_labels_are_filtered_and_counted_in_few_queries(client, django_assert_num_queries):
    wanted = factory.make_label(verdict="B", shown_order="SWAPPED")
    factory.make_label()
    slug = wanted.comparison.turn.session.dataset.slug
    client.force_login(factory.make_user(role="VIEWER"))
    with django_assert_num_queries(3):  # session, user, labels
        rows = client.get(f"/api/v1/labels/?dataset={slug}").json()["results"]
    assert [(row["verdict"], row["shown_order"]) for row in rows] == [("B", "SWAPPED")]
    assert rows[0]["annotator"] == wanted.annotator.username


def test_comparisons_come_with_texts_in_few_queries(client, django_assert_num_queries):
    for _ in range(3):
        factory.make_comparison()
    client.force_login(factory.make_user(role="VIEWER"))
    with django_assert_num_queries(3):
        rows = client.get("/api/v1/comparisons/").json()["results"]
    assert len(rows) == 3
    assert rows[0]["response_a"]["text"].startswith("Answer")


def test_a_judgment_is_listed_in_canonical_coordinates(client):
    judgment = factory.make_judgment(
        factory.make_run(), factory.make_comparison(), factory.make_preference(), verdict="B"
    )
    client.force_login(factory.make_user(role="VIEWER"))
    rows = client.get(f"/api/v1/judgments/?run={judgment.run_id}").json()["results"]
    assert [(row["verdict"], row["order"]) for row in rows] == [("B", "ORIGINAL")]
    assert client.get("/api/v1/judgments/?run=0").json()["code"] == "api:invalid"


def test_a_token_opens_the_api_until_it_is_revoked(client):
    user = factory.make_user(role="VIEWER")
    basic = base64.b64encode(f"{user.username}:{factory.PASSWORD}".encode()).decode()
    answer = client.post("/api/v1/token/", headers={"authorization": f"Basic {basic}"})
    token = answer.json()["token"]
    headers = {"authorization": f"Token {token}"}
    assert client.get("/api/v1/datasets/", headers=headers).status_code == 200
    assert client.post("/api/v1/token/revoke/", headers=headers).status_code == 204
    assert client.get("/api/v1/datasets/", headers=headers).status_code == 401


def test_a_wrong_password_gets_no_token(client):
    user = factory.make_user()
    basic = base64.b64encode(f"{user.username}:wrong".encode()).decode()
    answer = client.post("/api/v1/token/", headers={"authorization": f"Basic {basic}"})
    assert answer.status_code == 401


def test_the_schema_is_served_and_no_process_started(client, monkeypatch):
    started = []
    monkeypatch.setattr(subprocess, "Popen", lambda *words, **_more: started.append(words))
    client.force_login(factory.make_user(role="VIEWER"))
    answer = client.get("/api/schema/")
    assert answer.status_code == 200
    assert b"/api/v1/judgments/" in answer.content
    assert not started


def test_the_schema_is_generated_once_a_language(client, monkeypatch):
    generated = []
    generate = SchemaGenerator.get_schema

    def counted(self, *args, **kwargs):
        generated.append(get_language())
        return generate(self, *args, **kwargs)

    monkeypatch.setattr(SchemaGenerator, "get_schema", counted)
    stored_schema.cache_clear()
    for role in ("VIEWER", "ADMIN", "ANNOTATOR"):
        client.force_login(factory.make_user(role=role))
        for asked in ("", "?lang=en", "?lang=xx", "?format=json", "?version=2"):
            assert client.get(f"/api/schema/{asked}").status_code == 200
    assert generated == ["en"]
    for asked in ("?lang=zh-hans", "?lang=zh-cn"):
        assert client.get(f"/api/schema/{asked}").status_code == 200
    assert generated == ["en", "zh-hans"]


@pytest.mark.parametrize(
    ("status", "rate", "found"),
    [("OPEN", 0.1, []), ("OPEN", 0.0, ["A"]), ("PAUSED", 0.1, []), ("CLOSED", 0.1, ["A", "B"])],
)
def test_an_annotator_is_not_told_what_came_again(client, status, rate, found):
    study = factory.make_study(status=status, repeat_rate=rate)
    first = factory.make_label(study=study, verdict="A")
    own = {"annotator": first.annotator, "study": study}
    factory.make_label(first.comparison, verdict="B", repeat_index=1, **own)
    client.force_login(first.annotator)
    rows = client.get("/api/v1/labels/").json()["results"]
    assert sorted(row["verdict"] for row in rows) == found
    assert all("repeat_index" not in row for row in rows)
    client.force_login(factory.make_user(role="VIEWER"))
    rows = client.get("/api/v1/labels/").json()["results"]
    assert sorted(row["repeat_index"] for row in rows) == [0, 1]


@pytest.mark.parametrize("name", LISTS + JUDGE_LISTS)
def test_a_parameter_that_means_nothing_is_refused_and_narrows_nothing_in_silence(client, name):
    client.force_login(factory.make_user(role="VIEWER"))
    answer = client.get(f"/api/v1/{name}/?datset=demo&page_size=2")
    assert answer.status_code == 400
    assert answer.json()["code"] == "api:invalid"
    (said,) = answer.json()["fields"]["datset"]
    assert said.startswith("Unknown parameter. Known parameters: ")
    assert "page_size" in said


def test_every_list_is_narrowed_by_the_same_words(client):
    client.force_login(factory.make_user(role="VIEWER"))
    rater = factory.make_user(username="study:ann")
    wanted = factory.make_run(annotator=rater)
    factory.make_run()
    for query in (f"dataset={wanted.dataset.slug}", "annotator=study:ann"):
        rows = client.get(f"/api/v1/runs/?{query}").json()["results"]
        assert [row["id"] for row in rows] == [wanted.pk]
    factory.make_preference(run=wanted, annotator=rater)
    assert len(client.get("/api/v1/preferences/?annotator=study:ann").json()["results"]) == 1
    assert client.get("/api/v1/preferences/?annotator=nobody").json()["results"] == []
    for query in ("dataset=none", "annotator=nobody"):
        assert client.get(f"/api/v1/preference-sets/?{query}").json()["results"] == []
