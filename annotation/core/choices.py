"""The closed vocabularies of the project, one word a thing; stored as written here."""

from __future__ import annotations

from enum import StrEnum
from typing import Final


class Verdict(StrEnum):
    """Which response is better, in the comparison's own coordinates."""

    A = "A"
    B = "B"
    TIE = "TIE"

    def flipped(self) -> Verdict:
        """The same verdict seen in the other presentation order."""
        return _FLIPPED[self]


_FLIPPED: Final = {Verdict.A: Verdict.B, Verdict.B: Verdict.A, Verdict.TIE: Verdict.TIE}


class Order(StrEnum):
    """Presentation order: ORIGINAL shows response A first, SWAPPED shows response B first.

    COMBINED marks imported judgments whose source recorded one verdict for both orders.
    """

    ORIGINAL = "ORIGINAL"
    SWAPPED = "SWAPPED"
    COMBINED = "COMBINED"

    def other(self) -> Order:
        """The opposite presentation order; COMBINED has none and stays itself."""
        return _OTHER[self]


_OTHER: Final = {
    Order.ORIGINAL: Order.SWAPPED,
    Order.SWAPPED: Order.ORIGINAL,
    Order.COMBINED: Order.COMBINED,
}


class Reason(StrEnum):
    """Why a turn was rated 3 or below (seed 003, section 3)."""

    INSUFFICIENT_DETAIL = "INSUFFICIENT_DETAIL"
    INSUFFICIENT_DIVERSITY = "INSUFFICIENT_DIVERSITY"
    REQUIREMENT_UNMET = "REQUIREMENT_UNMET"
    UNUSABLE = "UNUSABLE"
    OTHER = "OTHER"
    NOT_RECORDED = "NOT_RECORDED"


class Hallucination(StrEnum):
    """Whether the rater found invented facts in a turn; absent where nobody was asked."""

    YES = "YES"
    NO = "NO"
    UNSURE = "UNSURE"


class StudyKind(StrEnum):
    """What a study asks of its annotators."""

    PAIRWISE = "PAIRWISE"
    SATISFACTION = "SATISFACTION"
    CONVERSATION = "CONVERSATION"


class JudgmentStatus(StrEnum):
    """Where a judgment stands; UNPARSEABLE and FAILED carry an error code, never a verdict."""

    PENDING = "PENDING"
    DONE = "DONE"
    UNPARSEABLE = "UNPARSEABLE"
    FAILED = "FAILED"


SATISFIED_FROM: Final = 4
"""The lowest satisfaction score that counts as satisfied (SAT >= 4, DSAT <= 3)."""


def is_satisfied(score: int) -> bool:
    """Whether a score of 1-5 counts as satisfied."""
    return score >= SATISFIED_FROM
