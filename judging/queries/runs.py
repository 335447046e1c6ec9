"""How far runs are: counts of rows, nothing else."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final, NamedTuple

from django.db.models import Avg, Count, Exists, OuterRef, Q, Sum
from django.db.models.query import QuerySet
from django.utils import timezone
from django.utils.module_loading import import_string

from annotation.core.choices import JudgmentStatus
from annotation.queries.participants import names_of
from judging.core.rules import JudgePrompt, Variant
from judging.core.runs import (
    REGISTERED,
    WITHDRAWN,
    AppliedPlan,
    DistilledScenario,
    RunProgress,
    StageName,
    StageProgress,
)
from judging.llm.errors import PASSING
from judging.models import (
    Control,
    GeneratedResponse,
    InjectedText,
    InjectionTrial,
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    PreferenceKind,
    PreferenceSet,
    ResponseScore,
    RubricStep,
    RunKind,
    RunStatus,
    RunUnit,
    SatisfactionJudgment,
    UserMemory,
)
from judging.queries.calls import words_of
from judging.queries.configurations import applied_plans, distil_plans
from judging.queries.preference_sets import stand_in_of
from judging.queries.satisfaction.labels import rubric_rows


def distilled_scenarios(run_id: int) -> tuple[DistilledScenario, ...]:
    """The scenarios of a distillation whose sets are stored, in their order. Three queries."""
    run = JudgeRun.objects.get(pk=run_id)
    sets = {
        (one.scenario_id, one.control, one.draw): one
        for one in PreferenceSet.objects.filter(run=run).prefetch_related("members")
    }
    found = []
    for plan in distil_plans(run.config):
        if (chosen := sets.get((plan.scenario_id, Control.NONE, 0))) is None:
            continue
        draws = [sets.get((plan.scenario_id, Control.SHUFFLED, n)) for n in range(len(plan.draws))]
        controls = [one.dev_accuracy for one in draws if one and one.dev_accuracy is not None]
        texts = {member.pk: member.text or "" for member in chosen.members.all()}
        found.append(
            DistilledScenario(
                scenario=plan.scenario,
                dev=len(plan.winners),
                ties=plan.dev_ties,
                test=len(plan.test_winners),
                columns=len(chosen.columns),
                selected=tuple(n for n, member in enumerate(chosen.columns) if member in texts),
                texts=tuple(texts[member] for member in chosen.columns if member in texts),
                dev_accuracy=chosen.dev_accuracy,
                leave_one_out=chosen.leave_one_out,
                null_p95=chosen.null_p95,
                p_value=chosen.p_value,
                base_accuracy=chosen.base_accuracy,
                p_over_base=chosen.p_over_base,
                used=chosen.is_used,
                stand_in=stand_in_of(chosen),
                control_accuracy=sum(controls) / len(controls) if controls else None,
                error_code=chosen.selection.get("error_code", ""),
            )
        )
    return tuple(found)


def applied_scenarios(run: JudgeRun) -> tuple[AppliedPlan, ...]:
    """The scenarios of a run that applied sets, with those; none of another run."""
    applies = run.kind == RunKind.TEST and run.config.get("sets_of")
    return applied_plans(run.config) if applies else ()


def has_verdicts(slug: str) -> bool:
    """Whether a done run, no step of another, gave or brought verdicts on a dataset's pairs."""
    kinds = (RunKind.TEST, RunKind.GRADE, RunKind.RECORDED)
    done = JudgeRun.objects.filter(dataset__slug=slug, kind__in=kinds, status=RunStatus.DONE)
    step = RunUnit.objects.filter(child=OuterRef("pk"), reused=False)
    return done.filter(~Exists(step)).exists()


UNFINISHED: Final = (RunStatus.PENDING, RunStatus.RUNNING)
PACE_TIME: Final = timedelta(minutes=1)
DISTILLED: Final = (PreferenceKind.PAIR, PreferenceKind.AGGREGATE, PreferenceKind.HELD_OUT)


def preference_rows(run_id: int) -> QuerySet[Preference]:
    """The preferences that a run distils."""
    return Preference.objects.filter(run_id=run_id, kind__in=DISTILLED)


def judgment_rows(run_id: int) -> QuerySet[Judgment]:
    """The pairwise judgments of a run."""
    return Judgment.objects.filter(run_id=run_id)


def grade_rows(run_id: int) -> QuerySet[ResponseScore]:
    """The grades of single responses that a run asks for."""
    return ResponseScore.objects.filter(run_id=run_id)


def generated_rows(run_id: int) -> QuerySet[GeneratedResponse]:
    """The replies to turns that a run asks for."""
    return GeneratedResponse.objects.filter(run_id=run_id)


def memory_rows(run_id: int) -> QuerySet[UserMemory]:
    """The memories that a run builds, anew from later ratings too; the others are people's."""
    return UserMemory.objects.filter(Q(version=1) | Q(edited_by=None), run_id=run_id)


def score_rows(run_id: int) -> QuerySet[SatisfactionJudgment]:
    """The satisfaction judgments of a run."""
    return SatisfactionJudgment.objects.filter(run_id=run_id)


ADDED_IN: Final = {
    StageName.REPHRASE: (InjectedText.LIST,),
    StageName.CLEAN: (InjectedText.CLEAN,),
    StageName.TRY: (InjectedText.ATTEMPT, InjectedText.HARMLESS, InjectedText.REPEATED),
}
"""What the trials of each stage of an injection check have added."""


def trial_rows(run_id: int, stage: StageName) -> QuerySet[InjectionTrial]:
    """The trials of a stage of an injection check, see ADDED_IN."""
    return InjectionTrial.objects.filter(check_run__run=run_id, added__in=ADDED_IN[stage])


def unit_rows(run_id: int) -> QuerySet[RunUnit]:
    """The units of a run, in the order of their ids; few runs have any."""
    return RunUnit.objects.filter(run_id=run_id).order_by("pk")


EARLIER: Final = "earlier"
"""In the plan of a unit that was done again: the runs that were started for it before."""


def own_runs(run_id: int) -> set[int]:
    """The runs that were started for the units of a run: it pays for them. One query."""
    units = unit_rows(run_id).values_list("child", "reused", "plan")
    children = {child for child, reused, _plan in units if child is not None and not reused}
    return children.union(*(plan.get(EARLIER, ()) for _child, _reused, plan in units))


class CurrentStep(NamedTuple):
    """The unit that a run is at: its place from 1, of how many, and its name."""

    place: int
    steps: int
    name: str


def current_step(run_id: int) -> CurrentStep | None:
    """The first unit that is not done; None where there is none. One query."""
    units = list(unit_rows(run_id).order_by("position").values_list("name", "status"))
    pending = [at for at, (_name, status) in enumerate(units) if status == JudgmentStatus.PENDING]
    return CurrentStep(pending[0] + 1, len(units), units[pending[0]][0]) if pending else None


def run_progress(run_id: int) -> RunProgress:
    """Counts by stage and status, errors by code, what it cost with the runs of its units.

    Six queries; one more with grades or generated responses, three more with rubrics, two more in
    a check; of kinds that apps above registered four. One more for each code of calls that failed.

    Raises:
        JudgeRun.DoesNotExist: there is no such run.
    """
    run = JudgeRun.objects.select_related("endpoint", "writer_endpoint").get(pk=run_id)
    now = timezone.now()
    stages = _stages(run)
    paid = _paid(run, since=now - PACE_TIME)
    return RunProgress(
        run_id=run.pk,
        kind=run.kind,
        status=run.status,
        stage=run.stage,
        error_code=run.error_code,
        error_detail=run.error_detail,
        stages=tuple(stage for stage in stages if stage.total),
        calls=paid["calls"],
        input_tokens=paid["input"],
        cached_tokens=paid["cached"],
        output_tokens=paid["output"],
        cost=None if paid["cost"] is None else float(paid["cost"]),
        can_have_budget=run.can_have_budget,
        budget=None if run.budget is None else float(run.budget),
        held=float(run.held),
        started_at=run.started_at,
        heartbeat_at=run.heartbeat_at,
        finished_at=run.finished_at,
        pace=_pace(run, paid["lately"], now=now),
        unpriced=paid["calls"] - paid["priced"],
        second_tries=paid["again"],
    )


def can_answer_more(run: JudgeRun) -> bool:
    """Whether a call of a run failed for what another try may not meet; of a generation for any."""
    if run.kind == RunKind.GENERATE:
        return generated_rows(run.pk).filter(status=JudgmentStatus.FAILED).exists()
    codes = {code for stage in _stages(run) if stage.failed for code, _count in stage.errors}
    return bool(codes & PASSING)


class LeftOver(NamedTuple):
    """What an unfinished run has still to do, in rows of all its stages, or in steps.

    `cost` is what that would cost at the mean of the replies so far, of the run or else of its
    endpoint; None where that is not known.
    """

    pending: int
    total: int
    cost: Decimal | None


def left_over(run: JudgeRun) -> LeftOver:
    """What remains of a run. Nine queries at most, as `run_progress`."""
    progress = run_progress(run.pk)
    pending = sum(stage.pending for stage in progress.stages)
    if not pending or (run.endpoint is None and run.kind not in REGISTERED):
        return LeftOver(pending, progress.total, Decimal(0))
    priced = LlmCall.objects.filter(cost__isnull=False)
    mean = None
    for calls in (Q(run=run), Q(endpoint=run.endpoint)) if run.endpoint else ():
        mean = mean or priced.filter(calls).aggregate(mean=Avg("cost"))["mean"]
    return LeftOver(pending, progress.total, None if mean is None else mean * pending)


def _stages(run: JudgeRun) -> list[StageProgress]:
    if run.kind in REGISTERED:
        own = REGISTERED[run.kind].rows
        sorting = [_stage(StageName.SORT, import_string(own)(run.pk))] if own else []
        return [_stage(StageName.UNIT, unit_rows(run.pk)), *sorting]
    run_id = run.pk
    generated = [(StageName.GENERATE, generated_rows(run_id))]
    checked = [(name, trial_rows(run_id, name)) for name in ADDED_IN]
    return [
        _stage(StageName.DISTIL, preference_rows(run_id)),
        *(_stage(name, rubric_rows(run_id, step)) for name, step in _induction(run)),
        _stage(StageName.MEMORY, memory_rows(run_id)),
        *([_stage(StageName.GRADE, grade_rows(run_id))] if run.kind == RunKind.GRADE else []),
        *(_stage(name, rows) for name, rows in generated if run.kind == RunKind.GENERATE),
        _stage(StageName.JUDGE, judgment_rows(run_id)),
        _stage(StageName.SCORE, score_rows(run_id)),
        *(_stage(name, rows) for name, rows in checked if run.kind == RunKind.CHECK),
    ]


def _induction(run: JudgeRun) -> tuple[tuple[StageName, RubricStep], ...]:
    """The steps by which a run induces rubrics, where it does."""
    if run.config.get("variant") != Variant.SPUR:
        return ()
    return (
        (StageName.EXTRACT, RubricStep.TURN),
        (StageName.CONDENSE, RubricStep.CHUNK),
        (StageName.RUBRICS, RubricStep.FINAL),
    )


def _stage(stage: StageName, rows: QuerySet[Any]) -> StageProgress:
    counts: dict[str, int] = defaultdict(int)
    errors: list[tuple[str, int]] = []
    for status, code, count in (
        rows.order_by().values_list("status", "error_code").annotate(count=Count("pk"))
    ):
        counts[status] += count
        if code:
            errors.append((code, count))
    withdrawn = sum(count for code, count in errors if code in WITHDRAWN)
    return StageProgress(
        stage=stage,
        pending=counts[JudgmentStatus.PENDING],
        done=counts[JudgmentStatus.DONE],
        unparseable=counts[JudgmentStatus.UNPARSEABLE],
        failed=counts[JudgmentStatus.FAILED] - withdrawn,
        withdrawn=withdrawn,
        errors=tuple(sorted(errors, key=lambda one: (-one[1], one[0]))),
        said=words_of(rows, [code for code, _count in errors]),
    )


def _paid(run: JudgeRun, *, since: datetime) -> dict[str, Any]:
    """The replies that this run paid for, itself or by its units, and how many of them lately."""
    payers = Q(run=run)
    if run.kind in REGISTERED:
        payers |= Q(run__in=own_runs(run.pk))
    return LlmCall.objects.filter(payers).aggregate(
        calls=Count("pk"),
        again=Count("pk", filter=Q(attempt__gt=0)),
        lately=Count("pk", filter=Q(created_at__gte=since)),
        input=Sum("input_tokens"),
        cached=Sum("cached_tokens"),
        output=Sum("output_tokens"),
        priced=Count("cost"),  # before the sum takes this name
        cost=Sum("cost"),
    )


def _pace(run: JudgeRun, lately: int, *, now: datetime) -> float | None:
    """Replies a second over the last minute, or since the run began where that is less."""
    if run.status != RunStatus.RUNNING or run.started_at is None:
        return None
    seconds = min(PACE_TIME, now - run.started_at).total_seconds()
    return lately / seconds if seconds > 0 else None


RUBRIC: Final = JudgePrompt.PAIRWISE
"""The generic rubric that is a control; it takes no preferences."""
_COUNTED: Final = (RunStatus.PENDING, RunStatus.RUNNING, RunStatus.BATCH, RunStatus.DONE)


@dataclass(frozen=True, slots=True)
class OtherSet:
    """Another annotator's selected preferences, as a control.

    `inside` counts the comparisons that the run itself judged under them. `tried` is the newest run
    under them over this annotator's test comparisons. `own` is the run in their own stead, which
    judged `covered` of the comparisons where both labelled the same.
    """

    annotator: int
    name: str
    tried: JudgeRun | None
    own: JudgeRun | None
    covered: int
    inside: int = 0


@dataclass(frozen=True, slots=True)
class RunControls:
    """A test run with its controls. `comparisons` counts what it was asked about.

    The base judge is in every run; `shuffled` says whether the shuffled labels' set is. `rubric` is
    the newest run by a generic rubric, which `can_rubric` allows: the judge answers prompts.
    """

    run: JudgeRun
    comparisons: int
    shuffled: bool
    others: tuple[OtherSet, ...]
    rubric: JudgeRun | None
    can_rubric: bool


def run_controls(run: JudgeRun) -> RunControls:
    """The controls of a test run that applied preferences. Seven queries at most."""
    plans = applied_plans(run.config)
    asked = {comparison for plan in plans for comparison, _ in plan.winners}
    beside = (
        JudgeRun.objects.filter(
            dataset=run.dataset_id, judge=run.judge, kind=RunKind.TEST, status__in=_COUNTED
        )
        .exclude(pk=run.pk)
        .select_related("parent")
        .order_by("pk")
    )
    tried: dict[int, JudgeRun] = {}
    own: dict[int, JudgeRun] = {}
    inside: dict[int, int] = defaultdict(int)
    for plan in plans:
        for other in plan.others:
            inside[other.annotator] += len(plan.judged_by(other))
    rubric = None
    for each in beside:
        owner = each.parent.annotator_id if each.parent is not None else None
        if each.config.get("prompt") == RUBRIC.value:
            rubric = each if each.annotator_id == run.annotator_id else rubric
        elif _roles(each) != _roles(run):
            continue  # by other hands, so no control of this one
        elif owner not in (None, run.annotator_id) and each.config.get("sets_of"):
            found = {run.annotator_id: tried, owner: own}.get(each.annotator_id)
            if found is not None and owner is not None:
                found[owner] = each
    return RunControls(
        run=run,
        comparisons=len(asked),
        shuffled=any(plan.shuffled is not None for plan in plans),
        others=tuple(
            OtherSet(
                annotator=key,
                name=name,
                tried=tried.get(key),
                own=own.get(key),
                covered=_covered(own.get(key), asked),
                inside=inside[key],
            )
            for key, name in _owners(run).items()
        ),
        rubric=rubric,
        can_rubric=run.endpoint is not None and not run.endpoint.has_scores,
    )


def _roles(run: JudgeRun) -> tuple[str, str] | None:
    """Who selected and who distilled the sets that a test run applies."""
    return None if run.parent is None else (run.parent.judge, run.parent.writer)


def _owners(run: JudgeRun) -> Mapping[int, str]:
    """Other annotators with preferences in the dataset of the same distiller and judge, by name."""
    judge, writer = _roles(run) or (run.judge, "")
    distilled = (
        JudgeRun.objects.filter(
            dataset=run.dataset_id,
            kind=RunKind.DISTIL,
            judge=judge,
            writer=writer,
            status=RunStatus.DONE,
            annotator__isnull=False,
            config__ablation__isnull=True,
        )
        .exclude(annotator=run.annotator_id)
        .values_list("annotator_id", "annotator__username")
        .distinct()
    )
    names = names_of(dataset=run.dataset)
    known = {key: names.get(key, username) for key, username in distilled if key is not None}
    return dict(sorted(known.items(), key=lambda one: one[1]))


def _covered(own: JudgeRun | None, asked: set[int]) -> int:
    if own is None:
        return 0
    plans = applied_plans(own.config)
    return len(asked & {comparison for plan in plans for comparison, _ in plan.winners})
