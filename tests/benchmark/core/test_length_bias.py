from __future__ import annotations

from math import log

import numpy as np
import pytest

from annotation.core.choices import Verdict
from benchmark.core.length_bias import Sized, length_bias, length_errors

A, B, TIE = Verdict.A, Verdict.B, Verdict.TIE


def sized(a, b, *verdicts, human=TIE):
    return Sized(a, b, verdicts, human)


def test_the_share_is_of_verdicts_with_a_winner_on_unequal_lengths():
    found = length_bias(
        [
            sized(30, 10, A, A),  # the longer twice
            sized(30, 10, B, TIE),  # the shorter once
            sized(10, 30, B, None),  # the longer once
            sized(20, 20, A, A),  # equally long
            sized(30, 10, TIE, None),  # no winner
        ]
        * 4,
    )
    assert (found.longer, found.verdicts, found.comparisons, found.value) == (12, 16, 12, 0.75)
    assert found.interval is not None
    assert 0 <= found.interval.low < 0.75 < found.interval.high <= 1


def test_without_verdicts_there_is_no_figure():
    found = length_bias([sized(5, 5, A)])
    assert found.value is found.interval is found.slope.value is None
    assert (found.verdicts, found.slope.unbounded) == (0, False)


def test_the_slope_is_the_log_odds_for_twice_the_length():
    # All responses are twice as long as their rivals (1 + length), and win 3 of 4: log(3).
    rows = [sized(19, 9, A)] * 30 + [sized(19, 9, B)] * 10
    slope = length_bias(rows).slope
    assert slope.value == pytest.approx(log(3))
    # Wald: sqrt(40/39) / sqrt(n p q) = 1 / sqrt(39 * 3/16), and t(39) = 2.022691.
    assert slope.interval is not None
    assert slope.interval.high - log(3) == pytest.approx(2.022691 / (39 * 3 / 16) ** 0.5, rel=1e-5)


def test_four_times_as_long_counts_twice():
    rows = [sized(39, 9, A)] * 30 + [sized(39, 9, B)] * 10
    assert length_bias(rows).slope.value == pytest.approx(log(3) / 2)


def test_two_verdicts_on_one_comparison_are_no_two_independent_ones():
    alone = length_bias([sized(19, 9, A)] * 30 + [sized(19, 9, B)] * 10).slope
    twice = length_bias([sized(19, 9, A, A)] * 30 + [sized(19, 9, B, B)] * 10).slope
    assert twice.value == pytest.approx(alone.value)
    assert twice.interval is not None
    assert alone.interval is not None
    assert twice.interval.low == pytest.approx(alone.interval.low)


@pytest.mark.parametrize(("one", "other"), [(A, B), (B, A)])
def test_a_slope_that_nothing_bounds_is_said(one, other):
    slope = length_bias([sized(30, 10, one), sized(10, 30, other)]).slope
    assert (slope.value, slope.interval, slope.unbounded) == (None, None, True)


def test_swapping_a_and_b_changes_nothing():
    rng = np.random.default_rng(7)
    rows = [
        sized(int(a), int(b), A if win else B)
        for a, b, win in zip(
            rng.integers(0, 500, 60), rng.integers(0, 500, 60), rng.integers(0, 2, 60), strict=True
        )
    ]
    turned = [
        sized(row.length_b, row.length_a, *(each.flipped() for each in row.verdicts if each))
        for row in rows
    ]
    one, other = length_bias(rows), length_bias(turned)
    assert (one.value, one.interval) == (other.value, other.interval)
    assert one.slope.value == pytest.approx(other.slope.value)


def test_the_slope_is_found_far_from_zero():
    # Lengths hardly differ, and the longer wins 9 of 10.
    rows = [sized(1000, 999, A)] * 9 + [sized(1000, 999, B)]
    slope = length_bias(rows).slope
    assert slope.value == pytest.approx(log(9) / np.log2(1001 / 1000), rel=1e-6)
    assert length_bias([sized(1000, 999, B)] * 9 + rows[:1]).slope.value == pytest.approx(
        -slope.value, rel=1e-6
    )


def test_errors_lean_to_the_longer():
    found = length_errors(
        [
            sized(30, 10, A, A, human=B),  # chose the shorter, judge twice the longer
            sized(30, 10, B, TIE, human=B),  # right once, half an error
            sized(10, 30, B, None, human=B),  # chose the longer: right
            sized(30, 10, A, B, human=A),  # one error to the shorter
            sized(30, 10, A, human=TIE),  # nothing to err from
            sized(20, 20, A, human=B),  # equally long
            sized(30, 10, None, human=A),  # nothing was read
        ]
        * 4,
        seed=1,
    )
    assert (found.to_longer, found.on_shorter, found.to_shorter, found.on_longer) == (10, 16, 4, 12)
    assert found.value == pytest.approx(2.5 / 4 - 1 / 3)
    assert found.interval is not None


def test_errors_without_both_kinds_of_comparison_have_no_difference():
    found = length_errors([sized(30, 10, A, human=B)], seed=1)
    assert (found.value, found.interval, found.on_shorter, found.on_longer) == (None, None, 1, 0)
    assert length_errors([], seed=1).value is None


def test_a_judge_that_errs_alike_both_ways_does_not_lean():
    rows = [
        sized(30, 10, A, human=B),
        sized(30, 10, B, human=B),
        sized(30, 10, B, human=A),
        sized(30, 10, A, human=A),
    ] * 25
    found = length_errors(rows, seed=1)
    assert found.value == 0
    assert found.interval is not None
    assert found.interval.low < 0 < found.interval.high
