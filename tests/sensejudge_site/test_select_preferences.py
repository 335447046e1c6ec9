from __future__ import annotations

import json
from io import StringIO

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError


def write(folder, content):
    path = folder / "matrix.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content))
    return path


def run(path, *options):
    out, err = StringIO(), StringIO()
    call_command("select_preferences", "--matrix", str(path), *options, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


MATRIX = {
    "matrix_original": [[0, 1, 1], [1, 0, 1]],
    "matrix_swapped": [[0, 1, 1], [0, 1, 1]],
    "difference_penalty": True,
    "column_source": [None, 0, "all"],
}


LEFT_OUT = "difference_penalty is ignored: it applies only to --mode paper.\n"


def test_it_prints_one_json_object(tmp_path):
    out, err = run(write(tmp_path, MATRIX), "--json")
    assert json.loads(out) == {
        # Column 1 is masked on row 0: column 0 has 1 of 4, column 1 too, {0, 1} has 1/2 + 1/2.
        "selected": [[0]],
        "metric": 1.0,
        "denominator": 4,
        "strategy": "best",
        "accuracy": 0.25,
        "leave_one_out": 0.25,
        "null_p95": 0.75,
        "p_value": 1.0,
        "flagged": True,
        "flips": 4,
        "exact": True,
        "seed": None,
        "mode": "default",
        "difference_penalty": False,
    }
    assert err == LEFT_OUT


def test_paper_mode_applies_the_penalty(tmp_path):
    out, err = run(write(tmp_path, MATRIX), "--mode", "paper", "--json")
    fields = json.loads(out)
    assert err == ""
    assert fields["selected"][0] == [2]
    assert (fields["strategy"], fields["difference_penalty"]) == ("forward_best", True)
    assert (fields["mode"], fields["metric"]) == ("paper", 4)


def test_it_prints_lines_for_people_and_warns_of_fields_it_does_not_know(tmp_path):
    out, err = run(write(tmp_path, {**MATRIX, "column_sources": []}))
    assert out.splitlines()[:3] == ["selected: [[0]]", "metric: 1.0", "denominator: 4"]
    assert err == "column_sources is not a field of a matrix file; ignored\n" + LEFT_OUT


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "is not JSON"),
        ({"matrix_original": [[2]], "matrix_swapped": [[1, 1]]}, "is 2, not 0, 1 or null; "),
        ({"matrix_original": [[None]], "matrix_swapped": [[None]]}, "selection:no-verdict"),
    ],
)
def test_a_wrong_file_exits_2_with_one_line(tmp_path, content, message):
    with pytest.raises(CommandError, match=message) as raised:
        run(write(tmp_path, content))
    assert raised.value.returncode == 2
    assert "\n" not in str(raised.value)


def test_too_many_columns_for_paper_mode_exit_2(tmp_path):
    wide = {"matrix_original": [[1] * 21], "matrix_swapped": [[1] * 21]}
    with pytest.raises(CommandError, match="selection:too-many-columns") as raised:
        run(write(tmp_path, wide), "--mode", "paper")
    assert raised.value.returncode == 2


def test_a_file_that_is_not_text_exits_2(tmp_path):
    path = tmp_path / "matrix.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CommandError, match="is not JSON") as raised:
        run(path)
    assert raised.value.returncode == 2


def test_a_missing_file_exits_2(tmp_path):
    with pytest.raises(CommandError, match=r"cannot read .*No such file") as raised:
        run(tmp_path / "none.json")
    assert raised.value.returncode == 2
