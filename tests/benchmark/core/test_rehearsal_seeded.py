from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import Judged
from benchmark.core.in_memory_run import seeded_accuracy, seeded_gain

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def judged(key, *winners, human=A):
    orders = (Order.ORIGINAL, Order.SWAPPED)
    return Judged(key, human, dict(zip(orders, winners, strict=False)))


def right(keys):
    return [judged(key, A, A) for key in keys]


def wrong(keys):
    return [judged(key, B, B) for key in keys]


def test_orders_comparisons_and_splits_are_pooled():
    # 2 + 1.5 of 4 decisions in the first split, 0 of 2 in the second: 3.5 of 6
    runs = [[judged(1, A, A), judged(2, A, TIE)], [judged(3, B, B)]]
    found = seeded_accuracy(runs, seed=1)
    assert found.value == pytest.approx(3.5 / 6)
    assert (found.splits, found.comparisons) == (2, 3)


def test_ties_of_people_and_what_nobody_could_read_are_left_out():
    runs = [[judged(1, A, None), judged(2, B, B, human=TIE)]]
    found = seeded_accuracy(runs, seed=1)
    assert (found.value, found.comparisons) == (1.0, 1)


@pytest.mark.parametrize("runs", [[], [[]], [[judged(1, None, None)]], [[judged(1, A, human=TIE)]]])
def test_nothing_scored_is_no_figure(runs):
    found = seeded_accuracy(runs, seed=1)
    assert (found.value, found.interval, found.comparisons) == (None, None, 0)


def test_what_differs_between_splits_alone_widens_the_interval():
    # Half the splits are right throughout, half wrong: comparisons tell nothing of that.
    runs = [right(range(200)), wrong(range(200))] * 2
    found = seeded_accuracy(runs, seed=1)
    assert found.value == 0.5
    # Of four splits drawn, all right once in sixteen: the 2.5 % and 97.5 % ends are 0 and 1.
    assert (found.interval.low, found.interval.high) == (0.0, 1.0)


def test_what_differs_between_comparisons_alone_is_not_averaged_out_by_splits():
    # 100 comparisons, half of them right in every split: as wide as one split's, +- 1.96 x 0.05
    run = right(range(50)) + wrong(range(50, 100))
    one, ten = (seeded_accuracy([run] * splits, seed=1, draws=4000) for splits in (1, 10))
    for found in (one, ten):
        assert found.interval.low == pytest.approx(0.402, abs=0.02)
        assert found.interval.high == pytest.approx(0.598, abs=0.02)


def test_a_gain_is_paired():
    # Both judges are right on the same hard half, so nothing varies in their difference.
    run = right(range(50)) + wrong(range(50, 100))
    found = seeded_gain([run] * 3, [run] * 3, seed=1)
    assert (found.value, found.interval.low, found.interval.high) == (0.0, 0.0, 0.0)


def test_a_gain_is_after_less_before():
    found = seeded_gain([wrong([1, 2])], [[*right([1]), *wrong([2])]], seed=1)
    assert found.value == 0.5


@given(
    st.lists(
        st.lists(
            st.tuples(st.integers(0, 5), st.sampled_from([A, B, TIE])), min_size=1, max_size=6
        ),
        min_size=1,
        max_size=4,
    )
)
def test_a_share_lies_in_its_interval_s_range_and_flips_with_the_labels(runs):
    rows = [[judged(key, winner) for key, winner in run] for run in runs]
    flipped = [[judged(key, winner, human=B) for key, winner in run] for run in runs]
    one, other = (seeded_accuracy(each, seed=3, draws=50) for each in (rows, flipped))
    assert one.value + other.value == pytest.approx(1)
    assert one.interval is other.interval is None  # of at most six sessions


@given(
    st.lists(
        st.lists(st.sampled_from([A, B, TIE]), min_size=10, max_size=15), min_size=1, max_size=4
    )
)
def test_an_interval_flips_with_the_labels(runs):
    one, other = (
        seeded_accuracy(
            [[judged(key, won, human=human) for key, won in enumerate(run)] for run in runs],
            seed=3,
            draws=50,
        )
        for human in (A, B)
    )
    assert 0 <= one.interval.low <= one.interval.high <= 1
    assert one.interval.low + other.interval.high == pytest.approx(1)


def test_comparisons_of_one_session_are_drawn_together():
    # 20 sessions of five comparisons that turn out alike, against 20 of one: no more is known.
    alone = [judged(key, A if key % 2 else B) for key in range(20)]
    five = [
        replace(row, key=5 * row.key + place, session=row.key)
        for row in alone
        for place in range(5)
    ]
    one, together = (seeded_accuracy([rows], seed=1) for rows in (alone, five))
    assert together.interval == one.interval
    assert (together.comparisons, one.comparisons) == (100, 20)
