from __future__ import annotations

import pytest

from annotation.core.formats.published import headers_of, named_rows


@pytest.mark.parametrize(
    ("line", "columns"),
    [
        ('\ufeffid,"model a", winner', {"id", "model a", "winner"}),
        ('{"id": 1, "winner": 2}', set()),
        ('["id", "winner"]', set()),
        ("", set()),
        ("a\0b,c\rd", set()),
    ],
)
def test_the_columns_of_a_header(line, columns):
    assert headers_of(line) == columns


def test_rows_are_read_by_column_and_cells_at_the_end_may_be_missing(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('id,text,note\n1,"two\nlines"\n2,x,y,\n3,x,y,z\n4,"x"y,z\n')
    rows = list(named_rows(path))
    assert [row.value for row in rows if row.fault is None] == [
        {"id": "1", "text": "two\nlines", "note": ""},
        {"id": "2", "text": "x", "note": "y"},
    ]
    assert [(row.line, row.fault.reason.split(":")[0]) for row in rows if row.fault] == [
        (5, "4 cells for 3 columns"),
        (6, "Not CSV"),
    ]
