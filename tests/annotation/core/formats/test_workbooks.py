"""Excel workbooks as tables."""

from __future__ import annotations

import zipfile
from datetime import UTC, date, datetime, time

from openpyxl import Workbook

from annotation.core.formats import workbooks
from annotation.core.formats.detect import format_of_text, open_records
from annotation.core.formats.grids import preview, source_of, table_rows
from annotation.core.formats.workbooks import is_workbook, sheet_rows
from tests.annotation.core.formats.rows import session_of
from tests.refusals import refuses

HEADER = ["prompt", "text_a", "text_b", "annotator", "verdict"]


def workbook(path, sheets):
    book = Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_is_read_as_a_table(tmp_path):
    rows = [
        HEADER,
        ["Name a fruit.", "Pear", "Brick", "李雷", "左"],
        [],
        ["Add.", 4, None, "bob", 2],
    ]
    path = workbook(tmp_path / "votes.xlsx", {"Votes": rows})
    chosen, found = open_records(path)
    first, second = found
    assert chosen.name == "csv"
    [comparison] = session_of(first).turns[0].comparisons
    assert [(one.details.annotator, one.verdict) for one in comparison.labels] == [("李雷", "A")]
    assert second.line == 4
    assert [one.text for one in session_of(second).turns[0].responses] == ["4", ""]
    assert source_of(path) == {}


def test_the_first_sheet_with_rows_is_read_and_named(tmp_path):
    sheets = {
        "Notes": [["How this was made"]],
        "Votes": [HEADER, ["p", "x", "y", "ann", "A"]],
        "More": [HEADER, ["q", "x", "y", "ann", "A"]],
    }
    path = workbook(tmp_path / "votes.xlsx", sheets)
    assert source_of(path) == {"sheet": "Votes"}
    assert preview(path) == (HEADER, [["p", "x", "y", "ann", "A"]])


def test_a_hidden_sheet_is_passed_over_and_a_workbook_may_be_empty(tmp_path):
    path = workbook(tmp_path / "votes.xlsx", {"Old": [HEADER, HEADER], "New": [HEADER, ["p"]]})
    import openpyxl

    book = openpyxl.load_workbook(path)
    book["Old"].sheet_state = "hidden"
    book.save(path)
    assert [cells for _line, cells in table_rows(path)] == [HEADER, ["p"]]
    empty = workbook(tmp_path / "empty.xlsx", {"A": [], "B": []})
    with refuses("import:empty"):
        preview(empty)
    with refuses("import:empty"):
        open_records(empty)


def test_cells_become_the_text_that_csv_has(tmp_path):
    values = [
        True,
        False,
        3.0,
        2.5,
        date(2026, 1, 2),
        datetime(2026, 1, 2, 3, 4, tzinfo=UTC).replace(tzinfo=None),
        time(3, 4),
        "_x0041_b",
        None,
        " ",
    ]
    path = workbook(tmp_path / "t.xlsx", {"S": [["a", "b", "c"], values]})
    [_header, (_line, cells)] = sheet_rows(path)
    assert cells == [
        "TRUE",
        "FALSE",
        "3",
        "2.5",
        "2026-01-02 00:00:00",
        "2026-01-02 03:04:00",
        "03:04:00",
        "Ab",
    ]
    assert workbooks._text(date(2026, 1, 2)) == "2026-01-02"


def test_a_zip_file_that_is_no_workbook_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("content.xml", "<x/>")
    assert not is_workbook(path)
    with refuses("import:spreadsheet"):
        open_records(path)
    path.write_bytes(b"PK\x03\x04 and so on")
    assert not is_workbook(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0 an old one")
    with refuses("import:spreadsheet"):
        open_records(path)
    with refuses("import:unreadable"):
        is_workbook(tmp_path / "missing.xlsx")


def test_a_damaged_workbook_is_refused(tmp_path):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr("xl/workbook.xml", "<workbook")
    assert format_of_text(path).name == "csv"
    with refuses("import:unreadable"):
        list(table_rows(path))


def test_a_workbook_that_unpacks_to_too_much_is_refused_unread(tmp_path, monkeypatch):
    path = workbook(tmp_path / "t.xlsx", {"S": [HEADER, ["p", "x", "y", "ann", "A"]]})
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("xl/media/bomb", b"\0" * 20_000_000)
    with refuses("import:unreadable", match="unpacks to too much"):
        source_of(path)


def test_rows_beyond_excels_own_limit_are_not_read(tmp_path, monkeypatch):
    monkeypatch.setattr(workbooks, "MOST_ROWS", 3)
    path = workbook(tmp_path / "t.xlsx", {"S": [HEADER, *[["p", "x", "y"]] * 5]})
    with refuses("import:unreadable", match="too many rows"):
        list(table_rows(path))
