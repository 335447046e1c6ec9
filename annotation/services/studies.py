"""Making a study and giving it out."""

from __future__ import annotations

from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils.text import slugify

from annotation.core.assignment import study_order
from annotation.core.choices import StudyKind
from annotation.core.studies import StudyPlan
from annotation.models import (
    AuditEvent,
    Comparison,
    Dataset,
    Response,
    Session,
    Study,
    StudyItem,
    StudyStatus,
    User,
)

_RULES: Final = (
    "overlap",
    "lease_minutes",
    "allow_tie",
    "allow_strength",
    "allow_both_bad",
    "ask_hallucination",
    "ask_questionnaire",
    "gold_rate",
    "repeat_rate",
    "guidelines",
    "pause_gold_below",
    "pause_repeats_below",
    "pause_after",
    "consent",
    "ask_profile",
    "min_turns",
    "seed",
)
"""What a plan says of a study under the name of the study's own field."""


class EmptyStudyError(Exception):
    """The chosen scenarios hold nothing that this kind of study can ask about."""

    code = "study:empty"


@transaction.atomic
def create_study(plan: StudyPlan, *, by: User) -> str:
    """Store a study as a draft, with its items in seeded random order; its short name.

    Pairs whose texts are not available, and sessions without a response, are left out.

    Raises:
        EmptyStudyError: Nothing remains.
    """
    study = Study.objects.create(
        slug=_free_slug(plan.name),
        name=plan.name,
        kind=plan.kind,
        dataset=Dataset.objects.get(slug=plan.dataset),
        created_by=by,
        **{name: getattr(plan, name) for name in _RULES},
    )
    study.annotators.set(User.objects.filter(username__in=plan.annotators))
    items = _items(study, plan.scenarios)
    if not items:
        raise EmptyStudyError
    StudyItem.objects.bulk_create(items, batch_size=500)
    _record(study, by, "study.created", {"items": len(items)})
    return study.slug


@transaction.atomic
def set_status(*, study: str, status: StudyStatus, by: User) -> None:
    """Open, pause or close a study; what is at hand stays with its annotators.

    Raises:
        Study.DoesNotExist: There is no such study.
    """
    row = Study.objects.get(slug=study)
    if Study.objects.filter(pk=row.pk).exclude(status=status).update(status=status):
        _record(row, by, "study.status", {"before": row.status, "after": status.value})


def _items(study: Study, scenarios: tuple[str, ...]) -> list[StudyItem]:
    if study.kind == StudyKind.PAIRWISE:
        targets = study_order(_comparisons(study, scenarios), seed=study.seed)
        return [
            StudyItem(study=study, comparison_id=target, position=position)
            for position, target in enumerate(targets)
        ]
    targets = study_order(_sessions(study, scenarios), seed=study.seed)
    return [
        StudyItem(study=study, session_id=target, position=position)
        for position, target in enumerate(targets)
    ]


def _comparisons(study: Study, scenarios: tuple[str, ...]) -> list[int]:
    rows = Comparison.objects.filter(
        turn__session__dataset=study.dataset,
        response_a__text__isnull=False,
        response_b__text__isnull=False,
    )
    if scenarios:
        rows = rows.filter(turn__session__scenario__name__in=scenarios)
    order = rows.order_by("turn__session__position", "turn__position", "position", "pk")
    return list(order.values_list("pk", flat=True))


def _sessions(study: Study, scenarios: tuple[str, ...]) -> list[int]:
    answered = Response.objects.filter(
        turn__session=OuterRef("pk"), original=True, text__isnull=False
    )
    rows = Session.objects.filter(Exists(answered), dataset=study.dataset)
    if scenarios:
        rows = rows.filter(scenario__name__in=scenarios)
    return list(rows.order_by("position", "pk").values_list("pk", flat=True))


def _free_slug(name: str) -> str:
    stem = slugify(name)[:70] or "study"
    taken = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    taken.add("new")  # the address of the form
    numbered = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
    return next(slug for slug in (stem, *numbered) if slug not in taken)


def _record(study: Study, by: User, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )
