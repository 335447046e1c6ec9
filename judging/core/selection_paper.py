"""The selection of the code released with seed 001, vectorised (protocols B 2.1).

No masking, the aggregate eligible; an even split goes to the response shown first; all tied best
subsets are kept and averaged; and where the complement of the worst subset beats the best one,
that worst one is kept and its votes inverted. None of it is the project's own rule.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotation.core.refusals import Refused
from judging.core.matrix import Cells, Matrix
from judging.core.selection_search import (
    MOST_COLUMNS,
    Bools,
    Choice,
    Flips,
    Masks,
    Metrics,
    Strategy,
    TraceStep,
    bit,
    by_size_then_order,
    columns_of,
    sums,
    weights,
    within,
)

_CHUNK: Final = 1 << 12
_Counts = npt.NDArray[np.int16]


@dataclass(frozen=True, slots=True)
class _OrderTable:
    """By row and subset, in one presentation order: won, won were the label flipped, heard."""

    won: Bools
    won_flipped: Bools
    heard: Bools


def _order_table(cells: Cells, *, chosen_first: bool) -> _OrderTable:
    row_weights = weights(cells)
    balance = sums(row_weights)
    heard: Bools = np.ones(balance.shape, dtype=np.bool_)
    for row, row_cells in enumerate(cells):
        silent = [column for column, cell in enumerate(row_cells) if cell is None]
        heard[row, within(silent, count=len(row_cells))] = False
    won, lost = balance > 0, balance < 0
    if chosen_first:
        tied = heard & ~won & ~lost
        won, lost = won | tied, lost | tied
    return _OrderTable(won=won, won_flipped=lost, heard=heard)


def check_searchable(columns: Iterable[int]) -> None:
    """Refuse more columns than the released code could go through.

    Args:
        columns: of each matrix, how many it has.

    Raises:
        Refused: one has more than 20.
    """
    most = max(columns, default=0)
    if most > MOST_COLUMNS:
        message = f"paper mode tries at most {MOST_COLUMNS} columns, not {most}"
        raise Refused("selection:too-many-columns", message)


class PaperSearch:
    """Every subset of at most 20 columns under the released rules.

    Raises:
        Refused: the matrix has more than 20 columns.
    """

    def __init__(self, matrix: Matrix, *, difference_penalty: bool) -> None:
        check_searchable([matrix.columns])
        self._columns = matrix.columns
        self._penalty = difference_penalty
        self._original = _order_table(matrix.original, chosen_first=True)
        self._swapped = _order_table(matrix.swapped, chosen_first=False)

    def choose(
        self, *, without_row: int | None = None, without_columns: Collection[int] = ()
    ) -> Choice | None:
        """See `Search.choose`."""
        kept = [column for column in range(self._columns) if column not in without_columns]
        masks = within(kept, count=self._columns)[1:]
        if not masks.size:
            return None
        original, swapped, heard = self._totals(masks, without_row)
        score = original + swapped
        metric = score - abs(swapped - original) if self._penalty else score
        most_heard = int(heard.max())
        best, inverted = int(metric.max()), most_heard - int(score.min())
        if inverted > best:
            tied, strategy, points = score == score.min(), Strategy.INVERTED_WORST, heard - score
        else:
            tied, strategy, points = metric == best, Strategy.FORWARD_BEST, score
        mean_heard = float(heard[tied].mean())
        return Choice(
            subsets=tuple(
                columns_of(int(mask), count=self._columns)
                for mask in by_size_then_order(masks[tied])
            ),
            metric=max(best, inverted),
            denominator=most_heard,
            accuracy=float(points[tied].mean()) / mean_heard if mean_heard else 0.0,
            strategy=strategy,
        )

    def _totals(self, masks: Masks, without_row: int | None) -> tuple[_Counts, _Counts, _Counts]:
        """By subset: row-orders won in each order, and heard in both."""
        rows = [row for row in range(len(self._original.won)) if row != without_row]

        def total(table: Bools) -> _Counts:
            counts: _Counts = table[rows].sum(axis=0, dtype=np.int16)[masks]
            return counts

        heard = total(self._original.heard) + total(self._swapped.heard)
        return total(self._original.won), total(self._swapped.won), heard

    def trace(self) -> tuple[TraceStep, ...]:
        """See `Search.trace`: all tied subsets are taken, whatever their size."""
        return ()

    def points_on(self, row: int, choice: Choice) -> float:
        """See `Search.points_on`; the mean over all tied subsets, inverted where they are."""
        masks = [
            sum(bit(column, count=self._columns) for column in subset) for subset in choice.subsets
        ]
        won = self._original.won[row, masks].mean() + self._swapped.won[row, masks].mean()
        if choice.strategy is Strategy.INVERTED_WORST:
            heard = self._original.heard[row, masks].mean() + self._swapped.heard[row, masks].mean()
            return float(heard - won)
        return float(won)

    def best_under(self, flips: Flips) -> Metrics:
        """See `Search.best_under`."""
        flipped = (flips < 0).astype(np.float32)
        best = np.full(len(flips), -np.inf, dtype=np.float32)
        worst = np.full(len(flips), np.inf, dtype=np.float32)
        size = 1 << self._columns
        for start in range(1, size, _CHUNK):
            part = slice(start, min(start + _CHUNK, size))
            original = _won_under(self._original, flipped, part)
            swapped = _won_under(self._swapped, flipped, part)
            score = original + swapped
            metric = score - abs(swapped - original) if self._penalty else score
            np.maximum(best, metric.max(axis=1), out=best)
            np.minimum(worst, score.min(axis=1), out=worst)
        heard = self._original.heard.sum(axis=0) + self._swapped.heard.sum(axis=0)
        found: Metrics = np.maximum(best, np.float32(heard.max()) - worst)
        return found


def _won_under(table: _OrderTable, flipped: Metrics, part: slice) -> Metrics:
    """Flips by subsets: rows won in one order."""
    won = table.won[:, part].astype(np.float32)
    change = table.won_flipped[:, part].astype(np.float32) - won
    total: Metrics = flipped @ change + won.sum(axis=0)
    return total
