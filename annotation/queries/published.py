"""Leaving out what an import is still writing, where rows are listed over all datasets."""

from __future__ import annotations

from typing import TypeVar

from django.db.models import Model, QuerySet

from annotation.models import STAGED_RATERS, Dataset, User

_Row = TypeVar("_Row", bound=Model)


def published(rows: QuerySet[_Row], *sessions: str) -> QuerySet[_Row]:
    """The rows whose sessions, at these paths, belong to a dataset that anybody may see."""
    shown = {f"{path}__dataset__staged_at__isnull": True for path in sessions}
    return rows.filter(**shown)


def known_users(rows: QuerySet[User]) -> QuerySet[User]:
    """All users but the raters of a file that is being imported."""
    staged = Dataset.with_staged.filter(staged_at__isnull=False)
    raters = [each for (extra,) in staged.values_list("extra") for each in extra[STAGED_RATERS]]
    return rows.exclude(pk__in=raters) if raters else rows
