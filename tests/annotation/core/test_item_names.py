from __future__ import annotations

import pytest

from annotation.core.item_names import ItemKey, first_words


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (None, ""),
        (" How do\nI  boil an egg? ", "How do I boil an egg?"),
        ("word " * 20, "word word word word word word word word word word word word…"),
        ("鸡" * 61, "鸡" * 60 + "…"),
        ("a " + "b" * 70, "a " + "b" * 58 + "…"),
    ],
)
def test_a_message_is_told_by_its_first_words(message, words):
    assert first_words(message) == words


def test_an_item_is_called_by_its_number_and_words():
    key = ItemKey.of("5f0e", 2, "How do I boil an egg?")
    assert (key, key.shown, key.words) == ("5f0e", "#3 How do I boil an egg?", key.opening)


def test_an_item_without_a_message_is_called_by_its_number():
    key = ItemKey.of("5f0e", 0, None)
    assert (key.shown, key.words) == ("#1", "5f0e")
