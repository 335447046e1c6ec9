from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import pytest
from django.core.management import CommandError, call_command

from annotation.models import Dataset, LabelSampling, PairwiseLabel
from tests.annotation.records import pair, rated, write
from tests.paths import ROOT

pytestmark = pytest.mark.django_db


class Terminal(io.StringIO):
    def isatty(self):
        return True


def run(path, *options, stderr=None):
    """Standard output and standard error of the command."""
    out, err = io.StringIO(), stderr or io.StringIO()
    call_command("import_records", path, "--dataset", "data", *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def refused(path, *options):
    """What the command says as it fails with status 2, and its standard output."""
    out = io.StringIO()
    with pytest.raises(CommandError) as caught:
        call_command("import_records", path, "--dataset", "data", *options, stdout=out)
    assert caught.value.returncode == 2
    return str(caught.value), out.getvalue()


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "rows.jsonl", [pair(text_a=7), pair(prompt="q")])


def test_it_tells_what_it_did(file):
    out, err = run(file)
    assert out.splitlines() == [
        "data: 2 rows as sensejudge, 2 new, 0 unchanged, 1 value converted to text",
        "added: 2 sessions, 2 turns, 4 responses, 2 comparisons, 2 labels, 1 raters",
    ]
    assert err == ""
    assert PairwiseLabel.objects.count() == 2


def test_as_json_it_prints_one_object_and_nothing_else(file):
    out, _err = run(file, "--json")
    assert json.loads(out) == {
        "dataset": "data",
        "format": "sensejudge",
        "rows": 2,
        "created": 2,
        "unchanged": 0,
        "coerced": 1,
        "fault_count": 0,
        "faults": [],
        "objects": {
            "sessions": 2,
            "turns": 2,
            "responses": 4,
            "comparisons": 2,
            "labels": 2,
            "raters": 1,
        },
        "missing_users": [],
        "dry_run": False,
        "kept": {},
        "skipped": {},
        "source": {},
        "fault_groups": [],
        "rows_left_out": 0,
        "left_out_count": 0,
        "left_out": [],
    }


def test_a_dry_run_writes_nothing(file):
    out, _err = run(file, "--dry-run")
    assert "dry run: nothing was imported" in out
    assert not Dataset.objects.exists()


def test_a_bad_row_is_named_and_nothing_is_written(tmp_path):
    path = write(tmp_path / "f", [pair(), pair(verdict="C", prompt="q")])
    error, out = refused(path)
    assert error == (
        "nothing was imported: 1 error, the first on line 2, verdict: "
        'Expected one of A, B, TIE: "C"'
    )
    assert 'line 2, verdict: Expected one of A, B, TIE: "C"' in out
    assert not Dataset.objects.exists()


def test_faults_as_json(tmp_path):
    path = write(tmp_path / "f", [pair(), pair(verdict=9, prompt="q")])
    _error, out = refused(path, "--json")
    report = json.loads(out)
    assert (report["fault_count"], report["created"]) == (1, 0)
    assert report["faults"] == [
        {"line": 2, "field": "verdict", "reason": "Expected one of A, B, TIE", "value": 9}
    ]


def test_errors_of_one_kind_are_one_line(tmp_path):
    rows = [pair(verdict="CD"[place % 2], prompt=f"p{place}") for place in range(230)]
    path = write(tmp_path / "f", [*rows, pair(annotator="")])
    _error, out = refused(path)
    reason = "Expected one of A, B, TIE"
    assert f'230 x verdict: {reason}: "C", "D" (lines 1, 2, 3, 4, 5, ...)\n' in out
    assert out.splitlines()[-1] == 'line 231, annotator: Must not be empty: ""'
    _error, out = refused(path, "--json")
    report = json.loads(out)
    assert (report["fault_count"], len(report["faults"])) == (231, 200)
    assert report["fault_groups"][0] == {
        "field": "verdict",
        "reason": reason,
        "count": 230,
        "lines": [1, 2, 3, 4, 5],
        "values": ["C", "D"],
    }


def test_many_kinds_of_errors_are_cut_for_readers(tmp_path):
    path = write(tmp_path / "f", [pair(**{f"more{place}": 1}) for place in range(30)])
    _error, out = refused(path)
    assert "... and 10 more errors (--json lists 200)" in out


def test_rows_with_errors_are_left_out_where_that_is_asked_for(tmp_path):
    rows = [pair(prompt=f"p{place}") for place in range(2000)]
    rows[10]["verdict"], rows[20]["annotator"] = "C", ""
    rows[30] |= {"session": "k"}
    rows[40] |= {"session": "k", "scenario": "other"}
    path = write(tmp_path / "f", rows)
    error, out = refused(path)
    assert error.startswith("nothing was imported: 3 errors")
    assert not Dataset.objects.exists()
    out, _err = run(path, "--skip-errors")
    lines = out.splitlines()
    assert lines[0].startswith("data: 1,997 rows as sensejudge, 1,997 new")
    assert lines[2] == "left out because of errors: 3 rows"
    assert [line.partition(":")[0] for line in lines[3:]] == [
        "line 11, verdict",
        "line 21, annotator",
        "line 41, scenario",
    ]
    assert PairwiseLabel.objects.count() == 1997
    out, _err = run(path, "--skip-errors", "--json")
    report = json.loads(out)
    assert [report[name] for name in ("unchanged", "rows_left_out", "left_out_count")] == [
        1997,
        3,
        3,
    ]
    assert [each["line"] for each in report["left_out"]] == [11, 21, 41]


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([pair(), pair(prompt="q")])[:-20],
        'prompt,text_a,text_b\np,x,y\n"q,x,y\nr,x,y\n',
        "prompt,text_a,verdict\np,x,A\n",
        json.dumps(pair(verdict="C")),
    ],
)
def test_a_file_that_is_at_fault_as_a_whole_is_refused_all_the_same(tmp_path, content):
    path = tmp_path / "f"
    path.write_text(content, "utf-8")
    refused(path, "--skip-errors")
    assert not Dataset.objects.exists()


def test_only_the_users_of_a_list(tmp_path):
    path = write(tmp_path / "f", [rated(), rated(key="k2", user="User_2", questionnaires=[])])
    (tmp_path / "splits.json").write_text('{"train": ["User_1", "User_9"]}', "utf-8")
    out, _err = run(path, "--only-users", f"{tmp_path / 'splits.json'}:train")
    assert out.startswith("data: 1 row")
    assert "not in the file: User_9" in out


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "tsv"], "import:format: unknown format 'tsv'"),
        (["--columns", "prompt"], "import:columns: expected KEY=HEADER with one of prompt, text_a"),
        (
            ["--columns", "prompt=Q", "--format", "pandalm"],
            "import:columns: columns belong to the format csv, not pandalm",
        ),
        (["--only-users", "nowhere.json:train"], "import:unreadable: nowhere.json"),
        (["--dataset", "a b"], "import:dataset: 'a b' is not a short name"),
    ],
)
def test_wrong_arguments_are_said_in_one_line(file, options, said):
    error, out = refused(file, *options)
    assert error.startswith(said)
    assert "\n" not in error
    assert out == ""


TABLE = """Question,"Answer, the first",Answer 2,Rater,Better
"How, then?",Like this.,"Like
that.",ann,"Answer, the first"
Why?,Because.,No idea.,bob,tie
"""
COLUMNS = (
    'prompt=Question,text_a="Answer, the first",text_b=Answer 2,annotator=Rater,verdict=Better'
)
CHINESE = "prompt=问题,text_a=回答A,text_b=回答B,annotator=标注员,verdict=选择"


def test_a_table_is_imported_by_the_columns_that_are_named(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(TABLE, "utf-8")
    out, _err = run(path, "--format", "csv", "--columns", COLUMNS, "--json")
    report = json.loads(out)
    assert (report["format"], report["rows"], report["created"]) == ("csv", 2, 2)
    labels = PairwiseLabel.objects.order_by("pk")
    assert list(labels.values_list("annotator__display_name", "verdict")) == [
        ("ann", "A"),
        ("bob", "TIE"),
    ]
    out, _err = run(path, "--columns", COLUMNS, "--json")
    assert (json.loads(out)["created"], json.loads(out)["unchanged"]) == (0, 2)


def test_headers_are_guessed_as_on_the_page_and_what_is_not_read_is_named(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("Question,Answer 1,Answer 2,Rater,Better,Mood\nWhy?,a,b,ann,2,fine\n", "utf-8")
    columns = "prompt=Question,text_a=Answer 1,text_b=Answer 2,annotator=Rater,verdict=Better"
    error, _out = refused(path)
    assert error == (
        "import:unread-columns: not understood: Mood; add them to --columns, or leave them out: "
        f"--columns '{columns}'"
    )
    assert not Dataset.objects.exists()
    out, err = run(path, "--columns", columns, "--json")
    assert json.loads(out)["objects"]["labels"] == 1
    assert err.splitlines() == [
        "columns: prompt=Question, text_a=Answer 1, text_b=Answer 2, annotator=Rater, "
        "verdict=Better",
        "not read: Mood",
    ]
    assert PairwiseLabel.objects.get().verdict == "B"


def test_colleagues_have_a_column_of_verdicts_each(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text("Question,Answer 1,Answer 2,Ann,Bob\nWhy?,a,b,1,tie\n", "utf-8")
    run(path, "--columns", "verdict:Ann=Ann,verdict:Bob=Bob")
    labels = PairwiseLabel.objects.order_by("annotator__display_name")
    assert list(labels.values_list("annotator__display_name", "verdict")) == [
        ("Ann", "A"),
        ("Bob", "TIE"),
    ]


def test_the_words_of_a_table_are_given_their_meaning(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_bytes(
        "问题,回答A,回答B,标注员,选择\n一,甲,乙,李雷,左\n二,甲,乙,李雷,都行吧\n三,甲,乙,李雷,?\n".encode(
            "gbk"
        )
    )
    out, _err = run(path, "--values", "verdict:都行吧=TIE,?=SKIP", "--json")
    report = json.loads(out)
    assert (report["objects"]["labels"], report["source"]) == (2, {"encoding": "GB18030"})
    assert report["skipped"] == {"left out by the meaning chosen for one of its values": 1}
    out, _err = run(path, "--values", "verdict:都行吧=TIE,?=SKIP", "--columns", CHINESE)
    assert "read as GB18030 (encoding)" in out
    for values, said in (("verdict:x=5", "expected VALUE=MEANING"), ("x", "expected KEY:VALUE")):
        error, _out = refused(path, "--values", values)
        assert error.startswith("import:values: ")
        assert said in error
    error, _out = refused(path, "--values", "verdict:x=A", "--format", "urs")
    assert error == "import:values: values belong to the format csv, not urs"


def test_a_table_with_errors_lists_them_and_changes_nothing(tmp_path):
    path = tmp_path / "pairs.csv"
    path.write_text(f"{TABLE}Who?,You.,Me.,bob,maybe\nWhen?,Now.\n", "utf-8")
    _error, out = refused(path, "--format", "csv", "--columns", COLUMNS, "--json")
    assert [tuple(each.values()) for each in json.loads(out)["faults"]] == [
        (
            5,
            "verdict",
            "Not known as a verdict: say what this value means (step Values of the import page, or "
            "--values)",
            "maybe",
        ),
        (6, "", "2 cells for 5 columns", "When?"),
    ]
    _error, out = refused(path, "--columns", "prompt=Query,text_a=Answer", "--json")
    assert [tuple(each.values())[1:] for each in json.loads(out)["faults"]] == [
        ("prompt", "There is no column with this header", "Query"),
        ("text_a", "There is no column with this header", "Answer"),
    ]
    assert not Dataset.objects.exists()


def test_a_file_that_is_not_there_is_said(tmp_path):
    error, _out = refused(tmp_path / "nowhere.jsonl")
    assert error == "import:unreadable: nowhere.jsonl: No such file or directory"


def test_progress_goes_to_a_terminal_only(file):
    terminal = Terminal()
    _out, err = run(file, stderr=terminal)
    assert "2 rows" in err


def test_long_imports_tell_their_progress_without_a_terminal(tmp_path):
    path = write(tmp_path / "f", [pair(prompt=f"p{place % 7}") for place in range(10_000)])
    _out, err = run(path)
    assert err == "10000 rows\n"


def test_the_pages_of_the_site_are_not_loaded(file):
    code = (
        "import sys; from django.core.management import execute_from_command_line\n"
        "try: execute_from_command_line(sys.argv)\n"
        "finally: print([name for name in sys.modules if name.startswith('annotation.views')])"
    )
    command = ["manage.py", "import_records", str(file.with_name("none")), "--dataset", "data"]
    done = subprocess.run(
        [sys.executable, "-c", code, *command[1:]],
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "sensejudge_site.settings"},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "[]"
    assert "import:unreadable" in done.stderr


def test_how_the_labels_were_drawn_is_stated_and_withdrawn(file):
    run(file, "--dry-run", "--labels-random", "By lot.")
    assert not LabelSampling.objects.exists()
    run(file, "--labels-random", "By lot.")
    stated = LabelSampling.objects.get()
    assert (stated.dataset.slug, stated.statement, stated.stated_by) == ("data", "By lot.", None)
    run(file)
    assert LabelSampling.objects.exists()
    run(file, "--labels-random", "")
    assert not LabelSampling.objects.exists()
