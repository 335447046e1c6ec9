"""Texts as vectors: hashed TF-IDF of character pairs, of unit length.

Pairs of adjacent characters serve Chinese (about one word a pair) and English alike. Hashing
needs no vocabulary, so a stored model is two arrays and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from annotation.core.intervals import FloatArray

SIZE: Final = 2**14
"""Hash buckets."""
CHARACTERS: Final = 3_000
"""Of a response; what follows says little new and costs time."""
MIN_TEXTS: Final = 3
"""A pair seen in fewer training texts is left out."""

Sparse = Any
"""A scipy.sparse matrix in CSR form; scipy carries no types."""


@dataclass(frozen=True, slots=True)
class TextSpace:
    """Weights of the hash buckets, learned from training texts without any label."""

    weights: FloatArray

    def vectors(self, counted: Sparse) -> Sparse:
        """Unit vectors of counted texts (n x SIZE); a text of unseen pairs alone is zero.

        A count n weighs 1 + ln n, times the bucket's weight.
        """
        from scipy import sparse

        scaled = counted.copy()
        scaled.data = (1.0 + np.log(scaled.data)) * self.weights[scaled.indices]
        rows = np.repeat(np.arange(scaled.shape[0]), np.diff(scaled.indptr))
        norms = np.sqrt(np.bincount(rows, weights=scaled.data**2, minlength=scaled.shape[0]))
        inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
        return (sparse.diags(inverse) @ scaled).tocsr()


def passage_text(user_message: str, response: str) -> str:
    """The text of a turn: the request twice, then the response (as the nearest baseline has it)."""
    return f"{user_message} {user_message} {response[:CHARACTERS]}"


def counted(texts: Sequence[str]) -> Sparse:
    """How often each hash bucket occurs in each text, CSR of shape n x SIZE."""
    from scipy import sparse
    from sklearn.feature_extraction.text import HashingVectorizer

    if not texts:
        return sparse.csr_matrix((0, SIZE))
    return HashingVectorizer(
        analyzer="char_wb",
        ngram_range=(2, 2),
        n_features=SIZE,
        alternate_sign=False,
        norm=None,
    ).transform(texts)


def text_space(counts: Sparse) -> TextSpace:
    """Inverse document frequencies: ln((1 + n) / (1 + texts with it)) + 1, 0 where rare."""
    texts = counts.shape[0]
    found = np.bincount(counts.indices, minlength=SIZE)
    weights = np.log((1.0 + texts) / (1.0 + found)) + 1.0
    return TextSpace(np.where(found >= min(MIN_TEXTS, texts), weights, 0.0))
