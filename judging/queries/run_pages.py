"""What the pages of runs show: the list, one run's work, a set with its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Final

from django.core.paginator import Page, Paginator
from django.db.models import Count, Q, Sum
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.core.run_progress import RunProgress
from judging.models import (
    InducedRubric,
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    PreferenceSet,
    ResponseScore,
    RunKind,
    RunStatus,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.run_compare import siblings
from judging.queries.runs import DISTILLED, run_progress
from judging.queries.satisfaction.teaching import FoldPage, teaching_of

RUNS_A_PAGE: Final = 30
COMPARISONS_A_PAGE: Final = 50
_UNPAID: Final = (0, None, 0)


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list: how many of its rows are answered, what it paid for and what that cost.

    `cost` is None where no call was paid for, or none has a known price; `unpriced` have none.
    """

    id: int
    kind: RunKind
    status: RunStatus
    dataset: str
    annotator: str
    judge: str
    variant: str
    answered: int
    total: int
    calls: int
    cost: Decimal | None
    unpriced: int
    created_at: datetime


@dataclass(frozen=True, slots=True)
class RunList:
    """A page of runs, the newest first, and the datasets to filter by."""

    lines: Sequence[RunLine]
    page: Page[JudgeRun]
    datasets: Sequence[tuple[str, str]]
    dataset: str


@dataclass(frozen=True, slots=True)
class ComparisonLine:
    """A comparison that a run judged, with its judgments by status."""

    id: int
    key: str
    scenario: str
    done: int
    pending: int
    unreadable: int
    failed: int


@dataclass(frozen=True, slots=True)
class RunPage:
    """A run: what was asked, how far it is, and what came of it."""

    run: JudgeRun
    progress: RunProgress
    settings: Sequence[tuple[str, object]]
    sets: Sequence[PreferenceSet]
    children: Sequence[JudgeRun]
    siblings: Sequence[JudgeRun]
    comparisons: Sequence[ComparisonLine]
    page: Page[int]
    teaching: Sequence[FoldPage] = ()


def run_list(*, dataset: str, page: str) -> RunList:
    """The runs of all datasets or of one, by its slug.

    Eight queries; one more with grades, two more with ratings.
    """
    runs = JudgeRun.objects.select_related("dataset", "annotator").defer("config").order_by("-pk")
    if dataset:
        runs = runs.filter(dataset__slug=dataset)
    shown = Paginator(runs, RUNS_A_PAGE).get_page(page)
    rows = list(shown.object_list)
    counts = _answered([run.pk for run in rows], kinds={run.kind for run in rows})
    rated = [run.pk for run in rows if run.kind == RunKind.SATISFACTION]
    variants = _variants(rated) if rated else {}
    paid = LlmCall.objects.filter(run__in=rows).order_by().values_list("run")
    costs = {
        run: (calls, cost, calls - priced)
        for run, calls, cost, priced in paid.annotate(Count("pk"), Sum("cost"), Count("cost"))
    }
    known = JudgeRun.objects.order_by("dataset__name").values_list("dataset__slug", "dataset__name")
    return RunList(
        lines=[
            RunLine(
                id=run.pk,
                kind=RunKind(run.kind),
                status=RunStatus(run.status),
                dataset=run.dataset.name,
                annotator=str(run.annotator or ""),
                judge=run.judge,
                variant=variants.get(run.pk) or "",
                answered=counts[run.pk][0],
                total=counts[run.pk][1],
                calls=costs.get(run.pk, _UNPAID)[0],
                cost=costs.get(run.pk, _UNPAID)[1],
                unpriced=costs.get(run.pk, _UNPAID)[2],
                created_at=run.created_at,
            )
            for run in rows
        ],
        page=shown,
        datasets=list(known.distinct()),
        dataset=dataset,
    )


def _variants(runs: Collection[int]) -> dict[int, str | None]:
    """How the judges of satisfaction runs are asked; None in runs of before there were ways."""
    rows = JudgeRun.objects.filter(pk__in=runs).order_by()
    return dict(rows.values_list("pk", KT("config__variant")))


def _answered(runs: Collection[int], *, kinds: Collection[str]) -> Mapping[int, tuple[int, int]]:
    """For each run, its rows that need no further call, and all its rows."""
    pending: dict[int, int] = defaultdict(int)
    total: dict[int, int] = defaultdict(int)
    of_runs = [
        Preference.objects.filter(kind__in=DISTILLED),
        Judgment.objects.all(),
        UserMemory.objects.filter(version=1),
        SatisfactionJudgment.objects.all(),
    ]
    if RunKind.GRADE in kinds:
        of_runs.append(ResponseScore.objects.all())
    if RunKind.SATISFACTION in kinds:
        of_runs.append(InducedRubric.objects.all())
    for rows in of_runs:
        counted = (
            rows.filter(run__in=runs)
            .order_by()
            .values_list("run_id")
            .annotate(all=Count("pk"), waiting=Count("pk", filter=Q(status=JudgmentStatus.PENDING)))
        )
        for run, everything, waiting in counted:
            total[run] += everything
            pending[run] += waiting
    return {run: (total[run] - pending[run], total[run]) for run in runs}


def run_page(run_id: int, *, page: str) -> RunPage:
    """One run.

    Raises:
        Refused: there is none.
    """
    run = (
        JudgeRun.objects.select_related(
            "dataset", "annotator", "parent", "created_by", "learned_model"
        )
        .filter(pk=run_id)
        .first()
    )
    if run is None:
        raise Refused("run:unknown")
    judged = (
        Judgment.objects.filter(run=run)
        .order_by("comparison_id")
        .values_list("comparison_id", flat=True)
        .distinct()
    )
    shown = Paginator(judged, COMPARISONS_A_PAGE).get_page(page)
    return RunPage(
        run=run,
        progress=run_progress(run_id),
        settings=[(name, value) for name, value in run.config.items() if _is_plain(value)],
        sets=list(
            PreferenceSet.objects.filter(run=run)
            .select_related("scenario")
            .prefetch_related("members")
            .order_by("scenario__position", "scenario_id", "control")
        ),
        siblings=siblings(run),
        children=list(run.children.defer("config").order_by("pk")),
        comparisons=_comparison_lines(run_id, list(shown.object_list)),
        page=shown,
        teaching=teaching_of(run),
    )


def _is_plain(value: object) -> bool:
    return value is None or isinstance(value, str | int | float | bool)


def _comparison_lines(run_id: int, shown: Collection[int]) -> list[ComparisonLine]:
    counts: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    rows = (
        Judgment.objects.filter(run=run_id, comparison__in=shown)
        .order_by()
        .values_list("comparison_id", "status")
        .annotate(Count("pk"))
    )
    for comparison, status, count in rows:
        counts[comparison][status] = count
    return [
        ComparisonLine(
            id=row.pk,
            key=row.key,
            scenario=row.turn.session.scenario.name,
            done=counts[row.pk][JudgmentStatus.DONE],
            pending=counts[row.pk][JudgmentStatus.PENDING],
            unreadable=counts[row.pk][JudgmentStatus.UNPARSEABLE],
            failed=counts[row.pk][JudgmentStatus.FAILED],
        )
        for row in Comparison.objects.filter(pk__in=shown)
        .select_related("turn__session__scenario")
        .order_by("pk")
    ]
