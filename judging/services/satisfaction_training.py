"""Learned evaluators as rows: trained once for some labels, trained again when labels change."""

from __future__ import annotations

from dataclasses import asdict

from django.db import transaction
from django.db.models import Max

from annotation.models import Dataset
from annotation.queries.annotators import names_of
from judging.core.satisfaction_artefact import to_bytes
from judging.core.satisfaction_expectation import Settings
from judging.core.satisfaction_model import VERSION
from judging.core.satisfaction_training import HeldOut, train
from judging.models import LearnedModel
from judging.queries.satisfaction.blocks import ratings_digest
from judging.queries.satisfaction.labels import examples


def learned_model(*, dataset: Dataset, settings: Settings | None = None) -> LearnedModel:
    """The evaluator trained on every rating of a dataset: the stored one, or a new version.

    Args:
        dataset: whose users.
        settings: how to train; the defaults are the evaluator's one setting.

    Raises:
        TooFewRatingsError: too few users or turns to train on.
    """
    chosen = settings or Settings()
    digest = ratings_digest(dataset_id=dataset.pk)
    stored = (
        LearnedModel.objects.filter(
            dataset=dataset, ratings_digest=digest, method=VERSION, settings=asdict(chosen)
        )
        .order_by("-version")
        .first()
    )
    return stored or train_learned_model(dataset=dataset, digest=digest, settings=chosen)


def train_learned_model(*, dataset: Dataset, digest: str, settings: Settings) -> LearnedModel:
    """Train on every rating of a dataset and store the result as its next version.

    Args:
        dataset: whose users.
        digest: of its ratings, read before the examples are.
        settings: how to train.

    Raises:
        TooFewRatingsError: too few users or turns to train on.
    """
    found = examples(dataset_id=dataset.pk)
    trained = train(found, settings)
    names = names_of(dataset=dataset)
    users = {int(one.block.user) for one in found}
    with transaction.atomic():
        newest = LearnedModel.objects.filter(dataset=dataset).aggregate(newest=Max("version"))
        return LearnedModel.objects.create(
            dataset=dataset,
            version=(newest["newest"] or 0) + 1,
            method=VERSION,
            ratings_digest=digest,
            settings=asdict(settings),
            manifest={
                "dataset": dataset.slug,
                "users": sorted(names[user] for user in users),
                "turns": sum(len(one.scores) for one in found),
            },
            held_out=_stored(trained.held_out),
            artefact=to_bytes(trained.model),
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
        "predicted_reasons": [reason.value for reason in held_out.predicted_reasons],
        "baselines": [round(value, 4) for value in held_out.baselines],
        "moves": {
            group.value: [round(value, 4) for value in own] for group, own in held_out.moves.items()
        },
    }
