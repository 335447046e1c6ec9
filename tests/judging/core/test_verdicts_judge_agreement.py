from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.verdicts import Share, alike, consistency, right

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
FIRST, SECOND = Order.ORIGINAL, Order.SWAPPED
CELLS = {
    (1, FIRST): A,
    (1, SECOND): A,
    (2, FIRST): A,
    (2, SECOND): B,
    (3, FIRST): TIE,
    (4, SECOND): B,
}


def test_right_is_the_winner_of_the_label():
    # 1 twice right, 2 once, 3 a tie that names nobody; 4 has no label
    assert right(CELLS, {1: A, 2: B, 3: A}) == Share(3, 5)


def test_consistent_is_the_same_verdict_in_both_orders():
    # 1 is, 2 is not; 3 and 4 were judged in one order alone
    assert consistency(CELLS) == Share(1, 2)


def test_alike_is_what_two_judges_share():
    other = {(1, FIRST): A, (2, FIRST): B, (3, FIRST): TIE, (9, FIRST): A}
    assert alike(CELLS, other) == alike(other, CELLS) == Share(2, 3)


@pytest.mark.parametrize(("share", "value"), [(Share(3, 4), 0.75), (Share(0, 0), None)])
def test_a_share(share, value):
    assert share.value == value
    assert (share.interval is None) is (share.n == 0)
