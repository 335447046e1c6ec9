from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy, mean_share_interval
from benchmark.core.ties import BestOfItem, best_of_report

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
ONE = False
WORDS = {"A": A, "B": B, "T": TIE, "?": None}


def item(*orders, subset="Math", several=False):
    """An item from what was decided on its pairs, a letter a pair, in each order."""
    told = zip((Order.ORIGINAL, Order.SWAPPED), orders, strict=False)
    by_order = {order: [WORDS[letter] for letter in letters] for order, letters in told}
    pairs = len(orders[0])
    return BestOfItem(
        subset,
        several,
        tuple({order: won[place] for order, won in by_order.items()} for place in range(pairs)),
    )


def scored(letters):
    """An item decided by scores: no order."""
    return BestOfItem("Math", ONE, tuple({Order.COMBINED: WORDS[each]} for each in letters))


def value(*items, policy=InvalidPolicy.EXCLUDED):
    found = best_of_report(items, policy=policy)
    return None if found is None else (found.overall.value, found.overall.scored)


@pytest.mark.parametrize(
    ("decided", "earned"),
    [
        ("AAA", 1.0),
        ("AAB", 0.0),
        ("BBB", 0.0),
        ("AAT", 1 / 2),  # the first place is shared by two
        ("TTT", 1 / 4),  # by all four
        ("TTB", 0.0),  # shared, but below another
    ],
)
def test_the_chosen_response_must_beat_all_rejected_ones(decided, earned):
    assert value(scored(decided)) == (earned, 1)


def test_of_several_chosen_each_must_beat_all_without_a_tie():
    assert value(item("AAAA", several=True)) == (1.0, 1)
    assert value(item("AAAT", several=True)) == (0.0, 1)


def test_orders_are_read_by_themselves_and_pooled():
    # Right in one order, wrong in the other; a verdict on a pair from another order does not help.
    assert value(item("AAA", "AAB")) == (0.5, 1)
    assert value(item("AB", "BA")) == (0.0, 1)


def test_a_pair_without_verdict_leaves_its_item_out_or_decides_against_it():
    items = (item("A?"), item("AA"), item("B?"))
    assert value(*items) == (1.0, 1)
    assert value(*items, policy=InvalidPolicy.WRONG) == (pytest.approx(1 / 3), 3)


def test_an_item_with_a_pair_that_was_not_judged_is_not_scored():
    part = BestOfItem("Math", ONE, ({Order.ORIGINAL: A}, {}))
    found = best_of_report([part, item("AA")])
    assert found is not None
    assert (found.overall.scored, found.overall.items) == (1, 2)
    assert best_of_report([part]) is None
    assert best_of_report([]) is None


def test_subsets_count_once_in_the_mean():
    items = [item("A")] * 30 + [item("B", subset="Safety")] * 10
    found = best_of_report([*items, BestOfItem("Focus", ONE, ({},))])
    assert found is not None
    assert [(each.subset, each.value, each.scored, each.items) for each in found.subsets] == [
        ("Math", 1.0, 30, 30),
        ("Safety", 0.0, 10, 10),
        ("Focus", None, 0, 1),
    ]
    assert (found.overall.value, found.mean.value) == (0.75, 0.5)
    assert (found.mean.scored, found.mean.items) == (40, 41)
    # Within a subset every item is alike: as of 1 / (1/4 / 30 + 1/4 / 10) trials about one half.
    assert found.mean.interval == mean_share_interval(
        [(1.0, np.ones((30, 2))), (1.0, np.array([[0.0, 1.0]] * 10))]
    )
    assert found.mean.interval.low < 0.5 < found.mean.interval.high
    assert found.overall.interval.low < 0.75 < found.overall.interval.high


@given(st.lists(st.text("ABT", min_size=1, max_size=5), min_size=1, max_size=12))
def test_never_above_the_accuracy_on_pairs(decided):
    earned, _n = value(*map(scored, decided))
    pairs = [
        sum({"A": 1.0, "T": 0.5, "B": 0.0}[each] for each in letters) / len(letters)
        for letters in decided
    ]
    assert 0 <= earned <= sum(pairs) / len(pairs) + 1e-9
