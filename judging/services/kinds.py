"""The kinds of run: what a request for one means, and its start. A new kind is a line here."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, NamedTuple

from annotation.core.refusals import Refused
from annotation.models import User
from annotation.queries.participants import annotators
from judging.models import JudgeRun, RunKind
from judging.services.batches import Stage
from judging.services.judgments import COMPARE_STAGE, GRADE_STAGE, JUDGE_STAGE
from judging.services.learned import LEARN_STAGE, TRAIN_STAGE, due_trainings, plan_training
from judging.services.memories import MEMORY_STAGE
from judging.services.pairwise_runs import (
    plan_ablation,
    plan_distillation,
    plan_test,
    write_distillation,
    write_test,
)
from judging.services.preferences import DISTIL_STAGE, SELECT_STAGE
from judging.services.rubrics import CONDENSE_STAGE, EXTRACT_STAGE, RUBRICS_STAGE
from judging.services.run_requests import RunRequest, start_once
from judging.services.satisfaction import (
    CALIBRATE_STAGE,
    SCORE_STAGE,
    plan_satisfaction,
    write_satisfaction,
)


class Kind(NamedTuple):
    """How a run of a kind is planned, how its PENDING rows are written, and its stages in order."""

    plan: Callable[[RunRequest], JudgeRun]
    write: Callable[[JudgeRun], object]
    stages: tuple[Stage, ...]


def _write_nothing(_run: JudgeRun) -> None:
    """A training computes, and has no rows."""


_TEST: Final = Kind(plan_test, write_test, (JUDGE_STAGE,))
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
    RunKind.SATISFACTION: Kind(plan_satisfaction, write_satisfaction, _SCORING),
    RunKind.TRAIN: Kind(plan_training, _write_nothing, (TRAIN_STAGE,)),
}


def plan(request: RunRequest) -> list[JudgeRun]:
    """The runs that a request means, which nothing is written of yet.

    There is one; where no annotator is named a distillation is one for each who labelled
    something, and each has the whole budget for itself.

    Raises:
        Refused: there is nothing to judge for anybody; see the kinds.
    """
    plan_one = KINDS[request.kind].plan
    if request.kind is not RunKind.DISTIL or request.annotator or request.parent:
        return [plan_one(request)]
    runs = []
    users = User.objects.in_bulk([each.id for each in annotators(dataset=request.dataset)])
    for user in users.values():
        try:
            runs.append(plan_one(replace(request, annotator=user)))
        except Refused as refused:
            if refused.code != "run:no-labels":  # rated turns only, or pairs without texts
                raise
    if not runs:
        message = f"no labelled comparison of {request.dataset.slug} has both texts"
        raise Refused("run:no-labels", message)
    return runs


def start(run: JudgeRun, *, again: bool = False) -> JudgeRun:
    """Writes a planned run with all its PENDING rows; the caller dispatches it.

    Where an equal run is under way, that one is given, `attached`, unless it is to start `again`.
    """
    return start_once(run, KINDS[run.kind].write, again=again)


def start_due_trainings(*, now: datetime) -> list[JudgeRun]:
    """Starts every training that is due; see `learned.due_trainings`."""
    return [start(run) for request in due_trainings(now=now) for run in plan(request)]
