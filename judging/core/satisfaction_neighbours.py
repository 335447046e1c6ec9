"""The turns of a user's own history that are nearest to a turn: what the retrieval judge is shown.

TF-IDF of character 2-4-grams within words, sublinear, of the request twice and the response, by
cosine (the nearest baseline of protocols B 2.2), weighted by the block's history alone. Every text
of a user is counted once for all of the user's blocks: counting is what takes the time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from judging.core.questions import HistoryTurn
from judging.core.retrieval import ScoringTarget
from judging.core.satisfaction_texts import passage_text

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
