"""Starting pairwise runs: what is judged is decided, and every row written, in one transaction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from django.db import transaction

from annotation.models import Dataset, User
from judging.core.rules import JudgePrompt, PairwiseSettings, settings_from_config
from judging.core.runs import AppliedPlan, DistilPlan, Winners, applied_plans, distil_plans
from judging.models import Control, JudgeRun, Preference, PreferenceKind, RunKind, RunStatus
from judging.queries.comparisons import texts_of
from judging.services.edited_prompts import edited_prompts
from judging.services.judges import endpoint_for, judge_snapshot
from judging.services.judgments import plan_grades, plan_judgments
from judging.services.pairwise_plans import (
    AskedDistillation,
    asked_distillation,
    asked_distillations,
    asked_test_run,
    start_once,
)
from judging.services.preferences import empty_preference, written_in


def start_distillation(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    batch_file: bool = False,
    for_ablation: bool = False,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Writes a distillation with all its PENDING rows; the caller dispatches it.

    Per scenario the columns are the base judge, one preference per dev comparison with a winner,
    and the aggregate of all of them; every dev comparison is judged under every column in both
    orders. The shuffled control adds as many columns, distilled from flipped labels.

    Where an equal run is under way, that one is given, unless it is to start `again`
    (`equal_runs`). What is distilled for an ablation is never taken for the annotator's
    preferences.

    Raises:
        Refused: there is no such judge; the annotator labelled nothing here that can be judged;
            there is a budget, but calls have no price.
    """
    asked = asked_distillation(
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        settings=settings,
        budget=budget,
        batch_file=batch_file,
        for_ablation=for_ablation,
        created_by=created_by,
    )
    return _start(asked, again=again)


def start_distillations(
    *,
    dataset: Dataset,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    again: bool = False,
    created_by: User | None = None,
) -> list[JudgeRun]:
    """Writes a distillation for each annotator with something to judge, all of them or none.

    Each has the whole budget for itself.

    Raises:
        Refused: there is no such judge; nobody labelled anything here that can be judged.
    """
    with transaction.atomic():
        return [
            _start(asked, again=again)
            for asked in asked_distillations(
                dataset=dataset,
                annotator=None,
                judge=judge,
                settings=settings,
                budget=budget,
                created_by=created_by,
            )
        ]


def _start(asked: AskedDistillation, *, again: bool) -> JudgeRun:
    def write_rows(run: JudgeRun) -> None:
        for plan in asked.plans:
            _plan_scenario(run, plan)

    return start_once(asked.run, write_rows, again=again)


def _plan_scenario(run: JudgeRun, plan: DistilPlan) -> None:
    if not plan.winners:
        return  # nothing to learn from: the base judge stands in
    texts = texts_of([comparison for comparison, _ in plan.winners])
    language = written_in(plan.winners, texts)
    base = empty_preference().pk
    columns = [base]
    for control, winners in ((Control.NONE, plan.winners), (Control.SHUFFLED, plan.shuffled)):
        if winners:
            columns += _plan_columns(run, plan.scenario_id, control, winners, language)
    plan_judgments(run, ((comparison, columns) for comparison, _ in plan.winners))


def _plan_columns(
    run: JudgeRun, scenario_id: int, control: Control, winners: Winners, language: str
) -> list[int]:
    """The preferences of one control: one per pair, then the aggregate."""

    def preference(kind: PreferenceKind, position: int, **source: Any) -> Preference:
        return Preference(
            run=run,
            dataset_id=run.dataset_id,
            scenario_id=scenario_id,
            annotator_id=run.annotator_id,
            control=control,
            language=language,
            kind=kind,
            position=position,
            **source,
        )

    pairs = [
        preference(
            PreferenceKind.PAIR,
            position,
            source_comparison_id=comparison,
            source_verdict=winner.value,
        )
        for position, (comparison, winner) in enumerate(winners, start=1)
    ]
    aggregate = preference(PreferenceKind.AGGREGATE, len(winners) + 1)
    return [row.pk for row in Preference.objects.bulk_create([*pairs, aggregate])]


def start_test_run(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str | None = None,
    with_sets: bool = True,
    sets_of: User | None = None,
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    budget: Decimal | None = None,
    batch_file: bool = False,
    again: bool = False,
    created_by: User | None = None,
) -> JudgeRun:
    """Writes a run over the annotator's test comparisons; the caller dispatches it.

    They are judged under the base judge and the members of the selected and of the shuffled set,
    in both orders. Where an equal run is under way, that one is given.

    Args:
        dataset: where the comparisons are.
        annotator: whose labels the verdicts will be scored against.
        judge: who judges; None for the judge that distilled.
        with_sets: False judges under the base judge alone, which needs no distillation.
        sets_of: another annotator, whose sets are tried on this one's labels.
        prompt: how the judge is asked; any but the paper's takes no preferences, and those that
            grade give one verdict a comparison, by the two grades.
        budget: what its calls may cost in all.
        batch_file: its calls are written to a file and read back (`batch_files`).
        again: start anew, even so (`equal_runs`).
        created_by: who asked for the run.

    Raises:
        Refused: there is no such judge; there is no finished distillation to take the sets of; no
            test comparison has a label with a winner; the judge compares in its own way; the prompt
            shows reference answers, and there are none; another annotator's sets under a prompt
            that takes none; there is a budget, but calls have no price.
    """
    asked = asked_test_run(
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        with_sets=with_sets,
        sets_of=sets_of,
        prompt=prompt,
        budget=budget,
        batch_file=batch_file,
        created_by=created_by,
    )
    return start_once(asked.run, lambda run: _plan_test(run, asked.plans), again=again)


def _plan_test(run: JudgeRun, plans: Sequence[AppliedPlan]) -> None:
    """Every test comparison under its preferences in both orders, or once by two grades."""
    if run.kind == RunKind.GRADE:
        asked = [comparison for plan in plans for comparison, _ in plan.winners]
        plan_grades(run, asked, preference_id=empty_preference().pk)
        return
    plan_judgments(
        run,
        ((comparison, plan.preferences) for plan in plans for comparison, _ in plan.winners),
    )


def distillation_under(
    settings: PairwiseSettings, *, dataset: Dataset, annotator: User, judge: str
) -> JudgeRun:
    """A distillation under some settings: a finished one of the same labels, or a new one.

    Raises:
        Refused: there is no such judge; the annotator labelled nothing here that can be judged.
    """
    asked = asked_like(settings, dataset=dataset, annotator=annotator, judge=judge).run
    return finished_like(asked) or start_distillation(
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        settings=settings_from_config(asked.config),
        for_ablation=True,
    )


def asked_like(
    settings: PairwiseSettings, *, dataset: Dataset, annotator: User, judge: str
) -> AskedDistillation:
    """The distillation that an ablation wants under some settings; it has no control of its own."""
    settings = replace(settings, shuffled_control=False)
    return asked_distillation(dataset=dataset, annotator=annotator, judge=judge, settings=settings)


def finished_like(asked: JudgeRun) -> JudgeRun | None:
    """The newest distillation about the same that got all its answers, if there is one."""
    finished = JudgeRun.objects.filter(
        kind=RunKind.DISTIL,
        dataset=asked.dataset,
        annotator=asked.annotator,
        judge=asked.judge,
        status=RunStatus.DONE,
        error_code="",
        parent=None,  # a run with a parent judged what people had edited
    ).order_by("-pk")
    return next((run for run in finished if _is_about(run) == _is_about(asked)), None)


def _is_about(run: JudgeRun) -> tuple[object, ...]:
    """What decides a distillation's preferences, the shuffled control aside."""
    settings = replace(settings_from_config(run.config), shuffled_control=False)
    plans = [
        (each.scenario_id, each.winners, each.test_winners) for each in distil_plans(run.config)
    ]
    return settings, plans, run.config.get("judge")


def asked_ablation_run(
    *, distillation: JudgeRun, judge: str, preferences: Mapping[int, Sequence[int]]
) -> JudgeRun:
    """See `start_ablation_run`; nothing is written. The distillation need not be saved either.

    Raises:
        Refused: there is no such judge.
    """
    settings = settings_from_config(distillation.config)
    endpoint = endpoint_for(judge)
    base = empty_preference().pk
    edits = edited_prompts(
        distillation.dataset, annotator=distillation.annotator, endpoint=endpoint
    )
    plans = [
        _applied(plan, base, preferences.get(plan.scenario_id, ()))
        for plan in distil_plans(distillation.config)
        if plan.test_winners
    ]
    return JudgeRun(
        kind=RunKind.ABLATION,
        dataset=distillation.dataset,
        annotator=distillation.annotator,
        judge=judge,
        endpoint=endpoint,
        parent=distillation,
        config={
            **settings.to_config(),
            "judge": judge_snapshot(endpoint, {**settings.to_config(), **edits}),
            **edits,
            "sets_of": None,
            "scenarios": [plan.to_json() for plan in plans],
        },
    )


def start_ablation_run(
    *, distillation: JudgeRun, judge: str, preferences: Mapping[int, Sequence[int]]
) -> JudgeRun:
    """Writes a run over a distillation's test comparisons under some of its preferences.

    A run that already judges the same under the same is given instead.

    Args:
        distillation: finished.
        judge: who judges, the distiller or another.
        preferences: by scenario, ids of preferences; the base judge's is judged as well.

    Raises:
        Refused: there is no such judge.
    """
    asked = asked_ablation_run(distillation=distillation, judge=judge, preferences=preferences)
    known = (
        JudgeRun.objects.filter(kind=RunKind.ABLATION, parent=distillation, judge=judge)
        .exclude(status__in=(RunStatus.FAILED, RunStatus.CANCELLED))
        .filter(error_code="")
    )
    for run in known.order_by("-pk"):
        if run.config == asked.config:
            return run

    def write_rows(run: JudgeRun) -> None:
        plan_judgments(
            run,
            (
                (comparison, plan.preferences)
                for plan in applied_plans(run.config)
                for comparison, _ in plan.winners
            ),
        )

    return start_once(asked, write_rows)


def _applied(plan: DistilPlan, base: int, members: Sequence[int]) -> AppliedPlan:
    return AppliedPlan(
        scenario_id=plan.scenario_id,
        scenario=plan.scenario,
        winners=plan.test_winners,
        ties=plan.test_ties,
        base=base,
        selected=tuple(dict.fromkeys(members)),
    )
