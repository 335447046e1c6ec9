"""Calibration of a run's raw scores, when all of its turns are scored (protocols A2.4)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from django.db.models.functions import Coalesce

from annotation.core.choices import JudgmentStatus
from judging.core.calibration import LEVELS, Calibrated, Calibration, calibrate, score_counts
from judging.core.rules import satisfaction_settings
from judging.core.runs import StageName
from judging.models import JudgeRun, SatisfactionJudgment, UserMemory
from judging.queries.runs import score_rows
from judging.queries.satisfaction.blocks import stored_blocks
from judging.services.stages import ComputingStage

_CHUNK: Final = 500
_SCENARIO: Final = Coalesce("response__turn__session__scenario_id", "session__scenario_id")


def calibrate_run(run: JudgeRun) -> None:
    """Calibrate every scored turn of a run, block by block.

    The history counts of a block are those stored with its memory, so that a label given later
    changes nothing; where there is no memory they are counted now.
    """
    method = satisfaction_settings(run.config).calibration
    blocks: dict[tuple[int, int], list[tuple[int, int]]] = {}
    scored = (
        score_rows(run.pk)
        .filter(status=JudgmentStatus.DONE)
        .order_by("pk")
        .values_list("user_id", _SCENARIO, "pk", "score")
    )
    for user_id, scenario_id, pk, score in scored:
        if score is not None:
            blocks.setdefault((user_id, scenario_id), []).append((pk, score))
    counts = _history_counts(run)
    outcomes: dict[Calibrated, list[int]] = {}
    for key, rows in blocks.items():
        history = counts.get(key, (0,) * LEVELS)
        results = calibrate([score for _, score in rows], method=method, history=history)
        for (pk, _), result in zip(rows, results, strict=True):
            outcomes.setdefault(result, []).append(pk)
    for result, ids in outcomes.items():
        _store(ids, result, method)


def _store(ids: Sequence[int], result: Calibrated, method: Calibration) -> None:
    """Write one outcome to all rows that have it: there are few outcomes, and many rows."""
    for start in range(0, len(ids), _CHUNK):
        SatisfactionJudgment.objects.filter(pk__in=ids[start : start + _CHUNK]).update(
            calibrated=result.score,
            calibration=method.value,
            fallback_reason="" if result.fallback is None else result.fallback.value,
        )


def _history_counts(run: JudgeRun) -> dict[tuple[int, int], tuple[int, ...]]:
    """User and target scenario to the counts of the user's scores elsewhere."""
    settings = satisfaction_settings(run.config)
    if settings.with_memory:
        used = score_rows(run.pk).values("memory_id")  # not a version that was written later
        rows = UserMemory.objects.filter(pk__in=used, status=JudgmentStatus.DONE)
        return {
            (user_id, scenario_id): tuple(statistics["counts"])
            for user_id, scenario_id, statistics in rows.values_list(
                "user_id", "target_scenario_id", "statistics"
            )
        }
    users = score_rows(run.pk).values_list("user_id", flat=True).distinct()
    return {
        (stored.user_id, stored.scenario_id): score_counts(
            [turn.score for turn in stored.block.history]
        )
        for stored in stored_blocks(
            dataset_id=run.dataset_id, user_ids=set(users), level=settings.level
        )
    }


CALIBRATE_STAGE: Final = ComputingStage(name=StageName.CALIBRATE, compute=calibrate_run)
