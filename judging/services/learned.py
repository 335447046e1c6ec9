"""Learned evaluators: trained for some labels, again when labels change, and asked for scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models import Max
from django.utils import timezone

from annotation.core.choices import JudgmentStatus, is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.participants import names_of
from judging.core.rules import LEARNED, Level, SatisfactionSettings
from judging.core.runs import StageName
from judging.core.satisfaction_artefact import from_bytes, manifest, to_bytes
from judging.core.satisfaction_decisions import likeliest
from judging.core.satisfaction_features import Group
from judging.core.satisfaction_model import VERSION, Explained, Settings, to_text
from judging.core.satisfaction_training import HeldOut, predict_apart, train
from judging.models import JudgeRun, LearnedModel, RunKind, SatisfactionJudgment
from judging.queries.configurations import satisfaction_settings
from judging.queries.runs import score_rows
from judging.queries.satisfaction.blocks import ratings_digest
from judging.queries.satisfaction.labels import examples
from judging.queries.satisfaction.learned import newest_models, ratings_stamp
from judging.queries.satisfaction.targets import Asked, TurnScope, target_blocks, turn_scope
from judging.services.batches import ComputingStage
from judging.services.heartbeats import Pulse
from judging.services.run_requests import RunRequest
from judging.services.satisfaction import NO_TURN


def learned_model(
    *,
    dataset: Dataset,
    level: Level = Level.TURN,
    settings: Settings | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """The evaluator trained on every rating of a dataset: the stored one, or a new version.

    Where labels arrive a run trains it beforehand (`due_trainings`); whoever needs it
    sooner trains it here.

    Args:
        dataset: whose users.
        level: what they rated, single responses or whole sessions.
        settings: how to train; the defaults are the evaluator's one setting.
        pulse: called between the steps of a training.

    Raises:
        Refused: too few users or turns to train on.
    """
    chosen = settings or Settings()
    digest = ratings_digest(dataset_id=dataset.pk, level=level)
    stored = _stored_model(dataset, level, digest, chosen)
    if stored is not None:
        return stored
    try:
        return train_learned_model(
            dataset=dataset, level=level, digest=digest, settings=chosen, pulse=pulse
        )
    except IntegrityError:
        quicker = _stored_model(dataset, level, digest, chosen)
        if quicker is None:
            raise
        return quicker


def train_learned_model(
    *,
    dataset: Dataset,
    level: Level,
    digest: str,
    settings: Settings,
    pulse: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """Train on every rating of a dataset and store the result as its next version.

    Args:
        dataset: whose users.
        level: what they rated.
        digest: of its ratings, read before the examples are.
        settings: how to train.
        pulse: called between the steps.

    Raises:
        Refused: too few users or turns to train on.
    """
    stamp = ratings_stamp(dataset_id=dataset.pk, level=level)
    version = _newest_version(dataset) + 1
    found = examples(dataset_id=dataset.pk, level=level)
    trained = train(found, settings, pulse=pulse)
    names = names_of(dataset=dataset)
    users = sorted({names[int(one.block.user)] for one in found})
    with transaction.atomic():  # of two who train at once the second finds the version taken
        return LearnedModel.objects.create(
            dataset=dataset,
            version=version,
            level=level.value,
            method=VERSION,
            ratings_digest=digest,
            settings=asdict(settings),
            manifest={
                "dataset": dataset.slug,
                "ratings": stamp.to_json(),
                **manifest(trained.held_out, settings, users=users),
            },
            held_out=_stored(trained.held_out),
            artefact=to_bytes(trained.model),
        )


def _newest_version(dataset: Dataset) -> int:
    versions = LearnedModel.objects.filter(dataset=dataset)
    return versions.aggregate(newest=Max("version"))["newest"] or 0


def _stored_model(
    dataset: Dataset, level: Level, digest: str, settings: Settings
) -> LearnedModel | None:
    return (
        LearnedModel.objects.filter(
            dataset=dataset,
            level=level.value,
            ratings_digest=digest,
            method=VERSION,
            settings=asdict(settings),
        )
        .order_by("-version")
        .first()
    )


def _stored(held_out: HeldOut) -> dict[str, object]:
    """Held-out predictions by turn; figures are computed from them where they are shown."""
    return {
        "users": [int(user) for user in held_out.users],
        "gold": list(held_out.gold),
        "expected": [round(value, 6) for value in held_out.expected],
        "scores": list(held_out.scores),
        "dissatisfied": [round(value, 6) for value in held_out.dissatisfied],
        "reasons": [None if reason is None else reason.value for reason in held_out.reasons],
        "reason_chances": [[round(value, 4) for value in own] for own in held_out.reason_chances],
        "baselines": [round(value, 4) for value in held_out.baselines],
        "moves": {
            group.value: [round(value, 4) for value in own] for group, own in held_out.moves.items()
        },
    }


AT_REST: Final = timedelta(minutes=5)
"""Ratings are at rest once none was given or changed for so long."""
PATIENCE: Final = timedelta(hours=1)
"""Where ratings never come to rest, they are trained on after so long all the same."""


def plan_training(request: RunRequest) -> JudgeRun:
    """A run that trains on the dataset's ratings of a level as they are; not saved.

    Where one is under way, that one is given at the start: it trains on the ratings as it finds
    them. Where the ratings are those of a stored version already, the run finds that one and trains
    nothing.
    """
    level = request.satisfaction.level
    return request.run(
        judge=LEARNED,
        config={
            "judge": {"judge": LEARNED, "version": VERSION},
            "ratings": ratings_digest(dataset_id=request.dataset.pk, level=level),
            **({} if level is Level.TURN else {"level": level.value}),
        },
    )


def due_trainings(*, now: datetime) -> list[RunRequest]:
    """A request for every dataset whose evaluator is older than ratings that came to rest.

    Ratings that a run was started for already, whatever came of it, start no other.

    Args:
        now: the moment.
    """
    return [
        RunRequest(
            kind=RunKind.TRAIN,
            dataset=model.dataset,
            satisfaction=SatisfactionSettings(level=Level(model.level)),
        )
        for model in newest_models()
        if _is_due(model, now=now)
    ]


def _is_due(model: LearnedModel, *, now: datetime) -> bool:
    level = Level(model.level)
    stamp = ratings_stamp(dataset_id=model.dataset_id, level=level)
    if stamp.to_json() == model.manifest.get("ratings") and model.method == VERSION:
        return False
    resting = stamp.newest is None or stamp.newest <= now - AT_REST
    if not resting and model.created_at > now - PATIENCE:
        return False
    digest = ratings_digest(dataset_id=model.dataset_id, level=level)
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
    level = Level(run.config.get("level", Level.TURN))
    model = learned_model(dataset=dataset, level=level, pulse=Pulse(run))
    JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)


TRAIN_STAGE: Final = ComputingStage(name=StageName.TRAIN, compute=train_run)


_CHUNK: Final = 500


Known = Mapping[tuple[int, int], Mapping[str, Any]]
"""User and response (or session) to the columns of a judgment."""


def score_learned(run: JudgeRun) -> None:
    """Write the scores of a learned run over its pending rows; other runs are left alone.

    Rated turns have their held-out predictions; other targets those of evaluators that nothing of
    their user taught. Where there is too little to learn from, every row fails with
    `learned:too-few-ratings`.
    """
    if run.judge != LEARNED:
        return
    pending = score_rows(run.pk).filter(status=JudgmentStatus.PENDING)
    rows = list(pending.only("pk", "user_id", "response_id", "session_id").order_by("pk"))
    try:
        scope = turn_scope(run)
        model = learned_model(
            dataset=Dataset.objects.get(pk=run.dataset_id if scope is None else scope.history),
            level=satisfaction_settings(run.config).level,
            pulse=Pulse(run),
        )
        if scope is None:
            found = _held_out(model)
        else:
            found = _of_targets(model, scope, [_target_of(row) for row in rows], pulse=Pulse(run))
    except Refused as error:
        pending.update(status=JudgmentStatus.FAILED, error_code=error.code)
        return
    JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)
    now = timezone.now()
    for row in rows:
        for name, value in found.get(_target_of(row), _GONE).items():
            setattr(row, name, value)
        row.updated_at = now
    SatisfactionJudgment.objects.bulk_update(rows, [*_FIELDS, "updated_at"], batch_size=_CHUNK)


def _target_of(row: SatisfactionJudgment) -> tuple[int, int]:
    return row.user_id, row.response_id or row.session_id or 0


_FIELDS: Final = ("status", "score", "expected_score", "reason", "raw", "error_code")
_GONE: Final[dict[str, Any]] = {"status": JudgmentStatus.FAILED, "error_code": NO_TURN}


def _held_out(model: LearnedModel) -> Known:
    """What a training kept of each of its turns; the model keeps them in this order."""
    kept: dict[str, Any] = model.held_out
    turns = [
        (int(one.block.user), int(target.turn_id))
        for one in examples(dataset_id=model.dataset_id, level=Level(model.level))
        for target in one.block.targets
    ]
    return {
        turn: _columns(
            kept["scores"][at],
            kept["expected"][at],
            kept["reason_chances"][at],
            Explained(
                kept["dissatisfied"][at],
                kept["baselines"][at],
                {Group(name): own[at] for name, own in kept["moves"].items()},
            ),
        )
        for at, turn in enumerate(turns)
    }


def _of_targets(
    model: LearnedModel, scope: TurnScope, asked: Asked, *, pulse: Callable[[], None]
) -> Known:
    """What is said of other targets; the dataset of the history is the one that taught."""
    blocks = target_blocks(scope, asked)
    found = predict_apart(
        examples(dataset_id=model.dataset_id, level=scope.level),
        [stored.block for stored in blocks],
        model=from_bytes(bytes(model.artefact)),
        pulse=pulse,
    )
    return {
        (stored.user_id, int(target.turn_id)): _columns(
            said.score,
            round(said.expected, 6),
            said.reason_chances,
            Explained(
                round(said.dissatisfied, 6),
                round(said.baseline, 4),
                {group: round(move, 4) for group, move in said.moves.items()},
            ),
        )
        for stored, own in zip(blocks, found, strict=True)
        for target, said in zip(stored.block.targets, own, strict=True)
    }


def _columns(
    score: int, expected: float, reason_chances: Sequence[float], explained: Explained
) -> dict[str, Any]:
    """A prediction as columns of a judgment."""
    return {
        "status": JudgmentStatus.DONE,
        "score": score,
        "expected_score": expected,
        "reason": _reason(score, reason_chances),
        "raw": to_text(explained),
        "error_code": "",
    }


def _reason(score: int, chances: Sequence[float]) -> str | None:
    return None if is_satisfied(score) else likeliest(chances).value


LEARN_STAGE: Final = ComputingStage(name=StageName.LEARN, compute=score_learned)
