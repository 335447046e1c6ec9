from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.satisfaction_training import Fold, balanced, folds
from tests.refusals import refuses

USERS = st.sets(st.integers(1, 60), min_size=2, max_size=30)


@dataclass(frozen=True)
class Rated:
    name: str
    score: int


def test_raters_who_are_not_judged_teach():
    assert folds([5, 2], [9, 2, 7, 5]) == (Fold((2, 5), (7, 9)),)


def test_where_everybody_is_judged_each_half_teaches_the_other():
    first, second = folds([1, 2, 3, 4, 5], [1, 2, 3, 4, 5])
    assert (first.judged, first.training) == (second.training, second.judged)
    assert sorted((*first.judged, *second.judged)) == [1, 2, 3, 4, 5]
    assert {len(first.judged), len(second.judged)} == {2, 3}


@pytest.mark.parametrize(("judged", "raters"), [([1], [1]), ([], []), ([1, 2], []), ([1], [])])
def test_without_other_raters_there_is_nobody_to_learn_from(judged, raters):
    with refuses("run:no-training-users") as caught:
        folds(judged, raters)
    assert caught.value.code == "run:no-training-users"


def test_whoever_rated_nothing_is_judged_by_the_first_half():
    first, second = folds([1, 2, 3, 9], [1, 2, 3])
    assert 9 in second.judged
    assert 9 not in first.training + second.training
    assert sorted((*first.judged, *second.judged)) == [1, 2, 3, 9]


@given(USERS, USERS, st.integers())
def test_nobody_teaches_who_is_judged_by_it(judged, more, seed):
    found = folds(judged, judged | more, seed=seed)
    assert sorted(user for fold in found for user in fold.judged) == sorted(judged)
    for fold in found:
        assert fold.training
        assert set(fold.judged).isdisjoint(fold.training)
    assert found == folds(sorted(judged, reverse=True), judged | more, seed=seed)


def test_two_examples_of_each_score_lowest_first():
    rated = [Rated(f"{score}{at}", score) for at in range(4) for score in (5, 4, 3, 2, 1)]
    found = balanced(rated)
    assert [one.score for one in found] == [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(set(found)) == 10
    assert balanced(rated) == found
    assert balanced(rated, seed=1) != found


def test_a_rare_score_has_fewer_examples():
    assert [one.score for one in balanced([Rated("a", 5), Rated("b", 2), Rated("c", 5)])] == [
        2,
        5,
        5,
    ]
