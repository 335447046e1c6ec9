from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy, Judged, JudgedColumns, accuracy, gain

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE
decisions = st.dictionaries(
    st.sampled_from([Order.ORIGINAL, Order.SWAPPED]), st.sampled_from([A, B, TIE, None])
)
judged = st.lists(st.tuples(st.sampled_from(Verdict), decisions), max_size=20).map(
    lambda rows: [Judged(key, human, each) for key, (human, each) in enumerate(rows)]
)


def rows(*cells):
    """Comparisons in which the human said A, from (original, swapped) decisions."""
    return [
        Judged(key, A, {Order.ORIGINAL: one, Order.SWAPPED: other})
        for key, (one, other) in enumerate(cells)
    ]


def test_orders_are_pooled_and_an_even_split_scores_one_half():
    # 1 + 1, 1 + 0, ½ + 0 over six decisions.
    result = accuracy(rows(*[(A, A), (A, B), (TIE, B)] * 4))
    assert result.value == pytest.approx(3.5 / 6)
    assert (result.verdicts, result.comparisons, result.unreadable) == (24, 12, 0)
    assert result.interval.low <= result.value <= result.interval.high


def test_an_unreadable_verdict_is_left_out_or_counted_wrong():
    items = rows((A, None), (None, None), (A, B))
    left_out = accuracy(items)
    counted = accuracy(items, policy=InvalidPolicy.WRONG)
    assert (left_out.value, left_out.verdicts, left_out.comparisons) == (pytest.approx(2 / 3), 3, 2)
    assert (counted.value, counted.verdicts, counted.comparisons) == (pytest.approx(2 / 6), 6, 3)
    assert left_out.unreadable == counted.unreadable == 3


def test_an_order_that_was_not_judged_is_no_failure():
    result = accuracy([Judged(1, A, {Order.ORIGINAL: A}), Judged(2, A, {})])
    assert (result.value, result.verdicts, result.comparisons, result.unreadable) == (1, 1, 1, 0)


def test_human_ties_are_counted_apart():
    result = accuracy([Judged(1, TIE, {Order.ORIGINAL: A}), *rows((A, A))])
    assert (result.value, result.ties, result.comparisons) == (1, 1, 1)


def test_accuracy_of_nothing_has_no_value():
    result = accuracy([])
    assert (result.value, result.interval, result.verdicts) == (None, None, 0)


def test_the_two_orders_of_a_comparison_are_drawn_together():
    # All decisions doubled: a bootstrap over decisions would shrink by the root of two.
    single = accuracy([Judged(key, A, {Order.ORIGINAL: B if key % 3 else A}) for key in range(60)])
    double = accuracy(rows(*[(B, B) if key % 3 else (A, A) for key in range(60)]))
    assert double.interval == single.interval
    assert double.verdicts == 2 * single.verdicts


def test_the_gain_is_paired_by_comparison():
    # Base .5 on every comparison, selected 1 on every one: no draw can differ.
    base = rows(*[(A, B)] * 20)
    result = gain(base, rows(*[(A, A)] * 20), seed=1)
    assert (result.value, result.comparisons) == (0.5, 20)
    assert (result.interval.low, result.interval.high) == (0.5, 0.5)


def test_the_gain_takes_comparisons_scored_under_both():
    base = [Judged(1, A, {Order.ORIGINAL: None}), Judged(2, A, {Order.ORIGINAL: B})]
    selected = [Judged(key, A, {Order.ORIGINAL: A}) for key in (1, 2, 3)]
    assert gain(base, selected, seed=1).comparisons == 1
    counted = gain(base, selected, seed=1, policy=InvalidPolicy.WRONG)
    assert (counted.comparisons, counted.value) == (2, 1)


def test_the_gain_over_nothing_has_no_value():
    result = gain([], rows((A, A)), seed=1)
    assert (result.value, result.interval, result.comparisons) == (None, None, 0)


def test_human_ties_gain_nothing():
    tied = [Judged(1, TIE, {Order.ORIGINAL: A})]
    assert gain(tied, tied, seed=1).comparisons == 0


@given(judged)
def test_naming_the_responses_the_other_way_round_changes_no_accuracy(items):
    turned = [
        Judged(
            row.key,
            row.human.flipped(),
            {
                order.other(): winner.flipped() if winner else None
                for order, winner in row.decisions.items()
            },
        )
        for row in items
    ]
    assert accuracy(turned) == accuracy(items)


@given(judged)
def test_counting_unreadable_verdicts_as_wrong_never_helps(items):
    left_out = accuracy(items).value
    counted = accuracy(items, policy=InvalidPolicy.WRONG).value
    assert left_out is None or counted <= left_out


@given(judged)
def test_a_judge_gains_nothing_over_itself(items):
    result = gain(items, items, seed=1, draws=10)
    assert result.value in (None, 0)
    assert result.comparisons == accuracy(items).comparisons


def test_several_sets_earn_what_they_earn_on_average():
    # Human A. Original order: half say A, a quarter B, a quarter a tie: .5 + .125 points of 1.
    # Swapped: half say A, half cannot be read: .5 points of .5, or of 1 where that is wrong.
    shares = [[[0.5, 0.25, 0.25, 0.0], [0.5, 0.0, 0.0, 0.5], [0.0] * 4]] * 12
    one = JudgedColumns.of(rows(*[(A, A)] * 12))
    several = replace(one, shares=np.array(shares))
    left_out = accuracy(several)
    counted = accuracy(several, policy=InvalidPolicy.WRONG)
    assert left_out.value == pytest.approx(1.125 / 1.5)
    assert counted.value == pytest.approx(1.125 / 2)
    assert (left_out.verdicts, counted.verdicts, left_out.unreadable) == (18, 24, 6)
    assert several.asked.tolist() == [2.0] * 12
    assert gain(several, one, seed=1).value == pytest.approx(1 - 1.125 / 1.5)
    # The same against B, and a human tie, against which nothing is scored.
    b = replace(several, human=np.full(12, -1, dtype=np.int8))
    assert accuracy(b).value == pytest.approx(0.375 / 1.5)
    tied = replace(several, human=np.zeros(12, dtype=np.int8))
    assert accuracy(tied).value is None
