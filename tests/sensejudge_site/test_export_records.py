from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from sensejudge_site.management.commands.export_records import KINDS
from tests.annotation.records import everything, import_rows

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data(tmp_path):
    import_rows(tmp_path, *everything())


def run(*options):
    out = io.StringIO()
    call_command("export_records", *options, stdout=out)
    return out.getvalue()


@pytest.mark.parametrize("format_name", ["jsonl", "csv"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_what_standard_output_would(tmp_path, kind, format_name):
    target = tmp_path / "out"
    options = (kind, "--dataset", "data", "--format", format_name)
    assert run(*options, "--out", target) == ""
    assert target.read_bytes().decode() == run(*options)
    assert not list(tmp_path.glob("*.part"))


def test_all_kinds_are_there():
    assert sorted(KINDS) == [
        "generated_responses",
        "judgments",
        "labels",
        "memories",
        "preference_sets",
        "preferences",
        "rubrics",
        "satisfaction",
        "satisfaction_judgments",
        "sessions",
    ]


def test_jsonl_is_the_default():
    assert [json.loads(line)["type"] for line in run("labels", "--dataset", "data").splitlines()]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["labels", "--dataset", "none"],
            "dataset:unknown: no dataset 'none'; known datasets: data",
        ),
        (
            ["labels", "--dataset", "data", "--out", "/nowhere/f"],
            "cannot write /nowhere/f: No such",
        ),
        (["secrets", "--dataset", "data"], "invalid choice: 'secrets'"),
        (["labels", "--dataset", "data", "--format", "xlsx"], "invalid choice: 'xlsx'"),
    ],
)
def test_wrong_arguments_are_said(options, said):
    with pytest.raises(CommandError) as caught:
        run(*options)
    assert said in str(caught.value)
    assert "secrets" in options or "xlsx" in options or caught.value.returncode == 2
