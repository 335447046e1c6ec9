"""Which endpoints the forms of a dataset begin with: a guess that a person sees and can change."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

from django.db.models import Exists, F, OuterRef, Subquery
from django.db.models.query import QuerySet

from judging.models import JudgeRun, ModelEndpoint, RunKind

MOST_GUESSED: Final = 3
"""Of more endpoints nobody can tell which are meant: to untick them is more work than to tick."""


def likely_judge(answered: Collection[str]) -> str:
    """The endpoint that most likely judges a dataset, "" without any.

    One whose model's responses it would not judge, then the one that judged last. One query.

    Args:
        answered: the models with responses in the dataset.
    """
    rows = _chatting().order_by(F("judged").desc(nulls_last=True), "name")
    names = rows.values_list("name", "model")
    return min(names, key=lambda row: row[1] in answered, default=("",))[0]


def likely_models(answered: Collection[str]) -> list[str]:
    """The endpoints that most likely are to answer a dataset, by name. One query.

    Those that have not, but for those that were only ever judges.

    Args:
        answered: the models with responses in the dataset.
    """
    generated = JudgeRun.objects.filter(endpoint=OuterRef("pk"), kind=RunKind.GENERATE)
    rows = _chatting().exclude(~Exists(generated), judged__isnull=False)
    found = list(rows.exclude(model__in=answered).order_by("name").values_list("name", flat=True))
    return found if len(found) <= MOST_GUESSED else []


def _chatting() -> QuerySet[Any]:
    """The endpoints in use that write texts, each with the last run that it `judged`."""
    judged = JudgeRun.objects.filter(endpoint=OuterRef("pk")).exclude(kind=RunKind.GENERATE)
    return ModelEndpoint.objects.filter(enabled=True, has_scores=False).annotate(
        judged=Subquery(judged.order_by("-pk").values("pk")[:1])
    )
