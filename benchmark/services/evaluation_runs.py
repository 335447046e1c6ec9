"""Comparing satisfaction evaluators as a run: run what is missing, measure, keep a report.

A unit is a judge's run over a dataset's turns, or an evaluator that is measured, whose figures it
keeps. The report holds all of them to the same turns: what was measured before a rating changed is
measured again as it is put together. Where a judge's run fails or is refused, the evaluators that
need it fail with it and are left out of the report; the others' figures are there all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final, NamedTuple

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import CURVE_KIND, EvaluationTurns
from benchmark.queries.satisfaction_report import REPORT_KIND, RUN_KIND
from benchmark.services.evaluators import require_users_apart, scoring_run
from benchmark.services.satisfaction_evaluation import (
    DEFAULT_EVALUATORS,
    DEFAULT_SEED,
    REFERENCE,
    STACKED,
    EvaluationData,
    evaluation_names,
    measure,
    rated_turns,
    raters_of,
    scorings_of,
)
from benchmark.services.satisfaction_report import (
    DEFAULT_DRAWS,
    checked_curve_sizes,
    evaluate_learning_curve,
)
from judging.core.estimates import RunEstimate
from judging.core.rules import Level
from judging.core.runs import StageName
from judging.llm.errors import LlmCode
from judging.models import JudgeRun, RunUnit
from judging.queries.runs import UNFINISHED, unit_rows
from judging.queries.satisfaction.blocks import ratings_digest
from judging.services.batches import BatchWork, ComputingStage, UnitStage
from judging.services.child_runs import (
    choose_child,
    end_unit,
    fail_unit,
    fail_with_child,
    go_on,
    has_all_answers,
    refuse_unit,
)
from judging.services.endpoints import check_budget
from judging.services.estimates import estimate_all
from judging.services.heartbeats import Pulse
from judging.services.kinds import Kind
from judging.services.run_requests import finished_like

MOST_DRAWS: Final = 5_000
"""No sign of life is given within a bootstrap: more would look as if the run were left."""
_CURVE: Final = "learning curve"


class EvaluationRequest(NamedTuple):
    """What is to be compared on every rated turn, or session, of the test dataset.

    `train` are whose users' scores a global baseline may know, and the learned evaluator learns;
    `evaluators` are names as for `satisfaction_evaluation.measure`, and STORED. `draws` are the
    resamples of the user-clustered bootstrap, 0 for no intervals. With a `curve` the learned
    evaluator is trained on fewer users as well: on groups of `curve_users` (the usual numbers
    without any), `curve_draws` of each.
    """

    train: Dataset
    test: Dataset
    evaluators: Sequence[str] = DEFAULT_EVALUATORS
    seed: int = DEFAULT_SEED
    draws: int = 1_000
    level: Level = Level.TURN
    curve: bool = False
    curve_users: Sequence[int] = ()
    curve_draws: int = DEFAULT_DRAWS
    budget: Decimal | None = None
    created_by: User | None = None


def plan_evaluation(request: EvaluationRequest) -> JudgeRun:
    """A run that compares evaluators; not saved.

    Raises:
        Refused: a name is neither a baseline nor a judge; a dataset has no rated turn; a way of
            asking has no prompt for sessions; there is a budget, but calls have no price; there are
            too few users for a curve; a stacked evaluator where a test user taught.
    """
    train, test, level = request.train, request.test, request.level
    curve = None
    if request.curve:
        sizes = checked_curve_sizes(train, request.curve_users, level=level)
        curve = {"users": list(sizes), "draws": request.curve_draws}
    raters = [raters_of(one, rated_turns(one, level).gold) for one in (train, test)]
    names = evaluation_names(request.evaluators, train=train, test=test, level=level)
    if any(name.startswith(STACKED) for name in names):
        require_users_apart(*raters)
    scorings = _scorings(names, train=train, test=test, level=level)
    endpoints = [row for each in scorings for row in (each.endpoint, each.writer_endpoint)]
    asked = [row for row in endpoints if row is not None]
    check_budget(request.budget, *asked)  # the lexical judge beside another is free
    return JudgeRun(
        kind=RUN_KIND,
        dataset=test,
        judge=_shown(names),
        endpoint=asked[0] if asked else None,
        config={
            "train": train.slug,
            "level": level.value,
            "evaluators": list(request.evaluators),
            "names": names,
            "seed": request.seed,
            "draws": request.draws,
            "curve": curve,
            "ratings": _digest(train, test, level),
        },
        budget=request.budget,
        created_by=request.created_by,
    )


def _scorings(
    names: Sequence[str], *, train: Dataset, test: Dataset, level: Level
) -> list[JudgeRun]:
    """The runs of the judges that evaluators need, planned and not saved."""
    wanted = scorings_of(names, train=train, test=test)
    return [
        scoring_run(judge, dataset=dataset, level=level, train=_teaching(dataset, train, test))
        for dataset, judge in wanted
    ]


def _teaching(dataset: Dataset, train: Dataset, test: Dataset) -> Dataset | None:
    """Who teaches a judge that scores a dataset: the training users teach about the others."""
    return train if dataset == test else None


def _shown(names: Sequence[str]) -> str:
    """The evaluators in the column for a judge; the configuration has them all."""
    most = 80
    text = ", ".join(names)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _digest(train: Dataset, test: Dataset, level: Level) -> str:
    """Changes with every rating that counts."""
    datasets = dict.fromkeys((train.pk, test.pk))
    return ".".join(ratings_digest(dataset_id=one, level=level)[:32] for one in datasets)


def estimate_evaluation(request: EvaluationRequest) -> list[RunEstimate]:
    """The judges' runs that an evaluation would start, without those that are finished.

    Raises:
        Refused: as for `plan_evaluation`.
    """
    names = plan_evaluation(request).config["names"]
    runs = _scorings(names, train=request.train, test=request.test, level=request.level)
    steps = scorings_of(names, train=request.train, test=request.test)
    wanted = {
        _step_name(*step): run
        for step, run in zip(steps, runs, strict=True)
        if finished_like(run) is None
    }
    estimates = zip(wanted, estimate_all(list(wanted.values())), strict=True)
    return [replace(estimate, name=name) for name, estimate in estimates]


def _step_name(dataset: Dataset, judge: str) -> str:
    return f"{judge}: {dataset.slug}"


def write_evaluation(run: JudgeRun) -> None:
    """Write the units: the judges' runs, then every evaluator, then the curve where one is made.

    A unit keeps the finished run that was found for it now: its estimate counted no call for it.
    """
    train, test, level = _subject(run)
    names: list[str] = run.config["names"]
    wanted = _scorings(names, train=train, test=test, level=level)
    found = [finished_like(each) for each in wanted]
    plans: list[tuple[str, dict[str, Any]]] = [
        (
            _step_name(dataset, judge),
            {"scores": judge, "dataset": dataset.pk, "finished": finished and finished.pk},
        )
        for (dataset, judge), finished in zip(
            scorings_of(names, train=train, test=test), found, strict=True
        )
    ]
    plans += [(name, {"measures": name}) for name in names]
    if run.config["curve"] is not None:
        plans.append((_CURVE, {"curve": True}))
    RunUnit.objects.bulk_create(
        RunUnit(
            run=run,
            position=place,
            name=name[:200],
            plan=plan,
            child_id=plan.get("finished"),
            reused=plan.get("finished") is not None,
        )
        for place, (name, plan) in enumerate(plans)
    )


def _subject(run: JudgeRun) -> tuple[Dataset, Dataset, Level]:
    """The training dataset, the test dataset, and what is scored."""
    return (
        Dataset.objects.get(slug=run.config["train"]),
        Dataset.objects.get(pk=run.dataset_id),
        Level(run.config["level"]),
    )


def work_evaluation(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    """Go on with a judge's run, or measure one evaluator, or make the curve.

    Raises:
        Refused: a run that was found finished is gone.
    """
    if "scores" in unit.plan:
        _score(run, unit, work)
        return
    if (failed := _failed_judge(run, unit)) is not None:
        fail_unit(unit, failed.error_code, failed.result)
        return

    def pulse() -> None:
        work.observer(0)

    if "measures" in unit.plan:
        digest = _digest(*_subject(run))
        data = _evaluation_data(run, digest=digest, pulse=pulse)
        end_unit(unit, _measured(run, unit.plan["measures"], data, digest=digest))
    else:
        end_unit(unit, _curve(run, pulse=pulse))


def _score(run: JudgeRun, unit: RunUnit, work: BatchWork) -> None:
    if unit.child_id is None:
        if unit.plan.get("finished") is not None:
            raise Refused("evaluation:run-gone", f"run {unit.plan['finished']} was deleted")
        train, test, level = _subject(run)
        dataset = train if unit.plan["dataset"] == train.pk and train != test else test
        teaching = _teaching(dataset, train, test)
        judge = unit.plan["scores"]
        wanted = scoring_run(judge, dataset=dataset, level=level, train=teaching)
        spent = unit_rows(run.pk).filter(error_code=LlmCode.BUDGET_SPENT.value).first()
        if spent is not None and wanted.endpoint is not None:
            fail_unit(unit, spent.error_code, spent.result)
            return
        try:
            choose_child(run, unit, wanted)
        except Refused as refused:
            refuse_unit(unit, refused)
            return
    child = go_on(run, unit, work)
    if child.status in UNFINISHED:
        return
    if has_all_answers(child):
        end_unit(unit)
    else:
        fail_with_child(unit, child)


def _failed_judge(run: JudgeRun, unit: RunUnit) -> RunUnit | None:
    """The step of a judge's run that failed and that an evaluator needs, where there is one."""
    name = unit.plan.get("measures")
    if name is None:
        return None
    train, test, _level = _subject(run)
    needed = {(dataset.pk, judge) for dataset, judge in scorings_of([name], train=train, test=test)}
    failed = unit_rows(run.pk).filter(plan__has_key="scores", status=JudgmentStatus.FAILED)
    return next(
        (one for one in failed if (one.plan["dataset"], one.plan["scores"]) in needed), None
    )


@lru_cache(maxsize=2)
def _turns(dataset: Dataset, level: Level, *_asked: object) -> EvaluationTurns:
    """What was rated, read once for the evaluators of a run that a process measures in turn."""
    return rated_turns(dataset, level)


def _evaluation_data(run: JudgeRun, *, digest: str, pulse: Callable[[], None]) -> EvaluationData:
    """What every evaluator of a run is given, as it is now; `digest` is of the ratings."""
    train, test, level = _subject(run)
    asked = (run.pk, run.created_at, digest)
    judges = unit_rows(run.pk).filter(child__isnull=False).select_related("child")
    return EvaluationData(
        train_dataset=train,
        test_dataset=test,
        train=_turns(train, level, *asked),
        test=_turns(test, level, *asked),
        scored={
            (unit.plan["dataset"], unit.plan["scores"]): unit.child
            for unit in judges
            if unit.child is not None
        },
        pulse=pulse,
    )


def _measured(run: JudgeRun, name: str, data: EvaluationData, *, digest: str) -> dict[str, Any]:
    """An evaluator's figures with the digest of the ratings that they were measured on."""
    found = measure(name, data, seed=run.config["seed"], draws=run.config["draws"])
    return {
        "digest": digest,
        "users": data.test.users,
        "turns": data.test.turns,
        "shared": sorted(
            raters_of(data.train_dataset, data.train.gold)
            & raters_of(data.test_dataset, data.test.gold)
        ),
        **found,
    }


def _curve(run: JudgeRun, *, pulse: Callable[[], None]) -> dict[str, Any]:
    train, test, level = _subject(run)
    return evaluate_learning_curve(
        train=train,
        test=test,
        level=level,
        sizes=run.config["curve"]["users"],
        draws=run.config["curve"]["draws"],
        seed=run.config["seed"],
        bootstrap=run.config["draws"],
        observer=lambda _models: pulse(),
    )


def units_resting(run: JudgeRun, again: Sequence[RunUnit]) -> Iterator[RunUnit]:
    """The evaluators that are measured by some judges' runs which a retry has answer more.

    A run that was there before is sought anew.
    """
    for unit in again:
        if unit.reused:
            unit.plan["finished"] = None
            unit.save(update_fields=["plan"])
    train, test, _level = _subject(run)
    asked = {(unit.plan["dataset"], unit.plan["scores"]) for unit in again}
    for unit in unit_rows(run.pk).filter(plan__has_key="measures"):
        needed = scorings_of([unit.plan["measures"]], train=train, test=test)
        if asked & {(dataset.pk, judge) for dataset, judge in needed}:
            yield unit


def report_evaluation(run: JudgeRun) -> None:
    """Keep what was measured as a report, all on the ratings as they are now, and the curve.

    Raises:
        Refused: every evaluator needs a judge's run that failed, or the money ended before.
    """
    _require_measured(run)
    pulse = Pulse(run)
    train, test, level = _subject(run)
    results = list(_results(run, _digest(train, test, level), pulse))
    of_learned = next((each for each in results if "training" in each), {})
    nothing = {"users": 0, "turns": 0, "shared": []}
    first: Mapping[str, Any] = next((each for each in results if "users" in each), nothing)
    _keep(
        run,
        REPORT_KIND,
        settings={
            "train": train.slug,
            "test": test.slug,
            "level": level.value,
            "evaluators": run.config["evaluators"],
            "seed": run.config["seed"],
            "draws": run.config["draws"],
            "reference": REFERENCE.lower(),
            "users": first["users"],
            "turns": first["turns"],
            "shared": first["shared"],
            "skipped": [each["skipped"] for each in results if "skipped" in each],
            "learned_version": of_learned.get("learned_version"),
            "training": of_learned.get("training"),
        },
        rows=[row for each in results for row in each.get("rows", ())],
    )
    for unit in unit_rows(run.pk).filter(plan__curve=True):
        _keep(run, CURVE_KIND, **unit.result)


def _require_measured(run: JudgeRun) -> None:
    units = list(unit_rows(run.pk).filter(plan__has_key="measures"))
    if units and all(unit.status == JudgmentStatus.FAILED for unit in units):
        spent = any(unit.error_code == LlmCode.BUDGET_SPENT for unit in units)
        code = LlmCode.BUDGET_SPENT.value if spent else "run:failed"
        raise Refused(code, "; ".join(dict.fromkeys(unit.result["ending"] for unit in units)))


def _results(run: JudgeRun, digest: str, pulse: Pulse) -> Iterator[dict[str, Any]]:
    """What the units measured, in the order asked for; outdated figures are measured again."""
    data = None
    for unit in unit_rows(run.pk).filter(plan__has_key="measures").order_by("position"):
        found: dict[str, Any] = unit.result
        if unit.status == JudgmentStatus.FAILED:
            yield {"skipped": _left_out(unit)}
            continue
        if found["digest"] != digest:
            data = data or _evaluation_data(run, digest=digest, pulse=pulse)
            found = _measured(run, unit.plan["measures"], data, digest=digest)
        pulse()
        yield found


def _left_out(unit: RunUnit) -> dict[str, Any]:
    """Why an evaluator could not be measured, as a report keeps it."""
    return {
        "evaluator": unit.plan["measures"],
        "code": unit.error_code,
        "detail": unit.result["detail"],
        "run": unit.result["run"],
    }


def _keep(run: JudgeRun, kind: str, *, settings: object, rows: object) -> None:
    VerificationReport.objects.update_or_create(
        run=run,
        kind=kind,
        defaults={"dataset": run.dataset, "settings": settings, "rows": rows},
    )


EVALUATE: Final = Kind(
    None,
    write_evaluation,
    (
        UnitStage(StageName.UNIT, work_evaluation),
        ComputingStage(StageName.REPORT, report_evaluation),
    ),
    units_resting,
)
