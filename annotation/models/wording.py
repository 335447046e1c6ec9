"""How stored words read on a page; the words themselves are in core.choices."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from django.db import models
from django.utils.translation import gettext_lazy

from annotation.core.choices import (
    Hallucination,
    JudgmentStatus,
    LabelledEnum,
    Order,
    Reason,
    StudyKind,
    Verdict,
)
from annotation.core.pairing import PairingKind

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def choices_of(words: Iterable[LabelledEnum]) -> list[tuple[str, StrOrPromise]]:
    """Stored words with their labels, as fields of models and forms take them."""
    return [(word.value, gettext_lazy(word.label)) for word in words]


VERDICTS = choices_of(Verdict)
ORDERS = choices_of(Order)
SHOWN_ORDERS = ORDERS[:2]
REASONS = choices_of(Reason)
HALLUCINATIONS = choices_of(Hallucination)
STUDY_KINDS = choices_of(StudyKind)
PAIRING_KINDS = choices_of(PairingKind)
JUDGMENT_STATUSES = choices_of(JudgmentStatus)


def word_in(values: Sequence[tuple[str, object]], field: str) -> models.Q:
    """The condition that a field holds one of the stored words, for a check constraint.

    NULL is no word: without saying so, SQL calls the condition unknown and lets the row in.
    """
    words = [value for value, _label in values]
    return models.Q(**{f"{field}__in": words, f"{field}__isnull": False})
