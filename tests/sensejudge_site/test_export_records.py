from __future__ import annotations

import io
import json

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset
from sensejudge_site.management.commands.export_records import KINDS
from tests.annotation.records import everything, import_rows, pair

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data(tmp_path):
    import_rows(tmp_path, *everything())


COMMAND = "sensejudge_site.management.commands.export_records"


def run(*options):
    out = io.StringIO()
    call_command("export_records", *options, stdout=out)
    return out.getvalue()


FILLED = [
    "alpaca_outputs",
    "kto",
    "labels",
    "labels_wide",
    "mtbench_answers",
    "preference_pairs",
    "satisfaction",
    "sessions",
]


@pytest.mark.parametrize("kind", sorted(KINDS.keys() - FILLED))
def test_what_has_no_row_is_said_in_a_sentence(tmp_path, kind):
    Dataset.objects.create(slug="empty", name="empty")
    target = tmp_path / "out"
    with pytest.raises(CommandError, match=r"^export:empty: ") as refused:
        run(kind, "--dataset", "empty", "--out", target)
    assert refused.value.returncode == 2
    assert not target.exists()


@pytest.mark.parametrize("format_name", ["jsonl", "csv", "excel"])
@pytest.mark.parametrize("kind", FILLED)
def test_a_file_holds_what_standard_output_would(tmp_path, kind, format_name):
    target = tmp_path / "out"
    options = (kind, "--dataset", "data", "--format", format_name)
    assert run(*options, "--out", target) == ""
    written = target.read_bytes().decode()
    assert written == run(*options)
    assert written.startswith("\ufeff") is (format_name == "excel")
    assert not list(tmp_path.glob("*.part"))


def test_all_kinds_are_there():
    assert sorted(KINDS) == [
        "alpaca_annotations",
        "alpaca_outputs",
        "arena_battles",
        "generated_responses",
        "judgments",
        "kto",
        "labels",
        "labels_wide",
        "memories",
        "mtbench_answers",
        "mtbench_pairs",
        "mtbench_questions",
        "mtbench_singles",
        "mtbench_votes",
        "preference_pairs",
        "preference_sets",
        "preferences",
        "rewardbench",
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
        (
            ["labels", "--dataset", "data", "--each-label"],
            "--source, --judge, --annotator, --each-label and --layout are for preference_pairs",
        ),
        (
            ["preference_pairs", "--dataset", "data", "--source", "judge"],
            "pairs:no-judge: name a judge, one of: ",
        ),
        (
            ["preference_pairs", "--dataset", "data", "--judge", "nobody"],
            "pairs:unknown-judge: no judge 'nobody' in this dataset; known: ",
        ),
        (["labels", "--dataset", "data", "--threshold", "3"], "--threshold is for kto"),
        (["secrets", "--dataset", "data"], "invalid choice: 'secrets'"),
        (["labels", "--dataset", "data", "--format", "xlsx"], "invalid choice: 'xlsx'"),
    ],
)
def test_wrong_arguments_are_said(options, said):
    with pytest.raises(CommandError) as caught:
        run(*options)
    assert said in str(caught.value)
    assert "secrets" in options or "xlsx" in options or caught.value.returncode == 2


@pytest.mark.parametrize("kind", ["labels", "labels_wide", "preference_pairs", "kto"])
def test_a_folder_holds_every_column_of_every_row_and_a_card(tmp_path, kind):
    out = tmp_path / "new" / "pairs"
    out.parent.mkdir()
    assert run(kind, "--dataset", "data", "--format", "folder", "--out", out) == ""
    rows = [json.loads(line) for line in (out / "data" / f"{kind}.jsonl").read_text().splitlines()]
    told = run(kind, "--dataset", "data").splitlines()
    assert len(rows) == len(told)
    assert len({tuple(row) for row in rows}) <= 1
    assert not any(isinstance(value, dict) for row in rows for value in row.values())
    _, front, body = (out / "README.md").read_text("utf-8").split("---\n", 2)
    assert "license: null # fill in before publishing\n" in front
    assert f"    path: data/{kind}.jsonl\n" in front
    assert f"- rows: {len(rows)}\n" in body
    assert sorted(each.name for each in tmp_path.rglob("*.part")) == []


@pytest.mark.parametrize(
    ("kind", "form", "out", "said"),
    [
        ("labels", "folder", None, "--format folder needs --out"),
        ("sessions", "folder", "new", "have no common columns"),
        ("labels", "folder", ".", "it is there already"),
        ("labels", "parquet", "new", "Parquet needs the package pyarrow"),
    ],
)
def test_what_cannot_be_written_so_is_refused_in_a_sentence(
    tmp_path, monkeypatch, kind, form, out, said
):
    monkeypatch.setattr(f"{COMMAND}.has_parquet", lambda: False)
    place = () if out is None else ("--out", tmp_path / out)
    with pytest.raises(CommandError, match=said) as refused:
        run(kind, "--dataset", "data", "--format", form, *place)
    assert refused.value.returncode == 2
    assert [each.name for each in tmp_path.iterdir()] == ["rows.jsonl"]


def test_parquet_has_the_rows_of_a_folder(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is none of this project's")
    run("labels", "--dataset", "data", "--format", "parquet", "--out", tmp_path / "labels.parquet")
    run("labels", "--dataset", "data", "--format", "folder", "--out", tmp_path / "labels")
    lines = (tmp_path / "labels" / "data" / "labels.jsonl").read_text("utf-8").splitlines()
    found = parquet.read_table(tmp_path / "labels.parquet").to_pylist()
    assert found == [json.loads(line) for line in lines]


def test_pairs_are_the_majority_unless_options_say_otherwise(tmp_path):
    # One tie more than `everything` has.
    import_rows(tmp_path, pair(prompt="tie"), pair(prompt="tie", annotator="bob", verdict="B"))
    out, err = io.StringIO(), io.StringIO()
    call_command("export_records", "preference_pairs", "--dataset", "data", stdout=out, stderr=err)
    rows = [json.loads(line) for line in out.getvalue().splitlines()]
    assert {row["annotator"] for row in rows} == {"majority"}
    assert "left out: 2 comparisons whose majority is a tie" in err.getvalue()
    options = ("preference_pairs", "--dataset", "data")
    each = [json.loads(line) for line in run(*options, "--each-label").splitlines()]
    assert {"ann", "bob"} <= {row["annotator"] for row in each}
    own = [json.loads(line) for line in run(*options, "--annotator", "bob").splitlines()]
    assert {row["annotator"] for row in own} == {"bob"}
    assert len(own) < len(each)
