import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, t

from annotation.core.intervals import (
    Interval,
    Units,
    bootstrap,
    bootstrap_mean,
    cluster_index,
    clustered_wilson,
    correlation,
    effective_units,
    ends,
    independent_share,
    missing_units,
    percentile_interval,
    rank_correlation,
    student_quantile,
    tails,
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


@pytest.mark.parametrize(
    ("totals", "effective"),
    [
        ([3, 3, 3, 3], 4),
        ([3, 3, 0, 0], 2),
        # (300 + 10)^2 / (300^2 + 10)
        ([300] + [1] * 10, 1.0677),
    ],
)
def test_effective_units_fall_with_what_the_largest_holds(totals, effective):
    assert effective_units(np.array(totals, float)) == pytest.approx(effective, abs=1e-4)


def test_units_are_counted_by_what_they_hold():
    assert Units.of(np.array([4.0, 0.0, 4.0])) == (2, 2, 1 / 2)
    assert Units.of(np.array([2.0, 1.0]), np.array([3, 4])) == pytest.approx((7, 100 / 16, 0.2))
    assert Units.of_rows("aab") == pytest.approx((2, 9 / 5, 2 / 3))
    assert Units.of(np.zeros(0)) == Units.of_rows([]) == (0, 0, 0)


def test_units_say_how_many_more_are_needed_and_why():
    giant = Units.of(np.array([300.0] + [1.0] * 10))
    # 11 (6 / 1.0677 - 1) = 50.8 more.
    assert (giant.few, giant.uneven, giant.one_holds_most, giant.missing) == (True, True, True, 51)
    half = Units.of(np.array([30.0] + [1.0] * 30))
    # 60^2 / (900 + 30) = 3.87, of 31: 31 (6 / 3.87 - 1) = 17.05.
    assert (half.few, half.uneven, half.one_holds_most, half.missing) == (True, True, False, 18)
    assert Units.of(np.array([31.0] + [1.0] * 30)).one_holds_most
    few = Units.alike(9)
    assert (few.few, few.uneven, few.one_holds_most, few.missing) == (True, False, False, 1)
    assert (Units.alike(0).missing, Units.alike(10).missing) == (10, 0)
    assert not Units(10, 6.0).few
    assert Units(10, 5.99).few


def test_a_unit_that_holds_most_leaves_no_interval():
    trials = np.array([300.0] + [1.0] * 10)
    hits = np.array([200.0] + [1.0, 0.0] * 5)
    assert clustered_wilson(hits, trials) is None
    values, keys = [0.0, 1.0, 1.0] * 100 + [0.0, 1.0] * 5, [0] * 300 + [*range(1, 11)]
    assert bootstrap_mean(values, seed=1, clusters=keys) is None


def test_bootstrap_repeats_with_its_seed_only():
    values = [1, 2, 3, 4, 5, 5, 4, 1, 2, 5]
    assert bootstrap_mean(values, seed=1) == bootstrap_mean(values, seed=1)
    assert bootstrap_mean(values, seed=1) != bootstrap_mean(values, seed=2)


def test_bootstrap_of_equal_values_is_a_point():
    interval = bootstrap_mean([3.0] * 10, seed=0)
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
    # Ten users of constant score, five of 1 and five of 5, whatever the number of their turns.
    values, users = [1.0] * 50 + [5.0] * 50, [at // 10 for at in range(100)]
    clustered = bootstrap_mean(values, seed=5, clusters=users)
    plain = bootstrap_mean(values, seed=5)
    alone = bootstrap_mean([1.0] * 5 + [5.0] * 5, seed=5)
    assert clustered == alone
    assert plain.high - plain.low < (clustered.high - clustered.low) / 2


def test_the_order_of_units_within_clusters_does_not_matter():
    others = [float(number) for number in range(9)]
    first = bootstrap_mean([1.0, 2.0, *others], seed=7, clusters=["a", "a", *others])
    second = bootstrap_mean([2.0, 1.0, *others], seed=7, clusters=["x", "x", *others])
    assert first == second is not None


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


@pytest.mark.parametrize(("undefined", "draws"), [(0, 200), (5, 195), (6, None), (200, None)])
def test_more_than_a_fortieth_of_undefined_draws_leave_nothing(undefined, draws):
    values = np.arange(200.0)
    values[:undefined] = np.nan
    found = percentile_interval(values, units=Units.alike(20))
    assert (None if found is None else found.draws) == draws


def test_without_draws_there_is_no_interval():
    assert percentile_interval(np.array([]), units=Units.alike(20)) is None


@pytest.mark.parametrize(("units", "missing"), [(0, 10), (1, 9), (9, 1), (10, 0), (30, 0)])
def test_ten_units_are_the_fewest(units, missing):
    assert missing_units(units) == missing
    expected = missing > 0
    values, ones = np.arange(float(units)), np.ones(units)
    assert (bootstrap_mean(values, seed=1) is None) is expected
    assert (clustered_wilson(ones, ones) is None) is expected
    assert (independent_share(units, units) is None) is expected
    assert (percentile_interval(np.arange(100.0), units=Units.alike(units)) is None) is expected


def test_bootstrap_of_one_user_is_no_zero_width_interval():
    assert bootstrap_mean([3.0, 4.0] * 20, seed=1, clusters=["a"] * 40) is None


@pytest.mark.parametrize("freedom", [5, 5.7, 9, 13.25, 29, 99, 999])
@pytest.mark.parametrize("level", [0.9, 0.95])
def test_the_quantile_is_students(freedom, level):
    expected = t.ppf((1 + level) / 2, freedom)
    assert student_quantile(freedom, level) == pytest.approx(expected, abs=0.0005)


def test_the_tails_of_few_units_lie_further_out():
    # Ten: Phi(-sqrt(10/9) * 2.2622) = Phi(-2.3845) = .0086; thirty: Phi(-2.0802); -1.9942.
    assert [round(tails(units)[0], 4) for units in (10, 30, 100)] == [0.0086, 0.0188, 0.0231]
    assert tails(20)[1] == pytest.approx(1 - tails(20)[0])


def test_strata_cost_a_degree_of_freedom_each():
    strata = [[Units.alike(size) for size in sizes] for sizes in ([12], [12, 20], [10] * 4)]
    assert [Units.of_strata(each)[:2] for each in strata] == [(12, 12), (31, 31), (37, 37)]
    assert Units.of_strata([Units(12, 7.5), Units(10, 8.0)])[:2] == (21, 14.5)


def test_a_share_of_single_trials_is_wilsons():
    assert clustered_wilson(np.array([1.0] * 9 + [0.0] * 6), np.ones(15)) == wilson(9, 15)


def test_a_share_of_clustered_trials_counts_as_many_as_vary_alike():
    # 20 units of 4 trials, 3 or 1 hits, half of each: p = .5, V = 20 * 1 / (19/20) / 80^2 = 1/304,
    # so p (1 - p) / V = 76 trials, about p = .5 with t(19) for z.
    hits, trials = np.array([3.0, 1.0] * 10), np.full(20, 4.0)
    found = clustered_wilson(hits, trials)
    quantile = t.ppf(0.975, 19)
    half = quantile * (0.25 / 76 + quantile**2 / (4 * 76**2)) ** 0.5 / (1 + quantile**2 / 76)
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)
    alike = clustered_wilson(np.array([3.0, 1.0]), np.full(2, 4.0), times=np.array([10, 10]))
    assert found == alike


def test_units_of_all_hits_or_none_are_trials():
    twelve = np.full(12, 3.0)
    assert clustered_wilson(twelve, twelve) == wilson(12, 12)
    assert clustered_wilson(np.array([3.0] * 5 + [0.0] * 7), twelve) == wilson(5, 12)


def test_of_units_of_unequal_size_without_a_hit_the_effective_ones_count():
    trials = np.arange(1.0, 13.0)
    found = clustered_wilson(trials * 0, trials)
    n = 78**2 / 650  # 1 + ... + 12 = 78, of squares 650: 9.36
    z = t.ppf(0.975, n - 1)
    assert (found.low, found.high) == (0, pytest.approx(z**2 / (n + z**2), abs=1e-4))
    mirrored = clustered_wilson(trials, trials)
    assert (mirrored.low, mirrored.high) == (pytest.approx(1 - found.high), 1)


def test_a_share_of_unequal_units_by_hand():
    """V = sum r^2 / (1 - t / T) / T^2 (CR2) and t of n_eff - 1, unit by unit."""
    sizes = [9, 7, 6, 5, 5, 4, 3, 3, 2, 2, 1, 1]
    won = [6, 3, 5, 1, 4, 4, 0, 3, 1, 0, 1, 0]
    p, total = sum(won) / sum(sizes), sum(sizes)
    spread = sum((h - p * n) ** 2 / (1 - n / total) for h, n in zip(won, sizes, strict=True))
    n = p * (1 - p) / (spread / total**2)
    effective = total**2 / sum(size**2 for size in sizes)
    z = t.ppf(0.975, effective - 1)
    half = z * (p * (1 - p) / n + z**2 / (4 * n**2)) ** 0.5 / (1 + z**2 / n)
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    assert n < total
    found = clustered_wilson(np.array(won, float), np.array(sizes, float))
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=2e-4)


@pytest.mark.parametrize(("units", "trials"), [(12, 24), (100, 200)])
def test_a_share_that_no_unit_departs_from_counts_as_its_trials(units, trials):
    # As of a judge that in every comparison names the first shown once.
    found = clustered_wilson(np.full(units, 1.0), np.full(units, 2.0))
    quantile = t.ppf(0.975, units - 1)
    half = quantile * (0.25 / trials + quantile**2 / (4 * trials**2)) ** 0.5
    half /= 1 + quantile**2 / trials
    assert (found.low, found.high) == pytest.approx((0.5 - half, 0.5 + half), abs=1e-5)


@pytest.mark.parametrize("consistent", [0.9, 0.95, 0.98])
@pytest.mark.parametrize("units", [10, 30, 100])
def test_the_bias_of_a_consistent_judge_is_held(consistent, units):
    """It names the first shown in both orders of some comparisons, else in one order of each.

    The number of the former is binomial: coverage is a sum over it, no simulation.
    """
    true, held = 0.5 + (1 - consistent) / 2, 0.0
    for leaning in range(units + 1):
        hits = np.array([2.0] * leaning + [1.0] * (units - leaning))
        found = clustered_wilson(hits, np.full(units, 2.0))
        if found.low <= true <= found.high:
            held += binom.pmf(leaning, units, 1 - consistent)
    assert held > 0.93


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


def test_correlations_of_draws_of_unequal_size():
    # Three units a draw: as they are, the second thrice and more, the first alone many times.
    first, second = np.array([1.0, 2.0, 4.0]), np.array([1.0, 3.0, 2.0])
    weights = np.array([[1.0, 1.0, 1.0], [0.0, 3.0, 1.0], [900.0, 0.0, 0.0]])
    expected = [float(np.corrcoef(first, second)[0, 1]), -1.0, np.nan]
    assert correlation(first, second, weights) == pytest.approx(expected, nan_ok=True)
    # Ranks of the second draw: 2, 2, 2, 4 against 3, 3, 3, 1; one tie of 900 has no spread.
    assert rank_correlation(first, second, weights) == pytest.approx(
        [0.5, -1.0, np.nan], nan_ok=True
    )
