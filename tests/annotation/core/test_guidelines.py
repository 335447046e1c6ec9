from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.guidelines import Change, ChangedPiece, changes
from annotation.core.worddiff import LONGEST_CHARS

KEPT, GONE, NEW = Change.KEPT, Change.GONE, Change.NEW


@pytest.mark.parametrize(
    ("before", "after", "pieces"),
    [
        ("", "", []),
        ("same", "same", [("same", KEPT)]),
        ("", "all new", [("all new", NEW)]),
        ("all gone", "", [("all gone", GONE)]),
        (
            "Read both twice.",
            "Read both answers.",
            [("Read both ", KEPT), ("twice", GONE), ("answers", NEW), (".", KEPT)],
        ),
        ("A tie is fine.", "A tie is", [("A tie is", KEPT), (" fine.", GONE)]),
        ("A tie is", "A tie is fine.", [("A tie is ", KEPT), ("fine.", NEW)]),
        ("no merit of it.", "no merit.", [("no merit", KEPT), (" of it", GONE), (".", KEPT)]),
        ("先看问题", "先读问题", [("先", KEPT), ("看", GONE), ("读", NEW), ("问题", KEPT)]),
    ],
)
def test_what_went_stands_before_what_came(before, after, pieces):
    assert changes(before, after) == tuple(ChangedPiece(*piece) for piece in pieces)


def test_texts_too_long_to_compare_give_nothing():
    assert changes("a" * LONGEST_CHARS, "b") is None


texts = st.text(alphabet="ab .\n中文", max_size=30)


@given(texts, texts)
def test_without_what_went_it_is_the_new_text(before, after):
    pieces = changes(before, after)
    assert "".join(piece.text for piece in pieces if piece.change is not GONE) == after
    assert all(piece.text for piece in pieces)


@given(texts, texts)
def test_without_what_came_it_is_the_old_text_but_for_spaces(before, after):
    pieces = changes(before, after)
    text = "".join(piece.text for piece in pieces if piece.change is not NEW)
    assert "".join(text.split()) == "".join(before.split())
