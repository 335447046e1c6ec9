"""Comparing satisfaction evaluators in a test: the run from its start to its report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from annotation.core.refusals import Refused
from benchmark.queries.satisfaction_report import SatisfactionReport, evaluation_of
from benchmark.services.evaluation_runs import EvaluationRequest, plan_evaluation
from judging.models import JudgeRun
from judging.services.foreground import run_to_end
from judging.services.kinds import start


def evaluate_satisfaction(
    *, observer: Callable[[int], None] | None = None, **asked: Any
) -> SatisfactionReport:
    """The report of a finished evaluation; refused with what its run ended by."""
    run = run_to_end(start(plan_evaluation(EvaluationRequest(**asked))).pk, observer=observer)
    found = evaluation_of(run.pk)
    if found is None:
        raise Refused(run.error_code, run.error_detail)
    return found


def judges_runs():
    """The runs of judges and trainings, not the evaluations that wanted them."""
    return JudgeRun.objects.exclude(kind="EVALUATE")
