from __future__ import annotations

import gzip
import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile

from annotation.core.formats.detect import FORMATS
from annotation.models import AuditEvent, Dataset, PairwiseLabel
from tests.annotation.records import pair
from tests.factory import make_user

pytestmark = pytest.mark.django_db
ADDRESS = "/datasets/import/"


@pytest.fixture
def manager(client):
    client.force_login(make_user(role="MANAGER"))
    return client


def send(client, content: bytes, name="rows.jsonl", **more):
    form = {"format": "auto", "dataset": "data", **more}
    return client.post(ADDRESS, {**form, "file": SimpleUploadedFile(name, content)})


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows).encode()


@pytest.mark.parametrize("role", ["VIEWER", "ANNOTATOR"])
def test_only_managers_import(client, role):
    client.force_login(make_user(role=role))
    assert client.get(ADDRESS).status_code == 403
    assert send(client, lines(pair())).status_code == 403
    assert not Dataset.objects.exists()


def test_strangers_sign_in_first(client):
    assert client.get(ADDRESS).url == f"/sign-in/?next={ADDRESS}"
    assert send(client, lines(pair())).status_code == 302


def test_other_methods_are_refused(manager):
    assert manager.put(ADDRESS).status_code == 405


def test_a_forged_request_is_refused(client):
    from django.test import Client

    strict = Client(enforce_csrf_checks=True)
    strict.force_login(make_user(role="MANAGER"))
    assert send(strict, lines(pair())).status_code == 403


def test_the_page_offers_formats_and_knows_the_datasets(manager):
    Dataset.objects.create(slug="known", name="Known")
    page = manager.get(f"{ADDRESS}?dataset=known").content.decode()
    assert "PandaLM test set" in page
    assert all(f">{name}<" not in page for name in FORMATS)  # each has a name for people
    assert '<option value="known">' in page
    assert 'value="known"' in page


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_upload_is_imported_and_told(manager, pack):
    answer = send(manager, pack(lines(pair(), pair(prompt="q"))), name="../../etc/passwd")
    page = answer.content.decode()
    assert answer.status_code == 200
    assert "Imported 2 rows (2 new)." in page
    assert 'href="/datasets/data/"' in page
    assert PairwiseLabel.objects.count() == 2
    assert AuditEvent.objects.get().actor is not None


def test_the_same_upload_again_changes_nothing(manager):
    send(manager, lines(pair()))
    assert "Nothing changed." in send(manager, lines(pair())).content.decode()


def test_a_dry_run_stores_nothing(manager):
    page = send(manager, lines(pair()), dry_run="on").content.decode()
    assert "Check passed: 1 valid row, 1 new. Nothing was imported." in page
    assert not Dataset.objects.exists()


def test_faults_are_listed_and_nothing_is_stored(manager):
    answer = send(manager, lines(pair(), pair(verdict="<b>maybe</b>", prompt="q")))
    page = answer.content.decode()
    assert answer.status_code == 422
    assert "1 error. Nothing was imported." in page
    assert "Expected one of A, B, TIE" in page
    assert "&lt;b&gt;maybe&lt;/b&gt;" in page
    assert not Dataset.objects.exists()


@pytest.mark.parametrize(
    ("content", "more", "said"),
    [
        (b"", {}, "or it has no rows"),
        (b"{}", {}, "We could not recognise this file&#x27;s format"),
        (b"\x1f\x8b no gzip", {}, "could not read this file"),
        (b"{}", {"dataset": "import"}, "is used by a page of the site"),
        (b"{}", {"dataset": "a b"}, "valid"),
        (b"{}", {"format": "csv"}, "Select a valid choice"),
    ],
)
def test_what_cannot_be_imported_is_said_at_its_field(manager, content, more, said):
    answer = send(manager, content, **more)
    assert answer.status_code == 422
    assert said in answer.content.decode()


def test_a_file_must_be_chosen(manager):
    answer = manager.post(ADDRESS, {"format": "auto", "dataset": "data"})
    assert answer.status_code == 422
    assert "This field is required." in answer.content.decode()


def test_faults_are_told_in_the_reader_s_language(manager):
    file = SimpleUploadedFile("rows.jsonl", lines(pair(verdict="maybe")))
    form = {"format": "auto", "dataset": "data", "file": file}
    page = manager.post(ADDRESS, form, headers={"accept-language": "zh-CN"}).text
    assert "应为 A, B, TIE 之一" in page
    assert "Expected one of" not in page


def test_reference_answers_are_refused_whole_whatever_the_upload_is_called(manager):
    row = {"model_id": "gpt-4", "choices": [{"index": 0, "turns": ["One.", "Two."]}]}
    content = lines(*({**row, "question_id": number} for number in range(101, 131)))
    page = send(manager, content, name="gpt-4.jsonl")
    assert page.status_code == 422
    assert "reference answers, not a model&#x27;s." in page.content.decode()
    assert not Dataset.objects.exists()
