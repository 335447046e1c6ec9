"""Ablations as they were stored, the newest first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef

from annotation.core.refusals import Refused
from annotation.models import Dataset
from benchmark.core.ablation import AblationRow, Vary
from benchmark.models import VerificationReport
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun
from judging.queries.runs import UNFINISHED

RUN_KIND: Final = "ABLATE"
"""Of the runs that make them."""
KIND: Final = "ablation"
"""Of the reports that hold an ablation."""
REPORTS_A_PAGE: Final = 10


@dataclass(frozen=True, slots=True)
class StoredAblation:
    """One ablation: what was varied, with which judges, and a row a variant and annotator.

    Of several annotators the last rows are over all together. `left_out` are annotators for whom
    the money did not reach, `refused` the steps that could not be started, with their codes;
    `run` is the run that made it.
    """

    id: int
    dataset: str
    vary: Vary
    judges: tuple[str, ...]
    seed: int
    rows: tuple[AblationRow, ...]
    made_at: datetime
    left_out: tuple[str, ...] = ()
    refused: tuple[tuple[str, str], ...] = ()
    run: int | None = None
    verdict: VerdictRule = VerdictRule.STRICT


@dataclass(frozen=True, slots=True)
class AblationsPage:
    """A page of ablations, the datasets that have some, and the runs that are under way."""

    reports: Sequence[StoredAblation]
    page: Page[VerificationReport]
    datasets: Sequence[tuple[str, str]]
    dataset: str
    under_way: Sequence[JudgeRun] = ()


def stored_ablation(report: VerificationReport) -> StoredAblation:
    """A report as an ablation."""
    settings: dict[str, Any] = report.settings
    return StoredAblation(
        id=report.pk,
        dataset=report.dataset.name,
        vary=Vary(settings["vary"]),
        judges=tuple(settings["judges"]),
        seed=settings["seed"],
        rows=tuple(AblationRow(**row) for row in report.rows),
        made_at=report.created_at,
        left_out=tuple(settings.get("left_out", ())),
        refused=tuple((name, code) for name, code in settings.get("refused", ())),
        run=report.run_id,
        verdict=VerdictRule(settings.get("verdict_rule", VerdictRule.STRICT)),
    )


def ablation_numbered(number: int) -> StoredAblation:
    """One ablation by the number of its report.

    Raises:
        Refused: there is none.
    """
    reports = VerificationReport.objects.filter(kind=KIND).select_related("dataset")
    report = reports.filter(pk=number).first()
    if report is None:
        raise Refused("benchmark:unknown-choice")
    return stored_ablation(report)


def ablation_of(run_id: int) -> StoredAblation | None:
    """The ablation that a run made; None where it has not come so far."""
    reports = VerificationReport.objects.filter(kind=KIND, run=run_id).select_related("dataset")
    report = reports.first()
    return None if report is None else stored_ablation(report)


def ablations_page(*, dataset: str, page: str) -> AblationsPage:
    """The ablations of all datasets or of one, by its slug. Four queries."""
    reports = VerificationReport.objects.filter(kind=KIND).select_related("dataset")
    having = Dataset.objects.filter(
        Exists(VerificationReport.objects.filter(kind=KIND, dataset=OuterRef("pk")))
    )
    if dataset:
        reports = reports.filter(dataset__slug=dataset)
    running = JudgeRun.objects.filter(kind=RUN_KIND, status__in=UNFINISHED)
    shown = Paginator(reports.order_by("-pk"), REPORTS_A_PAGE).get_page(page)
    return AblationsPage(
        reports=[stored_ablation(report) for report in shown.object_list],
        page=shown,
        datasets=list(having.order_by("name").values_list("slug", "name")),
        dataset=dataset,
        under_way=list(running.select_related("dataset").order_by("-pk")),
    )
