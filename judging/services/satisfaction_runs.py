"""Starting satisfaction runs: every row is written in one transaction, then somebody dispatches."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Final

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from judging.core.calibration import Calibration
from judging.core.rules import LEARNED, Level, SatisfactionSettings, Variant, satisfaction_settings
from judging.core.satisfaction_model import VERSION
from judging.models import JudgeRun, RunKind, RunStatus, SatisfactionJudgment
from judging.queries.runs import memory_rows
from judging.queries.satisfaction.blocks import ratings_digest, stored_blocks
from judging.services.budgets import check_budget
from judging.services.edited_prompts import edited_prompts
from judging.services.equal_runs import start_once
from judging.services.judges import endpoint_for, judge_snapshot
from judging.services.memories import plan_memories
from judging.services.teaching import plan_rubrics, planned_teaching

_CHUNK: Final = 500
_TARGET: Final = {Level.TURN: "response_id", Level.SESSION: "session_id"}
_WITHOUT_PROMPTS: Final = (Variant.CHECKLIST, Variant.NO_MEMORY)
"""What the lexical judge does in its own way, with a memory or without."""


def start_satisfaction_run(
    *,
    dataset: Dataset,
    judge: str,
    annotator: User | None = None,
    settings: SatisfactionSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Write a run over every rated turn, with all its PENDING rows; the caller dispatches it.

    Where an equal run is under way, that one is given.

    Args:
        dataset: whose turns.
        judge: `lexical`, `learned`, or the name of an endpoint.
        annotator: only this user's turns; None for everybody's.
        settings: the rules of the run.
        budget: what its calls may cost in all.
        again: start anew, even so (`equal_runs`).
        created_by: who asked for it.

    Raises:
        Refused: there is no such judge; there is no rated turn; there is a budget, but calls have
            no price.
    """
    asked = asked_satisfaction(
        dataset=dataset,
        judge=judge,
        annotator=annotator,
        settings=settings,
        budget=budget,
        created_by=created_by,
    )

    def write_rows(run: JudgeRun) -> None:
        if not plan_satisfaction(run):
            message = f"no rated response of {dataset.slug} has an available text"
            raise Refused("run:no-ratings", message)

    return start_once(asked, write_rows, again=again)


def finished_run_like(
    *, dataset: Dataset, judge: str, settings: SatisfactionSettings | None = None
) -> JudgeRun | None:
    """The newest finished run over everybody's turns that a new one would only repeat.

    Same judge, prompts, rules and ratings; None where there is none.

    Raises:
        Refused: there is no such judge.
    """
    asked = asked_satisfaction(dataset=dataset, judge=judge, settings=settings)
    runs = JudgeRun.objects.filter(
        kind=asked.kind,
        dataset=asked.dataset,
        annotator=asked.annotator,
        judge=asked.judge,
        status=RunStatus.DONE,
    )
    return next((run for run in runs.order_by("-pk") if run.config == asked.config), None)


def asked_satisfaction(
    *,
    dataset: Dataset,
    judge: str,
    annotator: User | None = None,
    settings: SatisfactionSettings | None = None,
    budget: Decimal | None = None,
    created_by: User | None = None,
) -> JudgeRun:
    """The run that `start_satisfaction_run` would start, not saved.

    Raises:
        Refused: there is no such judge; the lexical judge was asked for a way of asking; there is
            nobody to take examples from.
    """
    chosen = settings or SatisfactionSettings()
    if judge == LEARNED:  # it reads histories itself and answers on the user's own scale
        endpoint = None
        chosen = replace(chosen, variant=Variant.NO_MEMORY, calibration=Calibration.RAW)
    else:
        endpoint = endpoint_for(judge)
        if endpoint is None and chosen.variant not in _WITHOUT_PROMPTS:
            raise Refused("judge:no-prompts", "the lexical judge does not use prompts")
    check_budget(budget, endpoint=endpoint)
    edits = edited_prompts(dataset, annotator=annotator, endpoint=endpoint, rated=True)
    config = {**chosen.to_config(), **edits}
    snapshot = (
        {"judge": LEARNED, "version": VERSION}
        if judge == LEARNED
        else judge_snapshot(endpoint, config)
    )
    users = None if annotator is None else [annotator.pk]
    teaching = planned_teaching(dataset=dataset, judged=users, settings=chosen)
    return JudgeRun(
        kind=RunKind.SATISFACTION,
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        endpoint=endpoint,
        budget=budget,
        created_by=created_by,
        config={
            **config,
            "judge": snapshot,
            "ratings": ratings_digest(dataset_id=dataset.pk, user_ids=users, level=chosen.level),
            **teaching,
        },
    )


def plan_satisfaction(run: JudgeRun) -> int:
    """Write one PENDING row for each memory to build and each turn to score, block by block.

    A run's annotator, where it has one, is the only user. Returns the number of turns to score.
    """
    settings = satisfaction_settings(run.config)
    users = None if run.annotator_id is None else [run.annotator_id]
    blocks = stored_blocks(dataset_id=run.dataset_id, user_ids=users, level=settings.level)
    plan_rubrics(run, settings)
    if settings.with_memory:
        plan_memories(run, blocks, inherit_from=settings.memories_of)
    memories = {
        (user_id, scenario_id): pk
        for user_id, scenario_id, pk in memory_rows(run.pk).values_list(
            "user_id", "target_scenario_id", "pk"
        )
    }
    rows = [
        SatisfactionJudgment(
            run=run,
            user_id=stored.user_id,
            **{_TARGET[settings.level]: int(target.turn_id)},
            memory_id=memories.get((stored.user_id, stored.scenario_id)),
        )
        for stored in blocks
        for target in stored.block.targets
    ]
    SatisfactionJudgment.objects.bulk_create(rows, batch_size=_CHUNK)
    return len(rows)
