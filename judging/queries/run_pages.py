"""What the pages of runs show: one run's work, a set with its evidence."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

from django.core.paginator import Page, Paginator
from django.db.models import Count, OuterRef, Subquery
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison, PairwiseLabel
from annotation.queries.datasets import labelled_comparison
from annotation.queries.participants import names_of
from judging.core.judge_agreement import Cell, Share, alike, consistency, right
from judging.core.judge_prompts import PairTexts
from judging.core.rules import JudgePrompt
from judging.core.runs import REGISTERED, RunProgress
from judging.core.verdicts import verdict_of_log_odds
from judging.core.votes import mean_log_odds
from judging.models import (
    Control,
    JudgeRun,
    Judgment,
    Preference,
    PreferenceKind,
    PreferenceSet,
    ResponseScore,
    RunKind,
    RunUnit,
)
from judging.queries.asked_prompts import asked_labels
from judging.queries.comparisons import texts_of
from judging.queries.configurations import (
    applied_plans,
    decides_by_log_odds,
    distil_plans,
    pairwise_settings,
    told_settings,
)
from judging.queries.run_lists import row_counts
from judging.queries.runs import run_progress, unit_rows
from judging.queries.satisfaction.labels import FoldPage, teaching_of
from judging.queries.satisfaction.turns import PartCount, parts_of_run


@dataclass(frozen=True, slots=True)
class Side:
    """A judgment as it was shown, in one order."""

    order: Order
    judgment: Judgment | None


@dataclass(frozen=True, slots=True)
class PreferenceJudgments:
    """The judgments of a comparison under one preference, the original order first.

    A verdict recorded for both orders together is the only side. `log_odds` is the l* of both, in
    favour of A, where the run is read by it.
    """

    preference: Preference
    sides: tuple[Side, ...]
    log_odds: float | None = None

    @property
    def verdict(self) -> Verdict | None:
        """What both orders together say, where the run is read by l*."""
        return None if self.log_odds is None else verdict_of_log_odds(self.log_odds)


@dataclass(frozen=True, slots=True)
class JudgedComparisonPage:
    """A comparison as a run judged it: the texts, and every reply in both orders.

    `labels` are people's, with their names, those of `annotator` first: the votes are held against
    them. `grades` are those of A and B where the run graded responses, else empty.
    """

    run: JudgeRun
    comparison: Comparison
    texts: PairTexts | None
    judgments: Sequence[PreferenceJudgments]
    labels: Sequence[tuple[str, PairwiseLabel]]
    annotator: int | None
    grades: Sequence[ResponseScore | None] = ()

    @property
    def held_against(self) -> tuple[str, PairwiseLabel] | None:
        """The first answer of whom the votes are held against, with the name."""
        given = (each for each in self.labels if each[1].annotator_id == self.annotator)
        return min(given, key=lambda each: (each[1].repeat_index, each[1].pk), default=None)

    @property
    def own(self) -> list[PreferenceJudgments]:
        """The judgments that no control asked for; a weighted vote stands first."""
        votes = [each for each in self.judgments if not self._is_control(each.preference)]
        return sorted(votes, key=lambda each: each.preference.kind != PreferenceKind.STACK)

    @property
    def controls(self) -> list[PreferenceJudgments]:
        """Those under preferences from shuffled labels, or of another annotator."""
        return [each for each in self.judgments if self._is_control(each.preference)]

    def _is_control(self, preference: Preference) -> bool:
        owner = self.run.parent.annotator_id if self.run.parent else preference.annotator_id
        is_others = preference.annotator_id not in {None, owner}
        return preference.control == Control.SHUFFLED or is_others

    @property
    def rubric(self) -> bool:
        """Whether the judge was asked by a rubric instead of the paper's prompt."""
        return pairwise_settings(self.run.config).prompt is not JudgePrompt.PERSONAL


def comparison_page(
    run_id: int, comparison_id: int, *, annotator: int | None = None
) -> JudgedComparisonPage:
    """What one run made of one comparison.

    Args:
        run_id: the run.
        comparison_id: the comparison.
        annotator: whom its votes are held against; None for whom it judged in the stead of.

    Raises:
        Refused: the run did not judge it.
    """
    rows = list(
        Judgment.objects.filter(run=run_id, comparison=comparison_id)
        .select_related("preference__annotator", "call")
        .order_by("preference__position", "preference_id", "order")
    )
    comparison = labelled_comparison(comparison_id) if rows else None
    if comparison is None:
        raise Refused("run:unknown")
    grouped: dict[int, list[Judgment]] = defaultdict(list)
    for row in rows:
        grouped[row.preference_id].append(row)
    run = JudgeRun.objects.select_related("dataset", "annotator", "parent").get(pk=run_id)
    names, whose = names_of(dataset=run.dataset), annotator or run.annotator_id
    labels = sorted(comparison.labels.all(), key=lambda each: each.annotator_id != whose)
    return JudgedComparisonPage(
        run=run,
        comparison=comparison,
        texts=texts_of([comparison_id]).get(comparison_id),
        judgments=[
            PreferenceJudgments(given[0].preference, _sides(given), _log_odds(run, given))
            for given in grouped.values()
        ],
        labels=[(names[each.annotator_id], each) for each in labels],
        annotator=whose,
        grades=_grades(run, comparison) if run.kind == RunKind.GRADE else (),
    )


def _log_odds(run: JudgeRun, given: Collection[Judgment]) -> float | None:
    if not decides_by_log_odds(run.config, judge=run.judge):
        return None
    known = {Order(row.order): row.log_odds for row in given if row.log_odds is not None}
    return mean_log_odds([known])


def _grades(run: JudgeRun, comparison: Comparison) -> tuple[ResponseScore | None, ...]:
    sides = (comparison.response_a_id, comparison.response_b_id)
    rows = ResponseScore.objects.filter(run=run, response__in=sides).select_related("call")
    found = {row.response_id: row for row in rows}
    return tuple(found.get(side) for side in sides)


def _sides(given: Sequence[Judgment]) -> tuple[Side, ...]:
    by_order = {row.order: row for row in given}
    if by_order.keys() == {Order.COMBINED}:
        return (Side(Order.COMBINED, by_order[Order.COMBINED]),)
    return tuple(Side(order, by_order.get(order)) for order in (Order.ORIGINAL, Order.SWAPPED))


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


def compared_runs(
    ids: Sequence[int],
) -> tuple[list[ComparedRun], list[tuple[str, str, Share]]]:
    """Some runs in the order asked for, and every two judges against each other.

    Of two judges: of what both judged in the same order, without a preference, how much alike. Runs
    that do not exist are left out.
    """
    found = JudgeRun.objects.select_related("dataset", "annotator", "endpoint").in_bulk(
        list(dict.fromkeys(ids))[:MOST_RUNS]
    )
    runs = [found[pk] for pk in dict.fromkeys(ids) if pk in found]
    rows = {run.pk: _base_rows(run) for run in runs}
    cells = {run.pk: _base_cells(run, rows[run.pk]) for run in runs}
    sessions = {row[0]: row[-1] for own in rows.values() for row in own}
    pairs = [
        (_name(one), _name(two), share)
        for one, two in combinations(runs, 2)
        if (share := alike(cells[one.pk], cells[two.pk], sessions)).n
    ]
    columns = [_compared(run, cells[run.pk], _as_shown(rows[run.pk]), sessions) for run in runs]
    return columns, pairs


def siblings(run: JudgeRun) -> Sequence[JudgeRun]:
    """The newest run of every other judge for the same annotator, dataset and kind.

    Of satisfaction, a judge that was asked in another way is another one.
    """
    rows = (
        JudgeRun.objects.filter(kind=run.kind, dataset=run.dataset_id, annotator=run.annotator_id)
        .annotate(asked=KT("config__variant"))
        .defer("config")
        .order_by("pk")
    )
    found = {(row.judge, row.asked): row for row in rows}
    found.pop((run.judge, run.config.get("variant")), None)
    return list(found.values())[: MOST_RUNS - 1]


def _name(run: JudgeRun) -> str:
    return f"{run.judge} ({run.pk})"


def _compared(
    run: JudgeRun, cells: Cells, as_shown: Cells, sessions: Mapping[int, int]
) -> ComparedRun:
    return ComparedRun(
        run=run,
        progress=run_progress(run.pk),
        right=right(cells, _labels(run), sessions) if cells else None,
        consistency=consistency(as_shown, sessions) if as_shown else None,
    )


def _base_rows(run: JudgeRun) -> list[BaseRow]:
    """The base judge's comparisons, orders, verdicts, log-odds and sessions."""
    rows = Judgment.objects.filter(
        run=run,
        preference__kind=PreferenceKind.EMPTY,
        status=JudgmentStatus.DONE,
        order__in=(Order.ORIGINAL, Order.SWAPPED),
    )
    fields = ("comparison_id", "order", "verdict", "log_odds", "comparison__turn__session_id")
    return [
        (comparison, Order(order), Verdict(verdict), log_odds, session)
        for comparison, order, verdict, log_odds, session in rows.values_list(*fields)
        if verdict is not None
    ]


def _as_shown(rows: Collection[BaseRow]) -> dict[Cell, Verdict]:
    return {(comparison, order): verdict for comparison, order, verdict, *_more in rows}


def _base_cells(run: JudgeRun, rows: Collection[BaseRow]) -> dict[Cell, Verdict]:
    """What the base judge decided; in both orders alike where it is read by l*."""
    if not decides_by_log_odds(run.config, judge=run.judge):
        return _as_shown(rows)
    odds: dict[int, dict[Order, float]] = defaultdict(dict)
    for comparison, order, _verdict, log_odds, _session in rows:
        if log_odds is not None:
            odds[comparison][order] = log_odds
    return {
        (comparison, order): verdict_of_log_odds(found)
        for comparison, own in odds.items()
        if (found := mean_log_odds([own])) is not None
        for order in (Order.ORIGINAL, Order.SWAPPED)
    }


def _labels(run: JudgeRun) -> dict[int, Verdict]:
    """The annotator's own winners, as they were when the run was started."""
    plans = distil_plans if run.kind == RunKind.DISTIL else applied_plans
    if run.kind not in (RunKind.DISTIL, RunKind.TEST):
        return {}
    return {comparison: winner for plan in plans(run.config) for comparison, winner in plan.winners}


BaseRow = tuple[int, Order, Verdict, float | None, int]
Cells = Mapping[Cell, Verdict]
COMPARISONS_A_PAGE: Final = 50


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
    """A run: what was asked, how far it is, and what came of it.

    `units` are its steps with the failed calls in the run of each.
    """

    run: JudgeRun
    progress: RunProgress
    settings: Sequence[tuple[str, object]]
    sets: Sequence[PreferenceSet]
    children: Sequence[JudgeRun]
    siblings: Sequence[JudgeRun]
    comparisons: Sequence[ComparisonLine]
    page: Page[int]
    teaching: Sequence[FoldPage] = ()
    units: Sequence[tuple[RunUnit, int]] = ()
    parts: Sequence[PartCount] = ()
    prompts: Sequence[str] = ()


def run_page(run_id: int, *, page: str) -> RunPage:
    """One run, with the one that started it as a step (`step_of`).

    Raises:
        Refused: there is none.
    """
    steps = RunUnit.objects.filter(child=OuterRef("pk"), reused=False).order_by("pk")
    run = (
        JudgeRun.objects.select_related(
            "dataset", "annotator", "endpoint", "parent", "created_by", "learned_model"
        )
        .annotate(step_of=Subquery(steps.values("run")[:1]))
        .filter(pk=run_id)
        .first()
    )
    if run is None:
        raise Refused("run:unknown")
    rows = Judgment.objects.filter(run=run).order_by("comparison_id")
    judged = rows.values_list("comparison_id", flat=True).distinct()
    shown = Paginator(judged, COMPARISONS_A_PAGE).get_page(page)
    return RunPage(
        run=run,
        progress=run_progress(run_id),
        settings=told_settings(run.config),
        sets=list(
            PreferenceSet.objects.filter(run=run, draw=0)  # whose pages lead to further draws
            .select_related("scenario")
            .prefetch_related("members")
            .order_by("scenario__position", "scenario_id", "control")
        ),
        siblings=siblings(run),
        children=list(run.children.defer("config").order_by("pk")),
        comparisons=_comparison_lines(run_id, list(shown.object_list)),
        page=shown,
        teaching=teaching_of(run),
        units=_units(run),
        parts=parts_of_run(run.pk) if run.kind == RunKind.SATISFACTION else (),
        prompts=asked_labels(run),
    )


def _units(run: JudgeRun) -> list[tuple[RunUnit, int]]:
    """The steps of a run in its order; no query where its kind has none."""
    rows = unit_rows(run.pk).select_related("child").defer("plan", "result", "child__config")
    units = list(rows.order_by("position")) if run.kind in REGISTERED else []
    kinds = {unit.child.pk: unit.child.kind for unit in units if unit.child is not None}
    counts = row_counts(kinds, kinds=set(kinds.values())) if kinds else {}
    return [(unit, counts[unit.child_id].failed if unit.child_id else 0) for unit in units]


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
            key=row.name,
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
