from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import InvalidPolicy, Judged, difference, gain, gain_p


def sessions(*points):
    """Rows of two decisions a side, from (points before, points after)."""
    return np.array([(before, 2.0, after, 2.0) for before, after in points]).reshape(-1, 4)


def p_of(*points, seed=1):
    return gain_p([sessions(*points)], seed=seed)


@pytest.mark.parametrize(
    ("points", "expected"),
    [
        ([(0, 2)], 1.0),  # either sign is as far
        ([(0, 2)] * 5, 2 / 2**5),
        ([(0, 2)] * 5 + [(1, 1)] * 30, 2 / 2**5),  # what does not differ has no sign
        ([(2, 0)] * 5, 2 / 2**5),  # a loss is as improbable
        ([(0, 2)] * 4 + [(2, 0)], (2 + 2 * 5) / 2**5),  # all of a sign, or all but one
        ([(0, 1), (0, 2), (1, 0)], 6 / 2**3),  # 1 + 2 - 1 = 2: of the sums only two are 0
        ([(1, 1)] * 3, 1.0),
        ([(0, 2), (2, 0)], 1.0),
    ],
)
def test_all_signs_by_hand(points, expected):
    assert p_of(*points) == pytest.approx(expected)


def test_nothing_paired_has_no_p():
    assert gain_p([], seed=1) is None
    assert p_of() is None


steps = st.sampled_from([0.0, 0.5, 1.0, 1.5, 2.0])


@given(st.lists(st.tuples(steps, steps), min_size=1, max_size=8), st.randoms())
def test_where_as_much_is_at_stake_points_after_less_before_have_signs(points, random):
    differences = np.array([after - before for before, after in points])
    sums = np.array(list(product([1, -1], repeat=len(points)))) @ differences
    expected = np.mean(np.abs(sums) >= abs(differences.sum()) - 1e-9)
    assert p_of(*points) == pytest.approx(expected)
    assert p_of(*[(after, before) for before, after in points]) == pytest.approx(expected)
    assert p_of(*random.sample(points, len(points))) == p_of(*points)


stakes = st.tuples(steps, st.just(2.0), st.sampled_from([0.0, 0.5, 1.0]), st.just(1.0))


@given(st.lists(stakes, min_size=1, max_size=7))
def test_where_less_is_at_stake_after_the_parts_still_sum_to_the_gain(rows):
    table = np.array(rows)
    parts = table[:, 2] / table[:, 3].sum() - table[:, 0] / table[:, 1].sum()
    told = difference(table.sum(axis=0)[None])[0]
    assert parts.sum() == pytest.approx(told)
    sums = np.array(list(product([1, -1], repeat=len(rows)))) @ parts
    assert gain_p([table], seed=1) == pytest.approx(np.mean(np.abs(sums) >= abs(told) - 1e-9))


def test_replies_that_could_not_be_read_are_no_gain_and_no_loss():
    # As right on all that was read, in both orders before and in one after: nothing to tell apart.
    both = {Order.ORIGINAL: Verdict.A, Order.SWAPPED: Verdict.A}
    before = [Judged(key, Verdict.A, both) for key in range(30)]
    after = [Judged(key, Verdict.A, {**both, Order.SWAPPED: None}) for key in range(30)]
    found = gain(before, after, seed=1)
    assert (found.value, found.p) == (0.0, 1.0)
    wrong = gain(before, after, seed=1, policy=InvalidPolicy.WRONG)
    assert wrong.value == -0.5
    assert wrong.p < 0.001


def test_from_twenty_sessions_that_differ_signs_are_drawn():
    gaining = [(0, 2)] * 14 + [(2, 0)] * 6
    # Of 20 coins at least 14 or at most 6: 0.1153.
    assert p_of(*gaining) == pytest.approx(0.1153, abs=0.01)
    assert p_of(*gaining) == p_of(*reversed(gaining))  # the same seed, whatever the order
    assert p_of(*gaining, seed=2) != p_of(*gaining)
    # None of those drawn is as far, and yet p is not 0.
    assert p_of(*[(0, 2)] * 60) == 1 / 10_001
    # One session less is exact: 13 of 19 or more, twice.
    assert p_of(*gaining[1:]) == pytest.approx(43796 / 2**18)


def test_the_mean_of_gains_has_the_signs_of_all_their_sessions():
    math, code = sessions(*[(0, 2)] * 3), sessions(*[(0, 2)] * 2, *[(1, 1)] * 7)
    # All five the same sign, of 2^5.
    assert gain_p([math, code], seed=1) == pytest.approx(2 / 2**5)
    assert gain_p([math, sessions()], seed=1) == gain_p([math], seed=1)
    opposed = [sessions(*[(0, 2)] * 12, *[(2, 0)] * 8), sessions(*[(0, 2)] * 8, *[(2, 0)] * 12)]
    assert gain_p(opposed, seed=1) == 1.0
