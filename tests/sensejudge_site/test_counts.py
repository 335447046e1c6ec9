"""A number and its noun, as commands write them."""

from __future__ import annotations

import pytest

from sensejudge_site.management.parsing import counted


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 draws"), (1, "1 draw"), (2, "2 draws"), (12_000, "12,000 draws")]
)
def test_one_is_no_plural(number, said):
    assert counted(number, "draw") == said


def test_a_plural_may_be_told():
    assert (counted(1, "reply", "replies"), counted(3, "reply", "replies")) == (
        "1 reply",
        "3 replies",
    )
