"""Small helpers that the tests of formats share."""

from __future__ import annotations

import json

from annotation.core.formats.fields import parsed
from annotation.core.formats.records import Fault, Row, SessionRecord


def record_of(row, parse):
    """The record of a row that must have no fault."""
    found = parsed(1, row, parse)
    assert found.faults == ()
    return found.record


def session_of(row: Row) -> SessionRecord:
    """The session of a row without a fault."""
    assert isinstance(row.record, SessionRecord), row.faults
    return row.record


def faults_of(row, parse) -> list[tuple[str, str]]:
    """The fields and reasons of a row's faults; such a row yields no record."""
    found: Row = parsed(7, row, parse)
    assert found.record is None
    assert all(isinstance(each, Fault) and each.line == 7 for each in found.faults)
    return [(each.field, each.reason) for each in found.faults]


def write_lines(path, *rows):
    """A JSONL file of rows."""
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path
