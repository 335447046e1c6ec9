"""Studies as their annotators and as their managers see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from datetime import datetime

from django.db.models import Count, IntegerField, OuterRef, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.core.choices import StudyKind
from annotation.core.studies import (
    ItemRow,
    Limits,
    MemberRow,
    MyEffort,
    MyStudy,
    StudyPage,
    StudyRow,
    StudySort,
    sorted_studies,
)
from annotation.models import (
    Claim,
    ClaimState,
    Dataset,
    ItemKind,
    PairwiseLabel,
    Participation,
    SatisfactionLabel,
    Scenario,
    Study,
    StudyItem,
    StudyStatus,
    User,
)
from annotation.queries.assignment import progress_of
from annotation.queries.labelling import rules_of
from annotation.queries.withheld import withholds


def my_studies(annotator: User, now: datetime) -> list[MyStudy]:
    """The studies somebody is in, but drafts: what is left first, then by name."""
    parts = _parts(annotator).order_by("study__name", "study_id")
    studies = [_my_study(part, now) for part in parts]
    return sorted(studies, key=lambda study: not (study.open and study.progress.left))


def my_study(annotator: User, slug: str, now: datetime) -> MyStudy | None:
    """One study as its annotator sees it; None where they are not in it."""
    part = _parts(annotator).filter(study__slug=slug).first()
    return None if part is None else _my_study(part, now)


def _parts(annotator: User) -> QuerySet[Participation]:
    parts = Participation.objects.filter(annotator=annotator).select_related("study__dataset")
    return parts.exclude(study__status=StudyStatus.DRAFT)


def _my_study(part: Participation, now: datetime) -> MyStudy:
    return MyStudy(
        rules=rules_of(part.study),
        dataset=part.study.dataset.slug,
        open=part.study.status == StudyStatus.OPEN and part.paused_at is None,
        progress=progress_of(part.study, part.annotator_id, now),
        paused=part.study.status == StudyStatus.OPEN and part.paused_at is not None,
        withheld=withholds(part.study),
    )


def all_studies(*, status: str = "", sort: StudySort = StudySort.NEWEST) -> list[StudyRow]:
    """Every study, or those of one status, in an order."""
    rows = _counted().order_by("-created_at", "-pk")
    if status:
        rows = rows.filter(status=status)
    return sorted_studies([_row(row) for row in rows], sort)


def status_counts() -> dict[str, int]:
    """How many studies there are of each status that any has."""
    counts = Study.objects.values_list("status").annotate(n=Count("pk")).order_by()
    return dict(counts)


def study_page(slug: str) -> tuple[Study, StudyPage] | None:
    """One study with its rules and counts; None where there is none. One query."""
    row = _counted().filter(slug=slug).first()
    if row is None:
        return None
    return row, StudyPage(
        row=_row(row),
        rules=rules_of(row),
        limits=Limits(**{field.name: getattr(row, field.name) for field in fields(Limits)}),
        dataset=row.dataset.slug,
        guidelines_version=row.guidelines_version,
        quiz=len(row.quiz),
    )


def study_items(slug: str) -> QuerySet[StudyItem]:
    """The items of a study in their order, for a pager; `item_rows` reads a page of them."""
    return (
        StudyItem.objects.filter(study__slug=slug)
        .select_related("comparison__turn__session__scenario", "session__scenario")
        .defer("comparison__extra", "session__extra")
        .order_by("position")
    )


def item_rows(items: Sequence[StudyItem]) -> list[ItemRow]:
    """What happened to each of these items."""
    states: dict[int, dict[str, int]] = {}
    claims = Claim.objects.filter(item__in=[item.pk for item in items])
    for item, state, n in claims.values_list("item", "state").annotate(n=Count("id")).order_by():
        states.setdefault(item, {})[state] = n
    return [_item_row(item, states.get(item.pk, {})) for item in items]


def dataset_choices() -> list[tuple[str, str]]:
    """Short and shown names of all datasets, by shown name."""
    return list(Dataset.objects.order_by("name").values_list("slug", "name"))


def scenario_choices(dataset: str) -> list[str]:
    """Names of a dataset's scenarios, in its order."""
    rows = Scenario.objects.filter(dataset__slug=dataset).order_by("position", "pk")
    return list(rows.values_list("name", flat=True))


def my_effort(annotator: User, slug: str) -> MyEffort:
    """How much somebody answered in a study, and how long they were at it, as far as measured."""
    study = Study.objects.get(slug=slug)
    labels = PairwiseLabel if study.kind == StudyKind.PAIRWISE else SatisfactionLabel
    own = labels.objects.filter(study=study, annotator=annotator).aggregate(
        answers=Count("pk"), measured=Count("active_seconds"), seconds=Sum("active_seconds")
    )
    return MyEffort(own["answers"], own["measured"], own["seconds"])


def is_touched(study: Study) -> bool:
    """Whether a study was opened ever, or anybody was given an item: it is no mere plan."""
    return study.status != StudyStatus.DRAFT or Claim.objects.filter(item__study=study).exists()


def members_of(study: Study) -> list[MemberRow]:
    """Who is in a study, by user name, with how they came in; two queries."""
    done = (
        Claim.objects.filter(
            item__study=study, annotator=OuterRef("annotator"), state=ClaimState.DONE
        )
        .order_by()
        .values("annotator")
        .annotate(n=Count("pk"))
        .values("n")
    )
    parts = (
        Participation.objects.filter(study=study)
        .select_related("annotator", "invitation")
        .annotate(n_done=Coalesce(Subquery(done, output_field=IntegerField()), 0))
        .order_by("annotator__username")
    )
    return [
        MemberRow(
            id=part.annotator_id,
            username=part.annotator.username,
            name=str(part.annotator),
            joined=part.joined_at,
            invited=part.invitation.note or f"#{part.invitation_id}" if part.invitation else "",
            consented=part.consented_at,
            guidelines_read=part.guidelines_read,
            quiz_passed=part.quiz_passed_at,
            paused=part.paused_at,
            done=part.__dict__["n_done"],
        )
        for part in parts
    ]


def annotator_choices() -> list[tuple[str, str]]:
    """User and shown names of everybody who can sign in to label."""
    return [
        (user.username, str(user))
        for user in User.objects.filter(is_active=True).order_by("username")
    ]


def _item_row(item: StudyItem, states: dict[str, int]) -> ItemRow:
    target = item.comparison or item.session
    session = item.comparison.turn.session if item.comparison else item.session
    return ItemRow(
        item=item.pk,
        comparison=item.comparison_id,
        session=item.session_id,
        position=item.position + 1,
        kind=item.get_kind_display(),
        key=target.key if target else "",
        scenario=session.scenario.name if session else "",
        done=states.get(ClaimState.DONE, 0),
        active=states.get(ClaimState.ACTIVE, 0),
        skipped=states.get(ClaimState.SKIPPED, 0),
    )


def _counted() -> QuerySet[Study]:
    """Studies with their counts, hidden repeats left out: nobody need ever be able to take one."""

    def count(rows: QuerySet) -> Coalesce:  # type: ignore[type-arg]
        counted = rows.order_by().values("study").annotate(n=Count("pk")).values("n")
        return Coalesce(Subquery(counted, output_field=IntegerField()), 0)

    done = (
        Claim.objects.filter(item__study=OuterRef("pk"), state=ClaimState.DONE)
        .exclude(item__kind=ItemKind.REPEAT)
        .order_by()
        .values("item__study")
        .annotate(n=Count("pk"))
        .values("n")
    )
    return Study.objects.select_related("dataset").annotate(
        n_items=count(StudyItem.objects.filter(study=OuterRef("pk")).exclude(kind=ItemKind.REPEAT)),
        n_annotators=count(Study.annotators.through.objects.filter(study=OuterRef("pk"))),
        n_done=Coalesce(Subquery(done, output_field=IntegerField()), 0),
    )


def _row(study: Study) -> StudyRow:
    counted = study.__dict__
    return StudyRow(
        slug=study.slug,
        name=study.name,
        kind=StudyKind(study.kind),
        status=study.status,
        dataset=study.dataset.name,
        simulated=study.dataset.simulated,
        annotators=counted["n_annotators"],
        items=counted["n_items"],
        overlap=study.overlap,
        done=counted["n_done"],
        created=study.created_at,
    )
