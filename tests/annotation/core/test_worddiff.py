from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.worddiff import LONGEST_CHARS, word_diff

WORDY = st.text(alphabet="ab 茶水カ_,.\n", max_size=40)


def differing(pieces):
    return [piece.text for piece in pieces if piece.differs]


@pytest.mark.parametrize(
    ("first", "second", "of_first", "of_second"),
    [
        ("", "", [], []),
        ("The cat sat.", "The dog sat.", ["cat "], ["dog "]),
        ("one two", "one two three", [], ["three"]),
        ("我喜欢茶", "我爱喝茶", ["喜欢"], ["爱喝"]),
        ("same\n\nsame", "same same", [], []),
        ("用 Python 写", "用 Rust 写", ["Python "], ["Rust "]),
    ],
)
def test_what_differs_is_found_by_words_and_chinese_characters(first, second, of_first, of_second):
    left, right = word_diff(first, second)
    assert (differing(left), differing(right)) == (of_first, of_second)


@given(WORDY, WORDY)
def test_the_pieces_of_a_side_are_its_text(first, second):
    left, right = word_diff(first, second)
    assert "".join(piece.text for piece in left) == first
    assert "".join(piece.text for piece in right) == second


@given(WORDY)
def test_a_text_does_not_differ_from_itself(text):
    left, right = word_diff(text, text)
    assert left == right
    assert not differing(left)


def test_texts_that_would_take_too_long_are_not_compared():
    half = "x" * (LONGEST_CHARS // 2)
    assert word_diff(half, half) is not None
    assert word_diff(half, half + "x") is None


def test_texts_whose_words_all_stand_elsewhere_are_given_up_soon():
    words = [chr(0x4E00 + number) for number in range(101)]
    assert word_diff("".join(words) * 198, "".join(reversed(words)) * 198) is None


def test_long_prose_is_compared_whole():
    draw = Random(1)
    vocabulary = [chr(0x4E00 + number) for number in range(3000)]
    weights = [1 / (rank + 3) for rank in range(3000)]  # as the characters of a language are spread
    first, second = ("".join(draw.choices(vocabulary, weights, k=20_000)) for _ in range(2))
    assert word_diff(first, second) is not None
