"""Who teaches and who is judged: examples and rubrics never come from a user who is scored by them.

Where some raters are not judged, they are the training users. Where all are, users are parted into
two halves by seed, and each half is judged by what the other one teaches.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

from annotation.core.refusals import Refused

SEED: Final = 42
EXAMPLES_A_SCORE: Final = 2
"""Ten examples, two of each score (protocols A2.5)."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Users who are judged, and those whose ratings they are judged by; no user is in both."""

    judged: tuple[int, ...]
    training: tuple[int, ...]


def folds(
    judged: Collection[int], raters: Collection[int], *, seed: int = SEED
) -> tuple[Fold, ...]:
    """One fold where there are raters who are not judged, else two.

    Args:
        judged: ids of the users whose turns are scored.
        raters: ids of those whose ratings may teach; whoever is judged is left out.
        seed: of the halves.

    Raises:
        Refused: there is nobody to learn from.
    """
    everyone, others = sorted(judged), tuple(sorted(set(raters) - set(judged)))
    if others:
        return (Fold(tuple(everyone), others),)
    if len(everyone) < 2 or not set(everyone) <= set(raters):
        raise Refused("run:no-training-users", "there is no other user whose ratings could teach")
    random.Random(seed).shuffle(everyone)
    first, second = (tuple(sorted(everyone[start::2])) for start in (0, 1))
    return (Fold(first, second), Fold(second, first))


class HasScore(Protocol):
    """Anything with a score of 1-5."""

    @property
    def score(self) -> int:
        """The score."""
        ...


Rated = TypeVar("Rated", bound=HasScore)


def balanced(rated: Sequence[Rated], *, seed: int = SEED) -> tuple[Rated, ...]:
    """Two examples of each score, drawn by seed, lowest score first; fewer where one is rarer."""
    shuffled = list(rated)
    random.Random(seed).shuffle(shuffled)
    found: list[Rated] = []
    for score in range(1, 6):
        found += [one for one in shuffled if one.score == score][:EXAMPLES_A_SCORE]
    return tuple(found)
