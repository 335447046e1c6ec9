"""The personal part: what a user's own history says of a turn, as a Gaussian process.

The history's scores less what the general part expects of them are taken as the sum of
independent effects: the user's level, the scenario's and the session's, a taste for each
measured property (random slopes), a taste for wording, and noise. The variances are prior
knowledge; given them, the best linear guess of a target is closed form and falls apart into one
contribution an effect. A history of few turns moves the guess little, none at all not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from annotation.core.intervals import FloatArray
from judging.core.satisfaction_texts import Sparse


@dataclass(frozen=True, slots=True)
class Variances:
    """Of each effect, in squared scores. `slopes` is shared by all features of a usual turn."""

    level: float = 0.12
    scenario: float = 0.05
    session: float = 0.08
    slopes: float = 0.12
    wording: float = 0.15
    noise: float = 0.45


@dataclass(frozen=True, slots=True)
class OwnTurns:
    """Some turns of one user: standardised features (n x d), centred text similarity by `texts`.

    `texts` are unit vectors and `centre` the training texts' mean.
    """

    features: FloatArray
    texts: Sparse
    centre: FloatArray
    scenarios: Sequence[str]
    sessions: Sequence[str]


@dataclass(frozen=True, slots=True)
class Guess:
    """For each target the moves of level, wording (n) and of each feature (n x d)."""

    level: FloatArray
    wording: FloatArray
    slopes: FloatArray


def similarity(one: OwnTurns, other: OwnTurns) -> FloatArray:
    """Products of the centred text vectors, len(one) x len(other)."""
    products = (one.texts @ other.texts.T).toarray()
    left, right = one.texts @ one.centre, other.texts @ one.centre
    centred: FloatArray = products - left[:, None] - right[None, :] + one.centre @ one.centre
    return centred


def personal(
    targets: OwnTurns, history: OwnTurns, surprise: FloatArray, variances: Variances
) -> Guess:
    """The expected surprise of each target, by effect.

    A target's scenario and session hold no label, so those two effects only keep a scenario or
    a session of the history from speaking for the whole user.

    Args:
        targets: the turns to score.
        history: the user's labelled turns elsewhere, possibly none.
        surprise: the history's scores less the general expectation of each.
        variances: of the effects.
    """
    n, width = targets.features.shape
    if len(surprise) == 0:
        return Guess(np.zeros(n), np.zeros(n), np.zeros((n, width)))
    slope = variances.slopes / width
    covariance = (
        variances.level
        + variances.scenario * _same(history.scenarios)
        + variances.session * _same(history.sessions)
        + slope * history.features @ history.features.T
        + variances.wording * similarity(history, history)
        + variances.noise * np.eye(len(surprise))
    )
    pull = np.linalg.solve(covariance, surprise)
    return Guess(
        level=np.full(n, variances.level * pull.sum()),
        wording=variances.wording * similarity(targets, history) @ pull,
        slopes=slope * targets.features * (history.features.T @ pull),
    )


def _same(names: Sequence[str]) -> FloatArray:
    column = np.array(names, dtype=object)
    same: FloatArray = (column[:, None] == column[None, :]).astype(np.float64)
    return same
