"""User memories: planned with a run, written by the judge, revised by a person."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.db import IntegrityError, transaction

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import User
from judging.core.memory import statistics, statistics_to_json, texts_to_json
from judging.core.memory_parsing import (
    ParsedTexts,
    PlainTexts,
    memory_from_content,
    parse_texts,
    revise,
)
from judging.core.questions import MemoryQuestion, Outcome
from judging.core.retrieval import memory_question
from judging.core.runs import StageName
from judging.judges.protocol import Judge
from judging.models import JudgeRun, UserMemory
from judging.queries.runs import memory_rows
from judging.queries.satisfaction.blocks import StoredBlock
from judging.queries.satisfaction.memories import newest
from judging.queries.satisfaction.targets import block_heads
from judging.services.batches import AskingStage, IdRange, call_ids, raw_to_keep, status_of

NO_HISTORY: Final = "memory:no-history"
"""The user rated nothing outside the target scenario."""
UNPARSEABLE: Final = "memory:unparseable"
_CHUNK: Final = 500


def plan_memories(
    run: JudgeRun, blocks: Iterable[StoredBlock], *, inherit_from: int | None
) -> None:
    """Write the first version of each block's memory, PENDING.

    A block without history gets none: there is nothing to write one from.

    Args:
        run: whose rows.
        blocks: the blocks that the run scores.
        inherit_from: a run whose newest memories are taken as they are, edits included, so that
            nothing is asked again; blocks that it does not have are built.
    """
    inherited = _inherited(inherit_from)
    UserMemory.objects.bulk_create(
        (
            _copied(inherited[key], run) if key in inherited else _pending(run, stored)
            for stored in blocks
            if stored.block.history
            for key in [(stored.user_id, stored.scenario_id)]
        ),
        batch_size=_CHUNK,
    )


def _inherited(run_id: int | None) -> dict[tuple[int, int], UserMemory]:
    """The memories of an earlier run, by user and scenario."""
    if run_id is None:
        return {}
    rows = newest(UserMemory.objects.filter(run_id=run_id, status=JudgmentStatus.DONE))
    return {(row.user_id, row.target_scenario_id): row for row in rows}


def _copied(row: UserMemory, run: JudgeRun) -> UserMemory:
    """The same memory as the first version in another run."""
    return UserMemory(
        run=run,
        user_id=row.user_id,
        target_scenario_id=row.target_scenario_id,
        previous=row,
        judge=row.judge,
        language=row.language,
        status=JudgmentStatus.DONE,
        statistics=row.statistics,
        texts=row.texts,
        evidence=row.evidence,
        edited_by_id=row.edited_by_id,
    )


def _pending(run: JudgeRun, stored: StoredBlock) -> UserMemory:
    return UserMemory(
        run=run,
        user_id=stored.user_id,
        target_scenario_id=stored.scenario_id,
        judge=run.written_by,
        language=stored.language,
    )


@dataclass(frozen=True, slots=True)
class MemoryTask:
    """One memory to write; the question's history is what its statistics are counted from."""

    row_id: int
    question: MemoryQuestion


@dataclass(frozen=True, slots=True)
class WrittenMemory:
    """What the judge wrote for one row."""

    task: MemoryTask
    answer: Outcome[dict[str, object]]

    @property
    def row_id(self) -> int:
        """Whose it is."""
        return self.task.row_id


def load_memories(run: JudgeRun, ids: IdRange) -> list[MemoryTask]:
    """The pending memories of a range with the histories behind them."""
    rows = list(
        memory_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
        .values_list("pk", "user_id", "target_scenario_id", "target_scenario__name", "language")
    )
    blocks = {
        (stored.user_id, stored.scenario_id): stored.block
        for stored in block_heads(run, {user_id for _, user_id, *_ in rows})
    }
    return [
        MemoryTask(
            row_id,
            memory_question(blocks[user_id, scenario_id], language=language)
            if (user_id, scenario_id) in blocks
            else MemoryQuestion((), scenario, language),
        )
        for row_id, user_id, scenario_id, scenario, language in rows
    ]


async def ask_memory(judge: Judge, task: MemoryTask) -> WrittenMemory:
    """Ask for the texts of one memory."""
    if not task.question.history:
        return WrittenMemory(task, Outcome(None, NO_HISTORY))
    return WrittenMemory(task, await judge.build_memory(task.question))


def store_memories(run: JudgeRun, written: Sequence[WrittenMemory]) -> None:
    """Write statistics by code and texts by the judge, over pending memories alone."""
    calls = call_ids(one.answer.call for one in written)
    for one in written:
        parsed, code, unparseable = read_written(one)
        answered = parsed is not None
        call_id = calls.get(one.answer.call.call_key or "")
        memory_rows(run.pk).filter(pk=one.task.row_id, status=JudgmentStatus.PENDING).update(
            status=status_of(answered=answered, unparseable=unparseable),
            judge=run.written_by,
            statistics=statistics_to_json(statistics(one.task.question.history)),
            texts={} if parsed is None else texts_to_json(parsed.texts),
            evidence=_evidence(one.task.question, parsed),
            call_id=call_id,
            raw=raw_to_keep(one.answer.call, answered=answered, call_id=call_id),
            error_code=code,
        )


def read_written(written: WrittenMemory) -> tuple[ParsedTexts | None, str, bool]:
    """The validated texts, or an error code and whether there was a reply at all."""
    answer = written.answer
    if answer.value is None:
        return None, answer.error_code or UNPARSEABLE, answer.unparseable
    known = [turn.turn_id for turn in written.task.question.history]
    try:
        return parse_texts(answer.value, turn_ids=known), "", False
    except Refused:
        return None, UNPARSEABLE, True


def _evidence(question: MemoryQuestion, parsed: ParsedTexts | None) -> dict[str, Any]:
    """The turns of the history by score, and how many citations named none of them."""
    by_score: dict[str, list[str]] = {}
    for turn in question.history:
        by_score.setdefault(str(turn.score), []).append(turn.turn_id)
    return {
        "by_score": by_score,
        "unknown_citations": 0 if parsed is None else parsed.unknown_citations,
    }


MEMORY_STAGE: Final = AskingStage(
    name=StageName.MEMORY,
    rows=memory_rows,
    load=load_memories,
    ask=ask_memory,
    store=store_memories,
)


def may_edit(memory: UserMemory, user: User) -> bool:
    """Whether somebody may revise a memory: the user whom it describes, and managers."""
    return user.is_manager or (user.is_active and user.pk == memory.user_id)


def revise_memory(memory: UserMemory, *, edit: PlainTexts, editor: User) -> UserMemory:
    """Store an edit as the next version; what was judged with this one keeps it.

    Statistics and evidence stay those of the history.

    Raises:
        Refused: nothing was built, or this is no longer the newest version; the texts break the
            limits of a memory.
        PermissionError: `editor` may not edit this memory.
    """
    if not may_edit(memory, editor):
        raise PermissionError
    if memory.status != JudgmentStatus.DONE:
        raise Refused("memory:not-editable")
    before = memory_from_content({"statistics": memory.statistics, "texts": memory.texts})
    texts = revise(before.texts, edit)
    try:
        with transaction.atomic():
            return UserMemory.objects.create(
                run_id=memory.run_id,
                user_id=memory.user_id,
                target_scenario_id=memory.target_scenario_id,
                version=_version_after(memory),
                previous=memory,
                judge=memory.judge,
                language=memory.language,
                status=JudgmentStatus.DONE,
                statistics=memory.statistics,
                texts=texts_to_json(texts),
                evidence=memory.evidence,
                edited_by=editor,
            )
    except IntegrityError as error:
        raise Refused("memory:not-editable") from error


def _version_after(memory: UserMemory) -> int:
    """The number of the next version; one that could not be written stands in nobody's way.

    Raises:
        Refused: a later version is written, or waits to be.
    """
    later = UserMemory.objects.filter(
        run=memory.run_id,
        user=memory.user_id,
        target_scenario=memory.target_scenario_id,
        version__gt=memory.version,
    )
    rows = list(later.order_by("version").values_list("version", "status"))
    if any(status in (JudgmentStatus.DONE, JudgmentStatus.PENDING) for _version, status in rows):
        raise Refused("memory:not-editable")
    return rows[-1][0] + 1 if rows else memory.version + 1
