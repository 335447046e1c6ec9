"""Scores of the learned evaluator: each user's turns by a model that saw none of their labels.

The model is trained on the dataset's own ratings, anew where they changed since. A user is scored
by what was learned from the others, and by the user's own history in other scenarios.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from django.utils import timezone

from annotation.core.choices import JudgmentStatus, is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset
from judging.core.rules import LEARNED
from judging.core.runs import StageName
from judging.core.satisfaction_decisions import likeliest
from judging.core.satisfaction_explained import Explained, to_text
from judging.core.satisfaction_features import Group
from judging.models import JudgeRun, LearnedModel, SatisfactionJudgment
from judging.queries.runs import score_rows
from judging.queries.satisfaction.labels import examples
from judging.services.heartbeats import Pulse
from judging.services.satisfaction_training import learned_model
from judging.services.stages import ComputingStage
from judging.services.turn_scores import NO_TURN

_CHUNK: Final = 500


def score_learned(run: JudgeRun) -> None:
    """Write the scores of a learned run over its pending rows; other runs are left alone.

    Where there is too little to learn from, every row fails with `learned:too-few-ratings`.
    """
    if run.judge != LEARNED:
        return
    pending = score_rows(run.pk).filter(status=JudgmentStatus.PENDING)
    try:
        model = learned_model(dataset=Dataset.objects.get(pk=run.dataset_id), pulse=Pulse(run))
    except Refused as error:
        pending.update(status=JudgmentStatus.FAILED, error_code=error.code)
        return
    JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)
    found = _held_out(model, run.dataset_id)
    now = timezone.now()
    rows = list(pending.only("pk", "user_id", "response_id").order_by("pk"))
    for row in rows:
        values = found.get((row.user_id, row.response_id or 0))
        for name, value in (values or _GONE).items():
            setattr(row, name, value)
        row.updated_at = now
    SatisfactionJudgment.objects.bulk_update(rows, [*_FIELDS, "updated_at"], batch_size=_CHUNK)


_FIELDS: Final = ("status", "score", "expected_score", "reason", "raw", "error_code")
_GONE: Final[dict[str, Any]] = {"status": JudgmentStatus.FAILED, "error_code": NO_TURN}


def _held_out(model: LearnedModel, dataset_id: int) -> dict[tuple[int, int], dict[str, Any]]:
    """User and response to the columns of a judgment; the model keeps turns in this order."""
    kept: dict[str, Any] = model.held_out
    turns = [
        (int(one.block.user), int(target.turn_id))
        for one in examples(dataset_id=dataset_id)
        for target in one.block.targets
    ]
    return {
        turn: {
            "status": JudgmentStatus.DONE,
            "score": kept["scores"][at],
            "expected_score": kept["expected"][at],
            "reason": _reason(kept["scores"][at], kept["reason_chances"][at]),
            "raw": to_text(
                Explained(
                    kept["dissatisfied"][at],
                    kept["baselines"][at],
                    {Group(name): own[at] for name, own in kept["moves"].items()},
                )
            ),
            "error_code": "",
        }
        for at, turn in enumerate(turns)
    }


def _reason(score: int, chances: Sequence[float]) -> str | None:
    return None if is_satisfied(score) else likeliest(chances).value


LEARN_STAGE: Final = ComputingStage(name=StageName.LEARN, compute=score_learned)
