"""The list of runs, and how far many of them are at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Q, Sum
from django.db.models.fields.json import KT
from django.db.models.query import QuerySet
from django.utils.module_loading import import_string

from annotation.core.choices import JudgmentStatus
from annotation.models import Dataset
from annotation.queries.datasets import of_no_deleted
from judging.core.runs import HISTORY, REGISTERED, TARGETS, WITHDRAWN
from judging.core.targets import RunTarget
from judging.models import (
    GeneratedResponse,
    InducedRubric,
    InjectionTrial,
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    ResponseScore,
    RunKind,
    RunStatus,
    RunUnit,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.runs import DISTILLED, UNFINISHED

RUNS_A_PAGE: Final = 30
_UNPAID: Final = (0, None, 0)
_USUAL_TARGETS: Final[Mapping[str, Mapping[str, Any]]] = {
    RunKind.TEST: {"kind": RunTarget.TEST},
    RunKind.GRADE: {"kind": RunTarget.TEST},
    RunKind.SATISFACTION: {"kind": RunTarget.RATED},
}
"""Of runs whose configuration names none."""


@dataclass(frozen=True, slots=True)
class RunLine:
    """A run in the list: how many of its rows are answered, what it paid for and what that cost.

    `cost` is None where no call was paid for, or none has a known price; `unpriced` have none.
    `targets` are what it judges, scores or answers, None where its kind has no choice of them.
    """

    id: int
    kind: str
    status: RunStatus
    dataset: str
    annotator: str
    judge: str
    variant: str
    targets: Mapping[str, Any] | None
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
    page: Page[Any]
    datasets: Sequence[tuple[str, str]]
    dataset: str


def run_list(*, dataset: str, page: str) -> RunList:
    """The runs of all datasets or of one, by its slug.

    Eight queries; one more with each kind whose rows are its own, two more with ratings, and with
    steps whose rows are their run's.
    """
    every = of_no_deleted(JudgeRun.objects.all(), "dataset")
    runs = every.select_related("dataset", "annotator").defer("config").order_by("-pk")
    runs = runs.annotate(targets=F(f"config__{TARGETS}"))
    if dataset:
        runs = runs.filter(dataset__slug=dataset)
    shown = Paginator(runs, RUNS_A_PAGE).get_page(page)
    rows: list[Any] = list(shown.object_list)
    counts = row_counts([run.pk for run in rows], kinds={run.kind for run in rows})
    rated = [run.pk for run in rows if run.kind == RunKind.SATISFACTION]
    variants = _variants(rated) if rated else {}
    paid = LlmCall.objects.filter(run__in=rows).order_by().values_list("run")
    costs = {
        run: (calls, cost, calls - priced)
        for run, calls, cost, priced in paid.annotate(Count("pk"), Sum("cost"), Count("cost"))
    }
    known = every.order_by("dataset__name").values_list("dataset__slug", "dataset__name")
    return RunList(
        lines=[
            RunLine(
                id=run.pk,
                kind=run.kind,
                status=RunStatus(run.status),
                dataset=run.dataset.name,
                annotator=str(run.annotator or ""),
                judge=run.judge,
                variant=variants.get(run.pk) or "",
                targets=run.targets or _USUAL_TARGETS.get(run.kind),
                answered=counts[run.pk].answered,
                total=counts[run.pk].total,
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


class RowCounts(NamedTuple):
    """The rows of a run, those with an answer that could be read, and those whose call failed."""

    answered: int
    total: int
    failed: int


def row_counts(runs: Collection[int], *, kinds: Collection[str]) -> Mapping[int, RowCounts]:
    """The rows of some runs, whose kinds are given. Four queries; see `run_list` for more."""
    counts = {run: RowCounts(0, 0, 0) for run in runs}
    of_runs: list[QuerySet[Any]] = [
        Preference.objects.filter(kind__in=DISTILLED),
        Judgment.objects.all(),
        UserMemory.objects.filter(version=1),
        SatisfactionJudgment.objects.all(),
    ]
    of_kinds: dict[str, QuerySet[Any]] = {
        RunKind.GRADE: ResponseScore.objects.all(),
        RunKind.SATISFACTION: InducedRubric.objects.all(),
        RunKind.GENERATE: GeneratedResponse.objects.all(),
        RunKind.CHECK: InjectionTrial.objects.annotate(run_id=F("check_run__run_id")),
    }
    of_runs += [rows for kind, rows in of_kinds.items() if kind in kinds]
    of_runs += [RunUnit.objects.all()] if REGISTERED.keys() & kinds else []
    themselves = {run: run for run in runs}
    owned = [(rows.filter(run_id__in=runs), themselves) for rows in of_runs]
    for kind in REGISTERED.keys() & kinds:
        if rows_of := REGISTERED[kind].rows:
            steps = RunUnit.objects.filter(child__in=runs, child__kind=kind)
            step_runs = dict(steps.values_list("run_id", "child_id"))
            owned.append((import_string(rows_of)(*step_runs.values()), step_runs))
    for rows, owners in owned:
        each = rows.order_by().values_list("run_id", "status", "error_code")
        for run, status, code, n in each.annotate(Count("pk")):
            before = counts[owners[run]]
            has_failed = status == JudgmentStatus.FAILED and code not in WITHDRAWN
            counts[owners[run]] = RowCounts(
                before.answered + (n if status == JudgmentStatus.DONE else 0),
                before.total + n,
                before.failed + (n if has_failed else 0),
            )
    return counts


def has_runs(datasets: Collection[str]) -> bool:
    """Whether a run was started in one of these datasets."""
    return JudgeRun.objects.filter(dataset__slug__in=datasets).exists()


def is_under_way(dataset: Dataset) -> bool:
    """Whether a run judges in a dataset or reads it, or waits for answers from a batch file."""
    reads = Q(dataset=dataset) | Q(config__train=dataset.slug)
    runs = JudgeRun.objects.filter(reads | Q(**{f"config__{HISTORY}": dataset.slug}))
    return runs.filter(status__in=(*UNFINISHED, RunStatus.BATCH)).exists()
