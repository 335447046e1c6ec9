"""Judging again after edits: a run that asks only for what no earlier run of the family answered.

A distillation and the runs that judge its edited preferences are a family: one annotator, one
judge, one split, one list of labels. Judgments of texts that did not change are copied, calls
included, so the new run is whole in itself and its set is selected on every column.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from django.db.models import Q

from annotation.core.choices import JudgmentStatus, Order
from annotation.core.refusals import Refused
from annotation.models import User
from judging.core.runs import (
    COLUMNS,
    ColumnPlan,
    ColumnText,
    JudgedText,
    PlannedCell,
    distil_plans,
    judges_alike,
    planned_cells,
)
from judging.models import Control, JudgeRun, Judgment, Preference, RunKind, RunStatus
from judging.queries.preferences import newest_versions, run_columns
from judging.queries.runs import preference_rows
from judging.services.endpoints import check_budget
from judging.services.judges import BATCH_FILE, endpoint_for, judge_snapshot
from judging.services.pairwise_plans import start_once
from judging.services.preference_edits import is_owned
from judging.services.preferences import empty_preference

_CHUNK: Final = 1000


@dataclass(frozen=True, slots=True)
class AskedRejudging:
    """A run over edited preferences that was asked for; it is not saved.

    `cells` are its judgments in the order in which they are asked, those taken over included.
    """

    run: JudgeRun
    cells: tuple[PlannedCell[int], ...]


def asked_rejudging(
    distillation: JudgeRun, *, budget: Decimal | None = None, created_by: User | None = None
) -> AskedRejudging:
    """What judging a distillation's preferences again would be about; nothing is written.

    Args:
        distillation: the first run of the family.
        budget: what its calls may cost in all.
        created_by: who asks for it.

    Raises:
        Refused: it is no finished distillation with preferences of a person; see there; its judge
            is no longer in use; there is a budget, but calls have no price.
    """
    if not is_owned(distillation):
        raise Refused("preference:not-editable")
    endpoint = endpoint_for(distillation.judge)
    check_budget(budget, endpoint=endpoint)
    kept = {name: value for name, value in distillation.config.items() if name != BATCH_FILE}
    if not judges_alike(distillation.config["judge"], judge_snapshot(endpoint, kept)):
        raise Refused("judge:changed")
    texts: dict[int, str | None] = {}
    columns = tuple(_columns(distillation, texts))
    family = _family(distillation)
    if not _differs(columns, [run for run in family if run.status == RunStatus.DONE][-1]):
        raise Refused("preference:nothing-changed")
    run = JudgeRun(
        kind=RunKind.DISTIL,
        dataset=distillation.dataset,
        annotator=distillation.annotator,
        judge=distillation.judge,
        endpoint=endpoint,
        parent=distillation,
        budget=budget,
        created_by=created_by,
        config={**kept, COLUMNS: [plan.to_json() for plan in columns]},
    )
    return AskedRejudging(run, tuple(_cells(run, columns, texts, _judged(family))))


def start_rejudging(
    distillation: JudgeRun, *, budget: Decimal | None = None, created_by: User | None = None
) -> JudgeRun:
    """Writes the run with all its rows, judged ones as they were; the caller dispatches it.

    Where an equal run is under way, that one is given. Raises as `asked_rejudging`.
    """
    asked = asked_rejudging(distillation, budget=budget, created_by=created_by)
    return start_once(asked.run, lambda run: _write(run, asked.cells))


def _columns(distillation: JudgeRun, texts: dict[int, str | None]) -> Iterator[ColumnPlan]:
    """By scenario and control the columns to judge under; `texts` takes the text of each."""
    base = empty_preference()
    newest = defaultdict(list)
    for row in newest_versions([distillation.pk]):
        texts[row.pk] = row.text
        if row.active:
            newest[row.scenario_id].append(row.pk)
    for plan in run_columns(distillation, base=base.pk):
        if plan.control == Control.NONE:
            yield replace(plan, preferences=(base.pk, *newest[plan.scenario_id]))
        else:
            yield plan
    distilled = preference_rows(distillation.pk).filter(control=Control.SHUFFLED)
    texts |= {base.pk: base.text, **dict(distilled.values_list("pk", "text"))}


def _family(distillation: JudgeRun) -> list[JudgeRun]:
    """The distillation and every run that judged its preferences again, the oldest first."""
    rows = JudgeRun.objects.filter(
        Q(pk=distillation.pk) | Q(parent=distillation, kind=RunKind.DISTIL)
    )
    return list(rows.order_by("pk"))


def _differs(columns: Sequence[ColumnPlan], last: JudgeRun) -> bool:
    """Whether the columns read otherwise than those of a run."""
    before = run_columns(last, base=empty_preference().pk)
    ids = {key for plan in (*before, *columns) for key in plan.preferences}
    texts = dict(Preference.objects.filter(pk__in=ids).values_list("pk", "text"))

    def read(plans: Sequence[ColumnPlan]) -> list[tuple[int, str, list[str | None]]]:
        return [
            (plan.scenario_id, plan.control, [texts[key] for key in plan.preferences])
            for plan in plans
        ]

    return read(before) != read(columns)


def _cells(
    run: JudgeRun,
    columns: Sequence[ColumnPlan],
    texts: Mapping[int, str | None],
    judged: Mapping[JudgedText, int],
) -> Iterator[PlannedCell[int]]:
    for plan in distil_plans(run.config):
        own = dict.fromkeys(
            key
            for each in columns
            if each.scenario_id == plan.scenario_id
            for key in each.preferences
        )
        yield from planned_cells(
            [comparison for comparison, _ in plan.winners],
            [ColumnText(key, texts[key]) for key in own],
            judged,
        )


def _judged(runs: Iterable[JudgeRun]) -> dict[JudgedText, int]:
    """Judgments by what they are about, the newest of each; those that failed are asked again."""
    rows = (
        Judgment.objects.filter(
            run__in=[run.pk for run in runs],
            status__in=[JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE],
            preference__text__isnull=False,
        )
        .order_by("pk")
        .values_list("comparison_id", "preference__text", "order", "pk")
    )
    return {(comparison, text or "", Order(order)): key for comparison, text, order, key in rows}


def _write(run: JudgeRun, cells: Sequence[PlannedCell[int]]) -> None:
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
