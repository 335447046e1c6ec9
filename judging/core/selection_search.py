"""The rules of selecting columns of a matrix, and a beam search for more than 20 of them.

The beam search is approximate, and labelled so.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from judging.core.matrix import Cell, Matrix
from judging.core.rules import SelectionMode
from judging.core.verdicts import ROUNDING

Flips = npt.NDArray[np.int8]
"""Flips by rows: 1 keeps a pair's label, -1 flips it."""
Metrics = npt.NDArray[np.float32]


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


Int8 = npt.NDArray[np.int8]
Int16 = npt.NDArray[np.int16]
Masks = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

MOST_COLUMNS: Final = 20
"""Up to here every subset is tried: 2^20 of them take well under a second."""


def weights(cells: Sequence[Sequence[int | None]]) -> Int8:
    """Rows by columns: +1 for a correct cell, -1 for a wrong one, 0 for one without verdict."""
    worth = {1: 1, 0: -1, None: 0}
    return np.array([[worth[cell] for cell in row] for row in cells], dtype=np.int8)


Number = TypeVar("Number", bound=np.number[Any])


def sums(row_weights: npt.NDArray[Number]) -> npt.NDArray[Number]:
    """For each row of weights, the sum over every subset of columns.

    Args:
        row_weights: rows by columns (at most 20, so that a sum of signs fits into a byte).

    Returns:
        rows by 2^columns; entry 0 is the empty subset.
    """
    rows, columns = row_weights.shape
    table = np.zeros((rows, 1 << columns), dtype=row_weights.dtype)
    for bit in range(columns):
        half = 1 << bit
        column = row_weights[:, columns - 1 - bit, None]
        np.add(table[:, :half], column, out=table[:, half : 2 * half])
    return table


def signs(balance: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """1 where the votes are for the chosen response, -1 where they are against it, else 0."""
    found: npt.NDArray[Any]
    if balance.dtype.kind == "f":
        found = (balance >= ROUNDING).view(np.int8) - (balance <= -ROUNDING).view(np.int8)
    else:
        found = np.sign(balance)
    return found


def within(columns: Sequence[int], *, count: int) -> Masks:
    """Every subset that holds none but the given columns, the empty one included."""
    masks = np.zeros(1, dtype=np.int64)
    for column in columns:
        masks = np.concatenate([masks, masks | bit(column, count=count)])
    return masks


def bit(column: int, *, count: int) -> int:
    """The mask of one column among `count`."""
    return 1 << (count - 1 - column)


def columns_of(mask: int, *, count: int) -> tuple[int, ...]:
    """The columns of a mask, ascending."""
    return tuple(column for column in range(count) if mask & bit(column, count=count))


def first_of_smallest(masks: Masks) -> int:
    """Of some subsets the smallest, of equally small ones the lexicographically first."""
    sizes = np.bitwise_count(masks)
    return int(masks[sizes == sizes.min()].max())


def by_size_then_order(masks: Masks) -> Masks:
    """Subsets by size, then lexicographically, as `itertools.combinations` lists them."""
    return masks[np.lexsort((-masks, np.bitwise_count(masks)))]


WIDTH: Final = 32
"""Subsets of one size that are grown further."""
PATIENCE: Final = 2
"""Sizes without a better subset before it stops; an even size is often no better than an odd."""


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
        self._weights: npt.NDArray[Any] = weights(cells).T.copy()
        self._known: Bools = (self._weights != 0).copy()
        if matrix.log_odds is not None:  # l* is the same in both orders
            strengths = [[row[column] or 0.0 for column in eligible] for row in matrix.log_odds]
            self._weights = np.array([*strengths, *strengths]).T.copy()

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
        balance = self._weights[places][:, orders].sum(axis=0, dtype=_sum_type(self._weights))
        heard = self._known[places][:, orders].any(axis=0)
        return int((signs(balance) + heard).sum()) / 2

    def best_under(self, flips: Flips) -> Metrics:
        """See `Search.best_under`; the beam is run anew for each flip."""
        allowed = np.ones(len(self._eligible), dtype=np.bool_)
        best = [
            _best(_grow(self._weights * np.concatenate([flip, flip]), self._known, allowed))[1] / 2
            for flip in flips
        ]
        return np.array(best, dtype=np.float32)


def _sum_type(cells: npt.NDArray[Any]) -> type[np.number[Any]]:
    """What sums of cells fit into."""
    return np.float64 if cells.dtype.kind == "f" else np.int16


_Best = tuple[Bools, int]
"""A subset as a row of booleans, and its half-points."""


def _best(by_size: Sequence[_Best]) -> _Best:
    """The best subset met, of equally good ones the smallest."""
    return max(by_size, key=lambda one: one[1])


def _grow(cells: npt.NDArray[Any], known: Bools, allowed: Bools) -> list[_Best]:
    """The best subset of each size from 1 on, to where no larger one was better.

    Args:
        cells: columns by row-orders, +1 correct, -1 wrong, or l*; 0 without verdict.
        known: the same shape, whether there is a verdict.
        allowed: which columns may be taken; at least one.
    """
    columns, orders = cells.shape
    chosen: Bools = np.zeros((1, columns), dtype=np.bool_)
    balance: npt.NDArray[Any] = np.zeros((1, orders), dtype=_sum_type(cells))
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
        points = (signs(balance) + heard).sum(axis=1)
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
            self._add(row, pair, None if matrix.log_odds is None else matrix.log_odds[row])
        self._base: Int16 = self._heard.sum(axis=0, dtype=np.int16)
        self._total: Int16 = self._gain.sum(axis=0, dtype=np.int16) + self._base

    def _add(
        self,
        row: int,
        pair: tuple[tuple[Cell, ...], ...],
        strengths: tuple[float | None, ...] | None,
    ) -> None:
        cells = [[order[column] for column in self._eligible] for order in pair]
        if strengths is None:
            won = signs(sums(weights(cells)))
            np.add(won[0], won[1], out=self._gain[row])
        else:  # one verdict in both orders
            odds = np.array([[strengths[column] or 0.0 for column in self._eligible]])
            np.multiply(signs(sums(odds))[0], 2, out=self._gain[row])
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
        turns = flips.astype(np.float32)
        best: Metrics = np.zeros(len(flips), dtype=np.float32)
        for start in range(0, len(self._total), _CHUNK):
            part = slice(start, start + _CHUNK)
            totals = turns @ self._gain[:, part].astype(np.float32) + self._base[part]
            np.maximum(best, totals.max(axis=1), out=best)
        return best / np.float32(2)
