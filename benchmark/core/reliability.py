"""What users stated where a judge predicted a score: the points of a reliability plot."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReliabilityPoint:
    """The mean stated score of the `n` turns that were predicted alike."""

    predicted: int
    stated: float
    n: int


def reliability(pairs: Iterable[tuple[int, int]]) -> tuple[ReliabilityPoint, ...]:
    """Points from (predicted, stated) scores, by predicted score.

    A judge on the user's own scale lies on the diagonal.
    """
    stated: dict[int, list[int]] = defaultdict(list)
    for predicted, score in pairs:
        stated[predicted].append(score)
    return tuple(
        ReliabilityPoint(predicted, sum(scores) / len(scores), len(scores))
        for predicted, scores in sorted(stated.items())
    )
