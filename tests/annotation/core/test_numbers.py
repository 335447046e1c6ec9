"""Numbers of rows, as they are sent."""

from __future__ import annotations

import re

import pytest

from annotation.core.numbers import NumberConverter, number_in
from tests.paths import ROOT


@pytest.mark.parametrize(("text", "number"), [("0", 0), ("007", 7), ("9" * 18, 10**18 - 1)])
def test_a_number_is_read(text, number):
    assert number_in(text) == number
    assert NumberConverter().to_python(text) == number
    assert re.fullmatch(NumberConverter.regex, text)


@pytest.mark.parametrize("text", ["", "-1", "1.5", "x", "²", "٣", "1\n", "9" * 19, "9" * 5000])
def test_anything_else_is_none(text):
    assert number_in(text) is None
    assert not re.fullmatch(NumberConverter.regex, text)


def test_an_address_is_written_back():
    assert NumberConverter().to_url(12) == "12"


@pytest.mark.parametrize("app", ["annotation", "judging", "benchmark", "sensejudge_site"])
def test_no_address_takes_numbers_of_any_length(app):
    assert "<int:" not in (ROOT / app / "urls.py").read_text(encoding="utf-8")
