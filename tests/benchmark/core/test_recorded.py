from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy, Judged, accuracy
from benchmark.core.gold import every_reply

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ORIGINAL, SWAPPED, COMBINED = Order.ORIGINAL, Order.SWAPPED, Order.COMBINED


def both(key, gold, one, other):
    return Judged(key, gold, {ORIGINAL: one, SWAPPED: other})


def test_every_reply_counts_whether_it_was_read_or_not():
    found = every_reply(
        [
            both(1, A, A, A),  # right twice, alike, first then second
            both(2, B, A, B),  # right once, first shown both times
            both(3, A, None, None),  # wrong twice, alike, names nobody
            both(4, B, TIE, B),  # one half and one, different, first in the swapped order
        ]
    )
    assert (found.comparisons, found.replies, found.unreadable) == (4, 8, 2)
    assert found.points == 2 + 1 + 0 + 1.5
    assert found.accuracy == 4.5 / 8
    assert (found.paired, found.alike, found.same_in_both_orders) == (4, 2, 0.5)
    assert (found.ordered, found.first, found.picks_first) == (8, 1 + 2 + 0 + 1, 0.5)


def test_a_combined_verdict_has_no_order_to_prefer_or_to_agree_with():
    found = every_reply([Judged(1, A, {COMBINED: A}), Judged(2, A, {ORIGINAL: B})])
    assert (found.accuracy, found.paired, found.ordered, found.first) == (0.5, 0, 1, 0)
    assert found.same_in_both_orders is None


def test_gold_ties_and_comparisons_without_decisions_are_left_out():
    found = every_reply([both(1, TIE, A, A), Judged(2, A, {})])
    assert found.comparisons == 0
    assert found.accuracy is found.same_in_both_orders is found.picks_first is None


@pytest.mark.parametrize("gold", [A, B])
@pytest.mark.parametrize("one", [A, B, TIE, None])
@pytest.mark.parametrize("other", [A, B, TIE, None])
def test_its_accuracy_is_the_one_that_counts_unreadable_as_wrong(gold, one, other):
    items = [both(1, gold, one, other), both(2, A, A, A)]
    counted = accuracy(items, policy=InvalidPolicy.WRONG)
    assert every_reply(items).accuracy == counted.value
