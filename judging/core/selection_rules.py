"""What a selection is asked for and what a search answers, shared by the three searches."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from judging.core.matrix import Matrix

Flips = npt.NDArray[np.int8]
"""Flips by rows: 1 keeps a pair's label, -1 flips it."""
Metrics = npt.NDArray[np.float32]


class SelectionMode(StrEnum):
    """DEFAULT is the project's rule, PAPER what the code of seed 001 does (protocols A1.6)."""

    DEFAULT = "DEFAULT"
    PAPER = "PAPER"


class Strategy(StrEnum):
    """How the chosen subset was found; BEAM is approximate."""

    BEST = "best"
    BEAM = "beam"
    FORWARD_BEST = "forward_best"
    INVERTED_WORST = "inverted_worst"


@dataclass(frozen=True, slots=True)
class SelectionSettings:
    """What a selection depends on besides its matrix.

    `difference_penalty` exists in paper mode alone, `aggregate_eligible` in default mode alone
    (in paper mode the aggregate always is).
    """

    mode: SelectionMode = SelectionMode.DEFAULT
    difference_penalty: bool = False
    aggregate_eligible: bool = False


@dataclass(frozen=True, slots=True)
class Choice:
    """Subsets of columns (one, or all tied best in paper mode) and what they reach.

    `metric` counts correct row-orders, an even split one half; `accuracy` is a share.
    """

    subsets: tuple[tuple[int, ...], ...]
    metric: float
    denominator: int
    accuracy: float
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class TraceStep:
    """The best subset of one size that a search looked at, and its metric."""

    size: int
    subset: tuple[int, ...]
    metric: float


class Search(Protocol):
    """A search over the subsets of one matrix's columns."""

    def choose(
        self, *, without_row: int | None = None, without_columns: Collection[int] = ()
    ) -> Choice | None:
        """The best subsets, or None where no column is left."""
        ...

    def trace(self) -> tuple[TraceStep, ...]:
        """The best subset of each size, ascending; none where sizes are not told apart."""
        ...

    def points_on(self, row: int, choice: Choice) -> float:
        """Row-orders of one row that the choice gets right, 0 to 2."""
        ...

    def best_under(self, flips: Flips) -> Metrics:
        """The best metric under each flip of the labels, the whole selection repeated."""
        ...


def voiced_rows(matrix: Matrix) -> npt.NDArray[np.int64]:
    """By row, how many of its two orders have at least one verdict."""
    return np.array(
        [
            sum(any(cell is not None for cell in row) for row in pair)
            for pair in zip(matrix.original, matrix.swapped, strict=True)
        ],
        dtype=np.int64,
    )
