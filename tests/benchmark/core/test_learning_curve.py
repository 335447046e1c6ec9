from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import pearsonr

from benchmark.core.learning_curve import CURVE_METRICS, CurveOn, curve_points
from judging.core.satisfaction_curve import CurveModel, CurveTurn

RANDOM = np.random.default_rng(5)


def turns(users, *, noise, seed):
    random = np.random.default_rng(seed)
    found = []
    for user in users:
        for _ in range(30):
            gold = int(random.integers(1, 6))
            expected = float(np.clip(gold + random.normal() * noise, 1, 5))
            found.append(CurveTurn(user, gold, round(expected), expected))
    return tuple(found)


def pearson(some):
    return pearsonr([one.gold for one in some], [one.expected for one in some]).statistic


@pytest.fixture
def models():
    return [
        CurveModel(4, 0, turns("abcdefgh", noise=2.0, seed=1), ()),
        CurveModel(4, 1, turns("efghijkl", noise=2.0, seed=2), ()),
        CurveModel(8, 0, turns("abcdefgh", noise=0.5, seed=3), ()),
    ]


def test_a_point_is_the_mean_of_its_draws(models):
    small, large = curve_points(models, (), seed=1, bootstrap=200)
    assert [(one.on, one.users, one.draws, one.turns) for one in (small, large)] == [
        (CurveOn.HELD_OUT, 4, 2, 480),
        (CurveOn.HELD_OUT, 8, 1, 240),
    ]
    assert set(small.figures) == set(CURVE_METRICS)
    single = [pearson(one.held_out) for one in models[:2]]
    figure = small.figures["pearson_expected"]
    assert figure.value == pytest.approx(np.mean(single), abs=1e-12)
    assert (figure.lowest, figure.highest) == pytest.approx((min(single), max(single)), abs=1e-12)
    assert figure.interval.low <= figure.value <= figure.interval.high
    assert large.figures["pearson_expected"].value > figure.value
    assert large.figures["pearson_expected"].interval is None  # of eight users


def test_test_users_are_put_beside_what_was_said(models):
    others = turns("xy", noise=1.0, seed=9)
    said = (tuple((one.score, one.expected) for one in others[:20]),)
    said += (tuple((one.score, one.expected) for one in others[20:]),)
    points = curve_points([CurveModel(4, 0, (), said)], others, seed=1, bootstrap=0)
    assert [(one.on, one.users) for one in points] == [(CurveOn.TEST, 4)]
    figure = points[0].figures["pearson_expected"]
    assert figure.value == pytest.approx(pearson(others), abs=1e-12)
    assert figure.interval is None


def test_users_are_drawn_whole_and_a_draw_without_anybody_is_left_out():
    """The second draw has one user, lacking in (9/10)^10 = 35 % of the resamples.

    Then the other draw stands alone, whose users are so alike that a resample of them hardly moves
    it: with both draws the mean of the two figures, without the second one the first.
    """
    models = [
        CurveModel(4, 0, turns("bcdefghij", noise=0.01, seed=1), ()),
        CurveModel(4, 1, turns("a", noise=3.0, seed=2), ()),
    ]
    (point,) = curve_points(models, (), seed=1, bootstrap=400)
    figure = point.figures["pearson_expected"]
    assert figure.interval.low == pytest.approx((figure.lowest + figure.highest) / 2, abs=1e-3)
    assert figure.interval.high == pytest.approx(figure.highest, abs=1e-3)


def test_what_no_draw_defines_has_no_value():
    flat = tuple(CurveTurn("a", 5, 5, 5.0) for _ in range(4))
    (point,) = curve_points([CurveModel(4, 0, flat, ())], (), seed=1, bootstrap=50)
    figure = point.figures["pearson"]
    assert (figure.value, figure.interval, figure.lowest, figure.highest) == (None,) * 4


def test_no_models_no_points():
    assert curve_points([], (), seed=1, bootstrap=10) == ()
