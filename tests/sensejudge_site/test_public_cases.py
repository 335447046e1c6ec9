"""Files in the shapes of public data and tools, odd ones among them, become what they say.

`becomes.txt` has a line a file: its format, its rows, and what they add.
"""

from __future__ import annotations

import pytest
from django.utils import timezone

from annotation.models import User
from judging.services.recorded import import_any
from tests.paths import ROOT

pytestmark = pytest.mark.django_db

FOLDER = ROOT / "tests" / "data" / "cases"
BECOMES = [line.split(" | ") for line in (FOLDER / "becomes.txt").read_text("utf-8").splitlines()]
REFUSED = {
    "nul-byte.jsonl": ("sensejudge", "A string contains NUL"),
    "potato-annotations.csv": ("potato-labels", "The texts are in another file"),
    "potato-annotations.jsonl": ("potato-labels", "The texts are in another file"),
    "potato-user_state.json": ("potato-labels", "The texts are in another file"),
    "prism-survey.jsonl": ("prism-conversations", "This is the survey of PRISM"),
}


def take(name):
    return import_any(path=FOLDER / name, dataset_slug="data", now=timezone.now())


@pytest.mark.parametrize(
    ("name", "form", "rows", "added"), BECOMES, ids=[row[0] for row in BECOMES]
)
def test_a_public_file_becomes_what_it_says_and_again_adds_nothing(name, form, rows, added):
    report = take(name)
    assert (report.format, report.faults, report.rows) == (form, (), int(rows))
    assert ", ".join(f"{count} {kind}" for kind, count in report.objects.items() if count) == added
    again = take(name)
    assert (again.faults, again.created, again.unchanged) == ((), 0, int(rows))


@pytest.mark.parametrize(
    ("name", "form", "says"), [(name, *told) for name, told in REFUSED.items()]
)
def test_what_cannot_go_in_is_told_by_its_own_reason(name, form, says):
    report = take(name)
    assert report.format == form
    assert all(fault.reason.startswith(says) for fault in report.faults)
    assert report.fault_count > 0


@pytest.mark.parametrize(
    ("source", "files"),
    [
        (
            "mt-bench",
            "question model_answer human-judgments model_judgment-pair model_judgment-single",
        ),
        ("arena-hard-v0.1", "question model_answer model_judgment"),
        ("arena-hard-v2", "question model_answer model_judgment"),
        ("potato", "data annotations"),
    ],
)
def test_files_that_lean_on_others_go_into_one_dataset(source, files):
    for name in files.split():
        report = take(f"{source}-{name}.jsonl")
        assert (name, report.faults) == (name, ())
        assert report.created > 0


def test_no_file_is_left_out():
    files = {path.name for path in FOLDER.iterdir()} - {"becomes.txt"}
    assert files == {row[0] for row in BECOMES} | REFUSED.keys()


def test_names_of_people_stay_as_they_are_written():
    take("annotator-names-refused.jsonl")
    assert set(User.objects.values_list("display_name", flat=True)) == {
        "O'Brien",
        "李雷（二组）",
        "佐藤・花子",
        "Ann (backup)",
        "user#12",
        "ann/2",
    }
