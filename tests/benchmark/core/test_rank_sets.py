from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from annotation.core.intervals import Units
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.rank_sets import (
    Sample,
    joint_ranks,
    percentile_end,
    shares_above,
    shares_first,
    surely_ahead,
)
from benchmark.core.ranking import bradley_terry

NAN = np.nan


def sample_of(points, units=10_000):
    drawn = np.array(points, dtype=float)
    low, high = (np.where(np.isnan(drawn), end, drawn) for end in (-np.inf, np.inf))
    return Sample(low, high, drawn, len(drawn), Units.alike(units))


def ranks_of(fitted, sample):
    best, worst = joint_ranks(surely_ahead(np.array(fitted, dtype=float), sample))
    return best.tolist(), worst.tolist()


def test_all_ranks_hold_at_once():
    """Ratings drawn about the truth: all four sets hold the true ranks in 95 of 100 samples."""
    rng = np.random.default_rng(4)
    truth, held = np.array([30.0, 20.0, 0.0, -50.0]), 0
    for _ in range(300):
        fitted = truth + rng.normal(0, 10, size=4)
        drawn = sample_of(fitted + rng.normal(0, 10, size=(400, 4)))
        best, worst = joint_ranks(surely_ahead(fitted, drawn))
        held += bool(((best <= [1, 2, 3, 4]) & (worst >= [1, 2, 3, 4])).all())
    assert held / 300 >= 0.95


def test_five_equal_models_have_all_ranks():
    """Percentiles of their ranks in bootstrap draws hold all five in 29 % of such samples."""
    rng = np.random.default_rng(5)
    whole = 0
    for _ in range(60):
        pairs = [rng.choice(5, size=2, replace=False) for _ in range(150)]
        rows = [
            VerdictCounts(f"m{one}", f"m{other}", won, 1 - won)
            for (one, other), won in zip(pairs, rng.integers(2, size=150).tolist(), strict=True)
        ]
        models = bradley_terry(rows, draws=300, seed=1).models
        whole += {(row.rank_low, row.rank_high) for row in models} == {(1, 5)}
    assert whole >= 55


@pytest.mark.parametrize(
    ("silent", "expected"), [(0, ([1, 2], [1, 2])), (30, ([1, 1], [2, 2])), (100, ([1, 1], [2, 2]))]
)
def test_draws_that_say_nothing_are_as_far_off_as_can_be(silent, expected):
    drawn = np.array([100.0, 0.0]) + np.random.default_rng(5).normal(0, 1, size=(100, 2))
    drawn[:silent] = NAN
    assert ranks_of([100, 0], sample_of(drawn)) == expected


def test_a_model_of_which_draws_say_little_leaves_the_others_their_ranks():
    drawn = np.array([100.0, 0.0, 50.0]) + np.random.default_rng(5).normal(0, 1, size=(100, 3))
    drawn[:30, 2] = NAN
    assert ranks_of([100, 0, 50], sample_of(drawn)) == ([1, 2, 1], [2, 3, 3])
    drawn[3:30, 2] = 50
    drawn[:3, 1] = NAN
    assert ranks_of([100, 0, 50], sample_of(drawn)) == ([1, 3, 2], [1, 3, 2])


def test_where_too_many_draws_say_nothing_of_some_pair_nothing_is_sure():
    """Each of two models is missing from 4 % of the draws, which no pair by itself forbids."""
    drawn = np.array([100.0, 0.0, 50.0]) + np.random.default_rng(5).normal(0, 1, size=(100, 3))
    drawn[:4, 1] = drawn[4:8, 2] = NAN
    assert ranks_of([100, 0, 50], sample_of(drawn)) == ([1, 1, 1], [3, 3, 3])


@pytest.mark.parametrize(("enough", "first"), [({0, 1}, True), ({0}, False), ({1}, False)])
def test_a_difference_that_never_varies_is_sure_if_both_have_enough_sessions(enough, first):
    sample = sample_of([[100, 0]] * 50)
    assert ranks_of([100, 0], sample) == ([1, 1], [2, 2])
    ahead = surely_ahead(np.array([100.0, 0.0]), sample, has_enough=enough.__contains__)
    assert ahead.tolist() == [[False, first], [False, False]]


def test_the_quantile_is_that_of_the_largest_error():
    """A fifth of the draws each errs by 1 to 5, so surely ahead is who is more than 5 ahead."""
    errors = np.repeat([1.0, 2, 3, 4, 5], 20) * np.tile([1, -1], 50)
    drawn = np.column_stack([10 + errors, np.zeros(100)])
    for gap in (4.99, 5.01):
        moved = drawn + np.array([gap - 10, 0])
        is_ahead = surely_ahead(np.array([gap, 0.0]), sample_of(moved))
        assert is_ahead.tolist() == [[False, gap > 5], [False, False]]


def test_few_units_ask_for_more():
    rng = np.random.default_rng(8)
    drawn = np.array([2.2, 0.0]) + rng.normal(0, 0.5**0.5, size=(20_000, 2))
    assert ranks_of([2.2, 0], sample_of(drawn)) == ([1, 2], [1, 2])
    assert ranks_of([2.2, 0], sample_of(drawn, units=10)) == ([1, 1], [2, 2])


def test_above_is_the_share_of_the_draws_ties_a_half():
    drawn = [[2, 1, NAN], [2, 2, NAN], [1, 2, 0], [2, 1, 0]]
    sample = sample_of(drawn)
    above = shares_above(sample, ("a", "b", "c"))
    assert (above["a", "b"], above["b", "a"], above["a", "c"]) == (0.625, 0.375, 0.75)
    # Where nothing is said of c, it may be first as well as a: 1/2, 1/3 of draws two, then b, a.
    first = shares_first(sample, ("a", "b", "c"))
    assert first == pytest.approx({"a": (1 / 2 + 1 / 3 + 1) / 4, "b": 4 / 3 / 4, "c": 5 / 6 / 4})
    assert shares_above(sample_of(np.zeros((0, 2))), ("a", "b")) == {}
    assert shares_first(sample_of(np.zeros((0, 2))), ("a", "b")) == {}


@pytest.mark.parametrize(
    ("unbounded", "stated"), [(0, True), (25, True), (26, False), (1000, False)]
)
@pytest.mark.parametrize(("side", "tail"), [(-1, 0.025), (1, 0.975)])
def test_an_end_has_at_most_2_5_percent_unbounded_draws_on_its_side(unbounded, stated, side, tail):
    drawn = side * np.linspace(900.0, 1100.0, 1000)
    drawn[1000 - unbounded :] = side * np.inf
    end = percentile_end(drawn, tail)
    assert (end is not None) is stated
    if end is not None:
        # Linear between the 25th and the 26th of the outermost draws, else the 26th.
        assert side * end == pytest.approx(900 + 200 * (974.025 if not unbounded else 974) / 999)


def test_a_draw_that_knows_nothing_of_a_pair_errs_by_nothing():
    games = np.array([[0.0, 50.0], [50.0, 0.0]])
    drawn = sample_of([[1000.0, 990.0], [1e6, -1e6], [1000.0, 980.0]])
    told = replace(drawn, games=games)
    assert not surely_ahead(np.array([1000.0, 995.0]), told).any()
