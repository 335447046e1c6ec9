"""Which of several gold answers to one item holds."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Final, TypeVar

Item = TypeVar("Item", bound=Hashable)
Said = TypeVar("Said")

PRECEDENCE: Final = ("MANAGER", "ADJUDICATION", "DATASET")
"""Sources of gold answers: a manager's own word holds, then a decision on what annotators disagreed
about, then what the dataset came with."""


def holding(answers: Iterable[tuple[Item, str, Said]]) -> dict[Item, Said]:
    """The answer that holds for each item, of (item, source, answer)."""
    ranked = sorted(answers, key=lambda each: -PRECEDENCE.index(each[1]))
    return {item: said for item, _source, said in ranked}
