"""Pages of figures, kept until what they rest on changes: their bootstraps take seconds.

A page that took long is shown for a while longer, with its time, while labels keep coming in.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, Generic, TypeVar

from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.db.models import CharField, Count, DateTimeField, Max, Model, QuerySet, Value
from django.utils import timezone, translation

from annotation.models import (
    AuditEvent,
    Claim,
    ClaimState,
    Comparison,
    Dataset,
    GoldLabel,
    PairwiseLabel,
    Response,
    SatisfactionLabel,
    Scenario,
    SessionQuestionnaire,
    Submission,
)
from benchmark.models import VerificationReport
from judging.models import (
    JudgeRun,
    LearnedModel,
    Preference,
    PreferenceSet,
    ResponseScore,
    SatisfactionJudgment,
)

KEPT_SECONDS: Final = 24 * 3600
_LONG_SECONDS: Final = 1.0
_LONGER: Final = 10
"""A page that took long to compute is shown for so many times as long after a change."""

_RESTS_ON: Final[tuple[type[Model], ...]] = (
    *(PairwiseLabel, SatisfactionLabel, GoldLabel, Dataset, Scenario, Comparison, Response),
    *(SessionQuestionnaire, Submission, Claim),
    *(Preference, PreferenceSet, ResponseScore, SatisfactionJudgment, LearnedModel),
    *(VerificationReport, AuditEvent, LogEntry),
)
"""Rows that come and go; those that change do so in the admin console, but for these."""
_CHANGING: Final[dict[type[Model], str]] = {
    PairwiseLabel: "updated_at",
    SatisfactionLabel: "updated_at",
    SatisfactionJudgment: "updated_at",
    Claim: "finished_at",
}

Page = TypeVar("Page")


@dataclass(frozen=True, slots=True)
class Kept(Generic[Page]):
    """A page; `as_of` is when it was computed where something changed since, else None."""

    page: Page
    as_of: datetime | None = None
    seconds: float = 0.0

    @property
    def renewed_at(self) -> datetime | None:
        """From when on a look at the page counts what changed since."""
        if self.as_of is None:
            return None
        return self.as_of + timedelta(seconds=_LONGER * self.seconds)


def kept(compute: Callable[..., Page], *asked: object, **settings: object) -> Kept[Page]:
    """What a query answers, computed where nothing is kept of it or it changed.

    Args:
        compute: a query for those who see everything; its answer is pickled.
        asked: its arguments, told apart by their representation.
        settings: its keyword arguments.
    """
    return _kept(compute, asked, settings, may_be_behind=True)


def fresh(compute: Callable[..., Page], *asked: object, **settings: object) -> Page:
    """The same for a file, which has no room to say of when it is: never behind."""
    return _kept(compute, asked, settings, may_be_behind=False).page


def _kept(
    compute: Callable[..., Page],
    asked: tuple[object, ...],
    settings: dict[str, object],
    *,
    may_be_behind: bool,
) -> Kept[Page]:
    name = f"{compute.__module__}.{compute.__qualname__}"
    question = repr((name, asked, sorted(settings.items()), translation.get_language()))
    key = f"kept:{hashlib.sha256(question.encode()).hexdigest()}"
    state, began = _state(), timezone.now()
    found: tuple[str, Kept[Page]] | None = cache.get(key)
    if found is not None:
        known_state, known = found
        if known_state == state:
            return Kept(known.page)
        renewed_at = known.renewed_at
        is_long = may_be_behind and known.seconds >= _LONG_SECONDS
        if is_long and renewed_at is not None and began < renewed_at:
            return known
    page = compute(*asked, **settings)
    seconds = (timezone.now() - began).total_seconds()
    cache.set(key, (state, Kept(page, began, seconds)), KEPT_SECONDS)
    return Kept(page)


def _state() -> str:
    """What changes with any row that a figure rests on; two queries."""
    first, *others = (_counted(model) for model in _RESTS_ON)
    counted = sorted(first.union(*others, all=True))
    names = ("status", "judge", "endpoint__model")
    runs = JudgeRun.objects.order_by(*names).values_list(*names)
    beats = list(runs.annotate(n=Count("pk"), beat=Max("heartbeat_at"), end=Max("finished_at")))
    return hashlib.sha256(repr((counted, beats)).encode()).hexdigest()


def _counted(model: type[Model]) -> QuerySet[Any, Any]:
    """Its name, how many there are, the last number, and the last change where rows tell it."""
    rows: QuerySet[Any, Any] = model.objects.order_by()  # type: ignore[attr-defined]
    if model is Claim:  # of an item that is done or skipped, which it may not stay
        rows = rows.filter(state__in=(ClaimState.DONE, ClaimState.SKIPPED))
    never = Value(None, output_field=DateTimeField(null=True))
    counted: QuerySet[Any, Any] = (
        rows.annotate(named=Value(model.__name__, output_field=CharField()))
        .values("named")
        .annotate(n=Count("pk"), last=Max("pk"))
        .annotate(changed=Max(_CHANGING[model]) if model in _CHANGING else never)
        .values_list("named", "n", "last", "changed")
    )
    return counted
