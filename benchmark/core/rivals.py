"""Simple rivals of the method: rules learned from the same labelled pairs, by the same features.

Each has one verdict for both orders, and nothing of the general taste that the embedded judge has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from judging.core.lexical.features import FEATURES
from judging.core.lexical.pairwise import compare
from judging.core.questions import LabelledPair, ShownPair
from judging.core.stack import verdict_of_score

Floats = NDArray[np.float64]
Rule = Callable[[ShownPair], Verdict]

NEIGHBOURS: Final = 5
_PENALTY: Final = 1.0
_STEPS: Final = 15  # Newton's method on a strongly convex loss: far more than it needs


def nearest(pairs: Sequence[LabelledPair]) -> Rule:
    """The five labelled pairs that differ most alike, or most oppositely, vote: by cosine."""
    known = _unit(_contrasts(pairs))

    def rule(pair: ShownPair) -> Verdict:
        alike = known @ _unit(np.array([compare(pair)]))[0]
        closest = np.argsort(-np.abs(alike), kind="stable")[:NEIGHBOURS]
        return verdict_of_score(float(np.sign(alike[closest]).sum()))

    return rule


def ridge(pairs: Sequence[LabelledPair]) -> Rule:
    """A logistic regression on the contrasts, no intercept, weights pulled to 0."""
    contrasts = _contrasts(pairs)
    weights = np.zeros(len(FEATURES))
    for _ in range(_STEPS):
        likely = 1.0 / (1.0 + np.exp(-contrasts @ weights))
        slope = contrasts.T @ (1.0 - likely) - _PENALTY * weights
        spread = (contrasts.T * (likely * (1.0 - likely))) @ contrasts
        weights = weights + np.linalg.solve(spread + _PENALTY * np.eye(len(weights)), slope)

    def rule(pair: ShownPair) -> Verdict:
        return verdict_of_score(float(weights @ np.array(compare(pair))))

    return rule


def _contrasts(pairs: Sequence[LabelledPair]) -> Floats:
    """Pairs by features, the chosen response's contrast to the rejected one."""
    found = [compare(ShownPair(pair.dialogue, pair.chosen, pair.rejected)) for pair in pairs]
    return np.array(found).reshape(-1, len(FEATURES))


def _unit(contrasts: Floats) -> Floats:
    lengths = np.linalg.norm(contrasts, axis=1, keepdims=True)
    return contrasts / np.where(lengths > 0, lengths, 1.0)


RIVALS: Final[Mapping[str, Callable[[Sequence[LabelledPair]], Rule]]] = MappingProxyType(
    {"nearest": nearest, "ridge": ridge}
)
"""By name; each learns from labelled pairs."""
