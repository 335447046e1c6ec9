"""How stored words read on a page; the words themselves are in core.choices."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import models
from django.utils.translation import gettext_lazy as _

from annotation.core.choices import Hallucination, JudgmentStatus, Order, Reason, StudyKind, Verdict

VERDICTS = [(Verdict.A.value, _("A")), (Verdict.B.value, _("B")), (Verdict.TIE.value, _("Tie"))]
ORDERS = [
    (Order.ORIGINAL.value, _("original")),
    (Order.SWAPPED.value, _("swapped")),
    (Order.COMBINED.value, _("combined")),
]
SHOWN_ORDERS = ORDERS[:2]
REASONS = [
    (Reason.INSUFFICIENT_DETAIL.value, _("Not enough detail")),
    (Reason.INSUFFICIENT_DIVERSITY.value, _("Not enough variety")),
    (Reason.REQUIREMENT_UNMET.value, _("Does not meet the request")),
    (Reason.UNUSABLE.value, _("Unusable in practice")),
    (Reason.OTHER.value, _("Other")),
    (Reason.NOT_RECORDED.value, _("Not recorded")),
]
HALLUCINATIONS = [
    (Hallucination.YES.value, _("Yes")),
    (Hallucination.NO.value, _("No")),
    (Hallucination.UNSURE.value, _("Unsure")),
]
STUDY_KINDS = [
    (StudyKind.PAIRWISE.value, _("Pairwise comparison")),
    (StudyKind.SATISFACTION.value, _("Satisfaction by turn")),
    (StudyKind.CONVERSATION.value, _("Live conversation")),
]
JUDGMENT_STATUSES = [
    (JudgmentStatus.PENDING.value, _("Pending")),
    (JudgmentStatus.DONE.value, _("Done")),
    (JudgmentStatus.UNPARSEABLE.value, _("Unparseable")),
    (JudgmentStatus.FAILED.value, _("Failed")),
]


def word_in(values: Sequence[tuple[str, object]], field: str) -> models.Q:
    """The condition that a field holds one of the stored words, for a check constraint.

    NULL is no word: without saying so, SQL calls the condition unknown and lets the row in.
    """
    words = [value for value, _label in values]
    return models.Q(**{f"{field}__in": words, f"{field}__isnull": False})
