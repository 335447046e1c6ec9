"""From an expected score to a decision: cut points, the chance of dissatisfaction, the reason.

All three are learned from predictions of training users who were held out when they were made.
The cut points are ONE setting for every metric: they maximise Pearson + QWK + F1-DSAT of the
whole scores, averaged over resamples of users, so that no single user sets them. An expectation
spreads less than the scores that it stands for, so a whole score may lie beyond the nearest one,
but never more than 2 below its expectation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations_with_replacement
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import SATISFIED_FROM, Reason
from annotation.core.intervals import FloatArray
from judging.core.calibration import HIGHEST, LEVELS, LOWEST
from judging.core.satisfaction_features import Sparse

REASONS: Final = (
    Reason.INSUFFICIENT_DETAIL,
    Reason.INSUFFICIENT_DIVERSITY,
    Reason.REQUIREMENT_UNMET,
    Reason.UNUSABLE,
    Reason.OTHER,
)
"""What can be wrong with a response; NOT_RECORDED says nothing and is not predicted."""

_GRID: Final = (
    *(0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.12, 0.14, 0.16, 0.18, 0.2, 0.22),
    *(0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95),
)
"""Quantiles of the expected scores that a cut may stand at; dissatisfaction is the rare class."""
_RESAMPLES: Final = 41
_AT_ONCE: Final = 12_000
"""Choices of cuts that are weighed together; what many more take is fetched from main memory."""
_REACH: Final = 2.0
"""How far a whole score may lie below its expectation, in points.

Chosen on the paper's 22 training users by the cross-validated mean of the four figures of its
Table 2 (Pearson, Spearman, QWK, F1-DSAT): .4051 in groups of users (eight seeds) and .4108 with
each user held out, against .4012 and .4026 at 1.5. From 2 on the mean is flat (.4057 and .4102 at
2.5) while the mean absolute error goes on rising: .535 and .526 at 1.5, .562 and .551 here."""
_TINY: Final = 1e-12
_STEPS: Final = 30


def whole_scores(expected: FloatArray, cuts: FloatArray) -> NDArray[np.intp]:
    """1 plus the number of cuts that an expected score reaches."""
    return LOWEST + np.searchsorted(cuts, expected, side="right")


def choose_cuts(
    expected: FloatArray, gold: NDArray[np.intp], users: NDArray[np.intp], *, seed: int
) -> FloatArray:
    """The four cut points, ascending.

    Args:
        expected: held-out expected scores, at least one.
        gold: what the users said, 1-5.
        users: the number of each turn's user, from 0; numbers may be missing.
        seed: of the resamples of users.
    """
    grid = np.unique([LOWEST, *np.quantile(expected, _GRID)])
    cell = np.searchsorted(grid, expected, side="right")
    by_user = np.zeros((users.max() + 1, len(grid) + 1, LEVELS))
    np.add.at(by_user, (users, cell, gold - LOWEST), 1.0)
    choices = _ascending(len(grid))
    nearest = np.arange(LOWEST, HIGHEST)[:, np.newaxis]
    choices = choices.compress((grid.take(choices) <= nearest + _REACH).all(axis=0), axis=1)
    by_user = by_user[by_user.any(axis=(1, 2))]
    random = np.random.default_rng(seed)
    drawn = random.integers(len(by_user), size=(_RESAMPLES, len(by_user)))
    parts = [choices[:, at : at + _AT_ONCE] for at in range(0, choices.shape[1], _AT_ONCE)]
    best = []
    for draw in drawn:
        cells = by_user[draw].sum(axis=0)
        merit = np.concatenate([_merit(cells, part) for part in parts])
        best.append(choices[:, np.argmax(merit)])
    found: FloatArray = grid[np.array(best)].mean(axis=0)
    return found


@cache
def _ascending(places: int) -> NDArray[np.intp]:
    """All ways to put the cuts at some of the places, 4 x n: sums over long rows are quick."""
    ways = combinations_with_replacement(range(places), LEVELS - 1)
    return np.ascontiguousarray(np.fromiter(ways, dtype=(np.intp, LEVELS - 1)).T)


def _merit(cells: FloatArray, choices: NDArray[np.intp]) -> FloatArray:
    """Pearson + QWK + F1-DSAT of each choice of cuts, from counts by cell and gold score.

    Args:
        cells: by place of the expected score among the cuts, and by gold score.
        choices: 4 x n places of cuts.
    """
    levels = np.arange(LEVELS, dtype=np.float64)
    above = cells.sum(axis=0) - np.cumsum(cells, axis=0)  # by cell: beyond it, by gold score
    # A level is how many cuts are reached, so its moments are sums of what lies beyond each cut.
    beyond, gold = above.sum(axis=1), above @ levels
    reached = beyond.take(choices)
    total, actual = cells.sum(), cells.sum(axis=0)
    mean_p, mean_a = reached.sum(axis=0) / total, actual @ levels / total
    variance_p = (2 * levels[:-1] + 1) @ reached / total - mean_p**2
    variance_a = actual @ levels**2 / total - mean_a**2
    covariance = gold.take(choices).sum(axis=0) / total - mean_p * mean_a
    pearson = covariance / np.sqrt(np.maximum(variance_p * variance_a, _TINY))
    # Weighted kappa with squared weights is a ratio of moments.
    spread = np.maximum(variance_p + variance_a + (mean_p - mean_a) ** 2, _TINY)
    cut = SATISFIED_FROM - LOWEST
    hits = (actual - above)[:, :cut].sum(axis=1)
    f1 = 2 * hits / np.maximum(total - beyond + actual[:cut].sum(), _TINY)
    merit: FloatArray = pearson + 2 * covariance / spread + f1.take(choices[cut - 1])
    return merit


@dataclass(frozen=True, slots=True)
class Logistic:
    """P = 1 / (1 + exp(-(intercept + weights . x)))."""

    intercept: float
    weights: FloatArray

    def probability(self, rows: FloatArray) -> FloatArray:
        """For each row of n x d."""
        probability: FloatArray = 1.0 / (1.0 + np.exp(-(self.intercept + rows @ self.weights)))
        return probability


def fit_logistic(rows: FloatArray, positive: NDArray[np.bool_]) -> Logistic:
    """Logistic regression by Newton's method, each weight with a normal prior of spread 10.

    With the expected score as a row this is Platt's calibration.
    """
    wide = np.hstack([np.ones((len(rows), 1)), rows])
    goal = positive.astype(np.float64)
    weights = np.zeros(wide.shape[1])
    prior = np.full(wide.shape[1], 0.01)
    for _ in range(_STEPS):
        probability = 1.0 / (1.0 + np.exp(-(wide @ weights)))
        gradient = wide.T @ (goal - probability) - prior * weights
        curvature = (wide.T * (probability * (1 - probability))) @ wide + np.diag(prior)
        weights = weights + np.linalg.solve(curvature, gradient)
    return Logistic(float(weights[0]), weights[1:])


@dataclass(frozen=True, slots=True)
class ReasonModel:
    """The likely reason: what the texts are like, leaning on the user's own complaints.

    Rare reasons weigh as much in training as common ones, so chances are not frequencies: they
    rank. `intercept` and `weights` (hash buckets x reasons) are of the reasons that were seen;
    one that was not has its chance in `floor`, where the others have 0. A user's own counts are
    added to `lean` turns of the result.
    """

    intercept: FloatArray
    weights: FloatArray
    floor: FloatArray
    lean: float

    def probabilities(self, texts: Sparse, own: FloatArray) -> FloatArray:
        """P(reason | dissatisfied) for each turn, n x REASONS.

        Args:
            texts: unit vectors of requests and responses (`satisfaction_texts`), n x SIZE.
            own: how often its user gave each reason in the history, for all turns or n x REASONS.
        """
        general = np.tile(self.floor, (texts.shape[0], 1))
        seen = self.floor == 0
        if seen.any():
            logits = self.intercept[seen] + texts @ self.weights[:, seen]
            odds = np.exp(logits - logits.max(axis=1, keepdims=True))
            general[:, seen] = (1 - self.floor.sum()) * odds / odds.sum(axis=1, keepdims=True)
        shares: FloatArray = (self.lean * general + own) / (
            self.lean + own.sum(axis=-1, keepdims=True)
        )
        return shares


def fit_reasons(
    texts: Sparse, reasons: NDArray[np.intp], *, strength: float, lean: float
) -> ReasonModel:
    """Class-balanced multinomial logistic regression on the words of request and response.

    Args:
        texts: unit vectors of dissatisfied training turns, n x SIZE, possibly none.
        reasons: the place of each one's reason in REASONS.
        strength: inverse of the penalty on the weights.
        lean: turns of a user's own complaints that weigh as much as the rest.
    """
    counts = np.bincount(reasons, minlength=len(REASONS))
    floor = np.where(counts == 0, 1.0 / (len(reasons) + len(REASONS)), 0.0)
    intercept = np.zeros(len(REASONS))
    weights = np.zeros((texts.shape[1], len(REASONS)))
    seen = np.flatnonzero(counts)
    if len(seen) > 1:
        from sklearn.linear_model import LogisticRegression

        fitted = LogisticRegression(C=strength, class_weight="balanced", max_iter=1_000)
        fitted.fit(texts, reasons)
        if len(seen) == 2:  # scikit-learn keeps the second one's odds alone
            halves = np.array([-0.5, 0.5])
            intercept[seen] = halves * fitted.intercept_
            weights[:, seen] = fitted.coef_.T * halves
        else:
            intercept[seen] = fitted.intercept_
            weights[:, seen] = fitted.coef_.T
    return ReasonModel(intercept, weights, floor, lean)


def likeliest(chances: Sequence[float]) -> Reason:
    """The reason with the highest chance, in the order of REASONS; of equals the first."""
    return REASONS[int(np.argmax(chances))]


def reason_counts(reasons: tuple[Reason | None, ...]) -> FloatArray:
    """How often each of REASONS occurs."""
    return np.array([sum(one is reason for one in reasons) for reason in REASONS], dtype=np.float64)


def bent(raw: FloatArray) -> FloatArray:
    """Raw expectations kept within 1-5 in their order: the identity but close to the ends.

    At an end it gives 0.07 less than the end, half a score inside it no difference to speak of.
    """
    over = np.logaddexp(0.0, (raw - HIGHEST) / _BEND) * _BEND
    under = np.logaddexp(0.0, (LOWEST - raw) / _BEND) * _BEND
    inside: FloatArray = np.clip(raw - over + under, LOWEST, HIGHEST)
    return inside


_BEND: Final = 0.1
