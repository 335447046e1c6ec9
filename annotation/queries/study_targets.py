"""What of a dataset a study can ask about, and how many that would be."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import Exists, OuterRef, Q, QuerySet

from annotation.core.choices import StudyKind
from annotation.core.studies import TargetCounts
from annotation.models import Comparison, Dataset, GoldLabel, Response, Session


def comparisons_of(
    dataset: Dataset, scenarios: Collection[str] = ()
) -> QuerySet[Comparison, Comparison]:
    """The pairs whose texts are both there, in file order; of these scenarios, or of all."""
    rows = _pairs(dataset, scenarios).filter(
        response_a__text__isnull=False, response_b__text__isnull=False
    )
    return rows.order_by("turn__session__position", "turn__position", "position", "pk")


def sessions_of(dataset: Dataset, scenarios: Collection[str] = ()) -> QuerySet[Session, Session]:
    """The sessions with a response to rate, in file order; of these scenarios, or of all."""
    answered = Response.objects.filter(
        turn__session=OuterRef("pk"), original=True, text__isnull=False
    )
    rows = _sessions(dataset, scenarios).filter(Exists(answered))
    return rows.order_by("position", "pk")


def tasks_of(dataset: Dataset, scenarios: Collection[str] = ()) -> QuerySet[Session, Session]:
    """The sessions whose task may be talked about, in file order; of these scenarios, or of all."""
    return _sessions(dataset, scenarios).order_by("position", "pk")


def target_counts(dataset: Dataset, kind: StudyKind, scenarios: Collection[str]) -> TargetCounts:
    """How much there is to ask about, how much of it has a gold answer, and what is left out."""
    if kind is StudyKind.PAIRWISE:
        pairs = comparisons_of(dataset, scenarios)
        gold = GoldLabel.objects.filter(comparison=OuterRef("pk"))
        everything = _pairs(dataset, scenarios).count()
        items = pairs.count()
        return TargetCounts(items, pairs.filter(Exists(gold)).count(), everything - items)
    everything = _sessions(dataset, scenarios).count()
    if kind is StudyKind.CONVERSATION:
        return TargetCounts(everything, 0, 0)
    rated = sessions_of(dataset, scenarios)
    gold = GoldLabel.objects.filter(
        Q(session=OuterRef("pk")) | Q(response__turn__session=OuterRef("pk"))
    )
    items = rated.count()
    return TargetCounts(items, rated.filter(Exists(gold)).count(), everything - items)


def _pairs(dataset: Dataset, scenarios: Collection[str]) -> QuerySet[Comparison, Comparison]:
    rows = Comparison.objects.filter(turn__session__dataset=dataset)
    return rows.filter(turn__session__scenario__name__in=scenarios) if scenarios else rows


def _sessions(dataset: Dataset, scenarios: Collection[str]) -> QuerySet[Session, Session]:
    rows = Session.objects.filter(dataset=dataset)
    return rows.filter(scenario__name__in=scenarios) if scenarios else rows
