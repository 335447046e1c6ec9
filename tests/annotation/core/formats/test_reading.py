from __future__ import annotations

import gzip
import json
import tracemalloc

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.core.formats import reading
from annotation.core.formats.reading import open_text, read_document, read_rows
from tests.refusals import refuses

TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECTS = st.lists(st.dictionaries(st.sampled_from("abcd"), JSON, max_size=3), max_size=8)


def rows_of(tmp_path, content: bytes):
    path = tmp_path / "rows"
    path.write_bytes(content)
    return list(read_rows(path))


def values(rows):
    assert all(row.fault is None for row in rows), rows
    return [row.value for row in rows]


@pytest.mark.parametrize("ascii_only", [True, False])
@pytest.mark.parametrize("indent", [None, 1])
@settings(max_examples=40, deadline=None)
@given(rows=OBJECTS)
def test_an_array_comes_back_as_it_was_written(tmp_path_factory, rows, indent, ascii_only):
    text = json.dumps(rows, indent=indent, ensure_ascii=ascii_only)
    found = rows_of(tmp_path_factory.mktemp("array"), text.encode())
    assert values(found) == rows
    assert [row.line for row in found] == list(range(1, len(rows) + 1))


@settings(max_examples=40, deadline=None)
@given(rows=OBJECTS)
def test_lines_come_back_as_they_were_written(tmp_path_factory, rows):
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert values(rows_of(tmp_path_factory.mktemp("lines"), text.encode())) == rows


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-8"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
@pytest.mark.parametrize("text", ['[{"a": "否"}]', '{"a": "否"}\r\n'])
def test_a_bom_or_gzip_changes_nothing(tmp_path, text, pack, encoding):
    assert values(rows_of(tmp_path, pack(text.encode(encoding)))) == [{"a": "否"}]


def test_blank_lines_are_no_rows_but_count_as_lines(tmp_path):
    found = rows_of(tmp_path, b'{"a": 1}\n\n   \n{"a": 2}')
    assert [(row.line, row.value) for row in found] == [(1, {"a": 1}), (4, {"a": 2})]


def test_lines_that_are_arrays_are_rows(tmp_path):
    assert values(rows_of(tmp_path, b'[{"a": 1}]\n[{"a": 2}]\n')) == [[{"a": 1}], [{"a": 2}]]


@pytest.mark.parametrize("text", ["[[1],\n[2]]", "[\n[1], [2]\n]", "[[1], [2]]"])
def test_an_array_of_arrays_is_one_array(tmp_path, text):
    assert values(rows_of(tmp_path, text.encode())) == [[1], [2]]


def test_a_bad_line_does_not_hide_the_next(tmp_path):
    found = rows_of(tmp_path, b'{"a": tru}\n{"a": 2}\n{"a": NaN}\n' + b"[" * 100_000 + b"\n3\n")
    assert [row.line for row in found] == [1, 2, 3, 4, 5]
    assert [row.value for row in found if row.fault is None] == [{"a": 2}, {"a": None}, 3]
    reasons = [row.fault.reason for row in found if row.fault]
    assert reasons[0].startswith("Not JSON: Expecting value")
    assert reasons[1] == "Nested too deeply"


@pytest.mark.parametrize(
    ("text", "good", "reason"),
    [
        ('[{"a": tru}, {"b": "x]}"}]', [{"b": "x]}"}], "Not JSON"),
        ('[1, {"a": 1,}, 3]', [1, 3], "Not JSON: nothing follows the last comma; remove"),
        ("[1, [2,], 3]", [1, 3], "Not JSON: nothing follows the last comma; remove"),
        ("[{'a': 1}, 2]", [2], "Not JSON but Python's notation"),
        ('[{"a": None}, 2]', [2], "Not JSON but Python's notation"),
        ("[1, , 3]", [1, 3], "No item follows this comma; remove the comma"),
        ("[1, 2, ]", [1, 2], "No item follows this comma; remove the comma"),
        ('[1, {"a": [}], 3]', [1, 3], "Not JSON"),
        ('[1, {"a": 1}} , 3]', [1, {"a": 1}], "Expected a comma or the end of the array"),
        ("[1 2]", [1], "Expected a comma or the end of the array"),
        ("[1, 2", [1, 2], "Expected a comma or the end of the array"),
        ('[1, {"a": "x', [1], "The file ends inside this item"),
        ("[1] 2", [1], "Text after the end of the array"),
    ],
)
def test_a_bad_item_is_a_fault(tmp_path, text, good, reason):
    found = rows_of(tmp_path, text.encode())
    assert [row.value for row in found if row.fault is None] == good
    [fault, *_rest] = [row.fault for row in found if row.fault]
    assert fault.reason.startswith(reason)


@pytest.mark.parametrize("array", [True, False])
def test_endless_nesting_is_a_fault_and_an_endless_number_null(tmp_path, array):
    deep = "[" * 60 + "1" + "]" * 60
    rows = [f'{{"a": {deep}}}', '{"a": 1e999}', f'{{"a": {deep[15:-15]}, "b": 1.5}}']
    text = f"[{', '.join(rows)}]" if array else "\n".join(rows)
    first, second, third = rows_of(tmp_path, text.encode())
    assert "Nested too deeply" in str(first.fault)
    assert (second.fault, second.value) == (None, {"a": None})
    assert third.fault is None


@pytest.mark.parametrize("text", [b"[" * 100_000, b"[" * 100_000 + b"\n[1]", b"[1, " + b"[" * 60])
def test_the_end_of_endless_nesting_is_not_looked_for(tmp_path, monkeypatch, text):
    monkeypatch.setattr(reading, "WINDOW", 50)
    marks = reading._MARKS
    monkeypatch.setattr(reading, "_MARKS", _Counted(marks))
    last = rows_of(tmp_path, text)[-1]
    assert "too deeply nested" in str(last.fault)
    assert reading._MARKS.found < 500


class _Counted:
    """A pattern that counts what it found."""

    def __init__(self, pattern):
        self.pattern = pattern
        self.found = 0

    def finditer(self, *where):
        for mark in self.pattern.finditer(*where):
            self.found += 1
            yield mark


def test_an_empty_array_and_an_empty_file_have_no_rows(tmp_path):
    assert rows_of(tmp_path, b" [ ] ") == []
    assert rows_of(tmp_path, b"") == []


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"a": "x\\u0000"}', "A string contains NUL"),
        (b'{"a": ["\\ud83d"]}', "A string contains bytes or escapes that are not characters"),
        (b'{"a\\udc00": 1}', "A string contains bytes or escapes that are not characters"),
        (b'{"a": "\xff\xfe"}', "A string contains bytes or escapes that are not characters"),
    ],
)
@pytest.mark.parametrize("array", [True, False])
def test_text_that_no_column_can_hold_is_a_fault_of_its_row_alone(tmp_path, line, reason, array):
    other = b'{"a": "\\\\u0000 \\ud83d\\ude00"}'
    found = rows_of(tmp_path, b"[%s, %s]" % (line, other) if array else line + b"\n" + other)
    assert [row.line for row in found] == [1, 2]
    assert found[0].fault is not None
    assert found[0].fault.reason == reason
    assert found[1].value == {"a": "\\u0000 😀"}


@pytest.mark.parametrize("head", [b'{"a": 1}\n', b"[1, "])
def test_a_damaged_file_gives_what_came_before_and_a_fault(tmp_path, head):
    whole = gzip.compress(head + json.dumps(list(range(200_000))).encode())
    found = rows_of(tmp_path, whole[: len(whole) // 2])
    assert found[-1].fault is not None
    assert "damaged" in found[-1].fault.reason


def test_half_a_character_of_utf_16_is_damage(tmp_path):
    [row] = rows_of(tmp_path, '{"a": 1}'.encode("utf-16") + b"\x00\xd8\x00")
    assert row.fault is not None
    assert "damaged" in row.fault.reason


def test_what_is_not_there_is_said(tmp_path):
    with refuses("import:unreadable", match="nowhere: No such file"):
        list(read_rows(tmp_path / "nowhere"))


def test_what_only_looks_like_gzip_is_said(tmp_path):
    with refuses("import:unreadable", match="rows"):
        rows_of(tmp_path, b"\x1f\x8b nothing of the kind")


def test_a_row_may_be_larger_than_the_window(tmp_path):
    long = {"a": '\\"é' * 300_000}
    text = json.dumps([long, 7, long], ensure_ascii=False)
    assert values(rows_of(tmp_path, text.encode())) == [long, 7, long]
    text = "\n".join(json.dumps(row) for row in [long, 7, long])
    assert values(rows_of(tmp_path, text.encode())) == [long, 7, long]


def test_a_number_at_the_edge_of_the_window_is_not_cut(tmp_path):
    edge = reading.WINDOW
    text = "[" + " " * (edge - 3) + "1234]"
    assert values(rows_of(tmp_path, text.encode())) == [1234]


@pytest.mark.parametrize("opening", ['{"a": "', '[{"a": "', '["a'])
def test_a_row_without_end_stops_the_reading(tmp_path, opening):
    path = tmp_path / "rows"
    with path.open("w") as file:
        file.write(opening)
        for _mebibyte in range(reading.MAX_ROW_CHARS // 2**20 + 2):
            file.write("x" * 2**20)
        file.write('"}\n{"a": 1}')
    [row] = read_rows(path)
    assert row.fault is not None
    assert "too long to read" in row.fault.reason
    assert "too long to read" in str(read_document(path, 1).fault)


@pytest.mark.parametrize("array", [True, False])
def test_memory_stays_flat_on_a_big_file(tmp_path, array):
    path = tmp_path / "big"
    line = json.dumps({"text": "x" * 2000})
    with path.open("w") as file:
        file.write("[" if array else "")
        for number in range(10_000):
            file.write(line + (("," if number < 9_999 else "]") if array else "\n"))
    tracemalloc.start()
    assert sum(1 for row in read_rows(path) if row.fault is None) == 10_000
    _now, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 20_000_000
    assert peak < 4_000_000


def test_a_document_is_one_value_on_many_lines(tmp_path):
    path = tmp_path / "one.json"
    path.write_text('\ufeff{\n "a": 1\n}', "utf-8")
    assert read_document(path, 5).value == {"a": 1}
    path.write_text("{", "utf-8")
    assert "line=5" in str(read_document(path, 5).fault)
    assert "Cannot be read" in str(read_document(tmp_path / "none.json", 5).fault)


class TestOutOfProportion:
    def packed(self, tmp_path, *pieces):
        path = tmp_path / "rows.gz"
        with gzip.open(path, "wb") as file:
            for piece in pieces:
                file.write(piece)
        return path

    @pytest.mark.parametrize("blank", [b"\n", b" ", b" \n" * 3])
    @pytest.mark.parametrize("start", [b"", b"[", b'{"a": 1}\n', b'[{"a": 1}, '])
    def test_blanks_are_not_read_to_their_end(self, tmp_path, monkeypatch, blank, start):
        monkeypatch.setattr(reading, "MAX_BLANK_CHARS", 1000)
        path = tmp_path / "rows"
        path.write_bytes(start + blank * 20_000 + b'{"b": 2}]')
        monkeypatch.setattr(reading, "MAX_ROW_CHARS", 5000)
        monkeypatch.setattr(reading, "WINDOW", 100)
        *_rows, last = read_rows(path)
        assert last.fault is not None

    def test_a_file_that_unpacks_to_blanks_is_refused_at_once(self, tmp_path):
        path = self.packed(tmp_path, *[b"\n" * 2**20] * 64)
        (row,) = read_rows(path)
        assert row.fault.reason == "Only blank lines follow; the rest was not read"

    def test_a_file_that_unpacks_to_too_much_is_refused(self, tmp_path):
        rows = b'{"a": "' + b"x" * 100_000 + b'"}\n'
        path = self.packed(tmp_path, *[rows] * 400)
        *_rows, last = read_rows(path)
        assert last.fault.reason == (
            "The file unpacks to more than 300 times its size; the rest was not read"
        )
        assert len(_rows) <= 16 * 2**20 // len(rows) + 1

    def test_rows_that_are_much_alike_are_read(self, tmp_path):
        reply = " ".join(str(7919 * n % 9973) for n in range(400)).encode()
        rows = [b'{"a": "%s %d"}\n' % (reply, n) for n in range(10_000)]
        assert sum(len(row) for row in rows) > 16 * 2**20
        path = self.packed(tmp_path, *rows)
        assert sum(row.fault is None for row in read_rows(path)) == 10_000

    def test_whoever_reads_the_text_is_told_that_it_is_damaged(self, tmp_path):
        path = self.packed(tmp_path, b"a,b\n" * 100_000)
        path.write_bytes(path.read_bytes()[:-20])
        with refuses("import:unreadable"), open_text(path) as stream:
            list(stream)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{\n "a": 1,\n "b": [\n  2\n ]\n}', [1]),
        ('\n\n{\n "a": 1\n}\n{\n "a": 2\n}\n{"a": 3}\n', [3, 6, 9]),
        ('{"a":\n 1}\n', [1]),
        ('{"a": [\n {"b": 1},\n {"b": 2}\n]}', [1]),
        ('{"a": {"x": 1},\n "b": "]"}', [1]),
    ],
)
def test_objects_may_be_printed_over_several_lines(tmp_path, monkeypatch, text, lines):
    monkeypatch.setattr(reading, "WINDOW", 1000)
    found = rows_of(tmp_path, text.encode())
    assert [(row.line, row.fault) for row in found] == [(line, None) for line in lines]


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ('{"a": "cut\n{"a": 2}\n', [1, 2]),
        ('{"a": 1,\n{"a": 2}\n', [1, 2]),
        ('{\n{"a": 2}\n', [1, 2]),
        ('{"a": 1}}\n{"a": 2}\n', [1, 2]),
        ('{"a": [1\n{"a": 2}\n', [1, 2]),
    ],
)
def test_a_line_that_is_cut_off_does_not_hide_the_next(tmp_path, text, lines):
    found = rows_of(tmp_path, text.encode())
    assert [row.line for row in found] == lines
    assert found[-1].value == {"a": 2}


def test_an_error_in_a_printed_object_does_not_hide_the_next(tmp_path):
    text = b'{\n "a": tru\n}\n{\n "a": 2\n},\n{\n "a": 3\n}'
    first, second, third = rows_of(tmp_path, text)
    assert (first.line, first.fault.reason[:8]) == (1, "Not JSON")
    assert (second.line, second.value) == (4, {"a": 2})
    assert (third.line, "the rest was not read" in third.fault.reason) == (6, True)


def test_lines_are_counted_past_the_window(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "WINDOW", 50)
    text = "".join(json.dumps({"a": number, "b": "x" * 40}, indent=1) for number in range(9))
    found = rows_of(tmp_path, text.replace("}{", "}\n{").encode())
    assert [row.line for row in found] == [1 + 4 * number for number in range(9)]
    assert [row.value["a"] for row in found] == list(range(9))


def test_the_path_to_a_text_that_no_column_holds_is_told(tmp_path):
    rows = [{"a": [{"b": "x"}, {"b": "\x00"}]}, {"a": {"\ud800": 1}}, ["\x00"], "\x00"]
    found = rows_of(tmp_path, "\n".join(map(json.dumps, rows)).encode())
    assert [row.fault.field for row in found] == ["a[1].b", "a", "[0]", ""]
    assert [row.value for row in found] == rows


@pytest.mark.parametrize("content", [b'[{"a": 1}, tru, {"a": 2}]', b'[{"a": 1}, {"a": 2}, tru]'])
def test_an_item_that_is_no_json_leaves_the_others(tmp_path, content):
    rows = rows_of(tmp_path, content)
    assert [row.value for row in rows if row.fault is None] == [{"a": 1}, {"a": 2}]
    assert [row.fault.reason[:8] for row in rows if row.fault] == ["Not JSON"]


def test_nul_beside_other_values_is_told_by_its_path(tmp_path):
    (row,) = rows_of(tmp_path, b'[{"a": [1], "b": [null, "x\\u0000"]}]')
    assert (row.fault.field, row.fault.reason) == ("b[1]", "A string contains NUL")
