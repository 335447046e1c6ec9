"""Ablations as they were stored, the newest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.core.paginator import Page, Paginator
from django.db.models import Exists, OuterRef
from django.utils.text import Truncator

from annotation.core.choices import Order, Verdict
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.datasets import of_no_deleted
from benchmark.core.ablation import RUN_KIND, AblationRow, Vary
from benchmark.core.failures import FailureRow, GoldJudgment, GoldOutcome, gold_outcome
from benchmark.models import VerificationReport
from benchmark.queries.annotators import OPENING_CHARS, openings
from judging.core.verdicts import VerdictRule
from judging.models import JudgeRun, Judgment
from judging.queries.runs import UNFINISHED

KIND: Final = "ablation"
"""Of the reports that hold an ablation."""
REPORTS_A_PAGE: Final = 10
JUDGMENTS_A_PAGE: Final = 50
GOLD: Final = "gold"
"""In a run's configuration: comparison, gold winner and session of all that prompts judge."""


@dataclass(frozen=True, slots=True)
class StoredAblation:
    """One ablation: what was varied, with which judges, and a row a variant and annotator.

    Of several annotators the last rows are over all together. `left_out` are annotators for whom
    the money did not reach, `refused` the steps that could not be started, with their codes;
    `run` is the run that made it. Of prompts there are `failures` in place of rows, a judge and a
    prompt each, in a `scenario` ("" for all).
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
    failures: tuple[FailureRow, ...] = ()
    scenario: str = ""

    def records(self) -> list[dict[str, Any]]:
        """Its rows as they are printed."""
        return [row.record() for row in self.rows] + [row.record() for row in self.failures]


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
    vary = Vary(settings["vary"])
    of_prompts = vary is Vary.PROMPT
    return StoredAblation(
        id=report.pk,
        dataset=report.dataset.name,
        vary=vary,
        judges=tuple(settings["judges"]),
        seed=settings["seed"],
        rows=() if of_prompts else tuple(AblationRow(**row) for row in report.rows),
        made_at=report.created_at,
        left_out=tuple(settings.get("left_out", ())),
        refused=tuple((name, code) for name, code in settings.get("refused", ())),
        run=report.run_id,
        verdict=VerdictRule(settings.get("verdict_rule", VerdictRule.STRICT)),
        failures=tuple(FailureRow(**row) for row in report.rows) if of_prompts else (),
        scenario=settings.get("scenario", ""),
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
    reports = of_no_deleted(reports, "dataset")
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


def gold_judgments(run_id: int, gold: Sequence[tuple[int, str, int]]) -> list[GoldJudgment]:
    """The judgments of one judge and prompt with how they stand to gold answers. One query.

    Args:
        run_id: who judged.
        gold: comparison, winner and session of each, as the ablation's configuration has them.
    """
    known = {comparison: (Verdict(winner), session) for comparison, winner, session in gold}
    rows = Judgment.objects.filter(run=run_id).order_by("pk")
    return [
        GoldJudgment(
            comparison,
            known[comparison][1],
            Order(order),
            gold_outcome(status, verdict, known[comparison][0]),
        )
        for comparison, order, status, verdict in rows.values_list(
            "comparison_id", "order", "status", "verdict"
        )
    ]


class FailureJudgments(NamedTuple):
    """The judgments behind a row of failures, a page of them, with how many there are of each.

    Of each: the judgment, the gold winner, and the comparison's key and opening words.
    """

    report: StoredAblation
    row: FailureRow
    outcome: GoldOutcome | None
    counts: Mapping[GoldOutcome, int]
    rows: Sequence[tuple[GoldJudgment, str, str, str]]
    page: Page[GoldJudgment]


def failure_judgments(number: int, *, run: int, outcome: str, page: str) -> FailureJudgments:
    """The judgments behind a row of failures of a report. Four queries.

    Args:
        number: of the report.
        run: of the row.
        outcome: only these; any other word for all.
        page: its number as in the address; anything odd is the first.

    Raises:
        Refused: there is no such report or row.
    """
    report = ablation_numbered(number)
    row = next((each for each in report.failures if each.run == run), None)
    if row is None or report.run is None:
        raise Refused("benchmark:unknown-choice")
    gold = JudgeRun.objects.get(pk=report.run).config[GOLD]
    judged = gold_judgments(run, gold)
    only = GoldOutcome(outcome) if outcome in set(GoldOutcome) else None
    kept = [each for each in judged if only in (None, each.outcome)]
    shown = Paginator(kept, JUDGMENTS_A_PAGE).get_page(page)
    texts = openings(each.comparison for each in shown)
    winners = {comparison: winner for comparison, winner, _session in gold}
    return FailureJudgments(
        report=report,
        row=row,
        outcome=only,
        counts=Counter(each.outcome for each in judged),
        rows=[
            (
                each,
                winners[each.comparison],
                texts[each.comparison][0],
                Truncator(texts[each.comparison][2]).chars(OPENING_CHARS),
            )
            for each in shown
        ],
        page=shown,
    )
