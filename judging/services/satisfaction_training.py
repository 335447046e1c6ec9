"""Learned evaluators as rows: trained once for some labels, trained again when labels change."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotation.models import Dataset
from annotation.queries.annotators import names_of
from judging.core.satisfaction_artefact import manifest, to_bytes
from judging.core.satisfaction_expectation import Settings
from judging.core.satisfaction_model import VERSION
from judging.core.satisfaction_training import HeldOut, train
from judging.models import LearnedModel
from judging.queries.satisfaction.blocks import ratings_digest
from judging.queries.satisfaction.labels import examples
from judging.queries.satisfaction.learned import ratings_stamp


def learned_model(
    *,
    dataset: Dataset,
    settings: Settings | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """The evaluator trained on every rating of a dataset: the stored one, or a new version.

    Where labels arrive a run trains it beforehand (`satisfaction_retraining`); whoever needs it
    sooner trains it here.

    Args:
        dataset: whose users.
        settings: how to train; the defaults are the evaluator's one setting.
        pulse: called between the steps of a training.

    Raises:
        Refused: too few users or turns to train on.
    """
    chosen = settings or Settings()
    digest = ratings_digest(dataset_id=dataset.pk)
    stored = _stored_model(dataset, digest, chosen)
    if stored is not None:
        return stored
    try:
        return train_learned_model(dataset=dataset, digest=digest, settings=chosen, pulse=pulse)
    except IntegrityError:
        quicker = _stored_model(dataset, digest, chosen)
        if quicker is None:
            raise
        return quicker


def train_learned_model(
    *,
    dataset: Dataset,
    digest: str,
    settings: Settings,
    pulse: Callable[[], None] = lambda: None,
) -> LearnedModel:
    """Train on every rating of a dataset and store the result as its next version.

    Args:
        dataset: whose users.
        digest: of its ratings, read before the examples are.
        settings: how to train.
        pulse: called between the steps.

    Raises:
        Refused: too few users or turns to train on.
    """
    stamp = ratings_stamp(dataset_id=dataset.pk)
    version = _newest_version(dataset) + 1
    found = examples(dataset_id=dataset.pk)
    trained = train(found, settings, pulse=pulse)
    names = names_of(dataset=dataset)
    users = sorted({names[int(one.block.user)] for one in found})
    with transaction.atomic():  # of two who train at once the second finds the version taken
        return LearnedModel.objects.create(
            dataset=dataset,
            version=version,
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


def _stored_model(dataset: Dataset, digest: str, settings: Settings) -> LearnedModel | None:
    return (
        LearnedModel.objects.filter(
            dataset=dataset, ratings_digest=digest, method=VERSION, settings=asdict(settings)
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
