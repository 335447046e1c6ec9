"""Several runs over the same items side by side: what each judge did, and how alike they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.judge_agreement import Cell, Share, alike, consistency, right
from judging.core.run_plans import applied_plans, distil_plans
from judging.core.run_progress import RunProgress
from judging.models import JudgeRun, Judgment, PreferenceKind, RunKind
from judging.queries.runs import run_progress

MOST_RUNS = 8


@dataclass(frozen=True, slots=True)
class ComparedRun:
    """One judge's column: progress and cost; how often it is right, and alike in both orders.

    `right` counts judgments of the base judge, without any preference, against the annotator's own
    label; None for runs without such judgments.
    """

    run: JudgeRun
    progress: RunProgress
    right: Share | None
    consistency: Share | None

    @property
    def cost_an_answer(self) -> float | None:
        """Money for each row that has its answer; None where nothing was paid, or not all known."""
        if self.progress.whole_cost is None or not self.progress.done:
            return None
        return self.progress.whole_cost / self.progress.done


@dataclass(frozen=True, slots=True)
class JudgePair:
    """Two judges: of what both judged in the same order, without a preference, how much alike."""

    first: str
    second: str
    alike: Share


@dataclass(frozen=True, slots=True)
class ComparedRuns:
    """The columns in the order asked for, and every two of them against each other."""

    runs: Sequence[ComparedRun]
    pairs: Sequence[JudgePair]


def compared_runs(ids: Sequence[int]) -> ComparedRuns:
    """Some runs side by side; those that do not exist are left out."""
    found = JudgeRun.objects.select_related("dataset", "annotator", "endpoint").in_bulk(
        list(dict.fromkeys(ids))[:MOST_RUNS]
    )
    runs = [found[pk] for pk in dict.fromkeys(ids) if pk in found]
    cells = {run.pk: _base_cells(run) for run in runs}
    return ComparedRuns(
        runs=[_compared(run, cells[run.pk]) for run in runs],
        pairs=[
            JudgePair(_name(one), _name(two), share)
            for one, two in combinations(runs, 2)
            if (share := alike(cells[one.pk], cells[two.pk])).n
        ],
    )


def siblings(run: JudgeRun) -> Sequence[JudgeRun]:
    """The newest run of every other judge for the same annotator, dataset and kind."""
    rows = (
        JudgeRun.objects.filter(kind=run.kind, dataset=run.dataset_id, annotator=run.annotator_id)
        .exclude(judge=run.judge)
        .defer("config")
        .order_by("pk")
    )
    return list({row.judge: row for row in rows}.values())[: MOST_RUNS - 1]


def _name(run: JudgeRun) -> str:
    return f"{run.judge} ({run.pk})"


def _compared(run: JudgeRun, cells: Mapping[Cell, Verdict]) -> ComparedRun:
    return ComparedRun(
        run=run,
        progress=run_progress(run.pk),
        right=right(cells, _labels(run)) if cells else None,
        consistency=consistency(cells) if cells else None,
    )


def _base_cells(run: JudgeRun) -> dict[Cell, Verdict]:
    """The base judge's verdicts by comparison and order."""
    rows = Judgment.objects.filter(
        run=run,
        preference__kind=PreferenceKind.EMPTY,
        status=JudgmentStatus.DONE,
        order__in=(Order.ORIGINAL, Order.SWAPPED),
    )
    return {
        (comparison, Order(order)): Verdict(verdict)
        for comparison, order, verdict in rows.values_list("comparison_id", "order", "verdict")
        if verdict is not None
    }


def _labels(run: JudgeRun) -> dict[int, Verdict]:
    """The annotator's own winners, as they were when the run was started."""
    plans = distil_plans if run.kind == RunKind.DISTIL else applied_plans
    if run.kind not in (RunKind.DISTIL, RunKind.TEST):
        return {}
    return {comparison: winner for plan in plans(run.config) for comparison, winner in plan.winners}
