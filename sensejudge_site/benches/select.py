"""How long the exact selection takes (protocols D 3.1: the released code on a quiet machine)."""

from __future__ import annotations

import random
import time
from typing import Final

from judging.core.matrix import Cells, Matrix
from judging.core.selection import assess, select
from sensejudge_site.benches import Bench, BenchFigure

_SIZES: Final = (
    (10, 12, 197.0),
    (20, 12, 382.0),
    (20, 14, 1670.0),
    (20, 16, 7860.0),
    (40, 20, None),
)
_REPEATS: Final = 5


def run() -> Bench:
    """The best of five runs in milliseconds, and once the whole assessment of 10 x 12."""
    figures = [
        BenchFigure(f"select_{rows}x{columns}_ms", _best_ms(_matrix(rows, columns)), published)
        for rows, columns, published in _SIZES
    ]
    start = time.perf_counter()
    assess(_matrix(10, 12))
    figures.append(BenchFigure("assess_10x12_ms", (time.perf_counter() - start) * 1000))
    return Bench(name="select", figures=tuple(figures))


def _best_ms(matrix: Matrix) -> float:
    best = float("inf")
    for _ in range(_REPEATS):
        start = time.perf_counter()
        select(matrix)
        best = min(best, time.perf_counter() - start)
    return best * 1000


def _matrix(rows: int, columns: int) -> Matrix:
    """Coin-flip verdicts without a source: every column is searched, as in the published runs."""
    generator = random.Random(1)

    def cells() -> Cells:
        return tuple(tuple(generator.randint(0, 1) for _ in range(columns)) for _ in range(rows))

    return Matrix(original=cells(), swapped=cells(), sources=(None,) * columns)
