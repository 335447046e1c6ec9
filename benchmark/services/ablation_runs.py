"""The paper's ablations as runs: run what is missing, measure every variant, store the table.

Each step of an ablation is a unit with a run of its own: a distillation, or its test comparisons
under some of its preferences. Every variant is measured on the same test comparisons of an
annotator: those that are test comparisons under all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.db.models import Q

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from annotation.queries.participants import annotators, names_of
from benchmark.core.ablation import RUN_KIND, AblationRow, Vary, ablation_row
from benchmark.core.accuracy import Judged
from benchmark.models import VerificationReport
from benchmark.queries.ablations import KIND
from benchmark.queries.evidence import ComparisonPlace, places_of
from benchmark.queries.judgments import run_judgments
from benchmark.services.ablations import (
    AblationStep,
    AblationVariant,
    distillation_of,
    estimate_variants,
    judging_under,
    preferences_of,
    steps,
    variants_of,
)
from benchmark.services.failures import (
    PROMPTS,
    failure_config,
    failure_rows,
    judged_by,
    prompt_step_name,
    prompt_steps,
    prompt_units,
)
from judging.core.estimates import RunEstimate
from judging.core.rules import JudgePrompt
from judging.core.runs import StageName
from judging.core.verdicts import VerdictRule
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, RunKind, RunUnit
from judging.queries.configurations import decides_by_log_odds, distil_plans, pairwise_settings
from judging.queries.runs import UNFINISHED, unit_rows
from judging.services.batches import BatchWork, ComputingStage, UnitStage
from judging.services.child_runs import (
    choose_child,
    end_for_want_of_money,
    end_unit,
    ending,
    fail_unit,
    fail_with_child,
    go_on,
    has_all_answers,
    refuse_unit,
)
from judging.services.endpoints import check_budget
from judging.services.estimates import estimate_all
from judging.services.heartbeats import Pulse
from judging.services.judges import LEXICAL, endpoint_for
from judging.services.kinds import Kind, later_units, plan
from judging.services.run_requests import RunRequest, finished_like

SEED: Final = 42
FEWEST_JUDGES: Final = 2
"""Where judges are what is varied."""
_UNREADABLE: Final = "verdict:"
"""How the codes of replies begin that name no verdict."""


class AblationRequest(NamedTuple):
    """What is to be varied, for whose labels, by which judges, for how much money at most.

    The first judge judges and distils; `Vary.JUDGE` tries each with each. `verdict` is how replies
    are read, dev comparisons as well. `Vary.PROMPT` holds every judge against the gold answers of a
    `scenario` ("" for all), and is about no annotator.
    """

    dataset: Dataset
    annotators: Sequence[User]
    vary: Vary
    judges: Sequence[str]
    verdict: VerdictRule = VerdictRule.STRICT
    budget: Decimal | None = None
    created_by: User | None = None
    scenario: str = ""


def who_labelled(dataset: Dataset, *, judge: str) -> list[User]:
    """Everybody who labelled something that a judge could learn from, by name.

    Raises:
        Refused: there is nobody; there is no such judge.
    """
    request = RunRequest(kind=RunKind.DISTIL, dataset=dataset, judge=judge)
    able = {run.annotator for run in plan(request)}
    users = User.objects.in_bulk([each.id for each in annotators(dataset=dataset)])
    return [user for user in users.values() if user in able]


def plan_ablation(request: AblationRequest) -> JudgeRun:
    """A run that measures every variant; not saved.

    Raises:
        Refused: there is no such judge, or one that the ablation cannot move, or a single one where
            judges are varied; there is a budget, but an endpoint has no prices; an annotator
            labelled nothing here that can be judged; a judge cannot be read so; see
            `failures.failure_config` for prompts.
    """
    vary, judges = request.vary, list(request.judges)
    if vary is Vary.WINDOW and judges[0] == LEXICAL:
        raise Refused("ablation:cannot-move")
    if vary is Vary.JUDGE and len(set(judges)) < FEWEST_JUDGES:
        raise Refused("ablation:one-judge")
    endpoints = [endpoint_for(judge) for judge in judges]
    check_budget(request.budget, *endpoints)  # the lexical judge beside another is free
    more: dict[str, Any] = {}
    if vary is Vary.PROMPT:
        more = failure_config(
            request.dataset, scenario=request.scenario, judges=judges, verdict=request.verdict
        )
    else:
        _check_labelled(request)
    names = names_of(dataset=request.dataset)
    users = list(request.annotators)
    return JudgeRun(
        kind=RUN_KIND,
        dataset=request.dataset,
        annotator=users[0] if len(users) == 1 else None,
        judge=_shown(judges),
        endpoint=next((each for each in endpoints if each is not None), None),
        config={
            "vary": vary.value,
            "judges": judges,
            "verdict_rule": request.verdict.value,
            "annotators": [{"id": user.pk, "name": names[user.pk]} for user in users],
            "seed": SEED,
            **more,
        },
        budget=request.budget,
        created_by=request.created_by,
    )


def _check_labelled(request: AblationRequest) -> None:
    """Plan every distillation, which refuses what cannot be learned or read."""
    if not request.annotators:
        raise Refused("ablation:nobody")
    first, *others = steps(request.vary, list(request.judges), request.verdict)
    for user in request.annotators:
        distillation_of(request.dataset, user, first)
    for step in others:
        distillation_of(request.dataset, request.annotators[0], step)


def _shown(judges: Sequence[str]) -> str:
    """The judges in the column for one; the configuration has them all."""
    most = 80
    names = ", ".join(judges)
    return names if len(names) <= most else f"{names[: most - 1]}…"


def estimate_ablation(request: AblationRequest) -> list[RunEstimate]:
    """The runs that an ablation would start, without those that are finished.

    Raises:
        Refused: as for `plan_ablation`; too many preferences to try every subset of a size.
    """
    planned = plan_ablation(request)
    if request.vary is Vary.PROMPT:
        config = planned.config
        prompts = {
            prompt_step_name(*step): judged_by(request.dataset, *step, config)
            for step in prompt_steps(config)
        }
        wanted = {name: run for name, run in prompts.items() if finished_like(run) is None}
        estimates = zip(wanted, estimate_all(list(wanted.values())), strict=True)
        return [replace(estimate, name=name) for name, estimate in estimates]
    of_each = _steps(planned)
    return estimate_variants(request.dataset, request.annotators, request.vary, of_each)


def write_ablation(run: JudgeRun) -> None:
    """Write the units of an ablation: a distillation, then each judge under what it distilled.

    Of prompts: each judge asked by each.
    """
    units: list[RunUnit] = prompt_units(run) if PROMPTS in run.config else []
    for annotator in run.config["annotators"]:
        for place, step in enumerate(_steps(run)):
            for judge in (None, *step.judges):
                units.append(
                    RunUnit(
                        run=run,
                        position=len(units),
                        name=step.unit_name(annotator["name"], judge),
                        plan={"annotator": annotator["id"], "step": place, "judge": judge},
                    )
                )
    RunUnit.objects.bulk_create(units)


def _steps(run: JudgeRun) -> list[AblationStep]:
    config = run.config
    return steps(Vary(config["vary"]), config["judges"], pairwise_settings(config).verdict_rule)


def work_ablation(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    """Go on with a unit's run; where the money ends, no further unit is begun.

    A prompt whose run failed is left out, unless no reply to it could be read: that is a result.

    Raises:
        Refused: the run of another unit did not finish; too many preferences to try every subset
            of a size.
    """
    if unit.child_id is None and not _begin(run, unit):
        return
    child = go_on(run, unit, work)
    if child.status in UNFINISHED:
        return
    if child.error_code == LlmCode.BUDGET_SPENT:
        end_for_want_of_money(run)
    elif has_all_answers(child) or (
        "prompt" in unit.plan and child.error_code.startswith(_UNREADABLE)
    ):
        end_unit(unit)
    elif "prompt" in unit.plan:
        fail_with_child(unit, child)
    else:
        raise Refused("ablation:run-failed", ending(child))


def _begin(run: JudgeRun, unit: RunUnit) -> bool:
    """Give a unit its run, unless that is refused, or the one was that distils for it."""
    applies = unit.plan["judge"] is not None and "prompt" not in unit.plan
    if applies and (own := _distilling(run, unit)).child is None:
        fail_unit(unit, own.error_code, own.result)
        return False
    wanted = _wanted(run, unit)
    try:
        choose_child(run, unit, wanted)
    except Refused as refused:
        refuse_unit(unit, refused)
        return False
    return True


def _distilling(run: JudgeRun, unit: RunUnit) -> RunUnit:
    """The unit that distils what another one applies."""
    return unit_rows(run.pk).get(
        plan__annotator=unit.plan["annotator"], plan__step=unit.plan["step"], plan__judge=None
    )


def _wanted(run: JudgeRun, unit: RunUnit) -> JudgeRun:
    """The run of a unit, planned; what it distilled itself comes before what applies it."""
    judge: str | None = unit.plan["judge"]
    if judge is not None and "prompt" in unit.plan:
        return judged_by(run.dataset, judge, JudgePrompt(unit.plan["prompt"]), run.config)
    annotator, step = unit.plan["annotator"], _steps(run)[unit.plan["step"]]
    if judge is None:
        return distillation_of(run.dataset, User.objects.get(pk=annotator), step)
    distilled = _distilling(run, unit)
    assert distilled.child is not None  # noqa: S101 - its unit is done
    own = [
        each
        for each in variants_of(distilled.child, Vary(run.config["vary"]), step)
        if each.judge == judge
    ]
    return judging_under(distilled.child, judge, preferences_of(own))


def report_ablation(run: JudgeRun) -> None:
    """Measure the annotators whom the money reached, and store the table of the run.

    What an endpoint could not take is left out of it.

    Raises:
        Refused: the money ended before the first annotator could be measured, or no run could be
            started.
    """
    units = list(unit_rows(run.pk).select_related("child"))
    measure = _measured_prompts if PROMPTS in run.config else _measured_variants
    rows, left_out = measure(run, units)
    if not rows:
        stopped = next(unit for unit in units if unit.status != JudgmentStatus.DONE)
        if stopped.error_code != LlmCode.BUDGET_SPENT:
            raise Refused(stopped.error_code, stopped.result["ending"])
        message = f"run {stopped.child_id} got a part of its answers"
        raise Refused(LlmCode.BUDGET_SPENT.value, message)
    refused = [
        [unit.name, unit.error_code]
        for unit in units
        if unit.status != JudgmentStatus.DONE and unit.error_code != LlmCode.BUDGET_SPENT
    ]
    VerificationReport.objects.update_or_create(
        run=run,
        kind=KIND,
        defaults={
            "dataset": run.dataset,
            "settings": {
                "vary": run.config["vary"],
                "judges": run.config["judges"],
                "verdict_rule": pairwise_settings(run.config).verdict_rule.value,
                "seed": run.config["seed"],
                **({"scenario": run.config["scenario"]} if PROMPTS in run.config else {}),
                **({"left_out": left_out} if left_out else {}),
                **({"refused": refused} if refused else {}),
            },
            "rows": rows,
        },
    )


_Measured = tuple[list[dict[str, Any]], list[str]]
"""The rows as they are stored, and whom or what the money did not reach."""


def _measured_prompts(run: JudgeRun, units: Sequence[RunUnit]) -> _Measured:
    done = [unit for unit in units if unit.status == JudgmentStatus.DONE]
    left_out = [unit.name for unit in units if unit.error_code == LlmCode.BUDGET_SPENT]
    return [row._asdict() for row in failure_rows(run, done)], left_out


def _measured_variants(run: JudgeRun, units: Sequence[RunUnit]) -> _Measured:
    pulse = Pulse(run)
    judged: dict[str, list[VariantJudged]] = {}
    left_out: list[str] = []
    for annotator in run.config["annotators"]:
        own = [unit for unit in units if unit.plan["annotator"] == annotator["id"]]
        if any(unit.error_code == LlmCode.BUDGET_SPENT for unit in own):
            left_out.append(annotator["name"])
            continue
        if variants := list(_judged_variants(Vary(run.config["vary"]), _steps(run), own)):
            judged[annotator["name"]] = variants
        pulse()
    rows = [row for name, variants in judged.items() for row in _rows(name, variants)]
    if len(judged) > 1:
        rows += _rows_of_all(list(judged.values()))
    return [row.to_json() for row in rows], left_out


class VariantJudged(NamedTuple):
    """A variant, what its preferences decided of an annotator's comparisons, and by which run."""

    variant: AblationVariant
    run: int
    judged: Sequence[Judged]

    @property
    def dev(self) -> int:
        """How many labelled pairs it learned from, over all scenarios."""
        return sum(len(each.winners) for each in distil_plans(self.variant.distillation.config))

    @property
    def members(self) -> int:
        """How many preferences vote, over all scenarios."""
        return sum(map(len, self.variant.members.values()))


def _judged_variants(
    vary: Vary, wanted: Sequence[AblationStep], units: Sequence[RunUnit]
) -> Iterator[VariantJudged]:
    """The variants of one annotator whose units are done, on the comparisons all judged."""
    children = {(unit.plan["step"], unit.plan["judge"]): unit.child for unit in units}
    found: list[tuple[AblationVariant, JudgeRun]] = []
    for place, step in enumerate(wanted):
        distillation = children[place, None]
        if distillation is None:  # it was refused
            continue
        for variant in variants_of(distillation, vary, step):
            run = children[place, variant.judge]
            if run is not None:
                found.append((variant, run))
    shared = _shared_tests([variant for variant, _run in found])
    places = places_of((), shared)
    for variant, run in found:
        yield VariantJudged(variant, run.pk, list(_judged(run, variant, shared, places)))


def _rows(annotator: str, variants: Sequence[VariantJudged]) -> Iterator[AblationRow]:
    for each in variants:
        yield ablation_row(
            each.judged,
            annotator=annotator,
            variant=each.variant.name,
            dev=each.dev,
            members=each.members,
            run=each.run,
        )


def _rows_of_all(own: Sequence[Sequence[VariantJudged]]) -> Iterator[AblationRow]:
    """What the paper prints: each variant over all annotators together, where all of them have it.

    Sessions that several annotators labelled are drawn with all that each of them said.
    """
    names = [[each.variant.name for each in variants] for variants in own]
    for name in (each for each in names[0] if all(each in others for others in names)):
        found = [each for variants in own for each in variants if each.variant.name == name]
        yield ablation_row(
            [judged for each in found for judged in each.judged],
            annotator="",
            variant=name,
            dev=sum(each.dev for each in found),
            members=sum(each.members for each in found),
            run=None,
        )


def _shared_tests(variants: Sequence[AblationVariant]) -> set[int]:
    """The comparisons that are in the test part of every variant."""
    parts = [
        {key for plan in distil_plans(each.distillation.config) for key, _ in plan.test_winners}
        for each in variants
    ]
    return set.intersection(*parts) if parts else set()


def _judged(
    run: JudgeRun,
    variant: AblationVariant,
    shared: set[int],
    places: Mapping[int, ComparisonPlace],
) -> Iterator[Judged]:
    plans = distil_plans(variant.distillation.config)
    memberships = [
        ([key for key, _winner in plan.test_winners], variant.members.get(plan.scenario_id, ()))
        for plan in plans
    ]
    judged = run_judgments(Q(run=run.pk))[run.pk]
    by_log_odds = decides_by_log_odds(run.config, judge=run.judge)
    decide = judged.decisions_by_log_odds if by_log_odds else judged.decisions
    decided = decide(memberships)
    for each in plans:
        for comparison, winner in each.test_winners:
            if comparison in shared and comparison in decided:
                yield Judged(
                    comparison, winner, decided[comparison], session=places[comparison].session
                )


def units_resting(run: JudgeRun, again: Sequence[RunUnit]) -> list[RunUnit]:
    """The units behind the first that is done again; none of prompts, each asked alone."""
    return [] if PROMPTS in run.config else later_units(run, again)


ABLATE: Final = Kind(
    None,
    write_ablation,
    (
        UnitStage(StageName.UNIT, work_ablation),
        ComputingStage(StageName.REPORT, report_ablation),
    ),
    units_resting,
)
