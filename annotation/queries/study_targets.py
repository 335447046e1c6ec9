"""What of a dataset a study can ask about, and how many that would be."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from annotation.core.assignment import study_order
from annotation.core.choices import StudyKind
from annotation.core.hidden_items import REPEAT_GAPS, PlannedKind, Rates, plan_items
from annotation.core.language import UNDETERMINED, primary_language
from annotation.core.studies import PlannedCounts, StudyPlan
from annotation.models import Comparison, Dataset, Response, Session, Study
from annotation.queries.gold import gold_candidates


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
    """The sessions with a task to talk about, in file order; not what was said about others.

    Of these scenarios, or of all.
    """
    rows = _sessions(dataset, scenarios).filter(held_under__isnull=True).exclude(task_context="")
    return rows.order_by("position", "pk")


def targets_of(
    dataset: Dataset, kind: StudyKind, scenarios: Collection[str] = ()
) -> QuerySet[Any, Any]:
    """The pairs or sessions that a study of a kind can ask about, in file order."""
    return {
        StudyKind.PAIRWISE: comparisons_of,
        StudyKind.SATISFACTION: sessions_of,
        StudyKind.CONVERSATION: tasks_of,
    }[kind](dataset, scenarios)


def languages_of(study: Study, targets: Collection[int]) -> dict[int, str]:
    """The languages of what a study is to ask about, by number; empty where there is only one."""
    codes: QuerySet[Any, tuple[int, str]] = (
        _pairs(study.dataset, ()).values_list("pk", "turn__session__language")
        if study.kind == StudyKind.PAIRWISE
        else _sessions(study.dataset, ()).values_list("pk", "language")
    )
    languages = {pk: primary_language(code) or UNDETERMINED for pk, code in codes}
    several = len({languages[target] for target in targets}) > 1
    return {target: languages[target] for target in targets} if several else {}


def planned_counts(plan: StudyPlan) -> PlannedCounts:
    """What a study would hold if it were made by this plan now; nothing is stored.

    Raises:
        Dataset.DoesNotExist: There is no such dataset.
    """
    dataset = Dataset.objects.get(slug=plan.dataset)
    targets = list(targets_of(dataset, plan.kind, plan.scenarios).values_list("pk", flat=True))
    everything = (_pairs if plan.kind is StudyKind.PAIRWISE else _sessions)(dataset, plan.scenarios)
    study = Study(dataset=dataset, kind=plan.kind, allow_tie=plan.allow_tie)
    known = gold_candidates(study) & set(targets)
    kinds = [PlannedKind.NORMAL] * len(targets)
    if plan.kind in REPEAT_GAPS:
        items = plan_items(
            study_order(targets, seed=plan.seed),
            known if plan.gold_rate else frozenset(),
            rates=Rates(gold=plan.gold_rate, repeats=plan.repeat_rate),
            gap=REPEAT_GAPS[plan.kind],
            seed=plan.seed,
        )
        kinds = [each.kind for each in items]
    return PlannedCounts(
        targets=len(targets),
        left_out=everything.count() - len(targets),
        gold_known=len(known),
        gold=kinds.count(PlannedKind.GOLD),
        repeats=kinds.count(PlannedKind.REPEAT),
        annotators=len(plan.annotators),
        overlap=plan.overlap,
    )


def _pairs(dataset: Dataset, scenarios: Collection[str]) -> QuerySet[Comparison, Comparison]:
    rows = Comparison.objects.filter(turn__session__dataset=dataset)
    return rows.filter(turn__session__scenario__name__in=scenarios) if scenarios else rows


def _sessions(dataset: Dataset, scenarios: Collection[str]) -> QuerySet[Session, Session]:
    rows = Session.objects.filter(dataset=dataset)
    return rows.filter(scenario__name__in=scenarios) if scenarios else rows
