"""The evaluators of satisfaction that need no judge's run: nearest history, learned."""

from __future__ import annotations

from collections.abc import Sequence

from annotation.models import Dataset
from benchmark.core.satisfaction_evaluation import Predictions
from judging.core.retrieval import Block
from judging.core.satisfaction_artefact import from_bytes
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_model import predict
from judging.core.satisfaction_nearest import NEAREST, nearest_predictions
from judging.services.satisfaction_training import learned_model

LEARNED = "learned"
NEAREST_NAMES = {f"nearest_{k}": k for k in NEAREST}


def predict_nearest(name: str, *, train: Sequence[Block], test: Sequence[Block]) -> Predictions:
    """The mean of the k nearest turns of each user's history; `name` is one of NEAREST_NAMES."""
    return nearest_predictions(test, train=train, k=NEAREST_NAMES[name])


def predict_learned(*, train: Dataset, test: Sequence[Block]) -> Predictions:
    """The learned evaluator of the training dataset, trained now unless it is stored already.

    Raises:
        TooFewRatingsError: the training dataset has too few users or turns.
    """
    model = from_bytes(bytes(learned_model(dataset=train).artefact))
    return [
        [Prediction(turn.score, turn.expected, turn.reason) for turn in block]
        for block in predict(model, test)
    ]
