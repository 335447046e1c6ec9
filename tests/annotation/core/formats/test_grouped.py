from __future__ import annotations

from annotation.core.formats.fields import Fields, Notes
from annotation.core.formats.grouped import read_grouped, rows_of
from tests.annotation.core.formats.rows import write_lines


def same_name(rows, row):
    return rows[-1]["name"] == row["name"]


def groups(path):
    return [(raw.line, raw.value, raw.fault) for raw in read_grouped(path, same_name)]


def test_rows_that_follow_one_another_are_one(tmp_path):
    path = write_lines(tmp_path / "f", {"name": 1}, {"name": 1, "x": 2}, {"name": 2}, {"name": 1})
    assert groups(path) == [
        (1, {"rows": [{"name": 1}, {"name": 1, "x": 2}], "lines": [1, 2]}, None),
        (3, {"rows": [{"name": 2}], "lines": [3]}, None),
        (4, {"rows": [{"name": 1}], "lines": [4]}, None),
    ]


def test_what_is_no_object_or_no_json_stands_alone(tmp_path):
    path = tmp_path / "f"
    path.write_text('{"name": 1}\n[3]\n{"name": 1}\n{"name"\n', "utf-8")
    [first, bare, second, broken] = groups(path)
    assert [each[1]["lines"] for each in (first, second)] == [[1], [3]]
    assert bare[:2] == (2, [3])
    assert broken[2].line == 4
    bare_first = tmp_path / "g"
    bare_first.write_text("[3]", "utf-8")
    assert [each[:2] for each in groups(bare_first)] == [(1, 3)]


def test_a_group_is_cut_where_it_is_very_long(tmp_path):
    path = write_lines(tmp_path / "f", *5001 * [{"name": 1}])
    assert [len(value["rows"]) for _line, value, _fault in groups(path)] == [5000, 1]


def test_a_fault_of_a_group_names_the_line_it_is_in():
    notes = Notes(3)
    group = Fields({"rows": [{"text": "a"}, {"text": 5, "more": 1}], "lines": [3, 4]}, notes)
    first, second = rows_of(group)
    assert (first.text("text"), second.text("text")) == ("a", "5")
    second.text("other")
    assert second.kept("text") == {"more": 1}
    second.notes.keep("there", {"x": 1})
    assert [(fault.line, fault.field) for fault in notes.faults] == [(4, "other")]
    assert (notes.coerced, notes.kept, notes.messages) == (1, ["more"], {"there": {"x": 1}})


def test_a_row_that_is_no_group_is_one():
    plain = Fields({"text": "a"}, Notes(1))
    assert rows_of(plain) == [plain]
    half = Fields({"rows": [{"text": "a"}]}, Notes(1))
    assert rows_of(half) == [half]


def test_what_stands_beside_the_rows_of_a_group_is_refused_where_annotators_need_it():
    notes = Notes(3)
    rows_of(Fields({"rows": [{}], "lines": [3], "system": "Be brief."}, notes))
    assert [fault.field for fault in notes.faults] == ["system"]
