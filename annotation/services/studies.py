"""Making a study and giving it out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.db import transaction
from django.utils.text import slugify

from annotation.core.choices import StudyKind
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPlan
from annotation.core.study_rules import (
    ALWAYS,
    UNTOUCHED,
    faulty_changes,
    may_become,
)
from annotation.models import (
    AuditEvent,
    Dataset,
    Study,
    StudyStatus,
    User,
)
from annotation.queries.studies import is_touched
from annotation.queries.study_targets import targets_of
from annotation.services.guidelines import keep_version_in_force
from annotation.services.study_items import make_items

_RULES: Final = (
    "overlap",
    "lease_minutes",
    "allow_tie",
    "allow_strength",
    "allow_both_bad",
    "ask_hallucination",
    "ask_questionnaire",
    "reveal_turns",
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

_CHOOSE_ITEMS: Final = {"gold_rate", "repeat_rate", "allow_tie"}
"""Rules by which the items of a study are chosen."""


@transaction.atomic
def create_study(plan: StudyPlan, *, by: User) -> str:
    """Store a study as a draft, with its items in seeded random order; its short name.

    Pairs whose texts are not available, and sessions without a response, are left out.

    Raises:
        Refused: Nothing remains.
    """
    study = Study.objects.create(
        slug=_free_slug(plan.name),
        name=plan.name,
        kind=plan.kind,
        dataset=Dataset.objects.get(slug=plan.dataset),
        created_by=by,
        **{name: getattr(plan, name) for name in _RULES},
    )
    keep_version_in_force(study, by)
    study.annotators.set(User.objects.filter(username__in=plan.annotators))
    targets = _targets(study, plan.scenarios)
    if not targets:
        raise Refused("study:empty")
    _record(study, by, "study.created", {**make_items(study, targets)})
    return study.slug


@transaction.atomic
def set_status(*, study: str, status: StudyStatus, by: User) -> None:
    """Open, pause or close a study; what is at hand stays with its annotators.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: The study cannot go there from where it is.
    """
    row = Study.objects.get(slug=study)
    if not may_become(row.status, status.value):
        raise Refused("study:status")
    if Study.objects.filter(pk=row.pk).exclude(status=status).update(status=status):
        _record(row, by, "study.status", {"before": row.status, "after": status.value})


@transaction.atomic
def change_rules(*, study: str, rules: Mapping[str, Any], by: User) -> None:
    """Change rules of a study, by name, with a trace of each; those not named stay.

    Other shares of gold and repeats choose the items anew, and so does allowing ties or not: a tie
    is no gold answer where nobody may give one.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: A change would harm answers; nothing was changed.
    """
    row = Study.objects.select_for_update().get(slug=study)
    before = {name: getattr(row, name) for name in (*ALWAYS, *UNTOUCHED)}
    after = {**before, **{name: value for name, value in rules.items() if name in before}}
    faults = faulty_changes(before, after, touched=is_touched(row))
    if faults:
        raise Refused("study:rules", faults=faults)
    changed = {name: value for name, value in after.items() if value != before[name]}
    if not changed:
        return
    for name, value in changed.items():
        setattr(row, name, value)
    row.save(update_fields=list(changed))
    if _CHOOSE_ITEMS & set(changed):
        _choose_again(row)
    _record(
        row,
        by,
        "study.rules",
        {"before": {name: before[name] for name in changed}, "after": changed},
    )


def _choose_again(study: Study) -> None:
    """Make the items of a study that nobody has begun anew, of the same pairs or sessions."""
    field = "comparison_id" if study.kind == StudyKind.PAIRWISE else "session_id"
    chosen = set(study.items.values_list(field, flat=True))
    study.items.all().delete()
    make_items(study, [target for target in _targets(study) if target in chosen])


def _targets(study: Study, scenarios: Sequence[str] = ()) -> list[int]:
    """What the study can ask about, in file order."""
    rows = targets_of(study.dataset, StudyKind(study.kind), scenarios)
    return list(rows.values_list("pk", flat=True))


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
