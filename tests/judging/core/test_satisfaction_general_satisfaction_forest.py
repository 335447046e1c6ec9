from __future__ import annotations

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor

from judging.core.satisfaction_general import Forest, grow

RANDOM = np.random.default_rng(1)
ROWS = RANDOM.normal(size=(120, 5))
GOALS = ROWS[:, 0] * 2 + (ROWS[:, 1] > 0) + RANDOM.normal(size=120) * 0.1


def grown():
    return grow(ROWS, GOALS, trees=12, smallest_leaf=3, share=0.5, seed=7)


def test_arrays_predict_what_scikit_learn_predicts():
    model = ExtraTreesRegressor(12, min_samples_leaf=3, max_features=0.5, random_state=7)
    asked = RANDOM.normal(size=(50, 5))
    expected = model.fit(ROWS, GOALS).predict(asked)
    assert np.allclose(grown().predict(asked), expected, atol=1e-12)


def test_contributions_and_base_make_up_the_prediction():
    forest = grown()
    moved = forest.contributions(ROWS)
    assert moved.shape == ROWS.shape
    assert np.allclose(forest.base + moved.sum(axis=1), forest.predict(ROWS))
    assert np.abs(moved[:, 0]).mean() > 10 * np.abs(moved[:, 4]).mean()


def test_a_tree_by_hand():
    # One question: feature 1 <= 0.5 gives 1, else 4; the root's mean is 2.
    forest = Forest(
        roots=np.array([0], np.int32),
        feature=np.array([1, -2, -2], np.int32),
        threshold=np.array([0.5, -2.0, -2.0]),
        left=np.array([1, -1, -1], np.int32),
        right=np.array([2, -1, -1], np.int32),
        value=np.array([2.0, 1.0, 4.0]),
    )
    assert forest.contributions(np.array([[9.0, 0.5], [9.0, 0.6]])).tolist() == [[0, -1], [0, 2]]
