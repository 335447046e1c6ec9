"""Scoring turns: one row per user and response, under the memory of its block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from judging.core.memory import Memory
from judging.core.memory_parsing import memory_from_content
from judging.core.questions import TurnAnswer, TurnQuestion
from judging.core.retrieval import turn_question
from judging.core.stages import StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun, UserMemory
from judging.queries.runs import score_rows
from judging.queries.satisfaction.blocks import stored_blocks
from judging.services.answers import call_ids, raw_to_keep, status_of
from judging.services.stages import AskingStage, IdRange

NO_MEMORY: Final = "memory:missing"
"""The memory of the turn's block was never written."""
NO_TURN: Final = "score:no-turn"
"""The user's rating of the turn is gone, and its text with it."""


@dataclass(frozen=True, slots=True)
class TurnTask:
    """One turn to score, or the code of what stands in the way."""

    row_id: int
    question: TurnQuestion | None
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class ScoredTurn:
    """What the judge said of one row."""

    row_id: int
    answer: TurnAnswer


def load_turns(run: JudgeRun, ids: IdRange) -> list[TurnTask]:
    """The pending turns of a range with what the judge reads of them."""
    rows = list(
        score_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "user_id", "response_id", "memory_id")
    )
    targets = {
        (stored.user_id, int(target.turn_id)): (target, stored.language)
        for stored in stored_blocks(
            dataset_id=run.dataset_id, user_ids={user_id for _, user_id, _, _ in rows}
        )
        for target in stored.block.targets
    }
    memories = _memories({memory_id for *_, memory_id in rows if memory_id is not None})
    tasks: list[TurnTask] = []
    for row_id, user_id, response_id, memory_id in rows:
        if (user_id, response_id) not in targets:
            tasks.append(TurnTask(row_id, None, NO_TURN))
        elif memory_id is not None and memory_id not in memories:
            tasks.append(TurnTask(row_id, None, NO_MEMORY))
        else:
            target, language = targets[user_id, response_id]
            memory = None if memory_id is None else memories[memory_id]
            tasks.append(TurnTask(row_id, turn_question(target, memory=memory, language=language)))
    return tasks


def _memories(ids: set[int]) -> dict[int, Memory]:
    """Memories by row id; those that were not written are left out."""
    rows = UserMemory.objects.filter(pk__in=ids, status=JudgmentStatus.DONE)
    return {
        pk: memory_from_content({"statistics": statistics, "texts": texts})
        for pk, statistics, texts in rows.values_list("pk", "statistics", "texts")
    }


async def ask_score(judge: Judge, task: TurnTask) -> ScoredTurn:
    """Ask for one score."""
    if task.question is None:
        return ScoredTurn(task.row_id, TurnAnswer(None, error_code=task.error_code))
    return ScoredTurn(task.row_id, await judge.score_turn(task.question))


def store_scores(run: JudgeRun, scored: Sequence[ScoredTurn]) -> None:
    """Write raw scores over pending rows alone; calibration comes when all are there."""
    calls = call_ids(one.answer.call for one in scored)
    now = timezone.now()
    for one in scored:
        answer = one.answer
        answered = answer.score is not None
        call_id = calls.get(answer.call.call_key or "")
        score_rows(run.pk).filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=status_of(answered=answered, unparseable=answer.unparseable),
            score=answer.score,
            expected_score=answer.expected_score,
            reason=None if answer.reason is None else answer.reason.value,
            analysis=answer.analysis,
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=answered, call_id=call_id),
            error_code=answer.error_code or "",
            updated_at=now,
        )


SCORE_STAGE: Final = AskingStage(
    name=StageName.SCORE,
    rows=score_rows,
    load=load_turns,
    ask=ask_score,
    store=store_scores,
)
