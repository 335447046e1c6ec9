"""What calibration did to a judge's scores: distributions before and after, user by user."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

LEVELS: Final = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True)
class ScoreTriple:
    """One turn of a user: what was stated, predicted raw, and predicted after calibration."""

    user: int
    stated: int
    raw: int
    calibrated: int


@dataclass(frozen=True, slots=True)
class Histograms:
    """How many turns have each score of LEVELS: as stated, raw, calibrated."""

    stated: tuple[int, ...]
    raw: tuple[int, ...]
    calibrated: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class UserShift:
    """One user's mean scores; a calibrated mean near the stated one is what calibration is for."""

    user: int
    turns: int
    stated: float
    raw: float
    calibrated: float


def histograms(turns: Sequence[ScoreTriple]) -> Histograms:
    """The three distributions of the same turns."""
    return Histograms(
        stated=_counts(turn.stated for turn in turns),
        raw=_counts(turn.raw for turn in turns),
        calibrated=_counts(turn.calibrated for turn in turns),
    )


def _counts(scores: Iterable[int]) -> tuple[int, ...]:
    listed = list(scores)
    return tuple(listed.count(level) for level in LEVELS)


def user_shifts(turns: Iterable[ScoreTriple]) -> tuple[UserShift, ...]:
    """Every user's means, in the order in which they first occur."""
    by_user: dict[int, list[ScoreTriple]] = {}
    for turn in turns:
        by_user.setdefault(turn.user, []).append(turn)
    return tuple(
        UserShift(
            user=user,
            turns=len(own),
            stated=sum(turn.stated for turn in own) / len(own),
            raw=sum(turn.raw for turn in own) / len(own),
            calibrated=sum(turn.calibrated for turn in own) / len(own),
        )
        for user, own in by_user.items()
    )
