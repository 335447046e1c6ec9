"""Training as a run: asked for by a manager, or by itself once new ratings have come to rest.

A run is rows, so one that a worker drops is taken up by another, and its page says what came of it.
Only datasets that have an evaluator already are trained again by themselves. The wait keeps a
person who rates a session turn by turn from starting a training with each: ratings have to be at
rest, or to have waited long enough.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from annotation.models import Dataset, User
from judging.core.rules import LEARNED
from judging.core.runs import StageName
from judging.core.satisfaction_model import VERSION
from judging.models import JudgeRun, LearnedModel, RunKind
from judging.queries.satisfaction.blocks import ratings_digest
from judging.queries.satisfaction.learned import newest_models, ratings_stamp
from judging.services.equal_runs import start_once
from judging.services.heartbeats import Pulse
from judging.services.satisfaction_training import learned_model
from judging.services.stages import ComputingStage

AT_REST: Final = timedelta(minutes=5)
"""Ratings are at rest once none was given or changed for so long."""
PATIENCE: Final = timedelta(hours=1)
"""Where ratings never come to rest, they are trained on after so long all the same."""


def start_training(*, dataset: Dataset, created_by: User | None = None) -> JudgeRun:
    """Write a run that trains on the dataset's ratings as they are; the caller dispatches it.

    Where one is under way, that one is given: it trains on the ratings as it finds them. Where the
    ratings are those of a stored version already, the run finds that one and trains nothing.

    Args:
        dataset: whose ratings.
        created_by: who asked; None where the ratings did.
    """
    wanted = JudgeRun(
        kind=RunKind.TRAIN,
        dataset=dataset,
        judge=LEARNED,
        created_by=created_by,
        config={
            "judge": {"judge": LEARNED, "version": VERSION},
            "ratings": ratings_digest(dataset_id=dataset.pk),
        },
    )
    return start_once(wanted, lambda _run: None, config={})


def start_due_trainings(*, now: datetime) -> list[JudgeRun]:
    """Write a run for every dataset whose evaluator is older than ratings that came to rest.

    Ratings that a run was started for already, whatever came of it, start no other.

    Args:
        now: the moment.
    """
    return [
        start_training(dataset=model.dataset)
        for model in newest_models()
        if _is_due(model, now=now)
    ]


def _is_due(model: LearnedModel, *, now: datetime) -> bool:
    stamp = ratings_stamp(dataset_id=model.dataset_id)
    if stamp.to_json() == model.manifest.get("ratings") and model.method == VERSION:
        return False
    resting = stamp.newest is None or stamp.newest <= now - AT_REST
    if not resting and model.created_at > now - PATIENCE:
        return False
    digest = ratings_digest(dataset_id=model.dataset_id)
    if digest == model.ratings_digest and model.method == VERSION:
        return False
    tried = JudgeRun.objects.filter(
        dataset=model.dataset_id,
        kind=RunKind.TRAIN,
        config__ratings=digest,
        config__judge__version=VERSION,
    )
    return not tried.exists()


def train_run(run: JudgeRun) -> None:
    """Train on the ratings as they are now, and note the version with the run.

    Raises:
        Refused: there is too little to learn from.
        SupersededError: somebody else has the run now.
    """
    dataset = Dataset.objects.get(pk=run.dataset_id)
    model = learned_model(dataset=dataset, pulse=Pulse(run))
    JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)


TRAIN_STAGE: Final = ComputingStage(name=StageName.TRAIN, compute=train_run)
