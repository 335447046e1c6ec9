"""How likely people agree with each verdict of a judge, learned from the verdicts they labelled.

A judge's own confidence is seldom the share of its verdicts that people share: it is mapped to that
share by the best map that does not fall (isotonic regression), fitted on the labels of the sessions
of other folds, so that no label speaks for its own session (protocols A6.4).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

FEWEST_LABELS: Final = 50
_FOLDS: Final = 5
_DIGITS: Final = 9  # levels nearer than that are one: between them is no line


class JudgedWinner(NamedTuple):
    """A verdict with a winner: how sure the judge was, 0..1, and its session.

    `agreed` is what people said of it, 1 the same winner, 1/2 a tie, 0 the other, of several people
    their mean; None without a label. `weight` is for how many verdicts the label stands.
    """

    confidence: float
    session: int
    agreed: float | None = None
    weight: float = 1.0


def corrected_confidences(rows: Sequence[JudgedWinner]) -> list[float] | None:
    """For each verdict the chance that a person names the same winner, a tie being half of one.

    Below 1/2 people rather name the other. None with fewer than FEWEST_LABELS labels, or with fewer
    labelled sessions than folds.
    """
    labelled = [row for row in rows if row.agreed is not None]
    sessions = sorted({row.session for row in labelled})
    if len(labelled) < FEWEST_LABELS or len(sessions) < _FOLDS:
        return None
    folds = {session: place % _FOLDS for place, session in enumerate(sessions)}
    confidences = np.round([row.confidence for row in rows], _DIGITS)
    own = np.array([folds.get(row.session, _FOLDS) for row in rows])
    found = np.empty(len(rows))
    for fold in range(_FOLDS + 1):  # the last is that of sessions without a label
        others = [row for row in labelled if folds[row.session] != fold]
        found[own == fold] = _mapped(confidences[own == fold], others)
    return [float(each) for each in found]


def _mapped(confidences: Floats, labelled: Sequence[JudgedWinner]) -> Floats:
    from scipy.optimize import isotonic_regression

    told = np.array(
        [(row.confidence, row.agreed, row.weight) for row in labelled], dtype=np.float64
    )
    levels, place = np.unique(np.round(told[:, 0], _DIGITS), return_inverse=True)
    weights = np.bincount(place, told[:, 2])
    shares = np.bincount(place, told[:, 1] * told[:, 2]) / weights
    rising = isotonic_regression(shares, weights=weights).x
    between: Floats = np.interp(confidences, levels, rising)
    return between
