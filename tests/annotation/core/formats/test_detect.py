from __future__ import annotations

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
    with refuses("import:format", match="could not recognise the format"):
        open_records(path)


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
