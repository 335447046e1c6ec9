"""Every format has a golden file, and every import leads to something that one can do next."""

from __future__ import annotations

import re

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotation.core.formats.detect import with_columns
from annotation.core.formats.fields import parsed
from annotation.core.formats.grids import preview
from annotation.core.formats.headers import guess
from annotation.core.formats.reading import read_rows
from annotation.models import Comparison
from annotation.views.datasets import DOWNLOADS
from judging.core.formats.detect import ALL_FORMATS
from judging.models import JudgeRun
from judging.services.recorded import import_any
from tests.factory import make_user
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

FOLDER = ROOT / "tests" / "data" / "formats"


COARSER = {"mtbench-references": "mtbench-answers"}
"""Whose rows a format has, told apart by the whole file."""


def told_of(name):
    """What a golden file adds, counted by hand, and what is imported before it."""
    counted, *after = (FOLDER / "added" / f"{name}.txt").read_text().splitlines()
    return set(re.findall(r"\d+ \w+", counted)), after[0].split()[1:] if after else []


def golden(name):
    found = list(FOLDER.glob(f"{name}.*"))
    assert len(found) == 1, f"{name} needs one golden file in {FOLDER}"
    return found[0]


def take(name):
    formats = ALL_FORMATS
    if name == "csv":
        formats = with_columns(ALL_FORMATS, guess(preview(golden(name))[0]))
    return import_any(path=golden(name), dataset_slug="data", now=timezone.now(), formats=formats)


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_a_golden_file_is_told_and_read_and_again_is_nothing(name):
    expected, first = told_of(name)
    for before in first:
        assert take(before).fault_count == 0
    report = take(name)
    assert (report.format, report.faults) == (name, ())
    assert report.created == report.rows > 0
    added = {f"{number} {kind}" for kind, number in report.objects.items() if number}
    assert added == expected
    again = take(name)
    assert (again.faults, again.created, again.unchanged) == ((), 0, report.rows)


@pytest.mark.parametrize("name", ALL_FORMATS)
def test_an_import_leads_to_what_can_be_done_next(client, settings, tmp_path, name):
    settings.VAR_DIR = tmp_path
    client.force_login(make_user(role="MANAGER"))
    for before in told_of(name)[1]:
        take(before)
    upload = SimpleUploadedFile(golden(name).name, golden(name).read_bytes())
    form = {"format": "auto", "dataset": "data", "file": upload}
    page = client.post("/datasets/import/", form).content.decode()
    if name == "csv":
        chosen = re.findall(r'name="(column-\d+)".*?value="(\w+)" selected', page, re.DOTALL)
        token = re.search(r'name="upload" value="(\w+)"', page)[1]
        form = {"upload": token, "dataset": "data", **dict(chosen)}
        page = client.post("/datasets/import/", form).content.decode()
    assert "Imported " in page
    steps = re.search(r"<h2>Next steps</h2>(.*?)</section>", page, re.DOTALL)[1]
    links = re.findall(r'href="([^"]+)"', steps)
    assert links or 'form="compare-responses"' in steps
    for link in links:
        answer = client.get(link.replace("&amp;", "&"))
        assert (link, answer.status_code) == (link, 200)
        assert "data" in answer.content.decode()
        if "kind=TEST" in link:
            _assert_it_starts(client, answer.context["form"])


def _assert_it_starts(client, form):
    """The form of a run is sent as it opened; of data from which nothing was learned."""
    assert form.initial["sets"] == "none"
    sent = {name: value for name, value in form.initial.items() if value}
    answer = client.post("/runs/new/", {"dataset": "data", **sent})
    run = JudgeRun.objects.get(status="PENDING")
    assert (answer.status_code, answer.url) == (302, f"/runs/{run.pk}/")
    compared = Comparison.objects.exclude(response_a__text=None).exclude(response_b__text=None)
    # Of comparisons of the same texts one is asked about.
    texts = ("turn", "response_a__text", "response_b__text")
    asked = run.judgments.values_list(*(f"comparison__{each}" for each in texts))
    assert set(asked) == set(compared.values_list(*texts))


def golden_rows():
    """The first row of every golden file, with the parser of its format."""
    for name, each in ALL_FORMATS.items():
        if name in {"uss", "csv"}:
            continue  # columns without names; columns that a person names
        [path] = FOLDER.glob(f"{name}.*")
        raw = next(each.read_file(path))
        value = each.as_object(raw.value)
        if raw.fault is None and isinstance(value, dict):
            yield pytest.param(each.parse, value, id=name)


@pytest.mark.parametrize(("parse", "value"), list(golden_rows()))
@pytest.mark.parametrize("field", ["system", "system_prompt", "history", "images", "Tool Calls"])
def test_what_annotators_need_to_see_is_placed_or_refused(parse, value, field):
    if field in value:
        return
    row = parsed(3, {**value, field: "Be a pirate."}, parse)
    asked = [turn.user_message or "" for turn in getattr(row.record, "turns", ())]
    placed = getattr(row.record, "system_prompt", "") == "Be a pirate."
    placed |= field == "images" and any("[image]" in each for each in asked)
    assert placed or [fault.field for fault in row.faults] == [field]


@pytest.mark.parametrize("name", sorted(ALL_FORMATS))
def test_a_dataset_offers_the_downloads_that_have_a_row(client, name):
    for before in told_of(name)[1]:
        take(before)
    take(name)
    client.force_login(make_user(role="MANAGER"))
    page = client.get("/datasets/data/").content.decode()
    for address, kind, _label in DOWNLOADS:
        file = reverse(address, args=["data", kind, "jsonl"])
        answer = client.get(file)
        is_offered, has_rows = f'href="{file}"' in page, answer.status_code == 200
        assert has_rows or "so there is no file" in answer.content.decode()
        # Pairs to train on follow further rules, so that a few may be left of none.
        assert is_offered is has_rows or (kind == "preference_pairs" and is_offered), kind


@pytest.mark.parametrize("name", sorted(ALL_FORMATS))
def test_sessions_that_come_out_go_in_again_as_the_same_rows(tmp_path, name):
    for each in (*told_of(name)[1], name):
        take(each)
    exported = [tmp_path / f"{slug}.jsonl" for slug in ("data", "again")]
    call_command("export_records", "sessions", "--dataset", "data", "--out", str(exported[0]))
    report = import_any(path=exported[0], dataset_slug="again", now=timezone.now())
    assert (report.format, report.faults) == ("sensejudge", ())
    call_command("export_records", "sessions", "--dataset", "again", "--out", str(exported[1]))
    first, again = ([*read_rows(path)] for path in exported)
    assert [row.value for row in again[1:]] == [row.value for row in first[1:]]


@pytest.mark.parametrize(
    "name", [each.name for each in ALL_FORMATS.values() if each.read_file is read_rows]
)
def test_no_other_format_takes_a_golden_row_for_its_own(name):
    for row in read_rows(golden(name)):
        taken = {each.name for each in ALL_FORMATS.values() if each.looks_like(row.value)}
        assert taken == {COARSER.get(name, name)}
