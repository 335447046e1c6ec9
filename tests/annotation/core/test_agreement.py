from __future__ import annotations

from math import nan

import numpy as np
import pytest

from annotation.core.agreement import (
    Coefficient,
    Measure,
    SessionKinds,
    UndefinedAgreement,
    Weighting,
    answer_counts,
    coefficient,
    estimate,
    quotient,
    weight_matrix,
)
from annotation.core.intervals import Interval, Units

SEVEN = Units.alike(7)


def test_items_with_the_same_counts_are_one_pattern():
    found = answer_counts(np.array([[2, 1], [0, 3], [2, 1], [0, 0], [1, 0]]))
    assert found.patterns.tolist() == [[0, 3], [1, 0], [2, 1]]
    assert found.items.tolist() == [1, 1, 2]
    assert found.ratings.tolist() == [3, 1, 3]
    assert found.pairable.tolist() == [True, False, True]


def test_nothing_rated_is_no_pattern():
    assert answer_counts(np.zeros((0, 3), dtype=int)).items.tolist() == []


@pytest.mark.parametrize("counts", [[[1], [2]], [1, 2], [[1, -1], [2, 0]]])
def test_a_table_that_is_none_is_refused(counts):
    with pytest.raises(ValueError, match=r"scale|negative"):
        answer_counts(np.array(counts))


@pytest.mark.parametrize(
    ("weighting", "first_row"),
    [
        (Weighting.IDENTITY, [1, 0, 0, 0]),
        (Weighting.LINEAR, [1, 2 / 3, 1 / 3, 0]),
        (Weighting.QUADRATIC, [1, 8 / 9, 5 / 9, 0]),
        # 1 - C(d + 1, 2) / C(4, 2): pairs among 2, 3 and 4 values are 1, 3 and 6 of 6.
        (Weighting.ORDINAL, [1, 5 / 6, 1 / 2, 0]),
    ],
)
def test_weights_fall_with_the_distance(weighting, first_row):
    weights = weight_matrix(weighting, 4)
    assert weights[0].tolist() == pytest.approx(first_row)
    assert np.array_equal(weights, weights.T)


def test_the_same_seed_gives_the_same_interval():
    def share(weights):
        return quotient(weights[:, 0], weights.sum(axis=1))

    items = np.array([30, 70])
    held = SessionKinds.alone(items)
    one, again, other = (
        estimate([share], held, units=Units.alike(100), seed=seed)[0] for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other
    value, interval = one
    assert value == 0.3
    # A share of 100 with sd sqrt(.3 * .7 / 100) = .046: about .21 to .39.
    assert interval.low == pytest.approx(0.21, abs=0.02)
    assert interval.high == pytest.approx(0.39, abs=0.02)
    assert interval.draws == 1000


def test_many_patterns_are_drawn_in_chunks():
    def mean(weights):
        return weights @ np.arange(weights.shape[1]) / weights.sum(axis=1)

    value, interval = estimate(
        [mean],
        SessionKinds.alone(np.ones(3000, dtype=int)),
        units=Units.alike(3000),
        seed=1,
        draws=500,
    )[0]
    assert value == 1499.5
    assert interval.draws == 500
    assert interval.low < value < interval.high


@pytest.mark.parametrize("items", [1, 9, 10])
def test_fewer_than_ten_sessions_have_no_interval(items):
    held = SessionKinds.alone(np.array([items - items // 2, items // 2]))
    [(value, interval)] = estimate(
        [lambda weights: weights[:, 0]], held, units=Units.alike(items), seed=1
    )
    assert (value, interval is None) == (items - items // 2, items < 10)


def test_what_no_draw_moves_has_no_interval():
    held = SessionKinds.alone(np.array([12, 18]))
    [(value, interval)] = estimate(
        [lambda weights: weights.sum(axis=1)], held, units=Units.alike(30), seed=1
    )
    assert (value, interval) == (30, None)


def test_sessions_are_drawn_whole():
    # Five hundred items of fifty sessions vary as fifty do; a session an item is the table itself.
    def share(weights):
        return quotient(weights[:, 0], weights.sum(axis=1))

    kinds = np.repeat([0, 1], 250)
    together = SessionKinds.of(kinds, np.arange(500) // 10, number=2)
    assert (together.counts.tolist(), together.times.tolist()) == ([[10, 0], [0, 10]], [25, 25])
    assert together.items.tolist() == [250, 250]
    assert together.holding(np.array([True, False])) == (25, 25, 1 / 25)
    fifty = SessionKinds.alone(np.array([25, 25]))
    of_sessions, of_items = (
        estimate([share], each, units=Units.alike(50), seed=3) for each in (together, fifty)
    )
    assert of_sessions == of_items
    apart = SessionKinds.of(kinds, np.arange(500), number=2)
    alone = SessionKinds.alone(np.array([250, 250]))
    assert apart.counts.tolist() == alone.counts.tolist()
    assert apart.times.tolist() == alone.times.tolist()


def test_where_draws_leave_it_undefined_there_is_no_interval():
    # One of twenty sessions differs: (19/20)^20 = 36 % of draws lack it.
    def odd(weights):
        return quotient(weights[:, 1], np.minimum(weights[:, 1], 1))

    [(value, interval)] = estimate(
        [odd], SessionKinds.alone(np.array([19, 1])), units=Units.alike(20), seed=1
    )
    assert (value, interval) == (1.0, None)


def test_a_quotient_by_nothing_is_no_number():
    assert np.isnan(quotient(np.array([1.0, 4.0]), np.array([0.0, 2.0]))).tolist() == [True, False]


@pytest.mark.parametrize(
    ("value", "items", "expected"),
    [
        (0.5, 9, Coefficient(Measure.AC1, 0.5, None, 9, 18, Interval(0, 1), Units.alike(7))),
        (
            nan,
            9,
            Coefficient(
                Measure.AC1, None, UndefinedAgreement.ONE_CATEGORY, 9, 18, None, Units.alike(7)
            ),
        ),
        (
            nan,
            0,
            Coefficient(
                Measure.AC1, None, UndefinedAgreement.NO_ITEMS, 0, 18, None, Units.alike(7)
            ),
        ),
    ],
)
def test_an_undefined_figure_says_why(value, items, expected):
    found = (value, Interval(0, 1))
    assert coefficient(Measure.AC1, found, items=items, answers=18, units=SEVEN) == expected
