"""Asking for a run: rows first, all of them or none; then, on commit, a message to the workers."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.models import Dataset, User
from judging.core.rules import JudgePrompt, PairwiseSettings, SatisfactionSettings
from judging.models import JudgeRun, RunKind, RunStatus
from judging.queries.runs import UNFINISHED
from judging.services import memory_updates, pairwise_runs, rejudging, run_control
from judging.services.learned import start_training
from judging.services.satisfaction import start_satisfaction_run
from judging.tasks import dispatch_run


def submit_distillation(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Starts distilling an annotator's preferences; see `pairwise_runs.start_distillation`."""
    with transaction.atomic():
        run = pairwise_runs.start_distillation(
            dataset=dataset,
            annotator=annotator,
            judge=judge,
            settings=settings,
            budget=budget,
            again=again,
            created_by=created_by,
        )
        enqueue_run(run)
    return run


def submit_distillations(
    *,
    dataset: Dataset,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> list[JudgeRun]:
    """Starts distilling every annotator's preferences; see `pairwise_runs.start_distillations`."""
    with transaction.atomic():
        runs = pairwise_runs.start_distillations(
            dataset=dataset,
            judge=judge,
            settings=settings,
            budget=budget,
            again=again,
            created_by=created_by,
        )
        for run in runs:
            enqueue_run(run)
    return runs


def submit_test_run(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str | None = None,
    with_sets: bool = True,
    sets_of: User | None = None,
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Starts judging an annotator's test comparisons; see `pairwise_runs.start_test_run`."""
    with transaction.atomic():
        run = pairwise_runs.start_test_run(
            dataset=dataset,
            annotator=annotator,
            judge=judge,
            with_sets=with_sets,
            sets_of=sets_of,
            prompt=prompt,
            budget=budget,
            again=again,
            created_by=created_by,
        )
        enqueue_run(run)
    return run


def submit_satisfaction(
    *,
    dataset: Dataset,
    judge: str,
    annotator: User | None = None,
    settings: SatisfactionSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Starts scoring rated turns; see `services.satisfaction.start_satisfaction_run`."""
    with transaction.atomic():
        run = start_satisfaction_run(
            dataset=dataset,
            judge=judge,
            annotator=annotator,
            settings=settings,
            budget=budget,
            again=again,
            created_by=created_by,
        )
        enqueue_run(run)
    return run


def submit_training(*, dataset: Dataset, created_by: User | None = None) -> JudgeRun:
    """Starts training the learned evaluator; see `services.learned.start_training`."""
    with transaction.atomic():
        run = start_training(dataset=dataset, created_by=created_by)
        enqueue_run(run)
    return run


def submit_runs(
    *,
    kind: RunKind,
    dataset: Dataset,
    annotator: User | None,
    judges: Sequence[str],
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    pairwise: PairwiseSettings | None = None,
    satisfaction: SatisfactionSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> list[JudgeRun]:
    """Starts one kind of run for several judges over the same items, all of them or none.

    Without an annotator a distillation is one for each who labelled something; test runs need one,
    and they alone are asked by another prompt than the paper's. `pairwise` are the rules of
    distillations; test runs follow those of the distillation that they apply. `satisfaction` are
    the rules of satisfaction runs. Where an equal run is under way it is given, `attached`, unless
    they are to start `again` (`services.equal_runs`).
    """
    started: list[JudgeRun] = []
    with transaction.atomic():
        for judge in judges:
            asked: dict[str, Any] = {
                "dataset": dataset,
                "judge": judge,
                "budget": budget,
                "again": again,
                "created_by": created_by,
            }
            if kind is RunKind.SATISFACTION:
                started.append(
                    submit_satisfaction(annotator=annotator, settings=satisfaction, **asked)
                )
            elif annotator is None:
                started += submit_distillations(settings=pairwise, **asked)
            elif kind is RunKind.DISTIL:
                started.append(submit_distillation(annotator=annotator, settings=pairwise, **asked))
            else:
                started.append(submit_test_run(annotator=annotator, prompt=prompt, **asked))
    return started


def submit_rejudging(
    distillation: JudgeRun, *, budget: Decimal | None = None, created_by: User | None = None
) -> JudgeRun:
    """Starts judging edited preferences; see `rejudging.start_rejudging`."""
    with transaction.atomic():
        run = rejudging.start_rejudging(distillation, budget=budget, created_by=created_by)
        enqueue_run(run)
    return run


def retry_run(run_id: int) -> int:
    """Asks again for what failed in a finished run, and goes on with a cancelled one.

    Returns how many rows are asked again.
    """
    with transaction.atomic():
        pending = run_control.reset_failed(run_id)
        enqueue_run(JudgeRun.objects.get(pk=run_id))
    return pending


def update_memories(run_id: int, *, memory_id: int | None = None) -> int:
    """Has a run's outdated memories written anew, or one; see `memory_updates.plan_updates`."""
    with transaction.atomic():
        planned = memory_updates.plan_updates(run_id, memory_id=memory_id)
        enqueue_run(JudgeRun.objects.get(pk=run_id))
    return planned


def enqueue_run(run: JudgeRun) -> None:
    """Tells the workers of a run once its rows are committed.

    A run that is under way already is left to those who work on it. Where the broker cannot be
    reached the run waits: workers look for such runs (`tasks.watch_runs`).
    """
    if run.status != RunStatus.PENDING:
        return
    run_id, generation = run.pk, run.generation

    def tell_workers() -> None:
        dispatch_run.delay(run_id=run_id, generation=generation)

    # Not a partial: where a robust hook fails, Django asks it for its name.
    transaction.on_commit(tell_workers, robust=True)


def resume_left_runs() -> int:
    """Dispatches unfinished runs that nobody is at work on, for a site that starts; how many."""
    unfinished = JudgeRun.objects.filter(status__in=UNFINISHED).order_by("pk")
    left = [run for run in unfinished if run_control.is_left(run)]
    for run in left:
        dispatch_run.delay(run_id=run.pk, generation=run.generation)
    return len(left)
