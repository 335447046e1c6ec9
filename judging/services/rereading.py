"""Reading the replies of a run again: what its judge says of them now, with no call made."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Final, NamedTuple

from asgiref.sync import async_to_sync

from annotation.core.choices import JudgmentStatus
from judging.core.estimates import spread
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.llm.client import NotStoredError
from judging.models import JudgeRun, RunKind
from judging.queries.runs import grade_rows, judgment_rows
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

_AT_ONCE: Final = 250
_ANSWERED: Final = (JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE)


class ReadAgain(NamedTuple):
    """How many stored verdicts, or grades, are given now as they were, otherwise, or not at all."""

    same: int
    other: int
    missing: int

    def __str__(self) -> str:
        return f"{self.same} same, {self.other} other, {self.missing} missing"


def read_again(run: JudgeRun, *, most: int) -> ReadAgain | None:
    """Verdicts, or grades, as the judge would give them now, against the stored ones.

    The embedded judge compares again. Of another the stored replies to the questions as the run
    would put them today are read; without one a verdict is `missing`: the question has changed.

    Args:
        run: finished or not; rows without an answer are passed over.
        most: so many rows at most, spread evenly.

    Returns:
        None of other runs than those of verdicts and grades, and where these were imported.
    """
    if run.kind not in (RunKind.TEST, RunKind.GRADE):
        return None
    stage = StageName.GRADE if run.kind == RunKind.GRADE else StageName.JUDGE
    questions, stored = (_grades if stage is StageName.GRADE else _verdicts)(run, most)
    run.endpoint_at(stage)  # is read here, where the database may be asked
    told = async_to_sync(_told)(run, stage, questions)
    missing = sum(one is None for one in told)
    same = sum(one == was for one, was in zip(told, stored, strict=True))
    return ReadAgain(same, len(told) - same - missing, missing)


_Questions = Sequence[JudgmentQuestion] | Sequence[GradeTask]
_Told = tuple[str, object]


def _verdicts(run: JudgeRun, most: int) -> tuple[_Questions, list[_Told]]:
    rows = list(
        judgment_rows(run.pk)
        .filter(status__in=_ANSWERED)
        .order_by("pk")
        .values_list("pk", "comparison_id", "preference_id", "order", "status", "verdict")
    )
    chosen = [rows[place] for place in spread(len(rows), most=most)]
    return judgment_questions([row[:4] for row in chosen], run=run), [row[4:] for row in chosen]


def _grades(run: JudgeRun, most: int) -> tuple[_Questions, list[_Told]]:
    rows = list(
        grade_rows(run.pk)
        .filter(status__in=_ANSWERED)
        .order_by("pk")
        .values_list("pk", "response_id", "status", "value")
    )
    chosen = [rows[place] for place in spread(len(rows), most=most)]
    return grade_tasks([row[:2] for row in chosen], run=run), [row[2:] for row in chosen]


async def _told(run: JudgeRun, stage: StageName, questions: _Questions) -> list[_Told | None]:
    """For each question status and verdict, or grade; None where no reply is stored."""

    async def one(judge: Judge, question: JudgmentQuestion | GradeTask) -> _Told | None:
        try:
            if isinstance(question, JudgmentQuestion):
                return verdict_told(await ask_judge(judge, question))
            answer = (await ask_grade(judge, question)).answer
        except NotStoredError:
            return None
        status = status_of(answered=answer.value is not None, unparseable=answer.unparseable)
        return status.value, answer.value

    told: list[_Told | None] = []
    async with stored_judge(run, stage=stage) as judge:
        for start in range(0, len(questions), _AT_ONCE):
            some = questions[start : start + _AT_ONCE]
            told += await asyncio.gather(*(one(judge, question) for question in some))
    return told
