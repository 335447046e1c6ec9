"""The correctness matrix that a selection works on, and the file that carries one.

A row is a development comparison with a winner, a column a preference. Cells are 1 (the judge
named the chosen response), 0 (the other) or None (no verdict), once with the chosen response
shown first (`original`) and once shown second (`swapped`). Of a judge that is read by l* both carry
the one verdict, and `log_odds` says how strongly it was for the chosen response.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeGuard, TypeVar

from annotation.core.refusals import Refused

Cell = int | None
Cells = tuple[tuple[Cell, ...], ...]
Strengths = tuple[tuple[float | None, ...], ...]
"""l* by row and column, above zero where the chosen response wins; None without a verdict."""
ColumnSource = int | Literal["all"] | None
"""What a column was distilled from: a row (0-based), all rows, or nothing (the base judge)."""

AGGREGATE: Final = "all"


@dataclass(frozen=True, slots=True)
class Matrix:
    """Cells in both presentation orders, rows of equal length, and each column's source.

    With `log_odds` a subset is right where they sum to more than zero; cells are their signs.
    """

    original: Cells
    swapped: Cells
    sources: tuple[ColumnSource, ...]
    log_odds: Strengths | None = None

    @property
    def rows(self) -> int:
        """The number of comparisons."""
        return len(self.original)

    @property
    def columns(self) -> int:
        """The number of preferences."""
        return len(self.sources)

    def masked(self) -> Matrix:
        """Without the cells in which a column judges the pair it was distilled from."""
        return replace(
            self,
            original=_mask(self.original, self.sources),
            swapped=_mask(self.swapped, self.sources),
            log_odds=None if self.log_odds is None else _mask(self.log_odds, self.sources),
        )


Value = TypeVar("Value")


def _mask(
    cells: tuple[tuple[Value, ...], ...], sources: tuple[ColumnSource, ...]
) -> tuple[tuple[Value | None, ...], ...]:
    return tuple(
        tuple(None if source == number else cell for cell, source in zip(row, sources, strict=True))
        for number, row in enumerate(cells)
    )


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A matrix as read from a file, and whether the released difference penalty applies.

    `ignored` names fields that a matrix file does not have, for a warning.
    """

    matrix: Matrix
    difference_penalty: bool
    ignored: tuple[str, ...] = ()


_KEYS: Final = (
    "matrix_original",
    "matrix_swapped",
    "difference_penalty",
    "column_source",
    "log_odds",
)


def read_matrix(payload: object) -> MatrixFile:
    """A matrix file's JSON value as a matrix.

    `column_source` may be missing: nothing is masked then and every column is eligible. `log_odds`
    is there where the judge was read by l*.

    Raises:
        Refused: with every fault, not only the first.
    """
    if not isinstance(payload, Mapping):
        raise Refused("matrix:invalid", faults=["the file must hold one JSON object"])
    faults = list(_faults(payload))
    if faults:
        raise Refused("matrix:invalid", faults=faults)
    original, swapped = (
        tuple(tuple(row) for row in payload[name]) for name in ("matrix_original", "matrix_swapped")
    )
    sources, strengths = payload.get("column_source"), payload.get("log_odds")
    return MatrixFile(
        matrix=Matrix(
            original=original,
            swapped=swapped,
            sources=tuple(sources) if sources is not None else (None,) * len(original[0]),
            log_odds=None if strengths is None else tuple(tuple(row) for row in strengths),
        ),
        difference_penalty=payload.get("difference_penalty", False),
        ignored=tuple(sorted(payload.keys() - set(_KEYS))),
    )


def _faults(payload: Mapping[str, object]) -> Iterator[str]:
    if not isinstance(payload.get("difference_penalty", False), bool):
        yield "difference_penalty must be true or false"
    shapes = []
    for name in ("matrix_original", "matrix_swapped"):
        if name not in payload:
            yield f"{name} is missing"
            continue
        shape, faults = _check_cells(name, payload[name])
        yield from faults
        shapes.append(shape)
    if len(set(shapes)) == 2 and None not in shapes:
        yield "matrix_original and matrix_swapped differ in shape"
    yield from _source_faults(payload.get("column_source"), next(iter(shapes), None))
    if payload.get("log_odds") is not None and not _fits(payload):
        yield "log_odds must hold, by row and column, a number with the sign of the cells, or null"


def _fits(payload: Mapping[str, object]) -> bool:
    """Whether the log-odds are numbers of which the cells of both orders are the signs."""
    rows = payload["log_odds"]
    if not _is_list(rows) or not all(_is_list(row) for row in rows):
        return False
    signs = [[_sign(value) for value in row] for row in rows if _is_list(row)]
    return signs == payload.get("matrix_original") == payload.get("matrix_swapped")


def _sign(value: object) -> object:
    """The cell that a log-odds stands for; "" for what is neither one nor null."""
    if isinstance(value, int | float) and not isinstance(value, bool) and value != 0:
        return int(value > 0)
    return None if value is None else ""


_Shape = tuple[int, int] | None


def _check_cells(name: str, content: object) -> tuple[_Shape, list[str]]:
    """(rows, columns) where that much is clear, and what is wrong."""
    if not _is_list(content) or not content:
        return None, [f"{name} must be a list of at least one row"]
    rows = [row for row in content if _is_list(row) and row]
    if len(rows) < len(content):
        return None, [
            f"{name} row {number} must be a list of at least one cell"
            for number, row in enumerate(content)
            if not _is_list(row) or not row
        ]
    faults = [
        f"{name} row {number} column {column} is {cell!r}, not 0, 1 or null"
        for number, row in enumerate(rows)
        for column, cell in enumerate(row)
        if not (cell is None or (type(cell) is int and cell in (0, 1)))
    ]
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        return None, [*faults, f"{name} has rows of {_listed(lengths)} cells"]
    return (len(rows), lengths.pop()), faults


def _source_faults(sources: object, shape: _Shape) -> Iterator[str]:
    if sources is None:
        return
    if not _is_list(sources):
        yield "column_source must be a list"
        return
    if shape is None:
        return
    rows, columns = shape
    if len(sources) != columns:
        yield f"column_source names {len(sources)} columns, the matrix has {columns}"
    for column, source in enumerate(sources):
        if source is None or source == AGGREGATE:
            continue
        if type(source) is not int or not 0 <= source < rows:
            known = f'null, "all" or a row from 0 to {rows - 1}'
            yield f"column_source {column} is {source!r}, not {known}"


def _listed(numbers: set[int]) -> str:
    return ", ".join(str(number) for number in sorted(numbers))


def _is_list(value: object) -> TypeGuard[list[object]]:
    return isinstance(value, list)
