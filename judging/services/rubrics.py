"""Inducing rubrics in three stages: reasons of single turns, condensed by chunk, then by class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from annotation.core.choices import JudgmentStatus
from judging.core.questions import InductionQuestion, Outcome
from judging.core.rubrics import REASONS_A_CHUNK, REASONS_A_TURN, RUBRICS_A_CLASS
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.models import InducedRubric, JudgeRun, RubricStep
from judging.queries.satisfaction.labels import rubric_rows, turns_of_labels
from judging.services.batches import (
    AskingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
    status_of,
)
from judging.services.judges import chunk_of

NOTHING_FOUND: Final = "rubrics:nothing-found"
"""Nothing could be drawn from the ratings that these sentences should come from."""
MOST: Final[Mapping[RubricStep, int]] = {
    RubricStep.TURN: REASONS_A_TURN,
    RubricStep.CHUNK: REASONS_A_CHUNK,
    RubricStep.FINAL: RUBRICS_A_CLASS,
}


@dataclass(frozen=True, slots=True)
class RubricTask:
    """One row to fill, or nothing to fill it from."""

    row_id: int
    question: InductionQuestion | None


def _pending(run: JudgeRun, ids: IdRange, step: RubricStep) -> list[InducedRubric]:
    return list(
        rubric_rows(run.pk, step)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
    )


def load_turns(run: JudgeRun, ids: IdRange) -> list[RubricTask]:
    """Rated turns to draw reasons of."""
    rows = _pending(run, ids, RubricStep.TURN)
    turns = turns_of_labels({row.label_id for row in rows if row.label_id is not None})
    return [
        RubricTask(
            row.pk,
            question_of(row, turn=turns[row.label_id]) if row.label_id in turns else None,
        )
        for row in rows
    ]


def load_chunks(run: JudgeRun, ids: IdRange) -> list[RubricTask]:
    """The reasons of some turns of one class."""
    found: dict[tuple[int, bool, int], list[str]] = {}
    for row in _done(run, RubricStep.TURN):
        found.setdefault((row.fold, row.satisfied, chunk_of(row.position)), []).extend(
            row.sentences
        )
    return [
        _condense(row, found.get((row.fold, row.satisfied, row.position), []))
        for row in _pending(run, ids, RubricStep.CHUNK)
    ]


def load_classes(run: JudgeRun, ids: IdRange) -> list[RubricTask]:
    """What was condensed of each class; few turns go without that step."""
    chunked = set(rubric_rows(run.pk, RubricStep.CHUNK).values_list("fold", "satisfied"))
    found: dict[tuple[int, bool], list[str]] = {}
    for row in _done(run, RubricStep.TURN, RubricStep.CHUNK):
        key = (row.fold, row.satisfied)
        if (row.step == RubricStep.CHUNK) is (key in chunked):
            found.setdefault(key, []).extend(row.sentences)
    return [
        _condense(row, found.get((row.fold, row.satisfied), []))
        for row in _pending(run, ids, RubricStep.FINAL)
    ]


def _done(run: JudgeRun, *steps: RubricStep) -> Sequence[InducedRubric]:
    rows = rubric_rows(run.pk, *steps).filter(status=JudgmentStatus.DONE)
    return list(rows.order_by("position", "pk"))


def _condense(row: InducedRubric, reasons: Sequence[str]) -> RubricTask:
    return RubricTask(row.pk, question_of(row, reasons=tuple(reasons)) if reasons else None)


def question_of(row: InducedRubric, **shown: Any) -> InductionQuestion:
    """What is asked for a row, with the `turn` or the `reasons` that it is asked about."""
    return InductionQuestion(
        satisfied=row.satisfied,
        language=row.language,
        most=MOST[RubricStep(row.step)],
        **shown,
    )


async def ask_rubric(judge: Judge, task: RubricTask) -> RowAnswer[Outcome[tuple[str, ...]]]:
    """Ask for the sentences of one row."""
    if task.question is None:
        return RowAnswer(task.row_id, Outcome(None, NOTHING_FOUND))
    return RowAnswer(task.row_id, await judge.induce(task.question))


def store_rubrics(run: JudgeRun, induced: Sequence[RowAnswer[Outcome[tuple[str, ...]]]]) -> None:
    """Write sentences over pending rows alone."""
    calls = call_ids(one.answer.call for one in induced)
    for one in induced:
        answer = one.answer
        answered = answer.value is not None
        call_id = calls.get(answer.call.call_key or "")
        rubric_rows(run.pk).filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=status_of(answered=answered, unparseable=answer.unparseable),
            text=None if answer.value is None else "\n".join(answer.value),
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=answered, call_id=call_id),
            error_code=answer.error_code or "",
        )


EXTRACT_STAGE: Final = AskingStage(
    name=StageName.EXTRACT,
    rows=lambda run_id: rubric_rows(run_id, RubricStep.TURN),
    load=load_turns,
    ask=ask_rubric,
    store=store_rubrics,
)
CONDENSE_STAGE: Final = AskingStage(
    name=StageName.CONDENSE,
    rows=lambda run_id: rubric_rows(run_id, RubricStep.CHUNK),
    load=load_chunks,
    ask=ask_rubric,
    store=store_rubrics,
)
RUBRICS_STAGE: Final = AskingStage(
    name=StageName.RUBRICS,
    rows=lambda run_id: rubric_rows(run_id, RubricStep.FINAL),
    load=load_classes,
    ask=ask_rubric,
    store=store_rubrics,
)
