"""The closed vocabularies of the project, one word a thing; stored as written here."""

from __future__ import annotations

from enum import StrEnum
from typing import Final, Self

from annotation.core.refusals import gettext_noop


class LabelledEnum(StrEnum):
    """A vocabulary whose words have a label: English, marked for the translators.

    Pages show it by the filter `label`, forms by `models.wording.choices_of`.
    """

    _value_: str
    label: str

    def __new__(cls, value: str, label: str = "") -> Self:
        """A word as it is stored, and what people read for it."""
        member = str.__new__(cls, value)
        member._value_ = value
        member.label = label
        return member


class Verdict(LabelledEnum):
    """Which response is better, in the comparison's own coordinates."""

    A = "A", gettext_noop("A")
    B = "B", gettext_noop("B")
    TIE = "TIE", gettext_noop("Tie")

    def flipped(self) -> Verdict:
        """The same verdict seen in the other presentation order."""
        return _FLIPPED[self]


_FLIPPED: Final = {Verdict.A: Verdict.B, Verdict.B: Verdict.A, Verdict.TIE: Verdict.TIE}


class Order(LabelledEnum):
    """Presentation order: ORIGINAL shows response A first, SWAPPED shows response B first.

    COMBINED marks imported judgments whose source recorded one verdict for both orders.
    """

    ORIGINAL = "ORIGINAL", gettext_noop("original")
    SWAPPED = "SWAPPED", gettext_noop("swapped")
    COMBINED = "COMBINED", gettext_noop("combined")

    def other(self) -> Order:
        """The opposite presentation order; COMBINED has none and stays itself."""
        return _OTHER[self]


_OTHER: Final = {
    Order.ORIGINAL: Order.SWAPPED,
    Order.SWAPPED: Order.ORIGINAL,
    Order.COMBINED: Order.COMBINED,
}


class Reason(LabelledEnum):
    """Why a turn was rated 3 or below (seed 003, section 3)."""

    INSUFFICIENT_DETAIL = "INSUFFICIENT_DETAIL", gettext_noop("Not enough detail")
    INSUFFICIENT_DIVERSITY = "INSUFFICIENT_DIVERSITY", gettext_noop("Not enough variety")
    REQUIREMENT_UNMET = "REQUIREMENT_UNMET", gettext_noop("Does not meet the request")
    UNUSABLE = "UNUSABLE", gettext_noop("Unusable in practice")
    OTHER = "OTHER", gettext_noop("Other")
    NOT_RECORDED = "NOT_RECORDED", gettext_noop("Not recorded")


class Hallucination(LabelledEnum):
    """Whether the rater found invented facts in a turn; absent where nobody was asked."""

    YES = "YES", gettext_noop("Yes")
    NO = "NO", gettext_noop("No")
    UNSURE = "UNSURE", gettext_noop("Unsure")


class StudyKind(LabelledEnum):
    """What a study asks of its annotators."""

    PAIRWISE = "PAIRWISE", gettext_noop("Pairwise comparison")
    SATISFACTION = "SATISFACTION", gettext_noop("Satisfaction by turn")
    CONVERSATION = "CONVERSATION", gettext_noop("Live conversation")


class JudgmentStatus(LabelledEnum):
    """Where a judgment stands; UNPARSEABLE and FAILED carry an error code, never a verdict."""

    PENDING = "PENDING", gettext_noop("Pending")
    DONE = "DONE", gettext_noop("Done")
    UNPARSEABLE = "UNPARSEABLE", gettext_noop("Unparseable")
    FAILED = "FAILED", gettext_noop("Failed")


SATISFIED_FROM: Final = 4
"""The lowest satisfaction score that counts as satisfied (SAT >= 4, DSAT <= 3)."""


def is_satisfied(score: int) -> bool:
    """Whether a score of 1-5 counts as satisfied."""
    return score >= SATISFIED_FROM
