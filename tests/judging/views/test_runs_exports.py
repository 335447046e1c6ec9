from __future__ import annotations

import json

import pytest

from judging.exports import EXPORTS
from tests.factory import make_dataset, make_preference, make_user

pytestmark = pytest.mark.django_db


@pytest.fixture
def data():
    dataset = make_dataset(slug="data")
    make_preference(dataset=dataset, text="Prefers brevity.")


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
def test_those_who_see_everyone_download(client, data, format_name):
    client.force_login(make_user(role="VIEWER"))
    answer = client.get(f"/datasets/data/export/preferences.{format_name}")
    assert (answer.status_code, answer.streaming) == (200, True)
    name = f'filename="data-preferences.{format_name}"'
    assert answer["Content-Disposition"] == f"attachment; {name}"


@pytest.mark.parametrize("kind", sorted(EXPORTS.keys() - {"preferences"}))
def test_what_has_no_row_says_so(client, data, kind):
    client.force_login(make_user(role="VIEWER"))
    answer = client.get(f"/datasets/data/export/{kind}.jsonl")
    assert answer.status_code == 409
    assert "Content-Disposition" not in answer


def test_the_rows_are_those_of_the_dataset(client, data):
    client.force_login(make_user(role="MANAGER"))
    answer = client.get("/datasets/data/export/preferences.jsonl")
    [row] = [json.loads(line) for line in b"".join(answer.streaming_content).splitlines()]
    assert row["text"] == "Prefers brevity."


def test_annotators_may_not(client, data):
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get("/datasets/data/export/judgments.csv").status_code == 403


def test_strangers_sign_in_first(client, data):
    assert client.get("/datasets/data/export/judgments.csv").status_code == 302


def test_what_is_not_there_is_not_found_and_nothing_is_written(client, data):
    client.force_login(make_user(role="ADMIN"))
    assert client.get("/datasets/none/export/judgments.csv").status_code == 404
    assert client.post("/datasets/data/export/judgments.csv").status_code == 405
