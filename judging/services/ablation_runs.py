"""The runs behind an ablation: distillations under other settings, and their test comparisons.

Nothing of them is read as an annotator's result: the distillations are marked, and the runs over
test comparisons are of a kind of their own. What was judged before is found, not judged again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.models import Dataset, User
from judging.core.rules import PairwiseSettings, settings_from_config
from judging.core.runs import AppliedPlan, DistilPlan, applied_plans, distil_plans
from judging.models import JudgeRun, RunKind, RunStatus
from judging.services.distillation import empty_preference
from judging.services.edited_prompts import edited_prompts
from judging.services.equal_runs import start_once
from judging.services.judges import endpoint_for, judge_snapshot
from judging.services.judgments import plan_judgments
from judging.services.pairwise_plans import AskedDistillation, asked_distillation
from judging.services.pairwise_runs import start_distillation


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
