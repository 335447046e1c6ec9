"""Personal data: checksums by hand, and precision on 100 labelled lines, Chinese and English."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmark.core.personal_data import (
    PersonalDataKind,
    mask,
    passes_luhn,
    passes_mod_11_2,
    personal_data,
    without_personal_data,
)
from tests.paths import ROOT

FILE = ROOT / "tests" / "data" / "construction" / "personal_data.tsv"
LINES = [tuple(line.split("\t")) for line in FILE.read_text("utf-8").splitlines()]
MISSED = {
    "write to bob at gmail dot com",
    "微信同号：一三八一二三四五六七八",
    "call 4158675309",
    "护照号 E12345678",
}
WRONGLY_FOUND = {"13800000000 人口约 138 亿"}


def test_precision_on_the_labelled_lines():
    found = {text: {hit.kind.value for hit in personal_data(text)} for _kind, text in LINES}
    wanted = {text: {*kind.split("+")} - {"-"} for kind, text in LINES}
    right = sum(len(found[text] & wanted[text]) for text in found)
    assert {text for text in found if wanted[text] - found[text]} == MISSED
    assert {text for text in found if found[text] - wanted[text]} == WRONGLY_FOUND
    # As docs/methods.md says.
    assert (right, sum(map(len, found.values())), sum(map(len, wanted.values()))) == (44, 45, 48)


@pytest.mark.parametrize(
    ("digits", "expected"),
    [
        ("79927398713", True),  # the example of the standard's literature
        ("79927398710", False),
        ("4111111111111111", True),
        ("4111111111111112", False),
    ],
)
def test_luhn(digits, expected):
    assert passes_luhn(digits) is expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("11010519491231002X", True),  # the example of GB 11643-1999
        ("11010519491231002x", True),
        ("110105194912310021", False),
        ("440524188001010014", True),  # its other example
    ],
)
def test_mod_11_2(number, expected):
    assert passes_mod_11_2(number) is expected


@given(st.text("0123456789", min_size=12, max_size=18), st.integers(0, 17), st.integers(1, 9))
def test_luhn_sees_every_single_wrong_digit(digits, place, by):
    own = next(digits + each for each in "0123456789" if passes_luhn(digits + each))
    place %= len(own)
    other = str((int(own[place]) + by) % 10)
    assert not passes_luhn(own[:place] + other + own[place + 1 :])


@given(st.text("0123456789", min_size=17, max_size=17), st.integers(0, 16), st.integers(1, 9))
def test_mod_11_2_sees_every_single_wrong_digit(digits, place, by):
    own = next(digits + each for each in "0123456789X" if passes_mod_11_2(digits + each))
    other = str((int(own[place]) + by) % 10)
    assert not passes_mod_11_2(own[:place] + other + own[place + 1 :])


def test_a_resident_number_needs_a_date_in_this_century_or_the_last():
    # Born in 1880: the checksum is right, but it is nobody's number any more.
    kinds = {hit.kind for hit in personal_data("440524188001010014")}
    assert PersonalDataKind.IDENTITY not in kinds
    assert personal_data("11010519901341002X") == ()  # the thirteenth month


def test_one_stretch_of_text_is_found_once():
    kinds = [each.kind for each in personal_data("a@b.com, 13812345678, a@c.com")]
    assert kinds == [PersonalDataKind.EMAIL, PersonalDataKind.EMAIL, PersonalDataKind.PHONE]
    pair = personal_data("电话13812345678，13987654321")
    assert [each.kind for each in pair] == [PersonalDataKind.PHONE] * 2
    # It passes as a resident number and as a card number.
    both = "388899199003076430"
    assert passes_luhn(both)
    assert [each.kind for each in personal_data(both)] == [PersonalDataKind.IDENTITY]


def test_a_text_is_shown_with_what_was_found_masked():
    text = "Ｒing 13812345678，mail a@corp.com!"
    assert without_personal_data(text) == "Ring 13•••••••78,mail a@••••••om!"
    assert without_personal_data("Ｒing me，please") == "Ｒing me，please"


def test_what_is_shown_is_masked():
    assert mask("13812345678") == "13*******78"
    assert mask("abc") == "ab*bc"
    assert [hit.masked for hit in personal_data("write to john@corp.com")] == ["jo*********om"]
