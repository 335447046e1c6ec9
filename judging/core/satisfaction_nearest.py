"""The nearest-history baseline: the mean score of the k most alike turns of a user's history.

Alike is the cosine of hashed TF-IDF vectors of request and response (`satisfaction_texts`). The
released code refits a vectoriser for each block; here one is fitted on the training users' texts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from judging.core.calibration import round_half_up
from judging.core.questions import HistoryTurn
from judging.core.retrieval import Block, ScoringTarget
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_texts import Sparse, counted, passage_text, text_space


def nearest_predictions(
    blocks: Sequence[Block], *, train: Sequence[Block], k: int
) -> tuple[tuple[Prediction | None, ...], ...]:
    """What the k nearest turns say of every target; None without history.

    Of equally alike turns the earlier one is nearer.

    Args:
        blocks: the targets with their history.
        train: blocks whose targets' texts teach the weights of the vectors, without labels.
        k: neighbours, all of a shorter history.
    """
    taught = [_text(turn) for block in train for turn in block.targets]
    space = text_space(counted(taught))
    found: dict[str, None] = {}
    for block in blocks:
        found.update(dict.fromkeys(map(_text, block.targets)))
        found.update(dict.fromkeys(map(_text, block.history)))
    texts = list(found)
    place = {text: row for row, text in enumerate(texts)}
    vectors = space.vectors(counted(texts))
    return tuple(_of_block(block, vectors, place, k) for block in blocks)


def _of_block(
    block: Block, vectors: Sparse, place: dict[str, int], k: int
) -> tuple[Prediction | None, ...]:
    if not block.history:
        return (None,) * len(block.targets)
    targets = vectors[[place[_text(turn)] for turn in block.targets]]
    history = vectors[[place[_text(turn)] for turn in block.history]]
    alike = np.round((targets @ history.T).toarray(), 12)
    nearest = np.argsort(-alike, axis=1, kind="stable")[:, :k]
    scores = np.array([turn.score for turn in block.history])
    means = scores[nearest].mean(axis=1)
    return tuple(Prediction(round_half_up(float(mean)), float(mean)) for mean in means)


def _text(turn: ScoringTarget | HistoryTurn) -> str:
    return passage_text(turn.user_message, turn.response)
