from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from annotation.core.intervals import Units, tails
from benchmark.core.metrics import MetricName, UndefinedMetric
from benchmark.core.satisfaction_evaluation import GoldBlock
from benchmark.core.satisfaction_groups import (
    GAINED,
    _two_sided,
    by_scenario,
    by_user,
    details_of,
    gains,
)
from judging.core.satisfaction_baselines import Prediction

BLOCKS = [
    GoldBlock(1, "travel", ("a", "b", "c"), (5, 4, 3), (0,) * 5),
    GoldBlock(1, "gifts", ("d",), (2,), (0,) * 5),
    GoldBlock(2, "travel", ("e", "f"), (5, 1), (0,) * 5),
]


def said(*blocks):
    return [
        [None if score is None else Prediction(score, float(score)) for score in own]
        for own in blocks
    ]


PEARSON = MetricName.PEARSON
RIGHT = said((5, 4, 3), (2,), (5, 1))
FLAT = said((4, 4, 4), (4,), (4, 4))
TURNED = said((3, 4, 5), (5,), (1, 5))


class TestGains:
    def test_the_difference_of_the_figures(self):
        found = gains(BLOCKS, RIGHT, TURNED, seed=1, draws=0)
        # |5-3| + |4-4| + |3-5| + |2-5| + |5-1| + |1-5| = 15, in 6 turns.
        assert found[MetricName.MAE].value == pytest.approx(0 - 15 / 6)
        # RIGHT finds all 3 dissatisfied turns. TURNED calls turns 1 and 5 dissatisfied: none is.
        assert found[MetricName.F1_DSAT].value == 1.0
        assert found[MetricName.F1_DSAT].interval is None
        assert set(found) == set(GAINED)

    def test_an_undefined_figure_has_no_gain(self):
        found = gains(BLOCKS, RIGHT, FLAT, seed=1, draws=20)
        assert found[MetricName.PEARSON].value is None
        assert found[MetricName.MAE].value == pytest.approx(-(1 + 0 + 1 + 2 + 1 + 3) / 6)

    def test_only_turns_that_both_score_count(self):
        partly = said((5, 4, None), (None,), (5, 1))
        found = gains(BLOCKS, partly, said((5, 5, 1), (1,), (5, 1)), seed=1, draws=0)
        assert found[MetricName.MAE].value == pytest.approx(-1 / 4)
        nothing = said((None,) * 3, (None,), (None,) * 2)
        assert {one.value for one in gains(BLOCKS, nothing, RIGHT, seed=1, draws=9).values()} == {
            None
        }

    def test_users_are_drawn_whole_and_alike_for_both(self):
        """Ten users, each with two turns whose errors are alike for both, but for user 0.

        The evaluator is right throughout. The reference is off by 2 in both turns of user 0, and by
        1 in one of two turns of the others: the gain in MAE is -(2 k + (10 - k) / 2) / 10 where
        user 0 is drawn k times, which is -1/2 with k = 0 and below with more. All draws lie below
        0, a share of (0 + 1) / (400 + 1), Phi(-2.8078): p is 2 P(T_9 > 2.8078 sqrt(9 / 10)).
        """
        blocks = [GoldBlock(user, "s", ("a", "b"), (3, 4), (0,) * 5) for user in range(10)]
        right = said(*[(3, 4)] * 10)
        other = said((5, 2), *[(3, 3)] * 9)
        found = gains(blocks, right, other, seed=3, draws=400)[MetricName.MAE]
        assert found.interval.high == -0.5
        assert -1.1 <= found.interval.low <= -0.95  # k = 4 and 3
        assert found.p == pytest.approx(2 * t.sf(2.8078 * 0.9**0.5, 9), abs=1e-5)
        few = gains(blocks[:9], right[:9], other[:9], seed=3, draws=400)[MetricName.MAE]
        assert (few.interval, few.p) == (None, None)
        assert few.value == pytest.approx(-(2 + 8 / 2) / 9)

    @pytest.mark.parametrize("units", [10, 30, 100])
    def test_p_is_5_percent_where_the_interval_ends_at_no_difference(self, units):
        # The one draw that p counts without having seen it is one in ten thousand.
        drawn = np.random.default_rng(1).standard_normal(9_999)
        moved = drawn - np.quantile(drawn, tails(units)[0])
        users = Units.alike(units)
        assert _two_sided(moved, users) == pytest.approx(0.05, abs=0.001)
        assert _two_sided(-moved, users) == pytest.approx(0.05, abs=0.001)
        assert _two_sided(drawn * 0, users) == 1

    def test_draws_that_hardly_ever_define_it_give_no_interval(self):
        """Of ten users one alone differs: a draw without that one defines no correlation."""
        blocks = [GoldBlock(user, "s", ("a",), (1 + (user == 0),), (0,) * 5) for user in range(10)]
        right, turned = said((2,), *[(1,)] * 9), said((1,), *[(2,)] * 9)
        found = {gains(blocks, right, turned, seed=seed, draws=1)[PEARSON] for seed in range(20)}
        values = {(one.value, one.interval is None, one.p) for one in found}
        assert values == {(2.0, True, None), (2.0, False, 1.0)}

    @given(st.lists(st.integers(1, 5), min_size=6, max_size=6), st.integers(0, 9))
    def test_nobody_gains_over_themselves(self, scores, seed):
        own = said(scores[:3], scores[3:4], scores[4:])
        for one in gains(BLOCKS, own, own, seed=seed, draws=8).values():
            assert one.value in {None, 0.0}
            assert one.p in {None, 1.0}


def test_scenarios_stand_apart():
    travel, gifts = by_scenario(BLOCKS, said((5, 4, 3), (2,), (1, None)), seed=1, draws=5)
    assert (travel.scenario, travel.turns, travel.users) == ("travel", 4, 2)
    assert travel.metrics[MetricName.MAE].value == pytest.approx(4 / 4)
    assert travel.metrics[MetricName.MAE].interval is None  # of two users
    assert (gifts.scenario, gifts.turns, gifts.users) == ("gifts", 1, 1)
    assert gifts.metrics[MetricName.PEARSON].undefined is UndefinedMetric.CONSTANT_GOLD
    without = by_scenario(BLOCKS, RIGHT, seed=1, draws=0)[0]
    assert without.metrics[MetricName.MAE].interval is None


def test_users_stand_apart():
    first, second = by_user(BLOCKS, said((5, 5, 2), (2,), (4, None)))
    assert (first.user, first.turns, first.stated, first.predicted) == (1, 4, 14 / 4, 14 / 4)
    assert first.metrics[MetricName.MAE].value == pytest.approx(2 / 4)
    assert (second.user, second.turns, second.stated, second.predicted) == (2, 1, 5.0, 4.0)
    assert second.metrics[MetricName.PEARSON].undefined is UndefinedMetric.CONSTANT_GOLD


def test_a_user_without_a_score_stands_nowhere():
    assert [one.user for one in by_user(BLOCKS, said((None,) * 3, (None,), (1, 1)))] == [2]


def test_details_hold_every_view_of_the_same_draws():
    pulses = []
    blocks = [replace(block, reasons=(None,) * len(block.gold)) for block in BLOCKS]
    found = details_of(blocks, RIGHT, FLAT, seed=1, draws=20, pulse=lambda: pulses.append(1))
    assert found.gains == gains(BLOCKS, RIGHT, FLAT, seed=1, draws=20)
    assert found.scenarios == by_scenario(BLOCKS, RIGHT, seed=1, draws=20)
    assert found.users == by_user(BLOCKS, RIGHT)
    # No reason was named, and no chance of one.
    assert (found.reasons, found.likely, found.chances) == (None, None, None)
    assert len(pulses) >= len(GAINED) + 1
