"""Lists of rows within one JSON object."""

from __future__ import annotations

import json
import tracemalloc

import pytest

from annotation.core.formats import nested
from annotation.core.formats.detect import open_records
from annotation.core.formats.nested import lists_in, read_list
from tests.refusals import refuses

ROW = {"scenario": "s", "prompt": "Name a fruit.", "text_a": "Pear", "text_b": "Brick"}
BAD = {**ROW, "scenario": None}


def written(tmp_path, value, indent=None):
    path = tmp_path / "f.json"
    path.write_text(value if isinstance(value, str) else json.dumps(value, indent=indent), "utf-8")
    return path


def opened(path, name="auto"):
    chosen, rows = open_records(path, name)
    rows = list(rows)
    return (
        chosen.name,
        sum(row.record is not None for row in rows),
        [(fault.line, fault.field, fault.reason) for row in rows for fault in row.faults],
    )


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("name", ["data", "rows", "results", "train", "whatever"])
def test_a_list_of_rows_in_an_object_is_read(tmp_path, name, indent):
    file = {"version": "1", "meta": {"of": [1, 2], "n": 3}, name: [ROW, ROW, BAD], "end": None}
    expected = ("sensejudge", 2, [(3, f"{name}[2].scenario", "Missing")])
    assert opened(written(tmp_path, file, indent)) == expected
    assert opened(written(tmp_path, file, indent), "sensejudge") == expected


def test_a_list_may_be_one_object_deeper(tmp_path):
    assert opened(written(tmp_path, {"a": {"rows": [ROW, 3]}}))[2] == [
        (2, "a.rows[1]", "Expected a JSON object")
    ]
    with refuses("import:format"):
        opened(written(tmp_path, {"a": {"b": {"rows": [ROW]}}}))


def test_a_row_of_the_dataset_viewer_is_unwrapped(tmp_path):
    rows = [{"row_idx": 0, "row": BAD, "truncated_cells": []}]
    file = {"features": [{"name": "prompt"}], "rows": rows}
    assert opened(written(tmp_path, file))[2] == [(1, "rows[0].row.scenario", "Missing")]


def test_several_lists_of_rows_are_refused(tmp_path):
    file = {"train": [ROW], "test": [ROW], "people": [{"id": 1}]}
    with refuses("import:lists", match="the rows may be in train, test"):
        opened(written(tmp_path, file))


def test_an_error_in_the_list_hides_neither_format_nor_rows(tmp_path):
    text = f'{{\n "data": [\n{json.dumps(ROW)},\n{{"prompt": tru}},\n{json.dumps(ROW)}'
    name, good, faults = opened(written(tmp_path, text))
    assert (name, good) == ("sensejudge", 2)
    assert [(line, field) for line, field, _reason in faults] == [(2, "data[1]"), (3, "data[2]")]


@pytest.mark.parametrize(
    "text",
    [
        '{"a" 1, "b": []}',
        '{"a": {"b": [1',
        "{3: []}",
        '{"a": [1}',
        "[]",
        "",
        '{"a": "',
        '{"a": {]}',
    ],
)
def test_what_is_no_json_has_no_list_behind_it(tmp_path, text):
    assert all("b" not in under[:1] for under in lists_in(written(tmp_path, text), 3))


def test_the_nearest_format_is_that_of_the_list(tmp_path):
    with refuses("import:nearest", match="has no text_b"):
        opened(written(tmp_path, {"data": [{"prompt": "p", "text_a": "c"}]}))


def test_a_list_that_is_gone_has_no_rows(tmp_path):
    assert list(read_list(written(tmp_path, {"a": [1], "b": [2]}), ("c",))) == []


def test_only_so_many_lists_are_looked_at(tmp_path, monkeypatch):
    monkeypatch.setattr(nested, "_MOST_LISTS", 2)
    assert len(lists_in(written(tmp_path, {name: [1] for name in "abc"}), 3)) == 2


def test_memory_holds_a_window_whatever_the_size(tmp_path):
    rows = [{**ROW, "id": str(number), "note": "x" * 500} for number in range(60_000)]
    path = written(tmp_path, {"meta": [1], "data": rows})
    del rows
    tracemalloc.start()
    [under] = [under for under in lists_in(path, 3) if under == ("data",)]
    assert sum(1 for _row in read_list(path, under)) == 60_000
    assert tracemalloc.get_traced_memory()[1] < 20 * 2**20
    tracemalloc.stop()
