"""Judging again after edits: a run that asks only for what no earlier run of the family answered.

A distillation and the runs that judge its edited preferences are a family: one annotator, one
judge, one split, one list of labels. Judgments of texts that did not change are copied, calls
included, so the new run is whole in itself and its set is selected on every column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from django.db.models import Q
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus, Order
from annotation.core.refusals import Refused
from judging.core.rejudging import (
    ColumnText,
    JudgedText,
    PlannedCell,
    judges_alike,
    planned_cells,
)
from judging.core.runs import (
    COLUMNS,
    ColumnPlan,
)
from judging.models import Control, JudgeRun, Judgment, Preference, RunKind, RunStatus
from judging.queries.configurations import as_json, column_plans, distil_plans
from judging.queries.preferences import newest_versions, run_columns
from judging.services.judges import BATCH_FILE, judge_snapshot
from judging.services.preference_edits import is_owned
from judging.services.preferences import empty_preference
from judging.services.run_requests import RunRequest

_CHUNK: Final = 1000


def plan_rejudging(request: RunRequest) -> JudgeRun:
    """Judging the preferences of a distillation, the request's parent, again; not saved.

    Raises:
        Refused: it is no finished distillation with preferences of a person; see there; its judge
            is no longer in use; there is a budget, but calls have no price.
    """
    distillation = request.parent
    if distillation is None or not is_owned(distillation):
        raise Refused("preference:not-editable")
    endpoint = request.endpoint(distillation.judge)
    kept = {name: value for name, value in distillation.config.items() if name != BATCH_FILE}
    if not judges_alike(distillation.config["judge"], judge_snapshot(endpoint, kept)):
        raise Refused("judge:changed")
    columns = tuple(_columns(distillation))
    finished = _family(distillation).filter(status=RunStatus.DONE)
    if not _differs(columns, finished.order_by("-pk")[0]):
        raise Refused("preference:nothing-changed")
    return request.run(
        annotator=distillation.annotator,
        judge=distillation.judge,
        endpoint=endpoint,
        writer=distillation.writer,
        parent=distillation,
        config={**kept, COLUMNS: [as_json(plan) for plan in columns]},
    )


def _columns(distillation: JudgeRun) -> Iterator[ColumnPlan]:
    """By scenario and control the columns to judge under."""
    base = empty_preference().pk
    newest = defaultdict(list)
    for row in newest_versions([distillation.pk]):
        if row.active:
            newest[row.scenario_id].append(row.pk)
    for plan in run_columns(distillation, base=base):
        if plan.control == Control.NONE:
            yield replace(plan, preferences=(base, *newest[plan.scenario_id]))
        else:
            yield plan


def _family(distillation: JudgeRun) -> QuerySet[JudgeRun]:
    """The distillation and every run that judged its preferences again."""
    return JudgeRun.objects.filter(
        Q(pk=distillation.pk) | Q(parent=distillation, kind=RunKind.DISTIL)
    )


def _differs(columns: Sequence[ColumnPlan], last: JudgeRun) -> bool:
    """Whether the columns read otherwise than those of a run."""
    before = run_columns(last, base=empty_preference().pk)
    texts = _texts((*before, *columns))

    def read(plans: Sequence[ColumnPlan]) -> list[tuple[int | None, str, list[str | None]]]:
        return [
            (plan.scenario_id, plan.control, [texts[key] for key in plan.preferences])
            for plan in plans
        ]

    return read(before) != read(columns)


def _texts(columns: Sequence[ColumnPlan]) -> dict[int, str | None]:
    ids = {key for plan in columns for key in plan.preferences}
    return dict(Preference.objects.filter(pk__in=ids).values_list("pk", "text"))


def rejudged_cells(run: JudgeRun) -> list[PlannedCell[int]]:
    """The judgments of such a run in the order in which they are asked, those taken over included.

    Args:
        run: it need not be saved.
    """
    assert run.parent is not None  # noqa: S101 - it judges again what this one distilled
    columns = column_plans(run.config)
    texts, judged = _texts(columns), _judged(_family(run.parent))
    cells: list[PlannedCell[int]] = []
    for plan in distil_plans(run.config):
        own = dict.fromkeys(
            key
            for each in columns
            if each.scenario_id == plan.scenario_id
            for key in each.preferences
        )
        cells += planned_cells(
            [comparison for comparison, _ in plan.winners],
            [ColumnText(key, texts[key]) for key in own],
            judged,
        )
    return cells


def _judged(runs: QuerySet[JudgeRun]) -> dict[JudgedText, int]:
    """Judgments by what they are about, the newest of each; those that failed are asked again."""
    rows = (
        Judgment.objects.filter(
            run__in=runs,
            status__in=[JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE],
            preference__text__isnull=False,
        )
        .order_by("pk")
        .values_list("comparison_id", "preference__text", "order", "pk")
    )
    return {(comparison, text or "", Order(order)): key for comparison, text, order, key in rows}


def write_rejudged(run: JudgeRun) -> None:
    """Every judgment of such a run: as it was where it is known, else PENDING."""
    cells = rejudged_cells(run)
    known = Judgment.objects.in_bulk([cell.known for cell in cells if cell.known is not None])
    Judgment.objects.bulk_create(
        (
            Judgment(
                run=run,
                comparison_id=cell.comparison,
                preference_id=cell.column.preference,
                order=cell.order.value,
                **({} if cell.known is None else _taken_over(known[cell.known])),
            )
            for cell in cells
        ),
        batch_size=_CHUNK,
    )


def _taken_over(known: Judgment) -> dict[str, Any]:
    return {
        "status": known.status,
        "verdict": known.verdict,
        "log_odds": known.log_odds,
        "call_id": known.call_id,
        "raw": known.raw,
        "error_code": known.error_code,
    }
