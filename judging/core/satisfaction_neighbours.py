"""The turns of a user's own history that are nearest to a turn: what the retrieval judge is shown.

TF-IDF of character 2-4-grams within words, sublinear, of the request twice and the response, by
cosine (the nearest baseline of protocols B 2.2), weighted by the block's history alone. Every text
of a user is counted once for all of the user's blocks: counting is what takes the time.
"""

from __future__ import annotations

from collections.abc import Callable, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Reason
from annotation.core.intervals import FloatArray
from judging.core.calibration import round_half_up
from judging.core.questions import HistoryTurn
from judging.core.retrieval import Block, ScoringTarget
from judging.core.rules import Level
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_features import (
    Passage,
    Sparse,
    Values,
    counted,
    features_of,
    passage_text,
    passages,
    session_passages,
    text_space,
)

IntArray = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class Example:
    """A block of a training user with what the user said of each target, in their order."""

    block: Block
    scores: tuple[int, ...]
    reasons: tuple[Reason | None, ...]


@dataclass(frozen=True, slots=True)
class BlockRows:
    """One block: rows of its targets and of its history, with the history's scores 1-5."""

    user: str
    targets: IntArray
    history: IntArray
    scores: FloatArray
    reasons: tuple[Reason | None, ...]


@dataclass(frozen=True, slots=True)
class Corpus:
    """The distinct passages of some blocks: features (n x NAMES) and counted texts (n x SIZE)."""

    features: FloatArray
    counts: Sparse
    scenarios: tuple[str, ...]
    sessions: tuple[str, ...]
    blocks: tuple[BlockRows, ...]


Measured = MutableMapping[Passage, Values]
"""Passages whose features are known; reading the same ones again then costs nothing."""


def read_blocks(
    blocks: Sequence[Block],
    *,
    measured: Measured | None = None,
    pulse: Callable[[], None] = lambda: None,
) -> Corpus:
    """Measure every passage of some blocks.

    Args:
        blocks: to read.
        measured: kept from one reading to the next, and added to.
        pulse: called for each passage that is measured.
    """
    rows: dict[Passage, int] = {}
    read = tuple(_rows(block, rows) for block in blocks)
    found = tuple(rows)
    known = {} if measured is None else measured
    for one in found:
        if one not in known:
            pulse()
            known[one] = features_of(one)
    return Corpus(
        features=np.array([known[one] for one in found], dtype=np.float64),
        counts=counted([passage_text(one.user_message, one.response) for one in found]),
        scenarios=tuple(one.scenario for one in found),
        sessions=tuple(one.session_key for one in found),
        blocks=read,
    )


def _rows(block: Block, rows: dict[Passage, int]) -> BlockRows:
    read = session_passages if block.level is Level.SESSION else passages
    targets = read(block.targets, scenario=block.scenario)
    history = read(block.history)
    return BlockRows(
        user=block.user,
        targets=np.array([rows.setdefault(one, len(rows)) for one in targets], dtype=np.intp),
        history=np.array([rows.setdefault(one, len(rows)) for one in history], dtype=np.intp),
        scores=np.array([turn.score for turn in block.history], dtype=np.float64),
        reasons=tuple(turn.reason for turn in block.history),
    )


NEIGHBOURS: Final = 4
Turns = Sequence[ScoringTarget] | Sequence[HistoryTurn]


class TurnSpace:
    """The turns of one user as counts of character n-grams; no label is read."""

    def __init__(self, *turns: Turns) -> None:
        from sklearn.feature_extraction.text import CountVectorizer

        texts = list(dict.fromkeys(_text(turn) for some in turns for turn in some))
        self._rows = {text: row for row, text in enumerate(texts)}
        vectorizer = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), dtype=np.float64)
        try:
            self._counts: Any = vectorizer.fit_transform(texts)
        except ValueError:  # no text, or nothing but white space: there is no vocabulary
            self._counts = None
        else:
            self._counts.data = 1.0 + np.log(self._counts.data)

    def holds(self, turns: Turns) -> bool:
        """Whether it was made of these turns, among others."""
        return all(_text(turn) in self._rows for turn in turns)

    def nearest(
        self,
        targets: Sequence[ScoringTarget],
        history: Sequence[HistoryTurn],
        *,
        k: int = NEIGHBOURS,
    ) -> tuple[tuple[HistoryTurn, ...], ...]:
        """For each target its k nearest turns, the most alike first; of equals the earlier one.

        All of them are turns that this space was made of. A history of k turns or fewer is shown
        whole.
        """
        if not history or not targets:
            return ((),) * len(targets)
        if self._counts is None:
            return (tuple(history[:k]),) * len(targets)
        known, asked = self._of(history), self._of(targets)
        found = np.bincount(known.indices, minlength=known.shape[1])
        weights = np.where(found > 0, np.log((1 + len(history)) / (1 + found)) + 1, 0.0)
        alike = np.round((_unit(asked, weights) @ _unit(known, weights).T).toarray(), 12)
        order = np.argsort(-alike, axis=1, kind="stable")[:, :k]
        return tuple(tuple(history[place] for place in row) for row in order)

    def _of(self, turns: Turns) -> Any:
        return self._counts[[self._rows[_text(turn)] for turn in turns]]


def _unit(counts: Any, weights: Any) -> Any:
    """Rows by weight, of unit length; a row of unknown n-grams alone is zero."""
    weighted = counts.copy()
    weighted.data = weighted.data * weights[weighted.indices]
    rows = np.repeat(np.arange(weighted.shape[0]), np.diff(weighted.indptr))
    norms = np.sqrt(np.bincount(rows, weights=weighted.data**2, minlength=weighted.shape[0]))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    weighted.data = weighted.data * inverse[rows]
    return weighted


def _text(turn: ScoringTarget | HistoryTurn) -> str:
    return passage_text(turn.user_message, turn.response)


class RatedSpace:
    """The turns of all users as vectors of character pairs, each text once.

    Args:
        blocks: the targets with their history.
        train: blocks whose targets' texts teach the weights of the vectors, without labels.
    """

    def __init__(self, blocks: Sequence[Block], *, train: Sequence[Block]) -> None:
        space = text_space(counted([_text(turn) for block in train for turn in block.targets]))
        found: dict[str, None] = {}
        for block in blocks:
            found.update(dict.fromkeys(map(_text, block.targets)))
            found.update(dict.fromkeys(map(_text, block.history)))
        texts = list(found)
        self._blocks = blocks
        self._rows = {text: row for row, text in enumerate(texts)}
        self._vectors = space.vectors(counted(texts))

    def predictions(self, k: int) -> tuple[tuple[Prediction | None, ...], ...]:
        """What the k nearest turns of its user's history say of every target; None without history.

        Of equally alike turns the earlier one is nearer; a history of k turns or fewer is read
        whole.
        """
        return tuple(self._of_block(block, k) for block in self._blocks)

    def _of_block(self, block: Block, k: int) -> tuple[Prediction | None, ...]:
        if not block.history:
            return (None,) * len(block.targets)
        alike = np.round((self._of(block.targets) @ self._of(block.history).T).toarray(), 12)
        nearest = np.argsort(-alike, axis=1, kind="stable")[:, :k]
        scores = np.array([turn.score for turn in block.history])
        means = scores[nearest].mean(axis=1)
        return tuple(Prediction(round_half_up(float(mean)), float(mean)) for mean in means)

    def _of(self, turns: Turns) -> Sparse:
        return self._vectors[[self._rows[_text(turn)] for turn in turns]]
