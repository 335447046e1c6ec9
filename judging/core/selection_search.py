"""A beam search for matrices of more than 20 columns: approximate, and labelled so."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from judging.core.matrix import Cell, Matrix
from judging.core.selection_rules import (
    Choice,
    Flips,
    Metrics,
    Strategy,
    TraceStep,
    voiced_rows,
)
from judging.core.subsets import (
    Bools,
    Int8,
    Int16,
    bit,
    columns_of,
    first_of_smallest,
    sums,
    weights,
    within,
)

WIDTH: Final = 32
"""Subsets of one size that are grown further."""
PATIENCE: Final = 2
"""Sizes without a better subset before it stops; an even size is often no better than an odd."""

_Sums = npt.NDArray[np.int16]


class Beam:
    """Grows the best subsets by one column at a time."""

    def __init__(self, matrix: Matrix, eligible: Sequence[int]) -> None:
        self._eligible = tuple(eligible)
        self._rows = matrix.rows
        self._voiced = voiced_rows(matrix)
        cells = [
            [row[column] for column in eligible] for row in (*matrix.original, *matrix.swapped)
        ]
        # Columns by row-orders: first every row in the original order, then every row swapped.
        self._weights: Int8 = weights(cells).T.copy()
        self._known: Bools = (self._weights != 0).copy()

    def choose(
        self, *, without_row: int | None = None, without_columns: Collection[int] = ()
    ) -> Choice | None:
        """See `Search.choose`."""
        kept = np.ones(self._rows, dtype=np.bool_)
        if without_row is not None:
            kept[without_row] = False
        allowed = np.array([column not in without_columns for column in self._eligible])
        if not allowed.any():
            return None
        both = np.concatenate([kept, kept])
        grown = _grow(self._weights[:, both], self._known[:, both], allowed)
        chosen, half_points = _best(grown)
        voiced = int(self._voiced[kept].sum())
        return Choice(
            subsets=(self._columns(chosen),),
            metric=half_points / 2,
            denominator=voiced,
            accuracy=half_points / 2 / voiced if voiced else 0.0,
            strategy=Strategy.BEAM,
        )

    def trace(self) -> tuple[TraceStep, ...]:
        """See `Search.trace`; it ends where the beam did."""
        allowed = np.ones(len(self._eligible), dtype=np.bool_)
        return tuple(
            TraceStep(size, self._columns(chosen), half_points / 2)
            for size, (chosen, half_points) in enumerate(
                _grow(self._weights, self._known, allowed), start=1
            )
        )

    def _columns(self, chosen: Bools) -> tuple[int, ...]:
        return tuple(self._eligible[place] for place in np.flatnonzero(chosen))

    def points_on(self, row: int, choice: Choice) -> float:
        """See `Search.points_on`."""
        places = [self._eligible.index(column) for column in choice.subsets[0]]
        orders = [row, row + self._rows]
        balance = self._weights[places][:, orders].sum(axis=0, dtype=np.int16)
        heard = self._known[places][:, orders].any(axis=0)
        return int((np.sign(balance) + heard).sum()) / 2

    def best_under(self, flips: Flips) -> Metrics:
        """See `Search.best_under`; the beam is run anew for each flip."""
        allowed = np.ones(len(self._eligible), dtype=np.bool_)
        best = [
            _best(_grow(self._weights * np.concatenate([flip, flip]), self._known, allowed))[1] / 2
            for flip in flips
        ]
        return np.array(best, dtype=np.float32)


_Best = tuple[Bools, int]
"""A subset as a row of booleans, and its half-points."""


def _best(by_size: Sequence[_Best]) -> _Best:
    """The best subset met, of equally good ones the smallest."""
    return max(by_size, key=lambda one: one[1])


def _grow(cells: Int8, known: Bools, allowed: Bools) -> list[_Best]:
    """The best subset of each size from 1 on, to where no larger one was better.

    Args:
        cells: columns by row-orders, +1 correct, -1 wrong, 0 without verdict.
        known: the same shape, whether there is a verdict.
        allowed: which columns may be taken; at least one.
    """
    columns, orders = cells.shape
    chosen: Bools = np.zeros((1, columns), dtype=np.bool_)
    balance: _Sums = np.zeros((1, orders), dtype=np.int16)
    heard: Bools = np.zeros((1, orders), dtype=np.bool_)
    found: list[_Best] = []
    best_points, best_size = -1, 0
    for size in range(1, int(allowed.sum()) + 1):
        parents, added = np.nonzero(~chosen & allowed)
        grown = chosen[parents].copy()
        grown[np.arange(len(grown)), added] = True
        # Sorted as bits, the largest first: the lexicographically earliest tuples of columns.
        _, kinds = np.unique(np.packbits(grown, axis=1), axis=0, return_index=True)
        kinds = kinds[::-1]
        parents, added, chosen = parents[kinds], added[kinds], grown[kinds]
        balance = balance[parents] + cells[added]
        heard = heard[parents] | known[added]
        points = (np.sign(balance) + heard).sum(axis=1)
        order = np.argsort(-points, kind="stable")[:WIDTH]
        chosen, balance, heard = chosen[order], balance[order], heard[order]
        found.append((chosen[0], int(points[order[0]])))
        if points[order[0]] > best_points:
            best_points, best_size = int(points[order[0]]), size
        elif size - best_size >= PATIENCE:
            break
    return found


_CHUNK: Final = 1 << 12
"""Subsets a product works on at once, so that a block of flips stays in the cache."""


class Exhaustive:
    """Half-points by row and subset for the eligible columns of a masked matrix."""

    def __init__(self, matrix: Matrix, eligible: Sequence[int]) -> None:
        self._eligible = tuple(eligible)
        self._voiced = voiced_rows(matrix)
        size = 1 << len(self._eligible)
        self._gain: Int8 = np.zeros((matrix.rows, size), dtype=np.int8)
        self._heard: Int8 = np.full((matrix.rows, size), 2, dtype=np.int8)
        for row, pair in enumerate(zip(matrix.original, matrix.swapped, strict=True)):
            self._add(row, pair)
        self._base: Int16 = self._heard.sum(axis=0, dtype=np.int16)
        self._total: Int16 = self._gain.sum(axis=0, dtype=np.int16) + self._base

    def _add(self, row: int, pair: tuple[tuple[Cell, ...], ...]) -> None:
        cells = [[order[column] for column in self._eligible] for order in pair]
        signs = np.sign(sums(weights(cells)))
        np.add(signs[0], signs[1], out=self._gain[row])
        for order in cells:
            silent = [column for column, cell in enumerate(order) if cell is None]
            self._heard[row, within(silent, count=len(order))] -= 1

    def choose(
        self, *, without_row: int | None = None, without_columns: Collection[int] = ()
    ) -> Choice | None:
        """See `Search.choose`."""
        total, voiced = self._total, int(self._voiced.sum())
        if without_row is not None:
            total = total - self._gain[without_row] - self._heard[without_row]
            voiced -= int(self._voiced[without_row])
        return self._best(self._allowed(without_columns), total, voiced)

    def choose_of_size(self, size: int) -> Choice | None:
        """The best subset of exactly so many columns, or None where there are not as many."""
        return self._best(self._sizes() == size, self._total, int(self._voiced.sum()))

    def trace(self) -> tuple[TraceStep, ...]:
        """See `Search.trace`."""
        sizes, voiced = self._sizes(), int(self._voiced.sum())
        choices = (
            (size, self._best(sizes == size, self._total, voiced))
            for size in range(1, len(self._eligible) + 1)
        )
        return tuple(
            TraceStep(size, choice.subsets[0], choice.metric) for size, choice in choices if choice
        )

    def _sizes(self) -> npt.NDArray[np.uint8]:
        """How many columns each subset has."""
        return np.bitwise_count(np.arange(len(self._total)))

    def _best(self, allowed: Bools, total: Int16, voiced: int) -> Choice | None:
        if not allowed.any():
            return None
        best = int(total[allowed].max())
        mask = first_of_smallest(np.flatnonzero(allowed & (total == best)))
        subset = columns_of(mask, count=len(self._eligible))
        return Choice(
            subsets=(tuple(self._eligible[column] for column in subset),),
            metric=best / 2,
            denominator=voiced,
            accuracy=best / 2 / voiced if voiced else 0.0,
            strategy=Strategy.BEST,
        )

    def _allowed(self, without_columns: Collection[int]) -> Bools:
        """Subsets that are not empty and hold none of the given columns."""
        kept = [
            place for place, column in enumerate(self._eligible) if column not in without_columns
        ]
        allowed: Bools = np.zeros(len(self._total), dtype=np.bool_)
        allowed[within(kept, count=len(self._eligible))] = True
        allowed[0] = False
        return allowed

    def points_on(self, row: int, choice: Choice) -> float:
        """See `Search.points_on`."""
        places = {column: place for place, column in enumerate(self._eligible)}
        mask = sum(bit(places[column], count=len(places)) for column in choice.subsets[0])
        return (int(self._gain[row, mask]) + int(self._heard[row, mask])) / 2

    def best_under(self, flips: Flips) -> Metrics:
        """See `Search.best_under`; flipping a label turns the sign of its row's gain."""
        signs = flips.astype(np.float32)
        best: Metrics = np.zeros(len(flips), dtype=np.float32)
        for start in range(0, len(self._total), _CHUNK):
            part = slice(start, start + _CHUNK)
            totals = signs @ self._gain[:, part].astype(np.float32) + self._base[part]
            np.maximum(best, totals.max(axis=1), out=best)
        return best / np.float32(2)
