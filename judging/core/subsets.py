"""Numbers for every subset of up to 20 columns at once.

A subset is a bit mask in which column 0 is the HIGHEST bit, so of two subsets of one size the
larger number is the lexicographically earlier tuple of columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

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


def sums(row_weights: Int8) -> Int8:
    """For each row of weights, the sum over every subset of columns.

    Args:
        row_weights: rows by columns (at most 20, so that a sum fits into a byte).

    Returns:
        rows by 2^columns; entry 0 is the empty subset.
    """
    rows, columns = row_weights.shape
    table = np.zeros((rows, 1 << columns), dtype=np.int8)
    for bit in range(columns):
        half = 1 << bit
        column = row_weights[:, columns - 1 - bit, None]
        np.add(table[:, :half], column, out=table[:, half : 2 * half])
    return table


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
