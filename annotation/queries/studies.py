"""Studies as their annotators and managers see them, and what may be labelled in a new one."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import fields
from datetime import datetime
from typing import Any, NamedTuple

from django.db.models import (
    Count,
    Exists,
    IntegerField,
    Max,
    OuterRef,
    Prefetch,
    Q,
    QuerySet,
    Subquery,
    Sum,
)
from django.db.models.functions import Coalesce
from django.utils.translation import gettext

from annotation.core.choices import StudyKind
from annotation.core.hidden_items import REPEAT_GAPS, PlannedKind, Rates, plan_items
from annotation.core.language import UNDETERMINED, primary_language
from annotation.core.studies import (
    Limits,
    MyStudy,
    PlannedCounts,
    StudyPage,
    StudyPlan,
    StudyRow,
    StudySort,
    sorted_studies,
)
from annotation.core.study_items import (
    EVERYTHING,
    ItemChoice,
    StudyTarget,
    chosen_items,
    in_language,
)
from annotation.models import (
    Claim,
    ClaimState,
    Comparison,
    Dataset,
    Invitation,
    ItemKind,
    PairingPlan,
    PairwiseLabel,
    Participation,
    Response,
    Role,
    SatisfactionLabel,
    Scenario,
    Session,
    Study,
    StudyItem,
    StudyStatus,
    Turn,
    User,
)
from annotation.queries.assignment import progress_of
from annotation.queries.datasets import of_no_deleted
from annotation.queries.labelling import rules_of
from annotation.queries.participants import completion_of, skips_to_answer
from annotation.queries.quality import gold_candidates
from annotation.queries.withheld import withholds


def my_studies(annotator: User, now: datetime) -> list[MyStudy]:
    """The studies somebody is in, but drafts: what is left first, of it what was begun, by name."""
    parts = _parts(annotator).order_by("study__name", "study_id")
    studies = [_my_study(part, now) for part in parts]
    return sorted(
        studies,
        key=lambda study: (
            not (study.open and study.progress.left),
            not study.progress.finished,
        ),
    )


def my_study(annotator: User, slug: str, now: datetime) -> MyStudy | None:
    """One study as its annotator sees it; None where they are not in it."""
    part = _parts(annotator).filter(study__slug=slug).first()
    return None if part is None else _my_study(part, now)


def _parts(annotator: User) -> QuerySet[Participation]:
    parts = of_no_deleted(Participation.objects.filter(annotator=annotator), "study__dataset")
    return parts.select_related("study__dataset", "invitation").exclude(
        study__status=StudyStatus.DRAFT
    )


def _my_study(part: Participation, now: datetime) -> MyStudy:
    progress = progress_of(part.study, part.annotator_id, now)
    skips = skips_to_answer(part, progress, now)
    return MyStudy(
        rules=rules_of(part.study),
        dataset=part.study.dataset.slug,
        open=part.study.status == StudyStatus.OPEN and part.paused_at is None,
        progress=progress,
        closed=part.study.status == StudyStatus.CLOSED,
        paused=part.study.status != StudyStatus.CLOSED and part.paused_at is not None,
        withheld=withholds(part.study),
        contact=part.study.contact,
        completion=completion_of(part, progress, skips),
        skips=skips,
        paid=bool(part.invitation and part.invitation.completion),
        answers_needed=part.study.completion_answers,
    )


def all_studies(*, status: str = "", sort: StudySort = StudySort.NEWEST) -> list[StudyRow]:
    """Every study, or those of one status, in an order."""
    rows = _counted().order_by("-created_at", "-pk")
    if status:
        rows = rows.filter(status=status)
    return sorted_studies([_row(row) for row in rows], sort)


def status_counts() -> dict[str, int]:
    """How many studies there are of each status that any has."""
    counts = (
        of_no_deleted(Study.objects.all(), "dataset")
        .values_list("status")
        .annotate(n=Count("pk"))
        .order_by()
    )
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
    """The items of a study in their order, for a pager; `with_claims` reads a page of them."""
    return (
        StudyItem.objects.filter(study__slug=slug)
        .select_related("comparison__turn__session__scenario", "session__scenario")
        .defer("comparison__extra", "session__extra")
        .prefetch_related(Prefetch("session__turns", Turn.objects.filter(position=0)))
        .order_by("position")
    )


def draft_pairs(slug: str) -> QuerySet[StudyItem]:
    """The pairs of a draft with texts and gold answers, in an order that drawing anew keeps."""
    return (
        study_items(slug)
        .exclude(kind=ItemKind.REPEAT)
        .select_related(
            "comparison__turn__session__scenario",
            "comparison__response_a",
            "comparison__response_b",
        )
        .prefetch_related("comparison__gold_labels")
        .order_by("comparison_id")
    )


def with_claims(items: Sequence[StudyItem]) -> list[tuple[StudyItem, dict[str, int]]]:
    """What happened to each of these items: its claims by state."""
    states: dict[int, dict[str, int]] = {item.pk: {} for item in items}
    claims = Claim.objects.filter(item__in=[item.pk for item in items])
    for item, state, n in claims.values_list("item", "state").annotate(n=Count("id")).order_by():
        states[item][state] = n
    return [(item, states[item.pk]) for item in items]


def dataset_choices() -> list[tuple[str, str]]:
    """Short and shown names of all datasets, by shown name."""
    return list(Dataset.objects.order_by("name").values_list("slug", "name"))


def scenario_choices(dataset: str) -> list[str]:
    """Names of a dataset's scenarios, in its order."""
    rows = Scenario.objects.filter(dataset__slug=dataset).order_by("position", "pk")
    return list(rows.values_list("name", flat=True))


def seconds_worked(slug: str, kind: StudyKind, annotator: int) -> float | None:
    """How long somebody was at a study, as far as it was measured."""
    own = _answers(kind).filter(study__slug=slug, annotator=annotator)
    seconds: float | None = own.aggregate(seconds=Sum("active_seconds"))["seconds"]
    return seconds


def _answers(kind: str) -> QuerySet[Any]:
    labels = PairwiseLabel if kind == StudyKind.PAIRWISE else SatisfactionLabel
    return labels.objects.all()


def begun_study(datasets: Collection[str]) -> tuple[str, bool] | None:
    """The newest study of some datasets, of those with people if any has: its short name.

    With it, whether it has people; an invitation counts. None where there is no study.
    """
    parts = Participation.objects.filter(study=OuterRef("pk"))
    links = Invitation.objects.filter(study=OuterRef("pk"))
    rows = Study.objects.filter(dataset__slug__in=datasets).annotate(
        peopled=Q(Exists(parts)) | Q(Exists(links))
    )
    return rows.order_by("-peopled", "-pk").values_list("slug", "peopled").first()


def is_touched(study: Study) -> bool:
    """Whether a study was opened ever, or anybody was given an item: it is no mere plan."""
    return study.status != StudyStatus.DRAFT or Claim.objects.filter(item__study=study).exists()


def drafts_with_gold() -> QuerySet[Study]:
    """The drafts that are to have gold items and of which nobody was given an item."""
    claimed = Claim.objects.filter(item__study=OuterRef("pk"))
    drafts = Study.objects.filter(status=StudyStatus.DRAFT, gold_rate__gt=0)
    return drafts.exclude(Exists(claimed)).order_by("pk")


def members_of(study: Study) -> QuerySet[Participation]:
    """Who is in a study, by user name, with how they came in; one query.

    Each with `n_done` answers and their `seconds` of active time, None where none was measured.
    """
    done = (
        Claim.objects.filter(
            item__study=study, annotator=OuterRef("annotator"), state=ClaimState.DONE
        )
        .order_by()
        .values("annotator")
        .annotate(n=Count("pk"))
        .values("n")
    )
    answers = _answers(study.kind).filter(study=study, annotator=OuterRef("annotator"))
    seconds = (
        answers.order_by().values("annotator").annotate(all=Sum("active_seconds")).values("all")
    )
    return (
        Participation.objects.filter(study=study)
        .select_related("annotator", "invitation")
        .annotate(
            n_done=Coalesce(Subquery(done, output_field=IntegerField()), 0),
            seconds=Subquery(seconds),
        )
        .order_by("annotator__username")
    )


def annotator_choices() -> list[tuple[str, str]]:
    """User and shown names of everybody who can sign in to label, annotators first.

    Managers and admins, who may see which items are gold, are named as such. Viewers change
    nothing, so they are not offered.
    """
    rows = User.objects.filter(is_active=True).exclude(role=Role.VIEWER).order_by("username")
    annotators = [(each.username, str(each)) for each in rows if each.role == Role.ANNOTATOR]
    others = [each for each in rows if each.role != Role.ANNOTATOR]
    named = gettext("%(name)s (%(role)s)")
    return annotators + [
        (each.username, named % {"name": each, "role": each.get_role_display()}) for each in others
    ]


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
    return of_no_deleted(Study.objects.select_related("dataset"), "dataset").annotate(
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


def comparisons_of(
    dataset: Dataset, choice: ItemChoice = EVERYTHING
) -> QuerySet[Comparison, Comparison]:
    """The pairs whose texts are both there, in file order; filtered, but for their language."""
    rows = _pairs(dataset, choice).filter(
        response_a__text__isnull=False, response_b__text__isnull=False
    )
    return rows.order_by("turn__session__position", "turn__position", "position", "pk")


def sessions_of(dataset: Dataset, choice: ItemChoice = EVERYTHING) -> QuerySet[Session, Session]:
    """The sessions with a response to rate, in file order; of some scenarios, or of all."""
    answered = Response.objects.filter(
        turn__session=OuterRef("pk"), original=True, text__isnull=False
    )
    rows = _sessions(dataset, choice).filter(Exists(answered))
    return rows.order_by("position", "pk")


def tasks_of(dataset: Dataset, choice: ItemChoice = EVERYTHING) -> QuerySet[Session, Session]:
    """The sessions with a task to talk about, in file order; not what was said about others.

    Of some scenarios, or of all.
    """
    rows = _sessions(dataset, choice).filter(held_under__isnull=True).exclude(task_context="")
    return rows.order_by("position", "pk")


def study_targets(
    dataset: Dataset, kind: StudyKind, choice: ItemChoice = EVERYTHING
) -> list[StudyTarget]:
    """The pairs or sessions that a study can ask about, in file order, through all filters.

    One query.
    """
    rows = {
        StudyKind.PAIRWISE: comparisons_of,
        StudyKind.SATISFACTION: sessions_of,
        StudyKind.CONVERSATION: tasks_of,
    }[kind](dataset, choice)
    return in_language(_targets(rows), choice)


def numbered_targets(study: Study, numbers: Collection[int]) -> list[StudyTarget]:
    """These comparisons or sessions of a study's dataset, by number. One query."""
    everything = _pairs if study.kind == StudyKind.PAIRWISE else _sessions
    rows = everything(study.dataset, EVERYTHING).order_by("pk")
    return [each for each in _targets(rows) if each.target in numbers]


def _targets(rows: QuerySet[Any, Any]) -> Iterator[StudyTarget]:
    of_pairs = rows.model is Comparison
    session = "turn__session__" if of_pairs else ""
    names = [f"{session}{name}" for name in ("key", "scenario__name", "language")]
    more = ("key", "response_a__model", "response_b__model") if of_pairs else ()
    for pk, key, scenario, code, *pair in rows.values_list("pk", *names, *more):
        own, *models = pair or [""]
        language = primary_language(code) or UNDETERMINED
        yield StudyTarget(pk, key, own, scenario, language, tuple(models))


def studies_of_kind(dataset: Dataset, kind: StudyKind) -> list[tuple[str, str]]:
    """Short name and name of the studies of a dataset that ask the same of annotators."""
    rows = Study.objects.filter(dataset=dataset, kind=kind).order_by("name", "pk")
    return list(rows.values_list("slug", "name"))


class ItemOffers(NamedTuple):
    """What the items of a new study can be chosen by.

    Names, languages, and plans with the number of their last batch, 0 before the first.
    """

    scenarios: list[str]
    models: list[str]
    languages: list[str]
    plans: list[tuple[PairingPlan, int]]


def item_offers(dataset: str) -> ItemOffers:
    """What a dataset has to choose from; models are those that are compared. Five queries."""
    pairs = Comparison.objects.filter(turn__session__dataset__slug=dataset).order_by()
    models = {
        name
        for side in ("response_a__model", "response_b__model")
        for name in pairs.values_list(side, flat=True).distinct()
    }
    plans = PairingPlan.objects.filter(dataset__slug=dataset).order_by("-pk")
    codes = Session.objects.filter(dataset__slug=dataset).order_by().values_list("language")
    return ItemOffers(
        scenario_choices(dataset),
        sorted(models - {""}),
        sorted({primary_language(code) or UNDETERMINED for (code,) in codes.distinct()}),
        [(plan, plan.last_batch or 0) for plan in plans.annotate(last_batch=Max("planned__batch"))],
    )


def planned_counts(plan: StudyPlan) -> PlannedCounts:
    """What a study would hold if it were made by this plan now; nothing is stored.

    Raises:
        Dataset.DoesNotExist: There is no such dataset.
    """
    dataset = Dataset.objects.get(slug=plan.dataset)
    available = study_targets(dataset, plan.kind, plan.items)
    order = [each.target for each in chosen_items(available, plan.items)]
    everything = (_pairs if plan.kind is StudyKind.PAIRWISE else _sessions)(dataset, plan.items)
    if plan.items.languages:
        passing = len(in_language(_targets(everything), plan.items))
    else:
        passing = everything.count()
    study = Study(dataset=dataset, kind=plan.kind, allow_tie=plan.allow_tie)
    known = gold_candidates(study) & set(order)
    kinds = [PlannedKind.NORMAL] * len(order)
    rates = Rates(gold=plan.gold_rate, repeats=plan.repeat_rate)
    if plan.kind in REPEAT_GAPS:
        items = plan_items(
            order,
            known if plan.gold_rate else frozenset(),
            rates=rates,
            gap=REPEAT_GAPS[plan.kind],
            seed=plan.seed,
        )
        kinds = [each.kind for each in items]
    return PlannedCounts(
        targets=len(order),
        available=len(available),
        left_out=passing - len(available),
        gold_known=len(known),
        gold=kinds.count(PlannedKind.GOLD),
        repeats=kinds.count(PlannedKind.REPEAT),
        annotators=len(plan.annotators),
        overlap=plan.overlap,
        rates=rates,
        gap=REPEAT_GAPS.get(plan.kind, 0),
    )


def drawn_counts(study: Study, row: StudyRow) -> PlannedCounts:
    """What a study holds as it was drawn; `row`: its counts. Two queries."""
    field = "comparison_id" if row.kind is StudyKind.PAIRWISE else "session_id"
    items = list(study.items.values_list("kind", field))
    kinds = [kind for kind, _target in items]
    return PlannedCounts(
        targets=row.items,
        available=row.items,
        left_out=0,
        gold_known=len(gold_candidates(study) & {target for _kind, target in items}),
        gold=kinds.count(ItemKind.GOLD),
        repeats=kinds.count(ItemKind.REPEAT),
        annotators=row.annotators,
        overlap=row.overlap,
        rates=Rates(gold=study.gold_rate, repeats=study.repeat_rate),
        gap=REPEAT_GAPS.get(row.kind, 0),
    )


def _pairs(dataset: Dataset, choice: ItemChoice) -> QuerySet[Comparison, Comparison]:
    rows = Comparison.objects.filter(turn__session__dataset=dataset)
    if choice.scenarios:
        rows = rows.filter(turn__session__scenario__name__in=choice.scenarios)
    if choice.models:
        one = Q(response_a__model__in=choice.models)
        other = Q(response_b__model__in=choice.models)
        rows = rows.filter(one & other if choice.both_models else one | other)
    if choice.plan is not None:
        batch = {} if choice.batch is None else {"planned__batch": choice.batch}
        rows = rows.filter(planned__plan=choice.plan, **batch)  # both of one row of a plan
    return rows


def _sessions(dataset: Dataset, choice: ItemChoice) -> QuerySet[Session, Session]:
    rows = Session.objects.filter(dataset=dataset)
    return rows.filter(scenario__name__in=choice.scenarios) if choice.scenarios else rows
