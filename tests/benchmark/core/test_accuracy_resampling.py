import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import t

from annotation.core.intervals import MIN_UNITS, Units, bootstrap_mean, percentile_interval
from benchmark.core.accuracy import (
    bootstrap_sums,
    by_unit,
    drawn_values,
    mean_share_interval,
    session_units,
    share_interval,
    units_of,
)


def mean(sums):
    return sums[:, 0] / sums[:, 1]


def columns(values):
    return np.column_stack([values, np.ones(len(values))])


def test_it_is_the_bootstrap_that_draws_units_one_by_one():
    values = [0.0] * 70 + [0.5] * 30 + [1.0] * 100
    ours = bootstrap_sums(columns(values), mean, seed=1, draws=4000, held=(1,))
    theirs = bootstrap_mean(values, seed=2, draws=4000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.006)
    assert ours.draws == 4000


@pytest.mark.parametrize("units", [0, 1, MIN_UNITS - 1])
def test_too_few_to_draw_from_have_no_interval(units):
    rows = columns([0.0, 1.0] * MIN_UNITS)
    assert bootstrap_sums(rows[:units], mean, seed=1, held=(1,)) is None
    assert bootstrap_sums(rows[:MIN_UNITS], mean, seed=1, held=(1,)) is not None
    drawn = drawn_values(rows[:units], mean, seed=1, draws=7, held=(1,))
    assert np.isnan(drawn).tolist() == [True] * 7


def test_a_group_of_too_few_leaves_what_is_combined_without_an_interval():
    enough, few = columns([0.0, 1.0] * 5), columns([1.0] * 9)
    drawn = [drawn_values(each, mean, seed=1, held=(1,)) for each in (enough, few)]
    assert percentile_interval(np.mean(drawn, axis=0), units=Units.alike(18)) is None


def difference(sums):
    return sums[:, 2] / sums[:, 3] - sums[:, 0] / sums[:, 1]


def test_a_unit_that_holds_most_of_either_share_leaves_no_interval_of_their_difference():
    rows = np.tile([1.0, 2.0, 2.0, 2.0], (30, 1))
    rows[:, 2] = np.arange(30) % 3
    assert bootstrap_sums(rows, difference, seed=1) is not None
    rows[0, 2:] = 100.0
    # (29 * 2 + 100)^2 / (29 * 4 + 100^2) = 2.47 effective units of the second share.
    assert units_of(rows, (1, 3)) == pytest.approx((30, 158**2 / 10116, 100 / 158))
    assert bootstrap_sums(rows, difference, seed=1) is None
    assert np.isnan(drawn_values(rows, difference, seed=1, draws=3)).all()


def test_a_mean_of_shares_by_hand():
    """Two groups, weights 3 and 1: p = 3/4 .7 + 1/4 .4, the variances by CR2 of their own units."""
    one = np.array([[3.0, 4.0], [4.0, 4.0], [1.0, 2.0], [2.0, 4.0], [2.0, 2.0]] * 4)
    other = np.array([[1.0, 2.0], [0.0, 2.0], [2.0, 2.0], [1.0, 4.0]] * 5)
    found = mean_share_interval([(3.0, one), (1.0, other)])
    value, spread, squares, most = 0.0, 0.0, 0.0, 0.0
    for weight, rows in ((0.75, one), (0.25, other)):
        hits, trials = rows.T
        share = hits.sum() / trials.sum()
        residuals = hits - share * trials
        value += weight * share
        spread += weight**2 * (residuals**2 / (1 - trials / trials.sum())).sum() / trials.sum() ** 2
        squares += weight**2 * (trials**2).sum() / trials.sum() ** 2
        most += weight**2 / trials.sum()
    n, z = min(value * (1 - value) / spread, 1 / most), t.ppf(0.975, 1 / squares - 1 - 1)
    half = z * (value * (1 - value) / n + z**2 / (4 * n**2)) ** 0.5 / (1 + z**2 / n)
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    assert (found.low, found.high) == pytest.approx((middle - half, middle + half), abs=1e-4)


def test_a_mean_of_shares_that_no_unit_departs_from_is_no_point():
    right, wrong = columns([1.0] * 20), columns([0.0] * 10)
    assert mean_share_interval([(1.0, wrong)]) == share_interval(wrong)
    both = mean_share_interval([(1.0, right), (1.0, wrong)])
    assert both.low < 0.5 < both.high
    never = mean_share_interval([(2.0, wrong), (1.0, wrong)])
    # 2/3 of ten units and 1/3 of ten hold as much as 10 / (4/9 + 1/9) = 18, less a group's one.
    z = t.ppf(0.975, 16)
    assert (never.low, never.high) == (0, pytest.approx(z**2 / (17 + z**2), abs=1e-4))


def test_without_groups_or_with_one_of_few_units_a_mean_of_shares_has_no_interval():
    assert mean_share_interval([]) is None
    assert mean_share_interval([(1.0, columns([1.0] * 20)), (1.0, columns([1.0] * 9))]) is None


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=MIN_UNITS, max_size=30), st.randoms())
def test_the_order_of_the_units_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    one, other = (
        bootstrap_sums(columns(each), mean, seed=5, draws=50, held=(1,))
        for each in (values, shuffled)
    )
    assert one == other
    assert min(values) <= one.low <= one.high <= max(values)


def test_rows_of_one_unit_are_summed_in_the_order_of_the_units():
    rows = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    assert by_unit(np.array([7, 3, 7]), rows).tolist() == [[3.0, 4.0], [6.0, 8.0]]
    assert by_unit(np.array([3, 1, 2]), rows) is rows
    assert by_unit(session_units([]), rows[:0]).shape == (0, 2)
    with pytest.raises(ValueError, match="1 units of 3 rows"):
        by_unit(np.array([1]), rows)


def test_a_row_without_a_session_is_a_unit_of_its_own():
    assert session_units([4, None, 4, 0, None]).tolist() == [4, -2, 4, 0, -5]


@given(
    st.lists(
        st.tuples(*[st.sampled_from([0.0, 0.5, 1.0, 2.0])] * 2, st.just(1.0)),
        min_size=MIN_UNITS,
        max_size=30,
    )
)
def test_equal_rows_are_one_cell_in_the_order_of_their_columns(rows):
    drawn = drawn_values(
        np.array(rows), lambda sums: sums[:, 0] - sums[:, 1], seed=3, draws=20, held=(2,)
    )
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    times = np.random.default_rng(3).multinomial(len(rows), counts / len(rows), size=20)
    assert (drawn == (times @ cells)[:, 0] - (times @ cells)[:, 1]).all()
