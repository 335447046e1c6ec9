from __future__ import annotations

import pytest

from judging.core.questions import HistoryTurn
from judging.core.retrieval import Block, ScoringTarget
from judging.core.satisfaction_neighbours import RatedSpace

TEXTS = {"rice soup": 5, "rice bowl": 4, "old museum": 1}


def block(*responses, history=TEXTS):
    targets = tuple(
        ScoringTarget(str(at), "s", at, "what", (), text, "", {})
        for at, text in enumerate(responses)
    )
    rated = tuple(
        HistoryTurn(text, "gifts", "", "what", text, score, None) for text, score in history.items()
    )
    return Block("ann", "travel", targets, rated)


TRAIN = [block("rice soup", "rice bowl", "old museum", "soup museum")] * 3


@pytest.mark.parametrize(
    ("k", "expected", "score"),
    [(1, 5.0, 5), (2, 4.5, 5), (3, 10 / 3, 3), (20, 10 / 3, 3)],
)
def test_the_mean_of_the_nearest_turns(k, expected, score):
    ((found,),) = RatedSpace([block("rice soup")], train=TRAIN).predictions(k)
    assert found.expected == pytest.approx(expected)
    assert found.score == score


def test_each_target_has_its_own_neighbours():
    ((soup, museum),) = RatedSpace([block("rice soup", "old museum")], train=TRAIN).predictions(1)
    assert (soup.score, museum.score) == (5, 1)


def test_of_equally_alike_turns_the_earlier_is_nearer():
    history = {"zzz": 2, "yyy": 4}
    ((found,),) = RatedSpace([block("rice", history=history)], train=[]).predictions(1)
    assert found.score == 2


def test_without_history_there_is_no_prediction():
    assert RatedSpace([block("rice", history={})], train=TRAIN).predictions(3) == ((None,),)
