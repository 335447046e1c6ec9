import random
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.bradley_terry import fit_log_odds
from benchmark.core.elo import elo_points
from benchmark.core.rank_sets import SCALE


def wins(games, models="abc"):
    found = np.zeros((1, len(models), len(models)))
    for one, other, score in games:
        a, b = models.index(one), models.index(other)
        found[0, a, b] += score
        found[0, b, a] += 1 - score
    return found


def one_by_one(games, models="abc"):
    """Elo as it is written down: K = 4, everybody from 1000."""
    ratings = dict.fromkeys(models, 1000.0)
    for one, other, score in games:
        moved = 4 * (score - 1 / (1 + 10 ** ((ratings[other] - ratings[one]) / 400)))
        ratings[one] += moved
        ratings[other] -= moved
    return list(ratings.values())


def mean_over(orders):
    return np.mean([one_by_one(order) for order in orders], axis=0)


def test_one_win_among_equals_moves_two_points():
    assert elo_points(wins([("a", "b", 1)], "ab"))[0].tolist() == [1002, 998]


def test_ten_wins_are_the_same_in_every_order():
    games = [("a", "b", 1)] * 10
    assert elo_points(wins(games, "ab"))[0] == pytest.approx(one_by_one(games, "ab"), abs=0.02)


@pytest.mark.parametrize(
    "games",
    [
        [("a", "b", 1), ("b", "c", 1)],
        [("a", "b", 1), ("a", "b", 0), ("b", "c", 0.5), ("a", "c", 1), ("c", "b", 0.75)],
    ],
)
def test_few_games_have_the_mean_over_all_their_orders(games):
    expected = mean_over(permutations(games))
    assert elo_points(wins(games))[0] == pytest.approx(expected, abs=0.01 * np.ptp(expected))


def test_many_games_have_the_mean_over_many_orders():
    """300 comparisons; 3,000 orders leave a standard error of 0.2 points or less."""
    games = [("a", "b", 1)] * 70 + [("b", "a", 1)] * 30 + [("b", "c", 1)] * 60
    games += [("c", "b", 1)] * 40 + [("a", "c", 0.5)] * 100
    rng = random.Random(1)
    expected = mean_over(rng.sample(games, len(games)) for _ in range(3000))
    assert elo_points(wins(games))[0] == pytest.approx(expected, abs=0.8)
    assert np.ptp(expected) > 50


def test_a_million_games_are_bradley_terry():
    many = 20_000 * wins([("a", "b", 0.7), ("b", "c", 0.6), ("a", "c", 0.8)])
    many *= 50 / 3
    expected = 1000 + SCALE * fit_log_odds(many)[0]
    assert elo_points(many)[0] == pytest.approx(expected, abs=0.01)


def test_who_never_loses_gains_ever_less():
    """A thousand strides at most: still within a point of all 200,000 moves."""
    gap, games = 0.0, 200_000
    for _ in range(games):
        gap += 2 * 4 / (1 + 10 ** (gap / 400))
    found = elo_points(games * wins([("a", "b", 1)], "ab"))[0]
    assert found == pytest.approx([1000 + gap / 2, 1000 - gap / 2], abs=1)


def test_each_draw_is_by_itself_and_a_model_without_a_comparison_has_no_points():
    draws = np.concatenate([wins([("a", "b", 1)] * 40), wins([("a", "c", 1)]), wins([])])
    found = elo_points(draws)
    assert found[0, :2] == pytest.approx(elo_points(draws[:1])[0, :2], abs=0.05)
    assert np.isnan(found).tolist() == [[False, False, True], [False, True, False], [True] * 3]
    assert found[1, [0, 2]].tolist() == [1002, 998]
    assert elo_points(np.zeros((1, 0, 0))).shape == (1, 0)


@settings(max_examples=30)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"), st.sampled_from("abcd"), st.sampled_from([0, 0.5, 1])
        ).filter(lambda game: game[0] != game[1]),
        max_size=20,
    )
)
def test_points_only_change_hands(games):
    found = elo_points(wins(games, "abcd"))[0]
    seen = {name for game in games for name in game[:2]}
    assert np.nansum(found) == pytest.approx(1000 * len(seen))
