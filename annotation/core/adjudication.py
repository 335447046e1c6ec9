"""Which items need a decision, and how they are shown so that nobody's name can sway it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log2
from random import Random
from typing import TypeVar

import numpy as np

from annotation.core.agreement_report import Answers
from annotation.core.choices import Order
from annotation.core.labelling import AnswerKind, Target, target_of

Item = TypeVar("Item")


class QueuePart(StrEnum):
    """Which items a queue lists: disputed and undecided ones, decided ones, or all."""

    OPEN = "open"
    DECIDED = "decided"
    ALL = "all"


@dataclass(frozen=True, slots=True)
class ValueCounts:
    """How many annotators gave an item each value, by value number; nobody's name."""

    target: Target
    counts: tuple[int, ...]

    @property
    def annotators(self) -> int:
        """Annotators who answered."""
        return sum(self.counts)

    @property
    def entropy(self) -> float:
        """Disagreement in bits: 0 where all answers are the same, log2 k for k equal parts."""
        shares = [count / self.annotators for count in self.counts if count]
        return -sum(share * log2(share) for share in shares) + 0.0

    @property
    def disputed(self) -> bool:
        """Whether not all answers are the same."""
        return sum(count > 0 for count in self.counts) > 1


def tallies(answers: Answers, kind: AnswerKind, *, categories: int) -> list[ValueCounts]:
    """The items with several annotators, in the order of their numbers.

    Of several answers of one annotator to one item the first counts.
    """
    kept = answers.first_of_each()
    items, place = np.unique(kept.item, return_inverse=True)
    cells = np.bincount(place * categories + kept.value, minlength=len(items) * categories)
    counts = cells.reshape(-1, categories)
    several = counts.sum(axis=1) >= 2
    return [
        ValueCounts(target_of(kind, int(item)), tuple(row))
        for item, row in zip(items[several], counts[several].tolist(), strict=True)
    ]


def shown_order(target: Target, *, seed: int) -> Order:
    """Which response an adjudicator sees first: a coin for each item, always the same."""
    return _random(target, seed).choice([Order.ORIGINAL, Order.SWAPPED])


def shuffled(items: Sequence[Item], target: Target, *, seed: int) -> list[Item]:
    """The items in an order of their own for each target, always the same."""
    return _random(target, seed).sample(items, len(items))


def _random(target: Target, seed: int) -> Random:
    return Random(f"{seed}:{target.kind}:{target.id}")
