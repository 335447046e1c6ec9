"""Lists and objects that a file holds as texts: as JSON, or as Python and numpy print them."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from typing import Final

from annotation.core.formats.fields import Fields
from annotation.core.formats.reading import decoded
from annotation.core.refusals import gettext_noop

_PYTHON: Final = re.compile(
    r"'(?:[^'\\]|\\.)*+'|\"(?:[^\"\\]|\\.)*+\"|\bNone\b|\bTrue\b|\bFalse\b"
    r"|\}\s+(?=\{)|\barray\(|,\s*dtype=object\)",
    re.DOTALL,
)
_WORDS: Final = {"None": "null", "True": "true", "False": "false"}


def read_printed(fields: Fields, name: str) -> object:
    """The value of a field, read from its text if it is one; a fault where that is no list."""
    given = fields.data.get(name)
    if not isinstance(given, str):
        return given
    row = decoded(fields.notes.line, given)
    if row.fault is not None:
        row = decoded(fields.notes.line, _PYTHON.sub(_as_json, given))
    if row.fault is None and isinstance(row.value, list | dict):
        return row.value
    reason = gettext_noop("Expected a list or an object, as JSON or as Python prints it")
    if row.fault is not None and "JSON" not in row.fault.text:
        fields.notes.faults.append(replace(row.fault, field=fields.at(name)))
    else:
        fields.fault(name, reason, given)
    return None


def _as_json(found: re.Match[str]) -> str:
    """A part of what Python prints, as JSON has it."""
    token = found.group()
    if token[0] in "'\"":
        try:
            return json.dumps(ast.literal_eval(token))
        except (ValueError, SyntaxError):
            return token
    if token[0] == "}":
        return "},"
    return _WORDS.get(token, "")
