"""Sorting the dialogues of a construction: the judge says what is of use, and its category."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from benchmark.core.construction import BuildStage
from benchmark.models import ConstructionItem
from benchmark.queries.construction import SORT_KIND, in_play, sorted_rows, source_dialogues
from judging.core.categories import Usefulness
from judging.core.questions import SortAnswer, SortQuestion
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun, ModelEndpoint, RunUnit
from judging.services.batches import AskingStage, IdRange, call_ids, raw_to_keep, status_of
from judging.services.edited_prompts import edited_prompts
from judging.services.judges import endpoint_for, judge_snapshot
from judging.services.kinds import Kind


def plan_sorting(run: JudgeRun) -> JudgeRun | None:
    """The run that sorts what is in play; None where nothing is."""
    if not in_play(run.pk, BuildStage.SORTING).exists():
        return None
    endpoint = endpoint_for(run.config["sorter"])
    return sorting_run(run, endpoint)


def sorting_run(run: JudgeRun, endpoint: ModelEndpoint | None) -> JudgeRun:
    """A run of the kind SORT for a construction, which need not be saved; not saved itself."""
    edits = edited_prompts(run.dataset, annotator=None, endpoint=endpoint)
    config = {"sorts": True, "construction": run.pk, **edits}
    return JudgeRun(
        kind=SORT_KIND,
        dataset=run.dataset,
        judge=run.config["sorter"],
        endpoint=endpoint,
        config={**config, "judge": judge_snapshot(endpoint, config)},
        created_by=run.created_by,
    )


def _write_nothing(_run: JudgeRun) -> None:
    """Its rows are those of the construction."""


class SortTask(NamedTuple):
    """A dialogue to sort, by the id of its row."""

    item: int
    question: SortQuestion


class SortedLine(NamedTuple):
    """What came of it."""

    row_id: int
    answer: SortAnswer


def load_sorting(run: JudgeRun, ids: IdRange) -> list[SortTask]:
    """The dialogues of a range that wait for their category."""
    rows = sorted_rows(run.pk).filter(
        status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last
    )
    items = list(rows.order_by("pk").values_list("pk", "session_id"))
    said = {each.session: each for each in source_dialogues([session for _pk, session in items])}
    return [
        SortTask(pk, SortQuestion(said[session].whole, said[session].language))
        for pk, session in items
    ]


async def ask_sorting(judge: Judge, task: SortTask) -> SortedLine:
    """Ask for the category of one dialogue."""
    return SortedLine(task.item, await judge.sort_dialogue(task.question))


def store_sorting(run: JudgeRun, lines: Sequence[SortedLine]) -> None:
    """Write categories, and drop what is of no use."""
    calls = call_ids(line.answer.call for line in lines)
    locked = sorted_rows(run.pk).select_for_update().order_by("pk")
    rows = locked.filter(status=JudgmentStatus.PENDING).in_bulk([line.row_id for line in lines])
    for line in lines:
        row, answer = rows.get(line.row_id), line.answer
        if row is None:
            continue
        found = answer.found
        row.call_id = calls.get(answer.call.call_key or "")
        row.status = status_of(answered=found is not None, unparseable=answer.unparseable).value
        row.error_code = answer.error_code or ""
        row.raw = raw_to_keep(answer.call, answered=found is not None, call_id=row.call_id)
        if found is not None:
            row.category, row.subcategory = found.category.value, found.subcategory
            row.details = {"why": found.why} if found.why else {}
            if found.usefulness is not Usefulness.KEEP:
                row.dropped_at, row.reason = BuildStage.SORTING.value, found.usefulness.value
    ConstructionItem.objects.bulk_update(rows.values(), _SORT_FIELDS)


def check_not_used(run: JudgeRun, _again: object) -> tuple[RunUnit, ...]:
    """Sees to it that no step of a construction went by what is to be asked again.

    Raises:
        Refused: the construction has gone on with the categories.
    """
    if run.unit_of.filter(status=JudgmentStatus.DONE).exists():
        raise Refused("construction:sorted")
    return ()


_SORT_FIELDS: Final = (
    "call",
    "status",
    "error_code",
    "raw",
    "category",
    "subcategory",
    "details",
    "dropped_at",
    "reason",
)


SORT_STAGE: Final = AskingStage(
    name=StageName.SORT,
    rows=sorted_rows,
    load=load_sorting,
    ask=ask_sorting,
    store=store_sorting,
)
SORT: Final = Kind(None, _write_nothing, (SORT_STAGE,), check_not_used)
