"""Calibration of a run's raw scores, when all of its turns are scored (protocols A2.4)."""

from __future__ import annotations

from typing import Final

from annotation.core.choices import JudgmentStatus
from judging.core.calibration import LEVELS, calibrate, score_counts
from judging.core.satisfaction_settings import satisfaction_settings
from judging.core.stages import StageName
from judging.models import JudgeRun, SatisfactionJudgment
from judging.queries.runs import memory_rows, score_rows
from judging.queries.satisfaction.blocks import stored_blocks
from judging.services.stages import ComputingStage

_CHUNK: Final = 500


def calibrate_run(run: JudgeRun) -> None:
    """Calibrate every scored turn of a run, block by block.

    The history counts of a block are those stored with its memory, so that a label given later
    changes nothing; where there is no memory they are counted now.
    """
    method = satisfaction_settings(run.config).calibration
    blocks: dict[tuple[int, int], list[SatisfactionJudgment]] = {}
    scored = (
        score_rows(run.pk)
        .filter(status=JudgmentStatus.DONE, response__isnull=False)
        .order_by("pk")
        .values_list("pk", "user_id", "score", "response__turn__session__scenario_id")
    )
    for pk, user_id, score, scenario_id in scored:
        row = SatisfactionJudgment(pk=pk, score=score, calibration=method.value)
        blocks.setdefault((user_id, scenario_id), []).append(row)
    counts = _history_counts(run)
    changed: list[SatisfactionJudgment] = []
    for key, rows in blocks.items():
        raw = [row.score for row in rows if row.score is not None]
        results = calibrate(raw, method=method, history=counts.get(key, (0,) * LEVELS))
        for row, result in zip(rows, results, strict=True):
            row.calibrated = result.score
            row.fallback_reason = "" if result.fallback is None else result.fallback.value
            changed.append(row)
    SatisfactionJudgment.objects.bulk_update(
        changed, ["calibrated", "calibration", "fallback_reason"], batch_size=_CHUNK
    )


def _history_counts(run: JudgeRun) -> dict[tuple[int, int], tuple[int, ...]]:
    """User and target scenario to the counts of the user's scores elsewhere."""
    if satisfaction_settings(run.config).with_memory:
        rows = memory_rows(run.pk).filter(status=JudgmentStatus.DONE)
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
        for stored in stored_blocks(dataset_id=run.dataset_id, user_ids=set(users))
    }


CALIBRATE_STAGE: Final = ComputingStage(name=StageName.CALIBRATE, compute=calibrate_run)
