"""Learned evaluators: trained for some labels, again when labels change, and asked for scores."""

from __future__ import annotations

from collections import Counter
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
from judging.core.satisfaction_neighbours import Example
from judging.core.satisfaction_training import (
    HeldOut,
    group_steps,
    groups_of,
    predict_apart,
    steps,
    train,
)
from judging.models import JudgeRun, LearnedModel, RunKind, SatisfactionJudgment
from judging.queries.configurations import satisfaction_settings
from judging.queries.runs import score_rows, unit_rows
from judging.queries.satisfaction.blocks import rated, ratings_digest
from judging.queries.satisfaction.labels import examples
from judging.queries.satisfaction.learned import (
    StepsLearned,
    newest_models,
    ratings_stamp,
    steps_learned,
)
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
    step: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """The evaluator trained on every rating of a dataset: the stored one, or a new version.

    Where labels arrive a run trains it beforehand (`due_trainings`); whoever needs it
    sooner trains it here.

    Args:
        dataset: whose users.
        level: what they rated, single responses or whole sessions.
        settings: how to train; the defaults are the evaluator's one setting.
        pulse: called all the time in a training.
        step: called after each of its steps (`steps`).

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
            dataset=dataset, level=level, digest=digest, settings=chosen, pulse=pulse, step=step
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
    step: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """Train on every rating of a dataset and store the result as its next version.

    Args:
        dataset: whose users.
        level: what they rated.
        digest: of its ratings, read before the examples are.
        settings: how to train.
        pulse: called all the time.
        step: called after each step.

    Raises:
        Refused: too few users or turns to train on.
    """
    stamp = ratings_stamp(dataset_id=dataset.pk, level=level)
    version = _newest_version(dataset) + 1
    found = examples(dataset_id=dataset.pk, level=level)
    trained = train(found, settings, pulse=pulse, step=step)
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


class _Steps:
    """How far a run is with what it learns, as its page shows it."""

    def __init__(self, run: JudgeRun, left: int) -> None:
        self.pulse = Pulse(run)
        self._run = run
        begun = steps_learned(run) if run.learned_model_id else None
        self._steps = max(begun.steps if begun else 0, left)
        self._done = self._steps - left
        self._note()

    def step(self) -> None:
        """One step more is done."""
        self._done = min(self._done + 1, self._steps)
        self.pulse()
        self._note()

    def _note(self) -> None:
        result = StepsLearned(self._done, self._steps)._asdict()
        unit_rows(self._run.pk).update_or_create(
            run=self._run, position=0, defaults={"name": StageName.LEARN.value, "result": result}
        )


def train_run(run: JudgeRun) -> None:
    """Train on the ratings as they are now, and note the version with the run.

    Raises:
        Refused: there is too little to learn from.
        SupersededError: somebody else has the run now.
    """
    dataset = Dataset.objects.get(pk=run.dataset_id)
    level = Level(run.config.get("level", Level.TURN))
    users = rated(dataset_id=dataset.pk, level=level).values("annotator").distinct().count()
    progress = _Steps(run, steps(Settings(), users))
    model = learned_model(dataset=dataset, level=level, pulse=progress.pulse, step=progress.step)
    JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)


TRAIN_STAGE: Final = ComputingStage(name=StageName.TRAIN, compute=train_run)


_CHUNK: Final = 500


Known = Mapping[tuple[int, int], Mapping[str, Any]]
"""User and response (or session) to the columns of a judgment."""


def score_learned(run: JudgeRun) -> bool:
    """Write scores of a learned run over pending rows, part by part; other runs are left alone.

    First the dataset's evaluator is trained, if it is not. Rated turns then have their held-out
    predictions; other targets those of evaluators that nothing of their user taught, one group of
    users at a time. Where there is too little to learn from, every row fails with
    `learned:too-few-ratings`. Whether there is more to do.
    """
    if run.judge != LEARNED:
        return False
    pending = score_rows(run.pk).filter(status=JudgmentStatus.PENDING)
    rows = list(pending.only("pk", "user_id", "response_id", "session_id").order_by("pk"))
    try:
        return _score_part(run, rows)
    except Refused as error:
        pending.update(status=JudgmentStatus.FAILED, error_code=error.code)
        return False


def _score_part(run: JudgeRun, rows: Sequence[SatisfactionJudgment]) -> bool:
    scope, level = turn_scope(run), satisfaction_settings(run.config).level
    dataset = Dataset.objects.get(pk=run.dataset_id if scope is None else scope.history)
    taught = examples(dataset_id=dataset.pk, level=level)
    group_of = groups_of(taught, Settings())
    users, sizes = len(group_of), Counter(group_of.values())
    groups = sorted({group_of.get(str(row.user_id), -1) for row in rows}) if scope else []
    left = sum(group_steps(Settings(), users - sizes[each]) for each in groups if each >= 0)
    progress = _Steps(run, left if run.learned_model_id else left + steps(Settings(), users))
    model = learned_model(dataset=dataset, level=level, pulse=progress.pulse, step=progress.step)
    if run.learned_model_id != model.pk:
        # Scores by another version, from before ratings changed, would stand beside these.
        score_rows(run.pk).update(**_UNSCORED)
        JudgeRun.objects.filter(pk=run.pk).update(learned_model=model)
        return True
    if scope is None:
        _write(rows, _held_out(model))
        return False
    part = [row for row in rows if group_of.get(str(row.user_id), -1) == groups[0]]
    _write(part, _of_targets(model, scope, taught, [_target_of(row) for row in part], progress))
    return len(part) < len(rows)


def _write(rows: Sequence[SatisfactionJudgment], found: Known) -> None:
    now = timezone.now()
    for row in rows:
        for name, value in found.get(_target_of(row), _GONE).items():
            setattr(row, name, value)
        row.updated_at = now
    SatisfactionJudgment.objects.bulk_update(rows, [*_FIELDS, "updated_at"], batch_size=_CHUNK)


def _target_of(row: SatisfactionJudgment) -> tuple[int, int]:
    return row.user_id, row.response_id or row.session_id or 0


_FIELDS: Final = ("status", "score", "expected_score", "reason", "raw", "error_code")
_UNSCORED: Final[dict[str, Any]] = {
    "status": JudgmentStatus.PENDING,
    "score": None,
    "expected_score": None,
    "reason": None,
    "raw": "",
    "error_code": "",
    "calibrated": None,
}
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
    model: LearnedModel,
    scope: TurnScope,
    taught: Sequence[Example],
    asked: Asked,
    progress: _Steps,
) -> Known:
    """What is said of other targets; the dataset of the history is the one that taught."""
    blocks = target_blocks(scope, asked)
    found = predict_apart(
        taught,
        [stored.block for stored in blocks],
        model=from_bytes(bytes(model.artefact)),
        pulse=progress.pulse,
        step=progress.step,
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
