from __future__ import annotations

import pytest

from annotation.core.formats.fields import Fields, Notes
from annotation.core.formats.printed import read_printed


def read(given):
    notes = Notes(1)
    return read_printed(Fields({"cell": given}, notes), "cell"), [
        (each.field, each.reason) for each in notes.faults
    ]


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (["as it is"], ["as it is"]),
        (None, None),
        ('["a", null]', ["a", None]),
        ("['it\\'s', None, True, False, 1.5]", ["it's", None, True, False, 1.5]),
        ("[{\"role\": 'None'}]", [{"role": "None"}]),
        ("[{'a': '} {'}\n {'a': \"it's\"}]", [{"a": "} {"}, {"a": "it's"}]),
        ("{'content': array([{'text': 'x'}], dtype=object)}", {"content": [{"text": "x"}]}),
    ],
)
def test_lists_are_read_as_json_and_as_python_prints_them(given, value):
    assert read(given) == (value, [])


@pytest.mark.parametrize("given", ["a, b", "['\\N{no such sign}']", "4", "'text'"])
def test_a_text_that_is_no_list_is_a_fault(given):
    reason = "Expected a list or an object, as JSON or as Python prints it"
    assert read(given) == (None, [("cell", reason)])


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        (r'["\ud83d"]', "A string contains bytes or escapes that are not characters"),
        ("[" * 60 + "]" * 60, "Nested too deeply"),
    ],
)
def test_what_no_database_holds_is_a_fault(given, reason):
    assert read(given) == (None, [("cell", reason)])
