from __future__ import annotations

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.tables import (
    Head,
    HeadedRow,
    as_it_was,
    cell,
    csv_lines,
    in_blocks,
    in_key_order,
    json_lines,
)

CELLS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
)
ROWS = st.lists(st.fixed_dictionaries({"a": CELLS, "b": CELLS}), max_size=5)


@pytest.mark.parametrize(
    "start", ["=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20"]
)
def test_what_a_spreadsheet_would_run_is_kept_from_running(start):
    assert cell(f"{start}cmd|' /C calc'!A0") == f"'{start}cmd|' /C calc'!A0"


def test_keys_are_sorted_at_every_depth_and_lists_stay():
    given = {"b": [{"z": 1, "a": [3, 1]}], "aa": {"y": None, "x": "t"}, "a": 2}
    assert json.dumps(in_key_order(given)) == (
        '{"a": 2, "aa": {"x": "t", "y": null}, "b": [{"a": [3, 1], "z": 1}]}'
    )


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, ""),
        ("", ""),
        ("a=b", "a=b"),
        (-1.5, -1.5),
        (0, 0),
        (True, "true"),
        ([1, "否"], '[1, "否"]'),
        ({}, "{}"),
    ],
)
def test_values_as_cells(value, expected):
    assert cell(value) == expected
    assert type(cell(value)) is type(expected)


@given(ROWS)
def test_json_lines_come_back(rows):
    assert [json.loads(line) for line in json_lines(rows)] == rows


@given(ROWS)
def test_csv_comes_back_and_no_cell_runs(rows):
    text = "".join(csv_lines(("a", "b", "missing"), rows))
    heading, *records = csv.reader(io.StringIO(text, newline=""))
    assert heading == ["a", "b", "missing"]
    for row, record in zip(rows, records, strict=True):
        assert record == [str(cell(row["a"])), str(cell(row["b"])), ""]
        for value, written in zip(row.values(), record, strict=False):
            assert not (isinstance(value, str) and written.startswith(("=", "+", "@", "\t", "\r")))


@given(st.lists(st.text(max_size=3)))
def test_blocks_hold_all_lines(lines):
    assert "".join(in_blocks(lines)) == "".join(lines)


def test_blocks_are_bounded():
    blocks = list(in_blocks(["x" * 20_000] * 10))
    assert [len(block) for block in blocks] == [40_000] * 5
    assert list(in_blocks([])) == []


QUOTED = st.text('",\r\n a', max_size=5)  # what decides whether a cell is quoted
VALUES = (
    st.none() | st.booleans() | st.integers() | st.text() | QUOTED | st.lists(QUOTED, max_size=3)
)


@given(st.lists(st.tuples(VALUES, VALUES, st.lists(st.tuples(VALUES, VALUES), max_size=3))))
def test_rows_under_a_head_are_written_as_rows_are(groups):
    told = [(Head(a=a, b=b), own) for a, b, some in groups for own in [some]]
    headed = [HeadedRow(head, {"c": c, "d": d}) for head, own in told for c, d in own]
    plain = [dict(row) for row in headed]
    assert list(json_lines(headed)) == list(json_lines(plain))
    for columns in ("abcd", "badc", "ac"):
        assert list(csv_lines(columns, headed)) == list(csv_lines(columns, plain))
    mixed = [row for pair in zip(headed, plain, strict=True) for row in pair]
    twice = [row for row in plain for _ in range(2)]
    assert list(csv_lines("abcd", mixed)) == list(csv_lines("abcd", twice))


def test_a_row_under_a_head_is_a_mapping():
    row = HeadedRow(Head(a=1), {"b": 2})
    assert (dict(row), len(row), row["b"], row.get("c")) == ({"a": 1, "b": 2}, 2, 2, None)


@given(st.text())
def test_an_apostrophe_that_a_cell_got_is_taken_away(text):
    assert as_it_was(cell(text)) == text or (text[:1] == "'" and cell(text) == text)
