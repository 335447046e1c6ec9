from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from judging.core.satisfaction_stacking import OwnTurns, Variances, personal, similarity

ONLY_LEVEL = Variances(level=1.0, scenario=0.0, session=0.0, slopes=0.0, wording=0.0, noise=2.0)


def turns(features, texts=None, scenarios=None, sessions=None):
    rows = np.asarray(features, dtype=float)
    n = len(rows)
    vectors = np.zeros((n, 2)) if texts is None else np.asarray(texts, dtype=float)
    return OwnTurns(
        rows,
        sparse.csr_matrix(vectors),
        np.array([0.5, 0.0]),
        scenarios or ["a"] * n,
        sessions or ["s"] * n,
    )


def test_without_history_nothing_is_said():
    guess = personal(turns([[1.0]]), turns(np.zeros((0, 1))), np.zeros(0), Variances())
    assert guess.level.tolist() == guess.wording.tolist() == [0.0]
    assert guess.slopes.tolist() == [[0.0]]


def test_the_level_is_the_shrunken_mean():
    # Prior variance 1, noise 2, four surprises of 1: 4 / (4 + 2) = 2/3.
    guess = personal(turns([[0.0]]), turns([[0.0]] * 4), np.ones(4), ONLY_LEVEL)
    assert guess.level[0] == pytest.approx(2 / 3)


def test_turns_of_one_session_speak_less_than_turns_of_many():
    variances = Variances(1.0, 0.0, 1.0, 0.0, 0.0, 0.5)
    target, surprise = turns([[0.0]]), np.ones(4)
    one = personal(target, turns([[0.0]] * 4, sessions=["s"] * 4), surprise, variances)
    many = personal(target, turns([[0.0]] * 4, sessions=list("stuv")), surprise, variances)
    assert 0 < one.level[0] < many.level[0] < 1


def test_a_taste_for_a_feature_is_found_and_told_apart():
    variances = Variances(0.0, 0.0, 0.0, 2.0, 0.0, 0.1)
    history = turns([[1.0, 0.0], [-1.0, 0.0]] * 5)
    guess = personal(turns([[1.0, 1.0]]), history, np.array([1.0, -1.0] * 5), variances)
    assert guess.slopes[0, 0] == pytest.approx(1.0, abs=0.02)
    assert guess.slopes[0, 1] == 0.0


def test_a_taste_for_wording_follows_the_liked_text():
    variances = Variances(0.0, 0.0, 0.0, 0.0, 1.0, 0.1)
    history = turns([[0.0]] * 2, texts=[[1.0, 0.0], [0.0, 1.0]])
    asked = turns([[0.0]] * 2, texts=[[1.0, 0.0], [0.0, 1.0]])
    liked, disliked = personal(asked, history, np.array([1.0, -1.0]), variances).wording
    assert liked > 0 > disliked


def test_similarity_is_that_of_centred_vectors():
    texts = np.array([[1.0, 0.0], [0.6, 0.8]])
    own = turns([[0.0]] * 2, texts=texts)
    centred = texts - np.array([0.5, 0.0])
    assert np.allclose(similarity(own, own), centred @ centred.T)
