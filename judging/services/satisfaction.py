"""Satisfaction runs: starting them, scoring turns, and calibrating the scores."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from django.db.models.functions import Coalesce
from django.utils import timezone

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.core.calibration import (
    LEVELS,
    Calibrated,
    Calibration,
    Fallback,
    calibrate,
    score_counts,
)
from judging.core.memory import Memory
from judging.core.memory_parsing import memory_from_content
from judging.core.questions import HistoryTurn, Rubrics, TurnAnswer, TurnQuestion
from judging.core.retrieval import ScoringTarget, turn_question
from judging.core.rules import (
    LEARNED,
    SPECS,
    WITHOUT_PROMPTS,
    Level,
    Need,
    SatisfactionSettings,
    Variant,
)
from judging.core.runs import HISTORY, TARGETS, StageName
from judging.core.satisfaction_model import VERSION
from judging.core.satisfaction_neighbours import TurnSpace
from judging.core.targets import TURN_TARGETS, RunTarget, TurnPart
from judging.judges.protocol import Judge
from judging.models import JudgeRun, SatisfactionJudgment, UserMemory
from judging.queries.configurations import (
    WRITER,
    satisfaction_config,
    satisfaction_settings,
    stored_targets,
)
from judging.queries.runs import memory_rows, score_rows
from judging.queries.satisfaction.blocks import StoredBlock, ratings_digest, stored_blocks
from judging.queries.satisfaction.labels import examples_by_fold, fold_by_user, rubrics_by_fold
from judging.queries.satisfaction.targets import (
    PlannedTurn,
    block_heads,
    blocks_of,
    heads_of,
    planned_turns,
    target_blocks,
    turn_scope,
)
from judging.services.applications import check_listed
from judging.services.batches import (
    AskingStage,
    ComputingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
    status_of,
)
from judging.services.edited_prompts import edited_prompts
from judging.services.endpoints import check_budget
from judging.services.judges import (
    BATCH_FILE,
    LEXICAL,
    check_by_batch_file,
    check_chats,
    check_understands,
    judge_snapshot,
    plan_rubrics,
    planned_teaching,
)
from judging.services.memories import plan_memories
from judging.services.run_requests import RunRequest

_CHUNK: Final = 500
_TARGET: Final = {Level.TURN: "response_id", Level.SESSION: "session_id"}


def plan_satisfaction(request: RunRequest) -> JudgeRun:
    """A run over every rated turn, or over other targets (protocols A2); not saved.

    In the stead of everybody or of the annotator alone. Targets beyond the rated turns are
    calibrated by the reference CDF, so that nothing that is scored beside them moves them.

    Raises:
        Refused: there is no such judge; the lexical judge was asked for a way of asking; there is
            nobody to take examples from; there is a budget, but calls have no price; the judge
            cannot read what the memory builder writes; calls cannot go by batch file; nothing is
            among the targets, or they are no turns; there are none, but it is to be calibrated by
            references.
    """
    dataset, annotator, settings = request.dataset, request.annotator, request.satisfaction
    learned_in = request.sets_dataset or dataset
    judge = request.judge or LEXICAL
    if judge == LEARNED:  # it reads histories itself and answers on the user's own scale
        settings = replace(settings, variant=Variant.NO_MEMORY, calibration=Calibration.RAW)
    asked = _asked_of(request, judge, settings)
    endpoint, writes = asked["endpoint"], asked["writer_endpoint"]
    targets = _targets_config(request, settings)
    if not targets and settings.calibration is Calibration.REFERENCE_CDF:
        raise Refused("run:reference-calibration")
    if targets and settings.calibration is not Calibration.RAW:
        settings = replace(settings, calibration=Calibration.REFERENCE_CDF)
    if learned_in != dataset and not settings.train:
        settings = replace(settings, train=learned_in.slug)
    edits = edited_prompts(dataset, annotator=annotator, endpoint=endpoint or writes, rated=True)
    config = {**satisfaction_config(settings), **edits, **targets}
    snapshot = (
        {"judge": LEARNED, "version": VERSION}
        if judge == LEARNED
        else judge_snapshot(endpoint, config)
    )
    more = {WRITER: judge_snapshot(writes, config)} if asked["writer"] else {}
    users = None if annotator is None else [annotator.pk]
    run = request.run(
        **asked,
        config={
            **config,
            "judge": snapshot,
            **more,
            "ratings": ratings_digest(
                dataset_id=learned_in.pk, user_ids=users, level=settings.level
            ),
            **({BATCH_FILE: True} if request.batch_file else {}),
        },
    )
    scope = turn_scope(run)
    if scope is not None:
        planned = planned_turns(scope)
        if not planned:
            message = f"no response of {dataset.slug} is among the targets"
            raise Refused("run:no-targets", message)
        run.config["responses"] = _digest(planned)
        users = sorted({each.user_id for each in planned})
    run.config |= planned_teaching(
        dataset=dataset, learned_in=learned_in, judged=users, settings=settings
    )
    return run


def _targets_config(request: RunRequest, settings: SatisfactionSettings) -> dict[str, Any]:
    """What a run says of its targets, where it is about more or less than everything rated."""
    targets, named = request.targets, request.sets_dataset
    if targets.are_rated and named is None:
        return {}
    if targets.kind is RunTarget.TEST:
        targets = replace(targets, kind=RunTarget.RATED)
    if targets.kind is RunTarget.STUDY:
        check_listed(targets, request.dataset)
    elif targets.kind not in TURN_TARGETS:
        raise Refused("run:targets", f"{targets.kind.lower()} are no turns")
    if settings.level is Level.SESSION and targets.kind is RunTarget.CANDIDATES:
        message = "candidates are responses: a whole conversation has no other than the original"
        raise Refused("run:targets", message)
    return {TARGETS: stored_targets(targets), **({} if named is None else {HISTORY: named.slug})}


def _digest(planned: Sequence[PlannedTurn]) -> str:
    """SHA-256 of what is scored in whose stead, hexadecimal."""
    rows = [(each.user_id, each.target_id, each.part.value) for each in planned]
    return hashlib.sha256(repr(rows).encode()).hexdigest()


def _asked_of(request: RunRequest, judge: str, settings: SatisfactionSettings) -> dict[str, Any]:
    """Who is asked: without memories only the judge; the learned evaluator is no endpoint."""
    if judge == LEARNED:
        check_budget(request.budget)
        if request.batch_file:
            check_by_batch_file(None, judge)
        return {"judge": judge, "endpoint": None, "writer": "", "writer_endpoint": None}
    needed = request if settings.with_memory else replace(request, writer=None)
    asked = needed.asked_of(judge)
    if asked["endpoint"] is None and settings.variant not in WITHOUT_PROMPTS:
        raise Refused("judge:no-prompts", "the lexical judge does not use prompts")
    check_understands(judge, asked["writer"])
    check_chats(asked["writer_endpoint"])
    if request.batch_file:
        check_by_batch_file(asked["endpoint"], judge)
    return asked


def write_satisfaction(run: JudgeRun) -> int:
    """Write one PENDING row for each memory to build and each turn to score, block by block.

    A run's annotator, where it has one, is the only user. Returns the number of turns to score.

    Raises:
        Refused: there is no rated turn.
    """
    settings = satisfaction_settings(run.config)
    planned = turns_to_score(run)
    plan_rubrics(run, settings)
    if settings.with_memory:
        plan_memories(run, planned.heads, inherit_from=settings.memories_of)
    memories = {
        (user_id, scenario_id): pk
        for user_id, scenario_id, pk in memory_rows(run.pk).values_list(
            "user_id", "target_scenario_id", "pk"
        )
    }
    rows = [
        SatisfactionJudgment(
            run=run,
            user_id=each.user_id,
            **{_TARGET[settings.level]: each.target_id},
            part=each.part.value,
            memory_id=memories.get((each.user_id, each.scenario_id)),
        )
        for each in planned.turns
    ]
    if not rows:
        message = f"no rated response of {run.dataset.slug} has an available text"
        raise Refused("run:no-ratings", message)
    SatisfactionJudgment.objects.bulk_create(rows, batch_size=_CHUNK)
    return len(rows)


class TurnsToScore(NamedTuple):
    """The turns of a run in their order, and each of its blocks, at least with its first target."""

    turns: Sequence[PlannedTurn]
    heads: Sequence[StoredBlock]


def turns_to_score(run: JudgeRun) -> TurnsToScore:
    """What a run is to score, as its rows are written and its calls are estimated.

    Args:
        run: it need not be saved.
    """
    scope = turn_scope(run)
    if scope is not None:
        planned = planned_turns(scope)
        return TurnsToScore(planned, target_blocks(scope, heads_of(planned)))
    users = None if run.annotator_id is None else [run.annotator_id]
    level = satisfaction_settings(run.config).level
    blocks = stored_blocks(dataset_id=run.dataset_id, user_ids=users, level=level)
    turns = [
        PlannedTurn(stored.user_id, stored.scenario_id, int(target.turn_id), TurnPart.RATED)
        for stored in blocks
        for target in stored.block.targets
    ]
    return TurnsToScore(turns, blocks)


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


def load_turns(run: JudgeRun, ids: IdRange) -> list[TurnTask]:
    """The pending turns, or sessions, of a range with what the judge reads of them."""
    rows = (
        score_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
    )
    return turn_tasks(list(rows.values_list(*TURN_FIELDS)), run=run)


TURN_FIELDS: Final = ("pk", "user_id", "response_id", "session_id", "memory_id")
"""What is read of a row to know what is asked in it."""


def turn_tasks(rows: Sequence[tuple[Any, ...]], *, run: JudgeRun) -> list[TurnTask]:
    """What is asked in some rows (TURN_FIELDS), in their order."""
    settings = satisfaction_settings(run.config)
    memories = _memories({memory_id for *_, memory_id in rows if memory_id is not None})
    asked = {
        (user_id, response_id or session_id): (pk, memory_id)
        for pk, user_id, response_id, session_id, memory_id in rows
    }
    shown = shown_beside(run, settings)
    found: dict[int, TurnTask] = {}
    for stored in blocks_of(run, asked):
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
        block, space = stored.block, self.spaces.get(stored.user_id)
        # Of rated turns, the targets and history of any block are all that the user rated.
        if space is None or not (space.holds(targets) and space.holds(block.history)):
            self.spaces.clear()  # blocks come by user: one at a time is enough
            space = self.spaces[stored.user_id] = TurnSpace(block.targets, block.history)
        return zip(targets, space.nearest(targets, block.history), strict=True)

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


async def ask_score(judge: Judge, task: TurnTask) -> RowAnswer[TurnAnswer]:
    """Ask for one score."""
    if task.question is None:
        return RowAnswer(task.row_id, TurnAnswer(None, error_code=task.error_code))
    return RowAnswer(task.row_id, await judge.score_turn(task.question))


def store_scores(run: JudgeRun, scored: Sequence[RowAnswer[TurnAnswer]]) -> None:
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


_SCENARIO: Final = Coalesce("response__turn__session__scenario_id", "session__scenario_id")


def calibrate_run(run: JudgeRun) -> None:
    """Calibrate every scored turn of a run, block by block.

    The history counts of a block are those stored with its memory, so that a label given later
    changes nothing; where there is no memory they are counted now.
    """
    method = satisfaction_settings(run.config).calibration
    blocks: dict[tuple[int, int], list[tuple[int, int, bool]]] = {}
    scored = (
        score_rows(run.pk)
        .filter(status=JudgmentStatus.DONE)
        .order_by("pk")
        .values_list("user_id", _SCENARIO, "pk", "score", "response__original")
    )
    for user_id, scenario_id, pk, score, original in scored:
        if score is not None:  # a whole session is its own original
            row = pk, score, original is not False
            blocks.setdefault((user_id, scenario_id), []).append(row)
    counts = history_counts(run)
    outcomes: dict[Calibrated, list[int]] = {}
    for key, rows in blocks.items():
        history = counts.get(key, (0,) * LEVELS)
        results = calibrate(
            [score for _, score, _ in rows],
            method=method,
            history=history,
            reference=[score for _, score, is_original in rows if is_original],
        )
        if TARGETS in run.config and not any(history):  # also where nothing is calibrated
            results = tuple(replace(each, fallback=Fallback.NO_HISTORY) for each in results)
        for (pk, _, _), result in zip(rows, results, strict=True):
            outcomes.setdefault(result, []).append(pk)
    for result, ids in outcomes.items():
        _store(ids, result, method)


def _store(ids: Sequence[int], result: Calibrated, method: Calibration) -> None:
    """Write one outcome to all rows that have it: there are few outcomes, and many rows."""
    for start in range(0, len(ids), _CHUNK):
        SatisfactionJudgment.objects.filter(pk__in=ids[start : start + _CHUNK]).update(
            calibrated=result.score,
            calibration=method.value,
            fallback_reason="" if result.fallback is None else result.fallback.value,
        )


def history_counts(run: JudgeRun) -> dict[tuple[int, int], tuple[int, ...]]:
    """User and target scenario to the counts of the user's scores 1-5 elsewhere, lowest first."""
    settings = satisfaction_settings(run.config)
    if settings.with_memory:
        used = score_rows(run.pk).values("memory_id")  # not a version that was written later
        rows = UserMemory.objects.filter(pk__in=used, status=JudgmentStatus.DONE)
        return {
            (user_id, scenario_id): tuple(statistics["counts"])
            for user_id, scenario_id, statistics in rows.values_list(
                "user_id", "target_scenario_id", "statistics"
            )
        }
    users = score_rows(run.pk).values_list("user_id", flat=True).distinct()
    return {
        (stored.user_id, stored.scenario_id): score_counts(
            [turn.score for turn in stored.block.history]
        )
        for stored in block_heads(run, set(users))
    }


CALIBRATE_STAGE: Final = ComputingStage(name=StageName.CALIBRATE, compute=calibrate_run)
