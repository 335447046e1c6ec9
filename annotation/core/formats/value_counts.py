"""The values of a table's columns of verdicts and scores, with what each is proposed to mean."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from annotation.core.formats.columns import Columns
from annotation.core.formats.headers import PAIR_KEYS, VERDICT_OF, kind_of
from annotation.core.formats.tables import read_file
from annotation.core.formats.values import Meaning, Vocabulary, plain, vocabulary_of

MOST_VALUES: Final = 200
"""A column with more values than this holds texts or names."""


@dataclass(slots=True)
class ColumnValues:
    """The values under one key, as first written, by plain word; `named` are names of responses."""

    key: str
    vocabulary: Vocabulary
    counts: Counter[str] = field(default_factory=Counter)
    written: dict[str, str] = field(default_factory=dict)
    named: set[str] = field(default_factory=set)

    def proposal(self, word: str) -> Meaning | None:
        """Returns what a value usually means; None if somebody has to say it."""
        if word in self.named:
            return Meaning.NAME
        return self.vocabulary.read(word)


def count_values(path: Path, columns: Columns) -> list[ColumnValues]:
    """Returns the values of each column that has a vocabulary; of verdicts those of all columns.

    Raises:
        Refused: Nothing can be read, or not as text.
    """
    found: dict[str, ColumnValues] = {}
    pairs = kind_of(columns) is PAIR_KEYS
    for raw in read_file(path, columns):
        rows = raw.value.get("messages", [(0, raw.value)]) if isinstance(raw.value, dict) else []
        for _line, row in rows:
            names = {plain(row.get(f"{kind}_{side}", "")) for kind in _NAMES for side in "ab"}
            for column, value in row.items():
                key = "verdict" if column.startswith(VERDICT_OF) else column
                vocabulary = vocabulary_of(key, pairs=pairs)
                if vocabulary is not None:
                    _add(found.setdefault(key, ColumnValues(key, vocabulary)), value, names)
    return list(found.values())


_NAMES: Final = ("model", "header")


def _add(counts: ColumnValues, value: str, names: set[str]) -> None:
    word = plain(value)
    if word in counts.counts or len(counts.counts) < MOST_VALUES:
        counts.counts[word] += 1
        counts.written.setdefault(word, value)
        if word and word in names and Meaning.NAME in counts.vocabulary.meanings:
            counts.named.add(word)
