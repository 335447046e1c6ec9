"""The general part: which responses please more than a user's usual one, whoever the user is.

Learned from the training users' deviations from their own means, in units of their own spread,
by three models of different kinds whose mean is taken: ridge on the text vectors, ridge on the
features, and a forest on the features. A user's level is no concern of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import FloatArray
from judging.core.satisfaction_features import GROUPS, Group, Sparse, TextSpace, text_space


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


PARTS: Final = 3
_LIMIT: Final = 3.0
_FLAT: Final = 1e-9


@dataclass(frozen=True, slots=True)
class GeneralSettings:
    """Penalties of the two ridges, the forest, and how far a spread leans on the usual one.

    A user's variance counts as that of `usual_turns` further turns with `usual_variance`.
    """

    text_penalty: float = 3.0
    feature_penalty: float = 3_000.0
    trees: int = 200
    smallest_leaf: int = 5
    share: float = 0.3
    usual_turns: float = 20.0
    usual_variance: float = 0.5


@dataclass(frozen=True, slots=True)
class Scaling:
    """How features become comparable, and texts vectors; learned without any label."""

    scenarios: tuple[str, ...]
    mean: FloatArray
    spread: FloatArray
    space: TextSpace
    centre: FloatArray

    def rows(self, features: FloatArray, scenarios: Sequence[str]) -> FloatArray:
        """Features and one column a known scenario, standardised and cut at +-3, n x d."""
        known = [[float(name == own) for name in self.scenarios] for own in scenarios]
        wide = np.hstack([features, np.array(known).reshape(len(features), len(self.scenarios))])
        return np.clip((wide - self.mean) / self.spread, -_LIMIT, _LIMIT)

    @property
    def groups(self) -> tuple[Group, ...]:
        """The group of each column of `rows`."""
        return (*GROUPS, *(Group.SCENARIO for _ in self.scenarios))


@dataclass(frozen=True, slots=True)
class General:
    """The three fitted models; `offset` is the mean deviation of the training turns."""

    offset: float
    text: FloatArray
    linear: FloatArray
    forest: Forest


@dataclass(frozen=True, slots=True)
class Deviation:
    """What the general part says in spreads: by feature (n x d), by wording (n), and in all (n)."""

    by_feature: FloatArray
    by_wording: FloatArray
    base: float

    @property
    def total(self) -> FloatArray:
        """The expected deviation from the user's usual score, in spreads."""
        total: FloatArray = self.base + self.by_feature.sum(axis=1) + self.by_wording
        return total


def scaling(features: FloatArray, scenarios: Sequence[str], counts: Sparse) -> Scaling:
    """What the training passages look like."""
    names = tuple(sorted(set(scenarios)))
    known = np.array([[float(name == own) for name in names] for own in scenarios])
    wide = np.hstack([features, known])
    space = text_space(counts)
    centre = np.asarray(space.vectors(counts).mean(axis=0)).ravel()
    return Scaling(names, wide.mean(axis=0), wide.std(axis=0) + _FLAT, space, centre)


def spread_of(scores: FloatArray, settings: GeneralSettings) -> float:
    """A user's standard deviation, leaning on the usual one while the scores are few."""
    squares = float(((scores - scores.mean()) ** 2).sum()) if len(scores) else 0.0
    turns = len(scores) + settings.usual_turns
    return float(np.sqrt((squares + settings.usual_turns * settings.usual_variance) / turns))


def fit_general(
    rows: FloatArray,
    texts: Sparse,
    centre: FloatArray,
    deviations: FloatArray,
    settings: GeneralSettings,
    *,
    seed: int,
) -> General:
    """Fit the three models.

    Args:
        rows: standardised features of the training turns, n x d.
        texts: their unit text vectors.
        centre: the mean to take from the text vectors.
        deviations: of their scores from the user's mean, in the user's spreads.
        settings: penalties and the forest's form.
        seed: of the forest.
    """
    offset = float(deviations.mean())
    goals = deviations - offset
    middle = texts @ centre
    kernel = (texts @ texts.T).toarray() - middle[:, None] - middle[None, :] + centre @ centre
    pull = np.linalg.solve(kernel + settings.text_penalty * np.eye(len(goals)), goals)
    gram = rows.T @ rows + settings.feature_penalty * np.eye(rows.shape[1])
    linear = np.asarray(np.linalg.solve(gram, rows.T @ goals), dtype=np.float64)
    return General(
        offset=offset,
        text=texts.T @ pull - centre * pull.sum(),
        linear=linear,
        forest=grow(
            rows,
            deviations,
            trees=settings.trees,
            smallest_leaf=settings.smallest_leaf,
            share=settings.share,
            seed=seed,
        ),
    )


def deviation(model: General, rows: FloatArray, texts: Sparse, centre: FloatArray) -> Deviation:
    """What the general part says of some passages, told apart by feature."""
    linear = rows * model.linear
    forest = model.forest.contributions(rows)
    return Deviation(
        by_feature=(linear + forest) / PARTS,
        by_wording=(texts @ model.text - centre @ model.text) / PARTS,
        base=(2 * model.offset + model.forest.base) / PARTS,
    )
