from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from judging.core.structured import storable


def test_what_cannot_be_stored_is_replaced():
    assert storable("a\x00b\ud800c\udfff") == "a\ufffdb\ufffdc\ufffd"


@given(st.text(alphabet=st.characters(exclude_characters="\x00", exclude_categories=["Cs"])))
def test_other_text_stays(text):
    assert storable(text) == text


@given(st.text(alphabet=st.characters()))
def test_the_result_can_be_encoded(text):
    storable(text).encode()
