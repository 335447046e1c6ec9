from __future__ import annotations

import csv
import io
import json
from importlib.util import find_spec
from zipfile import ZipFile

import pytest

from annotation.models import Dataset, Participation
from tests.annotation.records import everything, import_rows
from tests.factory import (
    make_comparison,
    make_label,
    make_rating,
    make_response,
    make_session,
    make_study,
    make_turn,
    make_user,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def data(tmp_path):
    import_rows(tmp_path, *everything())
    return Dataset.objects.get()


def body(answer) -> str:
    assert answer.streaming
    return b"".join(answer.streaming_content).decode()


@pytest.mark.parametrize("role", ["VIEWER", "MANAGER", "ADMIN"])
@pytest.mark.parametrize("kind", ["labels", "satisfaction", "sessions"])
def test_those_who_see_everyone_download_everything(client, data, role, kind):
    client.force_login(make_user(role=role))
    answer = client.get(f"/datasets/data/export/{kind}.jsonl")
    assert [json.loads(line) for line in body(answer).splitlines()]
    assert answer["Content-Disposition"] == f'attachment; filename="data-{kind}.jsonl"'
    assert answer["Content-Type"] == "application/jsonl; charset=utf-8"
    assert answer["Cache-Control"] == "no-store"


def test_a_csv_is_a_csv(client, data):
    client.force_login(make_user(role="VIEWER"))
    answer = client.get("/datasets/data/export/labels.csv")
    rows = list(csv.DictReader(io.StringIO(body(answer), newline="")))
    assert len(rows) == 6
    assert rows[0]["annotator"] == "ann"
    assert answer["Content-Type"] == "text/csv; charset=utf-8"


@pytest.mark.parametrize("kind", ["labels", "satisfaction"])
def test_tables_tell_managers_alone_who_the_workers_are(client, data, kind):
    study = make_study(data, slug="pilot")
    paid = make_user(username="data:paid")
    worker = {"PROLIFIC_PID": "=5f3a", "STUDY_ID": "s-1"}
    Participation.objects.create(study=study, annotator=paid, worker=worker)
    comparison = make_comparison(make_turn(make_session(data.scenarios.first(), key="own")))
    make_label(comparison, annotator=paid, study=study)
    make_label(comparison, annotator=paid)
    make_rating(comparison.response_a, annotator=paid, study=study)
    make_rating(comparison.response_a, annotator=paid)
    addresses = (f"/datasets/data/export/{kind}", f"/studies/pilot/export/{kind}")
    client.force_login(make_user(role="MANAGER"))
    for address in addresses:
        table = list(csv.DictReader(io.StringIO(body(client.get(f"{address}.csv")), newline="")))
        assert list(table[0])[-1] == "worker_id"
        assert {
            (row["annotator"], row["study"], row["worker_id"])
            for row in table
            if row["annotator"] == "paid"
        } == {("paid", "pilot", "'=5f3a")} | (
            {("paid", "", "")} if "datasets" in address else set()
        )
        assert "5f3a" not in body(client.get(f"{address}.jsonl"))
    client.force_login(make_user(role="VIEWER"))
    assert not any("worker_id" in body(client.get(f"{each}.csv")) for each in addresses)


def test_a_folder_with_its_card_comes_as_a_zip(client, data):
    client.force_login(make_user(role="VIEWER"))
    answer = client.get("/datasets/data/export/labels.zip", headers={"Accept-Encoding": "gzip"})
    assert "Content-Encoding" not in answer  # it is packed already
    assert answer["Content-Disposition"] == 'attachment; filename="data-labels.zip"'
    assert (answer["Content-Type"], answer["Cache-Control"]) == ("application/zip", "no-store")
    with ZipFile(io.BytesIO(b"".join(answer.streaming_content))) as found:
        lines = found.read("data-labels/data/labels.jsonl").decode().splitlines()
        assert "- rows: 6" in found.read("data-labels/README.md").decode()
    assert len(lines) == 6
    for kind in ("labels", "satisfaction"):
        assert f"/datasets/data/export/{kind}.zip" in client.get("/datasets/data/").content.decode()
    assert "sessions.zip" not in client.get("/datasets/data/").content.decode()
    assert client.get("/datasets/data/export/sessions.zip").status_code == 409


def test_parquet_is_offered_where_its_package_is(client, data, monkeypatch):
    client.force_login(make_user(role="VIEWER"))
    here = find_spec("pyarrow") is not None
    assert ("labels.parquet" in client.get("/datasets/data/").content.decode()) is here
    monkeypatch.setattr("annotation.exports.folder.has_parquet", lambda: False)
    answer = client.get("/datasets/data/export/labels.parquet")
    assert (answer.status_code, "pyarrow" in answer.content.decode()) == (409, True)
    monkeypatch.setattr("annotation.exports.folder.has_parquet", lambda: True)
    written = "annotation.exports.folder.write_parquet"
    monkeypatch.setattr(written, lambda out, _export, _dataset: out.write_bytes(b"PAR1"))
    answer = client.get("/datasets/data/export/labels.parquet")
    assert b"".join(answer.streaming_content) == b"PAR1"
    assert answer["Content-Type"] == "application/vnd.apache.parquet"


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
def test_an_annotator_downloads_their_own_labels_alone(client, data, format_name):
    alice = make_user(username="alice", role="ANNOTATOR")
    turn = make_turn(make_session(data.scenarios.first()), user_message="mine")
    comparison = make_comparison(turn)
    make_label(comparison, annotator=alice)
    client.force_login(alice)
    assert client.get("/datasets/data/export/labels.zip").status_code == 404
    text = body(client.get(f"/datasets/data/export/labels.{format_name}"))
    assert "alice" in text
    assert "bob" not in text
    assert comparison.response_a.model not in text
    assert client.get(f"/datasets/data/export/sessions.{format_name}").status_code == 404


@pytest.mark.parametrize(
    ("status", "rate", "answers"),
    [("OPEN", 0.1, 0), ("OPEN", 0.0, 1), ("PAUSED", 0.1, 0), ("CLOSED", 0.1, 2)],
)
@pytest.mark.parametrize("kind", ["labels", "satisfaction"])
def test_an_annotator_does_not_read_what_came_again(client, data, kind, status, rate, answers):
    alice = make_user(username="alice", role="ANNOTATOR")
    study = make_study(data, status=status, repeat_rate=rate)
    turn = make_turn(make_session(data.scenarios.first()), user_message="mine")
    comparison, response = make_comparison(turn), make_response(turn, original=True)
    for repeat in (0, 1):
        own = {"annotator": alice, "study": study, "repeat_index": repeat}
        if kind == "labels":
            make_label(comparison, **own)
        else:
            make_rating(response, **own)
    client.force_login(alice)
    text = body(client.get(f"/datasets/data/export/{kind}.csv"))
    header, *rows = text.splitlines()
    assert len(rows) == answers
    assert "repeat" not in header
    assert "repeat" not in body(client.get(f"/datasets/data/export/{kind}.jsonl"))
    client.force_login(make_user(role="VIEWER"))
    assert body(client.get(f"/datasets/data/export/{kind}.csv")).count("alice") == 2


def test_an_annotator_without_labels_there_finds_nothing(client, data):
    client.force_login(make_user(role="ANNOTATOR"))
    assert client.get("/datasets/data/export/labels.csv").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "/datasets/none/export/labels.csv",
        "/datasets/data/export/passwords.csv",
        "/datasets/data/export/labels.xlsx",
    ],
)
def test_what_is_not_there_is_not_found(client, data, address):
    client.force_login(make_user(role="ADMIN"))
    assert client.get(address).status_code == 404


def test_strangers_sign_in_first_and_downloads_are_only_read(client, data):
    address = "/datasets/data/export/labels.csv"
    assert client.get(address).url == f"/sign-in/?next={address}"
    client.force_login(make_user(role="ADMIN"))
    assert client.post(address).status_code == 405
