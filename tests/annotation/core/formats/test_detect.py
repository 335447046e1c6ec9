from __future__ import annotations

import json

import pytest

from annotation.core.formats import detect
from annotation.core.formats.detect import FORMATS, open_records
from tests.annotation.core.formats.rows import write_lines
from tests.refusals import refuses

PAIR = {"scenario": "s", "prompt": "p", "text_a": "1", "text_b": "2"}


def test_a_format_is_told_by_its_rows_even_after_a_bad_one(tmp_path):
    path = write_lines(tmp_path / "f", 3, {"unknown": 1}, PAIR)
    chosen, rows = open_records(path)
    found = list(rows)
    assert chosen.name == "sensejudge"
    assert [bool(row.faults) for row in found] == [True, True, False]
    assert found[0].faults[0].reason == "Expected a JSON object"


def test_a_line_that_is_no_json_is_a_fault_of_any_format(tmp_path):
    path = tmp_path / "f"
    path.write_text("{\n", "utf-8")
    _chosen, rows = open_records(path, "pandalm")
    assert [row.faults[0].line for row in rows] == [1]


def test_a_format_may_be_named(tmp_path):
    chosen, rows = open_records(write_lines(tmp_path / "f", PAIR), "pandalm")
    assert chosen is FORMATS["pandalm"]
    assert next(rows).record is None


def test_an_unknown_format_is_said(tmp_path):
    path = write_lines(tmp_path / "f", {"x": 1})
    with refuses("import:format", match="choose from auto, auto-j, "):
        open_records(path, "tsv")
    with refuses("import:format", match="could not recognise the format; fields of its rows: x"):
        open_records(path)


def told(path):
    chosen, rows = open_records(path)
    return chosen.name, [
        (fault.line, fault.field, fault.reason.partition(":")[0])
        for row in rows
        for fault in row.faults
    ]


def test_the_errors_of_the_first_rows_are_told_where_no_row_can_be_read(tmp_path):
    path = tmp_path / "f"
    path.write_text('{"prompt": tru}\n' * 25 + '{"prompt":\n', "utf-8")
    name, faults = told(path)
    assert name == "auto"
    assert faults == [(line, "", "Not JSON") for line in range(1, 27)]


def test_a_row_with_an_error_in_a_text_tells_the_format(tmp_path):
    path = write_lines(tmp_path / "f", {**PAIR, "labels": [{"comment": "a\0b"}]}, PAIR)
    assert told(path) == ("sensejudge", [(1, "labels[0].comment", "A string contains NUL")])


def test_more_errors_than_rows_are_looked_at_hide_no_format(tmp_path):
    path = tmp_path / "f"
    path.write_text("{\n" * 30 + json.dumps(PAIR), "utf-8")
    name, faults = told(path)
    assert (name, len(faults)) == ("sensejudge", 30)


def test_what_is_neither_json_nor_a_table_is_said(tmp_path):
    (tmp_path / "f").write_text("prompt,answer\nHi,Hello\n", "utf-8")
    with refuses("import:format", match="neither JSON nor a table of 3 columns or more"):
        open_records(tmp_path / "f")


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"cmp_key": "a_b", "response1": "x"}, "has no response2"),
        ({"prompt": "p", "chosen": "c", "score": 1}, "has no rejected"),
        ({"prompt": "p", "text_a": "x"}, "has no text_b"),
    ],
)
def test_the_nearest_format_is_named_with_what_it_lacks(tmp_path, row, says):
    with refuses("import:nearest", match=f"could not recognise the format; it looks .* {says}"):
        open_records(write_lines(tmp_path / "f", 3, row))


def test_the_first_error_is_told_beside_an_unknown_format(tmp_path):
    path = tmp_path / "f"
    path.write_text('{"x": 1}\n{"x": tru}\n[1]\n', "utf-8")
    with refuses("import:format", match="fields of its rows: x; line 2: Not JSON"):
        open_records(path)
    with refuses("import:format", match="its rows are no objects$"):
        open_records(write_lines(tmp_path / "g", 1, [1]))


def test_nothing_to_read_is_said(tmp_path):
    (tmp_path / "f").write_text("\n", "utf-8")
    with refuses("import:empty", match="f: no rows in this file"):
        open_records(tmp_path / "f")
    with refuses("import:unreadable", match="formats of directories: recllmsim"):
        open_records(tmp_path, "pandalm")
    _chosen, rows = open_records(tmp_path, "recllmsim")
    with refuses("import:unreadable"):
        list(rows)


def test_behind_many_faulty_rows_nothing_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(detect, "MOST_FAULTY_ROWS", 3)
    rows = [PAIR, {}, 1, PAIR, {}, {}, PAIR]
    _chosen, found = open_records(write_lines(tmp_path / "f", *rows))
    *_first, last, word = found
    assert (last.line, word.line) == (5, 5)
    (fault,) = word.faults
    assert (fault.line, fault.reason) == (
        0,
        "These are the errors of the first 3 rows with errors; the rest was not read",
    )


def test_a_few_faulty_rows_hide_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(detect, "MOST_FAULTY_ROWS", 3)
    _chosen, found = open_records(write_lines(tmp_path / "f", PAIR, {}, 1, PAIR))
    assert [bool(row.faults) for row in found] == [False, True, True, False]
