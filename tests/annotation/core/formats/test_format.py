"""What a format is, and how the formats of a folder are found."""

from __future__ import annotations

from pathlib import Path

from annotation.core import formats
from annotation.core.formats.format import Format, formats_in


def test_a_format_that_says_little_knows_nothing_and_changes_nothing():
    bare = Format(name="bare", title="Bare", line="Nothing.", parse=lambda fields: None)
    assert not bare.looks_like({})
    assert not bare.knows_text("{")
    assert bare.as_object([1]) == [1]
    rows = iter(())
    assert bare.checked(Path(), rows) is rows


def test_every_module_lists_its_formats_and_fallbacks_are_asked_last():
    found = formats_in(formats)
    assert {"sensejudge", "rewardbench", "csv"} <= found.keys()
    assert all(each.title and each.line and name == each.name for name, each in found.items())
    fallbacks = [each.is_fallback for each in found.values()]
    assert fallbacks == sorted(fallbacks)
