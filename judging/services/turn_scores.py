"""Scoring turns: one row per user and response, under the memory of its block."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from judging.core.memory import Memory
from judging.core.memory_parsing import memory_from_content
from judging.core.questions import HistoryTurn, Rubrics, TurnAnswer, TurnQuestion
from judging.core.retrieval import ScoringTarget, turn_question
from judging.core.rules import SPECS, Need, SatisfactionSettings, satisfaction_settings
from judging.core.runs import StageName
from judging.core.satisfaction_neighbours import TurnSpace
from judging.judges.protocol import Judge
from judging.models import JudgeRun, UserMemory
from judging.queries.runs import score_rows
from judging.queries.satisfaction.blocks import StoredBlock, stored_blocks
from judging.queries.satisfaction.labels import examples_by_fold, fold_by_user, rubrics_by_fold
from judging.services.answers import call_ids, raw_to_keep, status_of
from judging.services.stages import AskingStage, IdRange

NO_MEMORY: Final = "memory:missing"
"""The memory of the turn's block was never written."""
NO_TURN: Final = "score:no-turn"
"""The user's rating of the turn is gone, and its text with it."""
NO_RUBRICS: Final = "rubrics:missing"
"""The rubrics that the user's turns are judged by were never induced."""


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
    """The pending turns, or sessions, of a range with what the judge reads of them."""
    rows = list(
        score_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "user_id", "response_id", "session_id", "memory_id")
    )
    settings = satisfaction_settings(run.config)
    blocks = stored_blocks(
        dataset_id=run.dataset_id,
        user_ids={user_id for _, user_id, *_ in rows},
        level=settings.level,
    )
    memories = _memories({memory_id for *_, memory_id in rows if memory_id is not None})
    asked = {
        (user_id, response_id or session_id): (pk, memory_id)
        for pk, user_id, response_id, session_id, memory_id in rows
    }
    shown = shown_beside(run, settings)
    found: dict[int, TurnTask] = {}
    for stored in blocks:
        user_id = stored.user_id
        wanted = [one for one in stored.block.targets if (user_id, int(one.turn_id)) in asked]
        for target, nearest in shown.with_nearest(wanted, stored):
            pk, memory_id = asked[user_id, int(target.turn_id)]
            if memory_id is not None and memory_id not in memories:
                found[pk] = TurnTask(pk, None, NO_MEMORY)
            else:
                memory = None if memory_id is None else memories[memory_id]
                found[pk] = shown.task(pk, stored, target, memory, nearest)
    return [found.get(pk) or TurnTask(pk, None, NO_TURN) for pk, *_ in rows]


@dataclass(frozen=True, slots=True)
class ShownBeside:
    """What a variant shows beside the conversation: nearest turns, examples, rubrics."""

    settings: SatisfactionSettings
    fold_by_user: Mapping[int, int]
    examples: Sequence[tuple[HistoryTurn, ...]]
    rubrics: Mapping[int, Rubrics | None]
    spaces: dict[int, TurnSpace] = field(default_factory=dict)

    def with_nearest(
        self, targets: Sequence[ScoringTarget], stored: StoredBlock
    ) -> Iterable[tuple[ScoringTarget, tuple[HistoryTurn, ...]]]:
        """Targets of a block, each with its nearest turns where those are shown."""
        if SPECS[self.settings.variant].need is not Need.NEAREST:
            return ((target, ()) for target in targets)
        if stored.user_id not in self.spaces:  # blocks come by user: one at a time is enough
            self.spaces.clear()
            block = stored.block  # targets and history are all that the user rated
            self.spaces[stored.user_id] = TurnSpace(block.targets, block.history)
        found = self.spaces[stored.user_id].nearest(targets, stored.block.history)
        return zip(targets, found, strict=True)

    def task(
        self,
        row_id: int,
        stored: StoredBlock,
        target: ScoringTarget,
        memory: Memory | None,
        nearest: tuple[HistoryTurn, ...],
    ) -> TurnTask:
        """One turn of a block to score."""
        need, fold = SPECS[self.settings.variant].need, self.fold_by_user.get(stored.user_id)
        rubrics = None if fold is None else self.rubrics.get(fold)
        if need is Need.RUBRICS and rubrics is None:
            return TurnTask(row_id, None, NO_RUBRICS)
        question = turn_question(
            target,
            memory=memory,
            language=stored.language,
            variant=self.settings.variant,
            level=self.settings.level,
            scenario=stored.block.scenario,
            nearest=nearest,
            examples=() if fold is None else self.examples[fold],
            rubrics=rubrics,
        )
        return TurnTask(row_id, question)


def shown_beside(
    run: JudgeRun,
    settings: SatisfactionSettings,
    *,
    rubrics: Mapping[int, Rubrics | None] | None = None,
) -> ShownBeside:
    """What a run shows; `rubrics` stand in for those that are not induced yet."""
    if rubrics is None and SPECS[settings.variant].need is Need.RUBRICS:
        rubrics = rubrics_by_fold(run.pk)
    return ShownBeside(
        settings=settings,
        fold_by_user=fold_by_user(run.config),
        examples=examples_by_fold(run.config),
        rubrics=rubrics or {},
    )


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
