"""The kinds of run: what a request for one means, and its start. A new kind is a line here.

An app above adds its own by `core.runs.REGISTERED`; it plans them itself and starts them here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from django.utils.module_loading import import_string

from annotation.core.refusals import Refused
from annotation.models import User
from annotation.queries.participants import annotators
from judging.core.runs import REGISTERED
from judging.core.targets import RunTarget
from judging.models import JudgeRun, RunKind, RunStatus, RunUnit
from judging.queries.runs import unit_rows
from judging.queries.satisfaction.blocks import rated
from judging.services.abilities import learn_abilities
from judging.services.applications import COMBINE_STAGE, plan_ablation, plan_test, write_test
from judging.services.batches import Stage
from judging.services.estimates import estimate_all
from judging.services.generation import GENERATE_STAGE, plan_generation, write_generation
from judging.services.injection import (
    ATTACK_STAGE,
    CLEAN_STAGE,
    REPHRASE_STAGE,
    TRY_STAGE,
    plan_check,
    write_check,
)
from judging.services.judgments import COMPARE_STAGE, GRADE_STAGE, JUDGE_STAGE
from judging.services.learned import LEARN_STAGE, TRAIN_STAGE, due_trainings, plan_training
from judging.services.memories import MEMORY_STAGE
from judging.services.pairwise_runs import plan_distillation, write_distillation
from judging.services.preferences import DISTIL_STAGE
from judging.services.rubrics import CONDENSE_STAGE, EXTRACT_STAGE, RUBRICS_STAGE
from judging.services.run_requests import RunRequest, start_once
from judging.services.satisfaction import (
    CALIBRATE_STAGE,
    SCORE_STAGE,
    plan_satisfaction,
    write_satisfaction,
)
from judging.services.selections import SELECT_STAGE


def later_units(run: JudgeRun, again: Sequence[RunUnit]) -> list[RunUnit]:
    """The units of a run behind the first that is done again: any of them may rest on it."""
    first = min((unit.position for unit in again), default=None)
    return [] if first is None else list(unit_rows(run.pk).filter(position__gt=first))


class Kind(NamedTuple):
    """How a run of a kind is planned, how its PENDING rows are written, and its stages in order.

    The plan of a registered kind is None: its app makes it, from a request of its own. `resting` is
    called inside the transaction of a retry with the units that are done again, for their runs lack
    answers; it gives those that rest on them, and raises `Refused` where nothing may change.
    """

    plan: Callable[[RunRequest], JudgeRun] | None
    write: Callable[[JudgeRun], object]
    stages: tuple[Stage, ...]
    resting: Callable[[JudgeRun, Sequence[RunUnit]], Iterable[RunUnit]] = later_units


def _write_nothing(_run: JudgeRun) -> None:
    """A training computes, and has no rows."""


_TEST: Final = Kind(plan_test, write_test, (JUDGE_STAGE, COMBINE_STAGE))
_SCORING: Final = (
    LEARN_STAGE,
    EXTRACT_STAGE,
    CONDENSE_STAGE,
    RUBRICS_STAGE,
    MEMORY_STAGE,
    SCORE_STAGE,
    CALIBRATE_STAGE,
)
KINDS: Final[Mapping[str, Kind]] = {
    RunKind.DISTIL: Kind(
        plan_distillation, write_distillation, (DISTIL_STAGE, JUDGE_STAGE, SELECT_STAGE)
    ),
    RunKind.TEST: _TEST,
    RunKind.GRADE: _TEST._replace(stages=(GRADE_STAGE, COMPARE_STAGE)),
    RunKind.ABLATION: _TEST._replace(plan=plan_ablation),
    RunKind.RANKING: _TEST,  # planned by a request of the kind TEST that draws
    RunKind.SATISFACTION: Kind(plan_satisfaction, write_satisfaction, _SCORING),
    RunKind.TRAIN: Kind(plan_training, _write_nothing, (TRAIN_STAGE,)),
    RunKind.GENERATE: Kind(plan_generation, write_generation, (GENERATE_STAGE,)),
    RunKind.CHECK: Kind(
        plan_check, write_check, (CLEAN_STAGE, REPHRASE_STAGE, ATTACK_STAGE, TRY_STAGE)
    ),
}


def kind_of(name: str) -> Kind:
    """The kind of a run by its stored name: one of these, or one that an app above registered.

    Raises:
        KeyError: there is none; runs of this kind are never worked off (RECORDED).
    """
    if name in KINDS:
        return KINDS[name]
    kind: Kind = import_string(REGISTERED[name].place)
    return kind


NOTHING_TO_DO: Final = frozenset({"run:no-labels", "run:not-distilled", "run:no-targets"})
"""Why one annotator of several is left out."""


def plan(request: RunRequest) -> list[JudgeRun]:
    """The runs that a request means, which nothing is written of yet.

    There is one; where no annotator is named a distillation, a test run under the sets of
    annotators, and a scoring of all of a dataset by what they rated in one, is one for each of
    them, and each has the whole budget for itself. Comparisons that nobody labelled are judged in
    nobody's stead.

    Raises:
        Refused: there is nothing to judge for anybody; see the kinds.
    """
    plan_one = KINDS[request.kind].plan
    assert plan_one is not None  # noqa: S101 - they all have one
    if request.annotator or request.parent or not _is_of_each(request):
        return [plan_one(request)]
    known = _heard(request)
    if request.kind is RunKind.TEST and (not known or request.is_for_nobody):
        kind = request.targets.kind
        whole = replace(request.targets, kind=RunTarget.ALL if kind is RunTarget.TEST else kind)
        return [plan_one(replace(request, with_sets=False, targets=whole))]
    runs = []
    refusal = None
    for user in User.objects.in_bulk(known).values():
        try:
            runs.append(plan_one(replace(request, annotator=user)))
        except Refused as refused:
            # Rated turns only, or pairs without texts, or nothing learned of them.
            if refused.code not in NOTHING_TO_DO:
                raise
            refusal = refused
    if not runs and refusal is not None and request.kind is not RunKind.DISTIL:
        raise refusal
    if not runs:
        message = f"no labelled comparison of {request.dataset.slug} has both texts"
        raise Refused("run:no-labels", message)
    return runs


def _is_of_each(request: RunRequest) -> bool:
    """Whether a run is in one annotator's stead: one that scores each user's own is not."""
    in_stead = request.kind is RunKind.SATISFACTION and request.sets_dataset is not None
    return in_stead or request.kind in (RunKind.DISTIL, RunKind.TEST)


def _heard(request: RunRequest) -> list[int]:
    """The annotators in whose stead there are runs where nobody is named.

    Raises:
        Refused: it takes ratings to be heard, and there are none.
    """
    learned_in = request.sets_dataset or request.dataset
    known = [each.id for each in annotators(dataset=learned_in)]
    if request.kind is not RunKind.SATISFACTION:
        return known
    ratings = rated(dataset_id=learned_in.pk, level=request.satisfaction.level)
    raters = set(ratings.values_list("annotator_id", flat=True))
    if not raters:
        raise Refused("run:no-ratings", f"nobody rated anything in {learned_in.slug}")
    return [key for key in known if key in raters]


def start(run: JudgeRun, *, again: bool = False) -> JudgeRun:
    """Writes a planned run, in no transaction: `check_abilities`, then `write`.

    Raises:
        Refused: see `check_abilities`.
    """
    check_abilities(run)
    return write(run, again=again)


def check_abilities(*runs: JudgeRun) -> None:
    """Refuses planned runs that ask for what an endpoint lacks, before money is spent.

    Raises:
        Refused: see `abilities.learn_abilities`; a prompt with its reply is longer than the context
            that the endpoint told of (`estimate_tallies`).
    """
    learn_abilities(runs)
    estimate_all([run for run in runs if _has_told_context(run)])


def _has_told_context(run: JudgeRun) -> bool:
    called = [row for row in (run.endpoint, run.writer_endpoint) if row is not None]
    return run.status != RunStatus.BATCH and any(row.told_context for row in called)


def write(run: JudgeRun, *, again: bool = False) -> JudgeRun:
    """Writes a planned run with all its PENDING rows; the caller dispatches it.

    Where an equal run is under way, that one is given, `attached`, unless it is to start `again`.
    """
    return start_once(run, kind_of(run.kind).write, again=again)


def start_due_trainings(*, now: datetime) -> list[JudgeRun]:
    """Starts every training that is due; see `learned.due_trainings`."""
    return [start(run) for request in due_trainings(now=now) for run in plan(request)]
