"""Reading the replies of a run again: what its judge says of them now, with no call made."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from asgiref.sync import async_to_sync
from django.db.models import QuerySet

from annotation.core.choices import JudgmentStatus
from judging.core.estimates import spread
from judging.core.rules import LEARNED
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.llm.client import NotStoredError
from judging.models import JudgeRun, RunKind
from judging.queries.runs import grade_rows, judgment_rows, score_rows
from judging.services.batches import status_of
from judging.services.judges import stored_judge
from judging.services.judgments import (
    GradeTask,
    JudgmentQuestion,
    ask_grade,
    ask_judge,
    grade_tasks,
    judgment_questions,
    verdict_told,
)
from judging.services.satisfaction import TURN_FIELDS, TurnTask, ask_score, turn_tasks

_AT_ONCE: Final = 500
"""Rows in memory at a time."""
_ANSWERED: Final = (JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE)
_Told = tuple[str, object]


class ReadAgain(NamedTuple):
    """How many stored verdicts, grades or scores are given now as they were, otherwise, or not."""

    same: int
    other: int
    missing: int

    def __str__(self) -> str:
        return f"{self.same} same, {self.other} other, {self.missing} missing"


class _Reading(NamedTuple):
    """How the rows of a kind of run are asked again; `fields` begin with the row's number."""

    stage: StageName
    rows: Callable[[int], QuerySet[Any]]
    fields: tuple[str, ...]
    answer: str
    load: Callable[..., Sequence[Any]]
    ask: Callable[[Judge, Any], Awaitable[_Told]]


def read_again(run: JudgeRun, *, most: int | None = None) -> ReadAgain | None:
    """Verdicts, grades or scores as the judge would give them now, against the stored ones.

    The embedded judge answers again. Of another the stored replies to the questions as the run
    would put them today are read; without one a row is missing: the question has changed.

    Args:
        run: finished or not; rows without an answer are passed over.
        most: so many rows at most, spread evenly; None for all.

    Returns:
        None of runs of other kinds, of imported answers and of the trained evaluator, which asks
        nothing.
    """
    reading = _READINGS.get(run.kind)
    if reading is None or run.judge == LEARNED:
        return None
    run.endpoint_at(reading.stage)  # is read here, where the database may be asked
    counts: Counter[str] = Counter()
    for some in _chunks(run, reading, most):
        questions = reading.load([row[:-2] for row in some], run=run)
        told = async_to_sync(_told)(run, reading, questions)
        for row, one in zip(some, told, strict=True):
            counts["missing" if one is None else "same" if one == row[-2:] else "other"] += 1
    return ReadAgain(*(counts[name] for name in ReadAgain._fields))


def _chunks(run: JudgeRun, reading: _Reading, most: int | None) -> Iterator[list[tuple[Any, ...]]]:
    """Answered rows in their order, with status and answer last."""
    rows = reading.rows(run.pk).filter(status__in=_ANSWERED).order_by("pk")
    told = rows.values_list(*reading.fields, "status", reading.answer)
    numbers = list(rows.values_list("pk", flat=True))
    chosen = [numbers[place] for place in spread(len(numbers), most=most or len(numbers) or 1)]
    for start in range(0, len(chosen), _AT_ONCE):
        yield list(told.filter(pk__in=chosen[start : start + _AT_ONCE]))


async def _told(
    run: JudgeRun, reading: _Reading, questions: Sequence[object]
) -> list[_Told | None]:
    """For each question status and answer; None where no reply is stored."""

    async def one(judge: Judge, question: object) -> _Told | None:
        try:
            return await reading.ask(judge, question)
        except NotStoredError:
            return None

    async with stored_judge(run, stage=reading.stage) as judge:
        return await asyncio.gather(*(one(judge, question) for question in questions))


async def _verdict(judge: Judge, question: JudgmentQuestion) -> _Told:
    return verdict_told(await ask_judge(judge, question))


async def _grade(judge: Judge, task: GradeTask) -> _Told:
    answer = (await ask_grade(judge, task)).answer
    status = status_of(answered=answer.value is not None, unparseable=answer.unparseable)
    return status.value, answer.value


async def _score(judge: Judge, task: TurnTask) -> _Told:
    answer = (await ask_score(judge, task)).answer
    status = status_of(answered=answer.score is not None, unparseable=answer.unparseable)
    return status.value, answer.score


_VERDICTS: Final = _Reading(
    StageName.JUDGE,
    judgment_rows,
    ("pk", "comparison_id", "preference_id", "order"),
    "verdict",
    judgment_questions,
    _verdict,
)
_READINGS: Final[dict[str, _Reading]] = {
    RunKind.TEST.value: _VERDICTS,
    RunKind.RANKING.value: _VERDICTS,
    RunKind.GRADE.value: _Reading(
        StageName.GRADE, grade_rows, ("pk", "response_id"), "value", grade_tasks, _grade
    ),
    RunKind.SATISFACTION.value: _Reading(
        StageName.SCORE, score_rows, TURN_FIELDS, "score", turn_tasks, _score
    ),
}
