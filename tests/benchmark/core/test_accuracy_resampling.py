import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.intervals import MIN_UNITS, bootstrap_mean, percentile_interval
from benchmark.core.accuracy import bootstrap_sums, by_unit, drawn_values, session_units


def mean(sums):
    return sums[:, 0] / sums[:, 1]


def columns(values):
    return np.column_stack([values, np.ones(len(values))])


def test_it_is_the_bootstrap_that_draws_units_one_by_one():
    values = [0.0] * 70 + [0.5] * 30 + [1.0] * 100
    ours = bootstrap_sums(columns(values), mean, seed=1, draws=4000)
    theirs = bootstrap_mean(values, seed=2, draws=4000)
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.006)
    assert ours.draws == 4000


@pytest.mark.parametrize("units", [0, 1, MIN_UNITS - 1])
def test_too_few_to_draw_from_have_no_interval(units):
    rows = columns([0.0, 1.0] * MIN_UNITS)
    assert bootstrap_sums(rows[:units], mean, seed=1) is None
    assert bootstrap_sums(rows[:MIN_UNITS], mean, seed=1) is not None
    assert np.isnan(drawn_values(rows[:units], mean, seed=1, draws=7)).tolist() == [True] * 7


def test_a_group_of_too_few_leaves_what_is_combined_without_an_interval():
    enough, few = columns([0.0, 1.0] * 5), columns([1.0] * 9)
    together = np.mean([drawn_values(each, mean, seed=1) for each in (enough, few)], axis=0)
    assert percentile_interval(together, units=18) is None


@given(st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=MIN_UNITS, max_size=30), st.randoms())
def test_the_order_of_the_units_does_not_matter(values, random):
    shuffled = random.sample(values, len(values))
    one, other = (
        bootstrap_sums(columns(each), mean, seed=5, draws=50) for each in (values, shuffled)
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
    drawn = drawn_values(np.array(rows), lambda sums: sums[:, 0] - sums[:, 1], seed=3, draws=20)
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    times = np.random.default_rng(3).multinomial(len(rows), counts / len(rows), size=20)
    assert (drawn == (times @ cells)[:, 0] - (times @ cells)[:, 1]).all()
