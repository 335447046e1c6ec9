from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.money import estimate_tokens, shorten


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("a" * 35, 10),  # 35 / 3.5
        ("你好世界好", 6),  # 5 * 1.2
        ("ab你好", 3),  # 2 / 3.5 + 2 * 1.2 = 2.97
    ],
)
def test_the_estimate(text, tokens):
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_a_longer_text_never_has_fewer_tokens(one, two):
    assert estimate_tokens(one + two) >= max(estimate_tokens(one), estimate_tokens(two))


def test_shorten_keeps_the_beginning_and_the_end():
    text = "b" * 300 + "e" * 50
    short = shorten(text, tokens=20, mark="~")
    # 350 characters are 100 tokens; a fifth is 70 characters, 17 of them from the end.
    assert short == "b" * 53 + "~" + "e" * 17


def test_shorten_leaves_what_fits():
    assert shorten("short", tokens=2, mark="~") == "short"


def test_shorten_to_nothing_leaves_the_mark():
    assert shorten("some text", tokens=0, mark="~") == "~"
    assert shorten("some text", tokens=-5, mark="~") == "~"


@given(st.text(min_size=1), st.integers(0, 50))
def test_shorten_gives_about_so_many_tokens(text, tokens):
    kept = shorten(text, tokens=tokens, mark="")
    assert len(kept) <= len(text)
    assert kept == text or len(kept) <= len(text) * tokens / estimate_tokens(text)
