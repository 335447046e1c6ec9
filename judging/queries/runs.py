"""How far runs are: counts of rows, nothing else."""

from __future__ import annotations

from collections import defaultdict
from typing import Any, Final

from django.db.models import Count, Sum
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus
from judging.core.run_progress import RunProgress, StageProgress
from judging.core.stages import StageName
from judging.models import (
    JudgeRun,
    Judgment,
    LlmCall,
    Preference,
    PreferenceKind,
    ResponseScore,
    RunKind,
    RunStatus,
    SatisfactionJudgment,
    UserMemory,
)

UNFINISHED: Final = (RunStatus.PENDING, RunStatus.RUNNING)
DISTILLED: Final = (PreferenceKind.PAIR, PreferenceKind.AGGREGATE)


def preference_rows(run_id: int) -> QuerySet[Preference]:
    """The preferences that a run distils."""
    return Preference.objects.filter(run_id=run_id, kind__in=DISTILLED)


def judgment_rows(run_id: int) -> QuerySet[Judgment]:
    """The pairwise judgments of a run."""
    return Judgment.objects.filter(run_id=run_id)


def grade_rows(run_id: int) -> QuerySet[ResponseScore]:
    """The grades of single responses that a run asks for."""
    return ResponseScore.objects.filter(run_id=run_id)


def memory_rows(run_id: int) -> QuerySet[UserMemory]:
    """The memories that a run builds; later versions are people's."""
    return UserMemory.objects.filter(run_id=run_id, version=1)


def score_rows(run_id: int) -> QuerySet[SatisfactionJudgment]:
    """The satisfaction judgments of a run."""
    return SatisfactionJudgment.objects.filter(run_id=run_id)


def run_progress(run_id: int) -> RunProgress:
    """Counts by stage and status, errors by code, what it cost. Six queries, seven with grades.

    Raises:
        JudgeRun.DoesNotExist: there is no such run.
    """
    run = JudgeRun.objects.select_related("endpoint").get(pk=run_id)
    stages = [
        _stage(StageName.DISTIL, preference_rows(run_id)),
        _stage(StageName.MEMORY, memory_rows(run_id)),
        *([_stage(StageName.GRADE, grade_rows(run_id))] if run.kind == RunKind.GRADE else []),
        _stage(StageName.JUDGE, judgment_rows(run_id)),
        _stage(StageName.SCORE, score_rows(run_id)),
    ]
    paid = _paid(run)
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
        can_have_budget=run.endpoint is not None and run.endpoint.has_prices,
        budget=None if run.budget is None else float(run.budget),
        held=float(run.held),
        started_at=run.started_at,
        heartbeat_at=run.heartbeat_at,
        finished_at=run.finished_at,
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
    return StageProgress(
        stage=stage,
        pending=counts[JudgmentStatus.PENDING],
        done=counts[JudgmentStatus.DONE],
        unparseable=counts[JudgmentStatus.UNPARSEABLE],
        failed=counts[JudgmentStatus.FAILED],
        errors=tuple(sorted(errors, key=lambda one: (-one[1], one[0]))),
    )


def _paid(run: JudgeRun) -> dict[str, Any]:
    """The replies that this run paid for."""
    return LlmCall.objects.filter(run=run).aggregate(
        calls=Count("pk"),
        input=Sum("input_tokens"),
        cached=Sum("cached_tokens"),
        output=Sum("output_tokens"),
        cost=Sum("cost"),
    )
