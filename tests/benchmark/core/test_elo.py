import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.bradley_terry import OutcomeCells, VerdictCounts
from benchmark.core.elo import elo_points, orders_of


def cells(*rows):
    return OutcomeCells.of(VerdictCounts(*row) for row in rows)


def points(tally, orders=1, seed=0):
    counts = np.tile(tally.counts, (orders, 1))
    return elo_points(tally, counts, np.random.default_rng(seed))


def one_by_one(games):
    """Elo as it is written down: K = 4, everybody from 1000."""
    ratings = {}
    for one, other, score in games:
        a, b = ratings.setdefault(one, 1000.0), ratings.setdefault(other, 1000.0)
        moved = 4 * (score - 1 / (1 + 10 ** ((b - a) / 400)))
        ratings[one], ratings[other] = a + moved, b - moved
    return ratings


def test_one_win_among_equals_moves_two_points():
    assert points(cells(("a", "b", 1, 0)))[0].tolist() == [1002, 998]


def test_the_score_is_the_share_of_a_comparison_s_verdicts():
    # Three of four verdicts: 4 (0.75 - 0.5) = 1.
    assert points(cells(("b", "a", 3, 1)))[0].tolist() == [999, 1001]


def test_ten_wins_are_the_same_in_every_order():
    tally = cells(*[("a", "b", 1, 0)] * 10)
    expected = one_by_one([("a", "b", 1)] * 10)
    assert points(tally, orders=3) == pytest.approx(np.tile([expected["a"], expected["b"]], (3, 1)))


def test_the_order_matters_and_two_games_have_both_orders():
    games = [("a", "b", 1), ("b", "c", 1)]
    both = {
        tuple(round(one_by_one(order)[name], 9) for name in "abc") for order in (games, games[::-1])
    }
    found = points(cells(*[(a, b, s, 1 - s) for a, b, s in games]), orders=40)
    assert {tuple(np.round(row, 9).tolist()) for row in found} == both
    assert len(both) == 2


def test_rows_of_different_length_and_a_model_without_a_comparison():
    tally = cells(("a", "b", 1, 0), ("a", "c", 1, 0))
    found = elo_points(tally, np.array([[2, 0], [0, 1]]), np.random.default_rng(0))
    twice = one_by_one([("a", "b", 1)] * 2)
    assert found[0, :2] == pytest.approx([twice["a"], twice["b"]])
    assert np.isnan(found).tolist() == [[False, False, True], [False, True, False]]
    assert found[1, [0, 2]].tolist() == [1002, 998]


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0, 0.5, 1])),
        max_size=20,
    )
)
def test_points_only_change_hands(games):
    tally = cells(*[(a, b, s, 1 - s) for a, b, s in games])
    found = points(tally, orders=4)
    assert found.sum(axis=1) == pytest.approx([1000 * len(tally.models)] * 4)


@pytest.mark.parametrize(
    ("comparisons", "orders"), [(0, 200), (100_000, 200), (1_000_000, 20), (10**9, 10)]
)
def test_very_many_comparisons_have_fewer_orders(comparisons, orders):
    assert orders_of(comparisons) == orders
