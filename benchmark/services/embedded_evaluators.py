"""The evaluators of satisfaction that need no judge's run, and the learned one stacked on one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from annotation.core.choices import is_satisfied
from annotation.models import Dataset
from benchmark.core.satisfaction_evaluation import GoldBlock, JudgedTurn, Predictions
from judging.core.retrieval import Block
from judging.core.satisfaction_artefact import from_bytes
from judging.core.satisfaction_baselines import NEAREST_NAMES, Prediction
from judging.core.satisfaction_decisions import likeliest
from judging.core.satisfaction_model import predict
from judging.core.satisfaction_nearest import nearest_predictions
from judging.core.satisfaction_stacking import StackedTurns, fit_stack, predict_stack
from judging.models import LearnedModel
from judging.services.satisfaction_training import learned_model

Judged = Sequence[Sequence[JudgedTurn | None]]
"""What a judge's run said of each turn, block by block."""

SEED: Final = 42
"""Of the groups of users by which stacking is fitted: part of the method, not of a bootstrap."""


@dataclass(frozen=True, slots=True)
class LearnedPredictions:
    """What the learned evaluator says of the test turns, and of its own training turns.

    Those of the training turns are held-out ones: each by a model without that user's labels.
    """

    version: int
    test: Predictions
    training: Predictions


def predict_nearest(name: str, *, train: Sequence[Block], test: Sequence[Block]) -> Predictions:
    """The mean of the k nearest turns of each user's history; `name` is one of NEAREST_NAMES."""
    return nearest_predictions(test, train=train, k=NEAREST_NAMES[name])


def predict_learned(
    *, train: Dataset, training: Sequence[GoldBlock], test: Sequence[Block]
) -> LearnedPredictions:
    """The learned evaluator of the training dataset, trained now unless it is stored already.

    Args:
        train: the dataset.
        training: its rated turns, in their stored order.
        test: the turns to score.

    Raises:
        Refused: the training dataset has too few users or turns.
    """
    row = learned_model(dataset=train)
    model = from_bytes(bytes(row.artefact))
    found = [
        [
            Prediction(
                turn.score, turn.expected, turn.reason, turn.dissatisfied, turn.reason_chances
            )
            for turn in block
        ]
        for block in predict(model, test)
    ]
    kept = _kept(row)
    return LearnedPredictions(
        row.version, found, [list(islice(kept, len(block.gold))) for block in training]
    )


def _kept(row: LearnedModel) -> Iterator[Prediction]:
    """The held-out predictions of a stored model, turn by turn."""
    kept: dict[str, Any] = row.held_out
    columns = ("scores", "expected", "dissatisfied", "reason_chances")
    for score, expected, below, chances in zip(*(kept[name] for name in columns), strict=True):
        reason = None if is_satisfied(score) else likeliest(chances)
        yield Prediction(score, expected, reason, below, tuple(chances))


def predict_stacked(
    learned: LearnedPredictions,
    *,
    training: Sequence[GoldBlock],
    judged_training: Judged,
    judged_test: Judged,
) -> Predictions:
    """The learned evaluator corrected by a judge's scores of the same turns.

    Args:
        learned: what it says itself.
        training: the training users' turns with what they said.
        judged_training: the judge's scores of them.
        judged_test: the judge's scores of the test turns.

    Raises:
        Refused: the judge scored too few of the training users' turns.
    """
    users = {user: at for at, user in enumerate(dict.fromkeys(own.user for own in training))}
    taught = _turns(learned.training, judged_training, [users[own.user] for own in training])
    gold = [score for own in training for score in own.gold]
    stack = fit_stack(taught, gold, seed=SEED)
    found = predict_stack(stack, _turns(learned.test, judged_test, list(range(len(learned.test)))))
    rows = zip(
        found.scores.tolist(), found.expected.tolist(), found.dissatisfied.tolist(), strict=True
    )
    return [
        [
            replace(
                one,
                score=score,
                expected=expected,
                dissatisfied=below,
                reason=None if is_satisfied(score) else likeliest(one.reason_chances),
            )
            for one, (score, expected, below) in zip(own, islice(rows, len(own)), strict=True)
            if one is not None
        ]
        for own in learned.test
    ]


def _turns(predictions: Predictions, judged: Judged, users: Sequence[int]) -> StackedTurns:
    known = [[one for one in own if one is not None] for own in predictions]
    flat = [one for own in known for one in own]
    sizes = [len(own) for own in known]
    scores = [_graded(one) for own in judged for one in own]
    return StackedTurns(
        learned=np.array([one.expected for one in flat], dtype=np.float64),
        dissatisfied=np.array([one.dissatisfied for one in flat], dtype=np.float64),
        judged=np.array(scores, dtype=np.float64),
        blocks=np.repeat(np.arange(len(sizes)), sizes),
        users=np.repeat(np.asarray(users, dtype=np.intp), sizes),
    )


def _graded(turn: JudgedTurn | None) -> float:
    """The expected score where the judge knows probabilities, its score otherwise, nan without."""
    if turn is None:
        return float("nan")
    return float(turn.score) if turn.expected is None else turn.expected
