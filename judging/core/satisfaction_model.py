"""The learned evaluator of satisfaction: no LLM, trained on other users (protocols A2.6).

`satisfaction_training` learns a model, `satisfaction_artefact` stores it, this file uses it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from annotation.core.choices import Reason, is_satisfied
from annotation.core.intervals import FloatArray
from judging.core.retrieval import Block
from judging.core.satisfaction_decisions import (
    Logistic,
    ReasonModel,
    bent,
    likeliest,
    reason_counts,
    whole_scores,
)
from judging.core.satisfaction_expectation import (
    Expectation,
    Prepared,
    Settings,
    dissatisfied_share,
    expect,
    prepare,
)
from judging.core.satisfaction_features import Group
from judging.core.satisfaction_general import General, Scaling, deviation
from judging.core.satisfaction_neighbours import BlockRows, Corpus, read_blocks

VERSION: Final = 3
"""Of the features and of the method; a stored model of another version is not used."""


@dataclass(frozen=True, slots=True)
class Model:
    """A trained evaluator; plain numbers and arrays throughout."""

    settings: Settings
    scaling: Scaling
    mean: float
    general: General
    cuts: FloatArray
    dissatisfied: Logistic
    reasons: ReasonModel


@dataclass(frozen=True, slots=True)
class Learned:
    """What the evaluator says of one turn.

    `expected` is 1-5 unrounded, `dissatisfied` the chance (0-1) of a score below 4, `reason` the
    likeliest one where the score is below 4, with `reason_chances` in the order of REASONS.
    `baseline` plus `moves` is the expectation before it is kept within 1-5.
    """

    score: int
    expected: float
    dissatisfied: float
    reason: Reason | None
    reason_chances: tuple[float, ...]
    baseline: float
    moves: Mapping[Group, float]


def predict(model: Model, blocks: Sequence[Block]) -> tuple[tuple[Learned, ...], ...]:
    """What the model says of every target of some blocks, none of which carries a label."""
    return predict_corpus(model, read_blocks(blocks))


def predict_corpus(model: Model, corpus: Corpus) -> tuple[tuple[Learned, ...], ...]:
    """The same for blocks that were read before."""
    if not corpus.blocks:
        return ()
    prepared = prepare(corpus, model.scaling)
    general = deviation(model.general, prepared.rows, prepared.texts, prepared.centre)
    found = []
    for own in corpus.blocks:
        expectation = expect(prepared, own, general, mean=model.mean, settings=model.settings)
        found.append(_block(model, prepared, own, expectation))
    return tuple(found)


def _block(
    model: Model, prepared: Prepared, own: BlockRows, expectation: Expectation
) -> tuple[Learned, ...]:
    expected = bent(expectation.raw)
    scores = whole_scores(expected, model.cuts)
    wide = np.column_stack([expected, np.full(len(expected), dissatisfied_share(own))])
    chances = model.dissatisfied.probability(wide)
    reasons = model.reasons.probabilities(prepared.texts[own.targets], reason_counts(own.reasons))
    return tuple(
        Learned(
            score=int(scores[at]),
            expected=float(expected[at]),
            dissatisfied=float(chances[at]),
            reason=None if is_satisfied(int(scores[at])) else likeliest(reasons[at]),
            reason_chances=tuple(reasons[at].tolist()),
            baseline=model.mean,
            moves={group: float(move[at]) for group, move in expectation.moves.items()},
        )
        for at in range(len(expected))
    )
