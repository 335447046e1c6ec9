"""Replays are started, looked after and read over the API."""

from __future__ import annotations

import pytest

from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from tests.benchmark.replays import make_stored
from tests.factory import make_user
from tests.judging.ratings import make_ratings

pytestmark = pytest.mark.django_db

REPLAYS = "/api/v1/replays/"


@pytest.fixture
def dataset():
    found = make_ratings(people=3, turns=3)
    make_stored(found)
    return found


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def send(client, among, **body):
    usual = {"dataset": among.slug, "evaluator": "lexical", "candidates": ["responses:long"]}
    return client.post(REPLAYS, {**usual, **body}, content_type="application/json")


def test_a_replay_is_started_joined_and_read(manager, dataset):
    estimate = send(manager, dataset, estimate=True)
    assert (estimate.status_code, estimate.json()["calls"]) == (200, 0)
    assert not JudgeRun.objects.exists()
    answer = send(manager, dataset, items="sample:5", seed=7)
    told = answer.json()
    assert (answer.status_code, told["attached"], told["status"]) == (202, False, "PENDING")
    assert (told["dataset"], told["items"], told["turns"]) == (dataset.slug, "sample:5", 5)
    assert told["candidates"] == ["long"]
    assert send(manager, dataset, items="sample:5", seed=7).json()["attached"]
    one = f"{REPLAYS}{told['id']}/"
    assert manager.get(one).json()["figures"] is None
    run_to_end(told["id"])
    manager.force_login(make_user(role="VIEWER"))
    found = manager.get(one, {"scores": "raw"}).json()
    assert found["status"] == "DONE"
    assert (found["figures"]["run"], found["figures"]["scores"]) == (told["id"], "raw")
    assert [row["role"] for row in found["figures"]["candidates"]][:1] == ["control"]
    assert manager.get(one, {"scores": "none"}).status_code == 400
    assert [row["id"] for row in manager.get(REPLAYS, {"status": "DONE"}).json()["results"]] == [
        told["id"]
    ]
    assert manager.get(REPLAYS, {"dataset": "other"}).json()["results"] == []


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"candidates": []}, 400, "api:invalid"),
        ({"seed": -1}, 400, "api:invalid"),
        ({"temperature": True}, 400, "api:invalid"),
        ({"max_tokens": True}, 400, "api:invalid"),
        ({"evaluater": "lexical"}, 400, "api:invalid"),
        ({"contexts": ["whole"]}, 400, "api:invalid"),
        ({"items": "some"}, None, "replay:items"),
        ({"items": "version:none"}, None, "construction:unknown-version"),
        ({"candidates": ["nobody"]}, None, "replay:unknown-candidate"),
        ({"dataset": "none"}, None, "dataset:unknown"),
    ],
)
def test_what_is_wrong_is_said(manager, dataset, body, status, code):
    answer = send(manager, dataset, **body)
    assert answer.json()["code"] == code
    assert status in {None, answer.status_code}
    assert not JudgeRun.objects.exists()


def test_who_may_start_and_read(client, dataset):
    assert send(client, dataset).status_code == 401
    client.force_login(make_user(role="VIEWER"))
    assert send(client, dataset).status_code == 403
    assert client.get(REPLAYS).status_code == 200
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get(REPLAYS).status_code == 403
    client.force_login(make_user(role="MANAGER"))
    assert client.post(REPLAYS, [1], content_type="application/json").status_code == 400
    assert client.post(REPLAYS, "[" * 100_000, content_type="application/json").status_code == 400
    assert client.put(REPLAYS).status_code == 405
    assert client.get(f"{REPLAYS}999/").status_code == 404
    assert client.get(f"{REPLAYS}x/").status_code == 404
