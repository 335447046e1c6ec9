"""Elo: points that move after each comparison, and so depend on the order of the comparisons.

Everybody begins with 1000 points; after a comparison K (score - expected score) points pass from
one model to the other, the score being the share of its verdicts that were won and the expected
one 1 / (1 + 10^(-gap / 400)). Another order gives other points, so a rating here is the mean over
ORDERS seeded orders, and each bootstrap draw has an order of its own: its interval holds what
chance the order adds. Comparisons that leave time for fewer orders have no interval. With few
comparisons points stay near 1000, whatever the models are.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from benchmark.core.bradley_terry import CENTRE, Floats, Integers, OutcomeCells

K: Final = 4.0
"""Points that a comparison can move at most; FastChat's. Chess has 10 to 40."""
ORDERS: Final = 200
_LEAST: Final = 10
_MOST_STEPS: Final = 20_000_000  # comparisons over all orders, about ten seconds
_SPREAD: Final = 400.0


def orders_of(comparisons: int) -> int:
    """In how many orders so many comparisons are gone through: ORDERS, of very many fewer."""
    return max(_LEAST, min(ORDERS, _MOST_STEPS // max(1, comparisons)))


def elo_points(tally: OutcomeCells, counts: Integers, rng: np.random.Generator) -> Floats:
    """Points after all comparisons, each row of counts in a random order of its own.

    Args:
        tally: what each cell means.
        counts: orders x cells, how often each comparison of a cell takes place.
        rng: of the orders.

    Returns:
        orders x models points; nan for a model without a comparison in that row.
    """
    share = tally.wins_first / (tally.wins_first + tally.wins_second)
    orders, size = len(counts), len(tally.models)
    steps = int(counts.sum(axis=1).max(initial=0))
    # What a row has less than the longest is a comparison of nobody with nobody: worth nothing.
    cells = np.full((steps, orders), len(share), dtype=np.int32)
    for row, own in enumerate(counts):
        played = np.repeat(np.arange(len(share), dtype=np.int32), own)
        cells[: len(played), row] = rng.permutation(played)
    first, second = (np.append(side, size) for side in (tally.first, tally.second))
    score = np.append(share, 0.5)
    points = np.full(orders * (size + 1), CENTRE)
    start = np.arange(orders) * (size + 1)
    for cell in cells:
        one, other = start + first[cell], start + second[cell]
        gap = points[other] - points[one]
        moved = K * (score[cell] - 1 / (1 + 10 ** (gap / _SPREAD)))
        points[one] += moved
        points[other] -= moved
    result = points.reshape(orders, size + 1)[:, :size]
    seen = np.zeros((orders, size), dtype=np.int64)
    for side in (tally.first, tally.second):
        np.add.at(seen.T, side, counts.T)
    return np.where(seen > 0, result, np.nan)
