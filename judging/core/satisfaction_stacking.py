"""Stacking: the learned evaluator corrected by a judge's score of the same turn (Wolpert 1992).

What is learned is how far the stated score lies from the held-out expectation, linearly in what
the judge says. Only the target's own judged score is read: the judge answered it from a prompt
without any label of the target's scenario, which does not hold for its scores of the history's
turns (their memories were built from other scenarios, the target's among them). The expectations
that it is fitted to are held-out ones, so both halves are as they will be for a new user.

A judge that knows nothing is shrunk away: the penalty is chosen on held-out users, and leaving
the judge out altogether is one of the choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import SATISFIED_FROM
from annotation.core.intervals import FloatArray
from annotation.core.refusals import Refused
from judging.core.satisfaction_decisions import (
    Logistic,
    bent,
    choose_cuts,
    fit_logistic,
    whole_scores,
)
from judging.core.satisfaction_features import Sparse


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


PENALTIES: Final = (30.0, 100.0, 300.0, 1_000.0, 3_000.0, float("inf"))
"""In turns; infinity leaves the judge out."""
MIN_JUDGED: Final = 50
"""Fewer judged turns of training users teach nothing that would hold."""
_FOLDS: Final = 6
_MARGIN: Final = 1.0
"""Standard errors by which a judge must lower the error on held-out users to be listened to."""
_FLAT: Final = 1e-9


@dataclass(frozen=True, slots=True)
class StackedTurns:
    """Some turns in order: what was learned of each, what the judge said, whose and in which block.

    `learned` are expectations 1-5 and `dissatisfied` chances 0-1; `judged` is nan where the judge
    gave no score. `blocks` and `users` number each turn's block and user from 0.
    """

    learned: FloatArray
    dissatisfied: FloatArray
    judged: FloatArray
    blocks: NDArray[np.intp]
    users: NDArray[np.intp]

    def taken(self, these: NDArray[np.bool_]) -> StackedTurns:
        """Some of them."""
        return StackedTurns(
            self.learned[these],
            self.dissatisfied[these],
            self.judged[these],
            self.blocks[these],
            self.users[these],
        )


@dataclass(frozen=True, slots=True)
class Correction:
    """Weights of the judge's score, of its distance from the block's mean, and of the learned one.

    `centre` and `spread` make the three comparable.
    """

    centre: FloatArray
    spread: FloatArray
    intercept: float
    weights: FloatArray

    def expected(self, turns: StackedTurns) -> FloatArray:
        """Corrected expectations, 1-5; a turn without a judged score keeps the learned one."""
        moved = self.intercept + (_columns(turns) - self.centre) / self.spread @ self.weights
        return bent(turns.learned + np.where(np.isnan(turns.judged), 0.0, moved))


@dataclass(frozen=True, slots=True)
class Stack:
    """A fitted correction with its own decisions; `penalty` is infinite where it does nothing."""

    correction: Correction
    penalty: float
    cuts: FloatArray
    dissatisfied: Logistic


@dataclass(frozen=True, slots=True)
class Stacked:
    """Whole and unrounded scores 1-5 and the chance of dissatisfaction 0-1 of some turns."""

    scores: NDArray[np.intp]
    expected: FloatArray
    dissatisfied: FloatArray


def fit_stack(turns: StackedTurns, gold: Sequence[int], *, seed: int) -> Stack:
    """Learn what a judge adds.

    Args:
        turns: of training users, with held-out expectations.
        gold: what the users said, 1-5.
        seed: of the groups of users held out, and of the cut points.

    Raises:
        Refused: the judge scored too few of them.
    """
    judged = int((~np.isnan(turns.judged)).sum())
    if judged < MIN_JUDGED:
        raise Refused(
            "learned:too-few-ratings",
            f"stacking needs {MIN_JUDGED} judged turns of training users; there are {judged}",
        )
    said = np.asarray(gold, dtype=np.intp)
    folds = _folds(turns.users, seed)
    held_out = {penalty: _held_out(turns, said, folds, penalty) for penalty in PENALTIES}
    penalty = _chosen(held_out, said, turns.users)
    expected = held_out[penalty]
    return Stack(
        correction=_fit(turns, said, penalty),
        penalty=penalty,
        cuts=choose_cuts(expected, said, turns.users, seed=seed),
        dissatisfied=fit_logistic(_wide(expected, turns), said < SATISFIED_FROM),
    )


def predict_stack(stack: Stack, turns: StackedTurns) -> Stacked:
    """What the stack says of some turns of other users."""
    expected = stack.correction.expected(turns)
    return Stacked(
        scores=whole_scores(expected, stack.cuts),
        expected=expected,
        dissatisfied=stack.dissatisfied.probability(_wide(expected, turns)),
    )


def _folds(users: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """The fold of each turn: whole users, in a seeded order."""
    names, place = np.unique(users, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(names))
    folds = np.zeros(len(names), dtype=np.intp)
    folds[order] = np.arange(len(names)) % min(_FOLDS, len(names))
    found: NDArray[np.intp] = folds[place]
    return found


def _columns(turns: StackedTurns) -> FloatArray:
    """The judge's score, its distance from the block's mean, the expectation; n x 3."""
    known = ~np.isnan(turns.judged)
    count = np.bincount(turns.blocks[known], minlength=turns.blocks.max(initial=-1) + 1)
    total = np.bincount(turns.blocks[known], turns.judged[known], minlength=len(count))
    mean = np.divide(total, count, out=np.zeros(len(count)), where=count > 0)[turns.blocks]
    judged = np.where(known, turns.judged, 0.0)
    return np.column_stack([judged, np.where(known, judged - mean, 0.0), turns.learned])


def _fit(turns: StackedTurns, gold: NDArray[np.intp], penalty: float) -> Correction:
    known = ~np.isnan(turns.judged)
    columns = _columns(turns)[known]
    centre, spread = columns.mean(axis=0), columns.std(axis=0) + _FLAT
    if np.isinf(penalty):
        return Correction(centre, spread, 0.0, np.zeros(columns.shape[1]))
    rows = (columns - centre) / spread
    rest = (gold - turns.learned)[known]
    goals = rest - rest.mean()
    gram = rows.T @ rows + penalty * np.eye(rows.shape[1])
    weights = np.asarray(np.linalg.solve(gram, rows.T @ goals), dtype=np.float64)
    return Correction(centre, spread, float(rest.mean()), weights)


def _held_out(
    turns: StackedTurns, gold: NDArray[np.intp], folds: NDArray[np.intp], penalty: float
) -> FloatArray:
    """Corrected expectations, each by a correction that saw none of that user's labels."""
    found = np.zeros(len(gold))
    for fold in np.unique(folds):
        asked = folds == fold
        fitted = _fit(turns.taken(~asked), gold[~asked], penalty)
        found[asked] = fitted.expected(turns.taken(asked))
    return found


def _chosen(
    held_out: dict[float, FloatArray], gold: NDArray[np.intp], users: NDArray[np.intp]
) -> float:
    """The penalty with the least squared error, if users agree that the judge helps at all.

    The gain over leaving it out is a mean over users; it has to exceed its standard error.
    """
    alone = (gold - held_out[PENALTIES[-1]]) ** 2
    best = min(PENALTIES, key=lambda penalty: float(((gold - held_out[penalty]) ** 2).sum()))
    gained = alone - (gold - held_out[best]) ** 2
    names, place = np.unique(users, return_inverse=True)
    by_user = np.bincount(place, gained) / np.bincount(place)
    error = by_user.std(ddof=1) / np.sqrt(len(names)) if len(names) > 1 else np.inf
    return best if by_user.mean() > _MARGIN * error else PENALTIES[-1]


def _wide(expected: FloatArray, turns: StackedTurns) -> FloatArray:
    """What the chance of dissatisfaction is read from: n x 2."""
    kept = np.clip(turns.dissatisfied, 1e-6, 1 - 1e-6)
    return np.column_stack([expected, np.log(kept / (1.0 - kept))])
