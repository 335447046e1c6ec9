"""Pages of figures, kept until what they rest on changes: their bootstraps take seconds.

A page that took long is shown for a while longer, with its time, while labels keep coming in. Then
a thread computes it anew: whoever looks waits for a page's first figures alone.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from threading import Thread
from typing import Any, Final, Generic, TypeVar

from django.contrib.admin.models import LogEntry
from django.core.cache import cache
from django.db import connections
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
RENEWAL: Final = "renewal of figures"
"""The name of the threads that compute pages anew."""

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
        """From when on a look at the page has what changed since counted."""
        if self.as_of is None:
            return None
        return self.as_of + timedelta(seconds=_LONGER * self.seconds)

    @property
    def wait(self) -> int:
        """Seconds after which new figures are there, as the last time; 0 before `renewed_at`."""
        is_due = self.renewed_at is not None and timezone.now() >= self.renewed_at
        return math.ceil(self.seconds) if is_due else 0


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
    language = translation.get_language()
    question = repr((name, asked, sorted(settings.items()), language))
    key = f"kept:{hashlib.sha256(question.encode()).hexdigest()}"

    def compute_anew(state: str) -> Kept[Page]:
        began = timezone.now()
        page = compute(*asked, **settings)
        seconds = (timezone.now() - began).total_seconds()
        cache.set(key, (state, Kept(page, began, seconds)), KEPT_SECONDS)
        return Kept(page)

    state = _state()
    found: tuple[str, Kept[Page]] | None = cache.get(key)
    if found is None:
        return compute_anew(state)
    known_state, known = found
    if known_state == state:
        return Kept(known.page)
    if not may_be_behind or known.seconds < _LONG_SECONDS:
        return compute_anew(state)
    if known.wait and cache.add(f"{key}:renewal", value=True, timeout=KEPT_SECONDS):

        def renew() -> None:
            try:
                with translation.override(language):
                    compute_anew(_state())
            except BaseException:
                cache.delete(key)  # the next to look computes it, and is told what is wrong
                raise
            finally:
                cache.delete(f"{key}:renewal")
                connections.close_all()

        Thread(target=renew, name=RENEWAL, daemon=True).start()
    return known


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
