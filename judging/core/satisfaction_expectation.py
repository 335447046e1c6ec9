"""The expected satisfaction of a block's turns: mean + spread x deviation + personal.

`mean` is the training users' mean score and `deviation` what the general part says of the
response; `spread` and `personal` come from the user's own history in other scenarios and nothing
else. Every part is additive, so an expectation comes with what moved it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from annotation.core.choices import is_satisfied
from annotation.core.intervals import FloatArray
from judging.core.satisfaction_features import Group, Sparse
from judging.core.satisfaction_general import (
    Deviation,
    GeneralSettings,
    Scaling,
    spread_of,
)
from judging.core.satisfaction_neighbours import BlockRows, Corpus, IntArray
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
