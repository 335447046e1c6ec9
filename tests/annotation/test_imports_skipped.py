"""Rows that hold nothing to import are passed over, and the summary says how many and why."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command

from annotation.core.formats.detect import FORMATS
from annotation.models import Dataset
from annotation.services.imports import import_records
from tests.annotation.records import NOW, pair, write
from tests.factory import make_user

pytestmark = pytest.mark.django_db

KNOWN = FORMATS["sensejudge"]


def parse(fields):
    """A row of the project's own format; one with the text "-" is passed over."""
    if fields.data["text_a"] == "-":
        fields.notes.skip("The text is a dash")
    return KNOWN.parse(fields)


def take(path):
    formats = {"dashes": replace(KNOWN, name="dashes", parse=parse)}
    return import_records(path=path, dataset_slug="data", now=NOW, formats=formats)


def test_rows_are_passed_over_and_counted(tmp_path):
    rows = [pair(), pair(text_a="-"), pair(prompt="q", text_a="-")]
    path = write(tmp_path / "rows.jsonl", rows)
    report = take(path)
    assert (report.rows, report.created, report.faults) == (3, 1, ())
    assert report.skipped == report.as_dict()["skipped"] == {"The text is a dash": 2}
    assert (take(path).created, take(path).unchanged) == (0, 1)


def test_a_file_of_such_rows_alone_is_an_error(tmp_path):
    report = take(write(tmp_path / "rows.jsonl", [pair(text_a="-")]))
    assert [each.reason for each in report.faults] == ["Every row was skipped: The text is a dash"]
    assert not Dataset.objects.exists()


def test_the_page_and_the_command_say_so(client, tmp_path, settings):
    settings.VAR_DIR = tmp_path
    rows = [{"prompt": "q", "chosen": text, "rejected": "b"} for text in "ab"]
    path = write(tmp_path / "rows.jsonl", rows)
    reason = "Both responses have the same text, so neither is better"
    out = StringIO()
    call_command("import_records", path, "--dataset", "data", "--dry-run", stdout=out)
    assert f"skipped 1 row: {reason}" in out.getvalue()
    client.force_login(make_user(role="MANAGER"))
    upload = SimpleUploadedFile("rows.jsonl", path.read_bytes())
    form = {"format": "auto", "dataset": "data", "file": upload}
    page = client.post("/datasets/import/", form).content.decode()
    assert f"Skipped 1 row: {reason}" in page
