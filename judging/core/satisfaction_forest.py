"""A forest as plain arrays: what scikit-learn grew is stored and evaluated without it.

A node is a row: `feature` and `threshold` of its question, `left` and `right` the rows of its
children, `value` the mean below it; a leaf's children are -1. Arrays can be stored and read
without pickle, and a prediction can be told apart by feature.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import FloatArray


@dataclass(frozen=True, slots=True)
class Forest:
    """Trees one after another; `roots` are the rows where they start."""

    roots: NDArray[np.int32]
    feature: NDArray[np.int32]
    threshold: FloatArray
    left: NDArray[np.int32]
    right: NDArray[np.int32]
    value: FloatArray

    @property
    def base(self) -> float:
        """The mean of the roots: what is said without any question."""
        return float(self.value[self.roots].mean())

    def contributions(self, rows: FloatArray) -> FloatArray:
        """How far each feature moves each row's prediction from `base`, n x features.

        Along a row's path through a tree, a question adds the value of the child taken less
        the value of the node that asks (Saabas); the sum over features is the prediction exactly.
        """
        n, width = rows.shape
        moved = np.zeros(n * width)
        # scikit-learn compares values of single precision with its thresholds.
        asked = rows.astype(np.float32).astype(np.float64)
        for root in self.roots:
            at = np.full(n, root)
            active = np.flatnonzero(self.left[at] >= 0)
            while len(active):
                node = at[active]
                question = self.feature[node]
                below = asked[active, question] <= self.threshold[node]
                child = np.where(below, self.left[node], self.right[node])
                change = self.value[child] - self.value[node]
                moved += np.bincount(active * width + question, change, minlength=n * width)
                at[active] = child
                active = active[self.left[child] >= 0]
        return moved.reshape(n, width) / len(self.roots)

    def predict(self, rows: FloatArray) -> FloatArray:
        """The mean of the trees for each row of features."""
        predicted: FloatArray = self.base + self.contributions(rows).sum(axis=1)
        return predicted


def grow(
    rows: FloatArray,
    goals: FloatArray,
    *,
    trees: int,
    smallest_leaf: int,
    share: float,
    seed: int,
) -> Forest:
    """Extremely randomised trees (Geurts et al. 2006) on rows of features.

    Args:
        rows: n x features.
        goals: what to predict.
        trees: how many.
        smallest_leaf: rows in a leaf at least.
        share: of the features tried at a split, 0-1.
        seed: of the random splits.
    """
    from sklearn.ensemble import ExtraTreesRegressor

    model = ExtraTreesRegressor(
        trees, min_samples_leaf=smallest_leaf, max_features=share, random_state=seed, n_jobs=1
    ).fit(rows, goals)
    grown = [one.tree_ for one in model.estimators_]
    roots = np.cumsum([0, *(one.node_count for one in grown)])[:-1]
    return Forest(
        roots=roots.astype(np.int32),
        feature=np.concatenate([one.feature for one in grown]).astype(np.int32),
        threshold=np.concatenate([one.threshold for one in grown]),
        left=_shifted([one.children_left for one in grown], roots),
        right=_shifted([one.children_right for one in grown], roots),
        value=np.concatenate([one.value[:, 0, 0] for one in grown]),
    )


def _shifted(children: list[NDArray[np.int64]], roots: NDArray[np.int64]) -> NDArray[np.int32]:
    """Children as rows of the whole forest; -1 stays -1."""
    return np.concatenate(
        [np.where(own >= 0, own + root, -1) for own, root in zip(children, roots, strict=True)]
    ).astype(np.int32)
