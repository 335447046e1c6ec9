"""Making a study, its items, consent, guidelines and quiz, and giving it out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from django.db import transaction
from django.db.models import ProtectedError
from django.utils.text import slugify

from annotation.core.choices import StudyKind
from annotation.core.guidelines import Quiz, checked, to_records
from annotation.core.hidden_items import (
    REPEAT_GAPS,
    PlannedItem,
    PlannedKind,
    Rates,
    plan_items,
)
from annotation.core.labelling import Target, TargetKind
from annotation.core.refusals import Refused
from annotation.core.studies import StudyPlan
from annotation.core.study_items import (
    EVERYTHING,
    StudyTarget,
    chosen_items,
    inclusion_chances,
    stored_choice,
)
from annotation.core.study_rules import (
    ALWAYS,
    UNTOUCHED,
    faulty_changes,
    may_become,
)
from annotation.models import (
    AuditEvent,
    Dataset,
    GuidelinesVersion,
    ItemKind,
    Participation,
    Study,
    StudyItem,
    StudyStatus,
    User,
)
from annotation.queries.participants import setting_version
from annotation.queries.quality import gold_candidates
from annotation.queries.studies import (
    drafts_with_gold,
    is_touched,
    numbered_targets,
    study_targets,
)

_BATCH: Final = 500
Chances = Mapping[int, float | None]
"""By the number of a comparison or session, the probability with which it was drawn."""


def make_items(
    study: Study, targets: Iterable[int], *, chances: Chances = MappingProxyType({})
) -> dict[str, int]:
    """Store the items of a study; how many there are, and how many of them are gold and repeats.

    They stand in the order of the splits, with gold items and hidden repeats spread among them at
    the study's rates, by its seed, as far as there are gold answers and firsts to repeat.

    Args:
        study: The study; it has no items yet.
        targets: Numbers of comparisons or sessions that it can ask about, at least one.
        chances: With what probability they were chosen, where that is known.
    """
    rows = numbered_targets(study, frozenset(targets))
    return _store_items(study, chosen_items(rows, EVERYTHING), chances)


def _store_items(study: Study, order: Sequence[StudyTarget], chances: Chances) -> dict[str, int]:
    plan = _plan(study, [each.target for each in order])
    languages = {each.target: each.language for each in order}
    if len(set(languages.values())) == 1:
        languages = {}
    items = [_item(study, planned, place, languages) for place, planned in enumerate(plan)]
    for item, planned in zip(items, plan, strict=True):
        if item.kind != ItemKind.REPEAT:
            item.inclusion_chance = chances.get(planned.target)
    items[0].save()
    for item in items[1:]:
        if item.kind == ItemKind.REPEAT:
            item.repeat_of = items[0]  # some item, until all have numbers
    StudyItem.objects.bulk_create(items[1:], batch_size=_BATCH)
    repeats = []
    for item, planned in zip(items, plan, strict=True):
        if planned.first is not None:
            item.repeat_of = items[planned.first]
            repeats.append(item)
    StudyItem.objects.bulk_update(repeats, ["repeat_of"], batch_size=_BATCH)
    return _counts(plan)


def _plan(study: Study, order: Sequence[int]) -> list[PlannedItem[int]]:
    kind = StudyKind(study.kind)
    if kind not in REPEAT_GAPS:
        return [PlannedItem(target, PlannedKind.NORMAL) for target in order]
    return plan_items(
        order,
        gold_candidates(study) if study.gold_rate else frozenset(),
        rates=Rates(gold=study.gold_rate, repeats=study.repeat_rate),
        gap=REPEAT_GAPS[kind],
        seed=study.seed,
    )


def _item(
    study: Study, planned: PlannedItem[int], place: int, languages: Mapping[int, str]
) -> StudyItem:
    pairs = study.kind == StudyKind.PAIRWISE
    return StudyItem(
        study=study,
        comparison_id=planned.target if pairs else None,
        session_id=None if pairs else planned.target,
        kind=ItemKind(planned.kind.value),
        position=place,
        language=languages.get(planned.target, ""),
    )


def _counts(plan: Iterable[PlannedItem[int]]) -> dict[str, int]:
    kinds = [planned.kind for planned in plan]
    return {
        "items": len(kinds),
        "gold": kinds.count(PlannedKind.GOLD),
        "repeats": kinds.count(PlannedKind.REPEAT),
    }


def keep_version_in_force(study: Study, by: User | None = None) -> None:
    """Keep the guidelines in force as a version of their own, unless they are."""
    GuidelinesVersion.objects.get_or_create(
        study=study,
        version=study.guidelines_version,
        defaults={"text": study.guidelines, "created_by": by},
    )


@transaction.atomic
def publish_guidelines(*, study: str, text: str, since: int, by: User) -> int:
    """Put new guidelines into force; annotators read them before they go on. The new version.

    Args:
        study: The study's short name.
        text: The guidelines, in Markdown; empty where there are to be none.
        since: The version on which the text was written.
        by: Who publishes.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: `since` is not the version in force; the text is the one in force.
    """
    row = Study.objects.get(slug=study)
    if row.guidelines_version != since:
        raise Refused("guidelines:outdated")
    if _plain(row.guidelines) == _plain(text):
        raise Refused("guidelines:unchanged")
    keep_version_in_force(row, row.created_by)
    changed = Study.objects.filter(pk=row.pk, guidelines_version=since).update(
        guidelines=text, guidelines_version=since + 1
    )
    if not changed:
        raise Refused("guidelines:outdated")
    GuidelinesVersion.objects.create(study=row, version=since + 1, text=text, created_by=by)
    AuditEvent.objects.create(
        actor=by,
        action="study.guidelines",
        target="study",
        target_id=row.pk,
        detail={"version": since + 1},
    )
    return since + 1


def _plain(text: str) -> str:
    """A text without what a browser may change of it: line ends, and space around it."""
    return text.replace("\r\n", "\n").strip()


@transaction.atomic
def set_consent(
    *, study: str, text: str, ask_profile: bool, ask_again: bool, since: int | None, by: User
) -> None:
    """Set what annotators agree to (empty: nothing), and whether they fill in a profile.

    Who agreed to another text stays in the study, unless everybody is asked again. The audit trail
    keeps both texts, so that what each person agreed to can be told.

    Args:
        study: The study's short name.
        text: What is agreed to, in Markdown.
        ask_profile: Whether they fill in a profile.
        ask_again: Whether those who agreed before agree once more.
        since: The version that this one is to replace (`setting_version`).
        by: Who sets it.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: Another version stands than the one to be replaced.
    """
    row = Study.objects.select_for_update().get(slug=study)
    before = {"consent": row.consent, "ask_profile": row.ask_profile}
    after = {"consent": text, "ask_profile": ask_profile}
    if (before != after or ask_again) and since != setting_version(row, "study.consent"):
        raise Refused("consent:outdated")
    if before != after:
        Study.objects.filter(pk=row.pk).update(**after)
    asked_again = _asked_again(row, "consented_at") if ask_again else 0
    if before != after or asked_again:
        detail = {"before": before, "after": after, "asked_again": asked_again}
        _record(row, by, "study.consent", detail)


@transaction.atomic
def set_quiz(*, study: str, quiz: Quiz, ask_again: bool, since: int | None, by: User) -> None:
    """Set the questions that annotators answer first; none of them for no quiz.

    Who passed an earlier quiz goes on, unless everybody is asked again. `since` is the version that
    this one is to replace (`setting_version`).

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: Something is wrong with it, or another version stands; nothing was stored.
    """
    records = to_records(checked(quiz))
    row = Study.objects.select_for_update().get(slug=study)
    before = row.quiz
    if (before != records or ask_again) and since != setting_version(row, "study.quiz"):
        raise Refused("quiz:outdated")
    if before != records:
        Study.objects.filter(pk=row.pk).update(quiz=records)
    asked_again = _asked_again(row, "quiz_passed_at") if ask_again else 0
    if before != records or asked_again:
        detail = {"before": before, "after": records, "asked_again": asked_again}
        _record(row, by, "study.quiz", detail)


def _asked_again(study: Study, done: str) -> int:
    """Take back that annotators did a step; how many had."""
    rows = Participation.objects.filter(study=study, **{f"{done}__isnull": False})
    return rows.update(**{done: None})


def _record(study: Study, by: User | None, action: str, detail: dict[str, object]) -> None:
    AuditEvent.objects.create(
        actor=by, action=action, target="study", target_id=study.pk, detail=detail
    )


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
    "fast_share",
    "fast_seconds",
    "completion_answers",
    "consent",
    "contact",
    "ask_profile",
    "min_turns",
    "seed",
)
"""What a plan says of a study under the name of the study's own field."""

_CHOOSE_ITEMS: Final = {"gold_rate", "repeat_rate", "allow_tie"}
"""Rules by which the items of a study are chosen."""


@transaction.atomic
def create_study(plan: StudyPlan, *, by: User | None) -> str:
    """Store a study as a draft, with the items that were chosen; its short name.

    Pairs whose texts are not available, and sessions without a response, are left out.

    Raises:
        Refused: Nothing remains.
    """
    choice = plan.items.of_kind(plan.kind)
    study = Study.objects.create(
        slug=_free_slug(plan.name),
        name=plan.name,
        kind=plan.kind,
        dataset=Dataset.objects.get(slug=plan.dataset),
        created_by=by,
        selection=choice.stored(),
        **{name: getattr(plan, name) for name in _RULES},
    )
    keep_version_in_force(study, by)
    study.annotators.set(User.objects.filter(username__in=plan.annotators))
    _record(study, by, "study.created", {**study.selection, **_draw(study)})
    return study.slug


def _draw(study: Study) -> dict[str, int]:
    """Make the items of a study, which has none, by its selection; how many of which kind.

    Raises:
        Refused: There is nothing to ask about.
    """
    choice = stored_choice(study.selection)
    targets = study_targets(study.dataset, StudyKind(study.kind), choice)
    order = chosen_items(targets, choice)
    if not order:
        raise Refused("study:empty")
    study.newest_target = max(each.target for each in targets)
    study.save(update_fields=["newest_target"])
    return _store_items(study, order, inclusion_chances(targets, choice, order) or {})


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
def delete_draft(*, study: str, by: User) -> str:
    """Delete a study that was never opened, with all but its annotators' accounts; its name.

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: It is no draft any more, or has labels.
    """
    row = Study.objects.select_for_update().get(slug=study)
    if is_touched(row):
        raise Refused("study:no-draft")
    _record(row, by, "study.deleted", {"name": row.name, "slug": row.slug, **row.selection})
    try:
        row.delete()
    except ProtectedError as error:
        raise Refused("study:no-draft") from error
    return row.name


@transaction.atomic
def change_rules(*, study: str, rules: Mapping[str, Any], since: int | None, by: User) -> None:
    """Change rules of a study, by name, with a trace of each; those not named stay.

    Another sample, other shares of gold and repeats choose the items anew, and so does allowing
    ties or not: a tie is no gold answer where nobody may give one. `since` is the version that
    these rules are to replace (`setting_version`).

    Raises:
        Study.DoesNotExist: There is no such study.
        Refused: A change would harm answers, nothing remains to be asked about, or other rules
            stand; nothing was changed.
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
    if since != setting_version(row, "study.rules"):
        raise Refused("study:outdated")
    for name, value in changed.items():
        setattr(row, name, value)
    row.save(update_fields=["selection" if name == "sample" else name for name in changed])
    if "sample" in changed:
        row.items.all().delete()
        _draw(row)
    elif _CHOOSE_ITEMS & set(changed):
        _choose_again(row)
    _record(
        row,
        by,
        "study.rules",
        {"before": {name: before[name] for name in changed}, "after": changed},
    )


def draw_drafts_again(target: Target) -> None:
    """Choose the gold items of drafts with this item anew: what is held right of it has changed.

    Call it within a transaction.
    """
    path = {
        TargetKind.COMPARISON: "comparison",
        TargetKind.RESPONSE: "session__turns__responses",
        TargetKind.SESSION: "session",
    }[target.kind]
    items = StudyItem.objects.filter(**{path: target.id})
    for study in drafts_with_gold().filter(pk__in=items.values("study")).select_for_update():
        _choose_again(study)


def draw_drafts_of(dataset: Dataset) -> None:
    """Choose the gold items of a dataset's drafts anew. Call it within a transaction."""
    for study in drafts_with_gold().filter(dataset=dataset).select_for_update():
        _choose_again(study)


def _choose_again(study: Study) -> None:
    """Make the items of a study that nobody has begun anew, of the same pairs or sessions."""
    field = "comparison_id" if study.kind == StudyKind.PAIRWISE else "session_id"
    first = study.items.exclude(kind=ItemKind.REPEAT)
    chances = dict(first.values_list(field, "inclusion_chance"))
    study.items.all().delete()
    make_items(study, chances, chances=chances)


def _free_slug(name: str) -> str:
    stem = slugify(name)[:70] or "study"
    taken = set(Study.objects.filter(slug__startswith=stem).values_list("slug", flat=True))
    taken.add("new")  # the address of the form
    numbered = (f"{stem}-{number}" for number in range(2, len(taken) + 3))
    return next(slug for slug in (stem, *numbered) if slug not in taken)
