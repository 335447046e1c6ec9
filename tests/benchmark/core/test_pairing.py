from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.pairing import PossiblePair
from benchmark.core.bradley_terry import PRIOR, VerdictCounts, fit_log_odds
from benchmark.core.pairing import (
    adaptive_batch,
    after_one_more,
    most_telling,
    pair_weights,
    rating_covariance,
    summed_variance,
    usual_batch,
    variance_drops,
)


def information(games, weights, prior):
    """The Fisher information of Bradley-Terry, comparison by comparison."""
    size = len(games)
    total = prior * np.eye(size)
    for one, other in combinations(range(size), 2):
        u = np.eye(size)[one] - np.eye(size)[other]
        total += games[one, other] * weights[one, other] * np.outer(u, u)
    return total


def brute_variance(covariance):
    size = len(covariance)
    return sum(
        covariance[i, i] + covariance[j, j] - 2 * covariance[i, j]
        for i, j in combinations(range(size), 2)
    )


@st.composite
def states(draw):
    size = draw(st.integers(2, 5))
    ratings = np.array(draw(st.lists(st.floats(-3, 3), min_size=size, max_size=size)))
    games = np.zeros((size, size))
    for one, other in combinations(range(size), 2):
        games[one, other] = games[other, one] = draw(st.integers(0, 9))
    return games, ratings


@given(states())
def test_the_drop_is_that_of_inverting_with_one_comparison_more(state):
    games, ratings = state
    weights = pair_weights(ratings)
    covariance = rating_covariance(games, weights)
    assert covariance == pytest.approx(np.linalg.inv(information(games, weights, PRIOR)))
    assert summed_variance(covariance) == pytest.approx(brute_variance(covariance))
    drops = variance_drops(covariance, weights)
    for one, other in combinations(range(len(games)), 2):
        more = games.copy()
        more[one, other] += 1
        more[other, one] += 1
        inverted = np.linalg.inv(information(more, weights, PRIOR))
        assert after_one_more(covariance, weights, one, other) == pytest.approx(inverted)
        drop = brute_variance(covariance) - brute_variance(inverted)
        assert drops[one, other] == pytest.approx(drop)
        assert drops[other, one] == pytest.approx(drop)


def test_golden_of_two_models_by_hand():
    # One comparison at p = 1/2 weighs 1/4; two models without any have C = 4 I, so V = 8. With it
    # the information of the difference direction is 1/4 + 2 * 1/4, and V = 2 / (3/4) = 8/3.
    weights = pair_weights(np.zeros(2))
    covariance = rating_covariance(np.zeros((2, 2)), weights)
    assert weights[0, 1] == 0.25
    assert summed_variance(covariance) == pytest.approx(8)
    assert variance_drops(covariance, weights)[0, 1] == pytest.approx(8 - 8 / 3)


def test_a_prior_makes_a_fit_of_nothing_and_of_models_that_never_lost():
    assert fit_log_odds(np.zeros((1, 3, 3)), prior=PRIOR)[0] == pytest.approx(np.zeros(3))
    (ratings,) = fit_log_odds(np.array([[[0.0, 5.0], [0.0, 0.0]]]), prior=PRIOR)
    # At the maximum 5 (1 - p) = prior * rating, for rating = half of the difference.
    assert 5 / (1 + np.exp(2 * ratings[0])) == pytest.approx(PRIOR * ratings[0])
    assert ratings[0] == pytest.approx(-ratings[1])


def test_a_batch_is_greedy_within_its_room_and_equal_pairs_come_by_the_seed():
    weights = pair_weights(np.zeros(3))
    covariance = rating_covariance(np.zeros((3, 3)), weights)
    room = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0]])
    order = np.array([[0, 3.0, 1], [3, 0, 2], [1, 2, 0]])
    beaten: list[bool] = []
    chosen = most_telling(
        covariance, weights, room, 9, order=order, pulse=lambda: beaten.append(True)
    )
    assert len(beaten) == len(chosen)
    assert chosen[0] == (0, 2)
    assert sorted(chosen) == [(0, 1), (0, 2), (1, 2)]


def possible(models=4, turns=6, scenarios=2):
    return [
        PossiblePair(
            turn, f"s{turn}", 0, f"x{turn % scenarios}", pair, 0, 0, " | ".join(pair), turn
        )
        for turn in range(turns)
        for pair in combinations("abcd"[:models], 2)
    ]


@given(st.integers(1, 40), st.integers(0, 5))
def test_a_batch_holds_each_comparison_once_and_is_the_same_for_a_seed(size, seed):
    pairs = possible()
    batch = adaptive_batch(pairs, (), size=size, seed=seed)
    assert len(set(batch)) == len(batch) == min(size, len(pairs))
    assert batch == adaptive_batch(pairs[::-1], (), size=size, seed=seed)
    counts = Counter(pair.models for pair in batch)
    assert max(counts.values()) - min(counts[each] for each in combinations("abcd", 2)) <= 1


def test_scenarios_are_balanced_within_a_pair_of_models():
    batch = adaptive_batch(possible(models=2, turns=12, scenarios=3), (), size=6, seed=1)
    assert Counter(pair.scenario for pair in batch) == {"x0": 2, "x1": 2, "x2": 2}
    planned = batch[:2]
    rest = [pair for pair in possible(models=2, turns=12, scenarios=3) if pair not in planned]
    more = adaptive_batch(rest, (), size=1, seed=1, planned=planned, waiting=planned)
    assert more[0].scenario not in {pair.scenario for pair in planned}


def test_what_is_settled_is_not_compared_and_what_waits_counts_as_known():
    # d loses to everybody, so its pairs tell little; the others are close.
    outcomes = [VerdictCounts(model, "d", 9.0, 0.0) for model in "abc" for _ in range(9)]
    outcomes += [
        VerdictCounts(one, other, won, 1 - won)
        for one, other in combinations("abc", 2)
        for won in (0.0, 1.0)
    ]
    outcomes += [VerdictCounts("a", "a", 1, 0), VerdictCounts("a", "z", 1, 0)]
    batch = adaptive_batch(possible(turns=4), outcomes, size=9, seed=3)
    assert all("d" not in pair.models for pair in batch)
    waiting = [pair for pair in possible(turns=20) if pair.models == ("a", "b")]
    rest = [pair for pair in possible(turns=30) if pair not in waiting]
    more = adaptive_batch(rest, outcomes, size=6, seed=3, planned=waiting, waiting=waiting)
    assert ("a", "b") not in {pair.models for pair in more}


def test_nothing_is_planned_of_nothing_and_a_batch_is_a_tenth():
    assert adaptive_batch([], (), size=3, seed=0) == []
    assert [usual_batch(number) for number in (0, 1, 10, 11, 95)] == [1, 1, 1, 2, 10]
