"""The learned evaluator of satisfaction: no LLM, trained on other users (protocols A2.6).

`satisfaction_training` learns a model, `satisfaction_artefact` stores it, this file uses it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

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
from judging.core.satisfaction_features import Group, Sparse
from judging.core.satisfaction_general import (
    Deviation,
    General,
    GeneralSettings,
    Scaling,
    deviation,
    spread_of,
)
from judging.core.satisfaction_neighbours import BlockRows, Corpus, IntArray, read_blocks
from judging.core.satisfaction_stacking import OwnTurns, Variances, personal

_USUAL_DISSATISFIED: Final = 0.15
_USUAL_TURNS: Final = 10.0


@dataclass(frozen=True, slots=True)
class Settings:
    """Chosen by leave-one-user-out on the paper's 22 training users, and rounded.

    `folds` groups of users are held out in turn; a user's own complaints weigh as much as the
    training users' reasons once there are `reason_lean` of them. Of the reasons' settings the
    middle of a plateau was taken: with 152 reasons to learn from, neighbours do as well.
    """

    general: GeneralSettings = field(default_factory=GeneralSettings)
    variances: Variances = field(default_factory=Variances)
    folds: int = 6
    reason_strength: float = 1.0
    reason_lean: float = 40.0
    seed: int = 42


@dataclass(frozen=True, slots=True)
class Prepared:
    """A corpus as the models read it: standardised rows (n x d) and unit text vectors."""

    corpus: Corpus
    rows: FloatArray
    texts: Sparse
    centre: FloatArray
    groups: tuple[Group, ...]

    def turns(self, own: IntArray) -> OwnTurns:
        """Some of its passages."""
        return OwnTurns(
            self.rows[own],
            self.texts[own],
            self.centre,
            [self.corpus.scenarios[row] for row in own],
            [self.corpus.sessions[row] for row in own],
        )


@dataclass(frozen=True, slots=True)
class Expectation:
    """Of the targets of one block: the raw expectation, and its moves from the mean, by group."""

    raw: FloatArray
    moves: Mapping[Group, FloatArray]


def prepare(corpus: Corpus, scale: Scaling) -> Prepared:
    """Scale a corpus as the training passages were."""
    return Prepared(
        corpus=corpus,
        rows=scale.rows(corpus.features, corpus.scenarios),
        texts=scale.space.vectors(corpus.counts),
        centre=scale.centre,
        groups=scale.groups,
    )


def expect(
    prepared: Prepared, own: BlockRows, general: Deviation, *, mean: float, settings: Settings
) -> Expectation:
    """The expectation of a block's targets.

    Args:
        prepared: the corpus that holds the block.
        own: the block.
        general: what the general part says of every passage of the corpus.
        mean: the training users' mean score.
        settings: of the personal part and of the spread.
    """
    spread = spread_of(own.scores, settings.general)
    surprise = own.scores - mean - spread * general.total[own.history]
    guess = personal(
        prepared.turns(own.targets), prepared.turns(own.history), surprise, settings.variances
    )
    by_feature = spread * general.by_feature[own.targets] + guess.slopes
    moves = {
        group: by_feature[:, [found is group for found in prepared.groups]].sum(axis=1)
        for group in Group
    }
    moves[Group.LEVEL] = moves[Group.LEVEL] + spread * general.base + guess.level
    moves[Group.WORDING] = (
        moves[Group.WORDING] + spread * general.by_wording[own.targets] + guess.wording
    )
    return Expectation(raw=mean + np.sum(list(moves.values()), axis=0), moves=moves)


def dissatisfied_share(own: BlockRows) -> float:
    """The share of dissatisfied turns in a history, leaning on the usual one; as log-odds."""
    below = sum(not is_satisfied(int(score)) for score in own.scores)
    share = (below + _USUAL_TURNS * _USUAL_DISSATISFIED) / (len(own.scores) + _USUAL_TURNS)
    return float(np.log(share / (1.0 - share)))


VERSION: Final = 4
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


_LEAST: Final = 0.005
"""A smaller move is not worth a line: it would read as 0.00."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a turn was scored as it was.

    `dissatisfied` is the chance (0-1) of a score below 4; `baseline`, the mean score of the users
    that were learned from, plus `moves` is the expectation before it is kept within 1-5.
    """

    dissatisfied: float
    baseline: float
    moves: Mapping[Group, float]

    @property
    def strongest(self) -> tuple[tuple[Group, float], ...]:
        """The moves that can be seen, the strongest first."""
        seen = [(group, move) for group, move in self.moves.items() if abs(move) >= _LEAST]
        return tuple(sorted(seen, key=lambda item: -abs(item[1])))


def to_text(explained: Explained) -> str:
    """As kept in place of a judge's raw reply."""
    return json.dumps(
        {
            "dissatisfied": explained.dissatisfied,
            "baseline": explained.baseline,
            "moves": {group.value: move for group, move in explained.moves.items()},
        }
    )


def from_text(text: str) -> Explained:
    """What `to_text` gave."""
    kept: dict[str, Any] = json.loads(text)
    return Explained(
        kept["dissatisfied"],
        kept["baseline"],
        {Group(name): move for name, move in kept["moves"].items()},
    )
