import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.intervals import (
    Interval,
    bootstrap,
    bootstrap_mean,
    cluster_index,
    ends,
    percentile_interval,
    wilson,
)


@pytest.mark.parametrize(
    ("successes", "trials", "low", "high"),
    [
        # Published example: 0 of 10 and 10 of 10 at 95 % give 0.2775 as the open end.
        (0, 10, 0.0, 0.2775327998628892),
        (10, 10, 0.7224672001371107, 1.0),
        # 81 of 263 (Newcombe 1998, table I): .2553 to .3662.
        (81, 263, 0.2553, 0.3662),
        # 15 of 148: .0624 to .1605; 1 of 29: .0061 to .1718.
        (15, 148, 0.0624, 0.1605),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_matches_published_intervals(successes, trials, low, high):
    interval = wilson(successes, trials)
    assert interval is not None
    assert interval.low == pytest.approx(low, abs=5e-5)
    assert interval.high == pytest.approx(high, abs=5e-5)


def test_wilson_equals_scipy():
    from scipy.stats import binomtest

    for trials in (1, 7, 250):
        for successes in {0, 1, trials // 2, trials}:
            theirs = binomtest(successes, trials).proportion_ci(0.9, method="wilson")
            ours = wilson(successes, trials, level=0.9)
            assert ours is not None
            assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilson_has_no_interval_without_trials():
    assert wilson(0, 0) is None


@pytest.mark.parametrize("successes", [-1, 3.5])
def test_wilson_refuses_impossible_counts(successes):
    with pytest.raises(ValueError, match="successes in 3 trials"):
        wilson(successes, 3)


@given(trials=st.integers(1, 500), data=st.data())
def test_wilson_is_symmetric_and_holds_the_share(trials, data):
    successes = data.draw(st.integers(0, trials))
    interval = wilson(successes, trials)
    mirrored = wilson(trials - successes, trials)
    assert interval is not None
    assert mirrored is not None
    assert 0 <= interval.low <= successes / trials <= interval.high <= 1
    assert interval.low == pytest.approx(1 - mirrored.high, abs=1e-12)


def test_bootstrap_repeats_with_its_seed_only():
    values = [1, 2, 3, 4, 5, 5, 4]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_bootstrap_of_equal_values_is_a_point():
    interval = bootstrap_mean([3.0] * 8, seed=0)
    assert interval is not None
    assert (interval.low, interval.high, interval.draws) == (3.0, 3.0, 1_000)


def test_bootstrap_of_nothing_is_nothing():
    assert bootstrap_mean([], seed=0) is None


def test_bootstrap_width_is_that_of_the_mean():
    # 400 fair coins: standard error .025, so 95 % is about .451 to .549.
    values = [0.0, 1.0] * 200
    interval = bootstrap_mean(values, seed=3, draws=4_000)
    assert interval is not None
    assert (interval.low, interval.high) == pytest.approx((0.451, 0.549), abs=0.006)


def test_clusters_are_drawn_whole():
    # Two users of constant score: a draw has mean 1, 3 or 5 in proportions 1:2:1, whatever the
    # number of their turns, so the interval is all of 1 to 5; without clusters it is narrow.
    values, users = [1.0] * 50 + [5.0] * 50, ["a"] * 50 + ["b"] * 50
    clustered = bootstrap_mean(values, seed=5, clusters=users)
    plain = bootstrap_mean(values, seed=5)
    assert clustered is not None
    assert plain is not None
    assert (clustered.low, clustered.high) == (1.0, 5.0)
    assert plain.high - plain.low < 1.0


def test_the_order_of_units_within_clusters_does_not_matter():
    first = bootstrap_mean([1.0, 2.0, 5.0], seed=7, clusters=["a", "a", "b"])
    second = bootstrap_mean([2.0, 1.0, 5.0], seed=7, clusters=["x", "x", "y"])
    assert first == second


def test_many_units_are_drawn_in_chunks():
    """Many units force small chunks; the weights of each draw still sum to the cluster count."""
    seen = []

    def total(weights):
        seen.append(weights)
        return weights.sum(axis=1)

    interval = bootstrap(total, units=30_000, seed=0, draws=150)
    assert interval is not None
    assert (interval.low, interval.high) == (30_000, 30_000)
    assert [len(weights) for weights in seen] == [66, 66, 18]


def test_undefined_draws_are_left_out_and_too_many_leave_nothing():
    half = percentile_interval(np.array([1.0, 2.0, np.nan, np.nan]))
    assert half is not None
    assert half.draws == 2
    assert percentile_interval(np.array([1.0, np.nan, np.nan])) is None
    assert percentile_interval(np.array([])) is None


def test_cluster_index_numbers_in_order_of_appearance():
    index, count = cluster_index(["b", "a", "b"], units=3)
    assert (index.tolist(), count) == ([0, 1, 0], 2)
    index, count = cluster_index(None, units=2)
    assert (index.tolist(), count) == ([0, 1], 2)


def test_cluster_keys_must_fit_the_units():
    with pytest.raises(ValueError, match="2 cluster keys for 3 units"):
        bootstrap_mean([1, 2, 3], seed=0, clusters=["a", "b"])


def test_the_ends_of_an_interval_are_two_cells():
    assert ends(Interval(0.1, 0.4)) == {"low": 0.1, "high": 0.4}
    assert ends(Interval(0.1, 0.4), "bias_") == {"bias_low": 0.1, "bias_high": 0.4}
    assert ends(None, "bias_") == {"bias_low": None, "bias_high": None}
