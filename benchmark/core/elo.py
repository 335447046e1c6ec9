"""Elo: points that move after each comparison, as they are on average over all orders.

Everybody begins with 1000 points; after a comparison K (score - expected score) points pass from
one model to the other, the score being the share of its verdicts that were won and the expected
one 1 / (1 + 10^(-gap / 400)). Models do not change, so the order of the comparisons says nothing of
them. In a random order each comparison is as likely as any other to be the next: on average points
move by the mean of what all comparisons would move. That is followed here, from 1000 over as many
moves as there are comparisons. It costs the same for a million comparisons, gives each bootstrap
draw what it gives the comparisons, and differs from the mean over thousands of orders by less than
a hundredth of the way from 1000: a comparison that is still to come is a little rarer among those
before it. With few comparisons points stay near 1000, whatever the models are; with many they come
to where they would move no more, which are the Bradley-Terry ratings.
"""

from __future__ import annotations

from math import log
from typing import Final

import numpy as np

from benchmark.core.bradley_terry import CENTRE, Floats

K: Final = 4.0
"""Points that a comparison can move at most; FastChat's. Chess has 10 to 40."""
_RATE: Final = log(10) / 400
_FINE: Final = 0.1  # of the way to where points would rest, as much as one stride may go
_STABLE: Final = 1.0  # and where there are more strides than _STRIDES
_STRIDES: Final = 1000
_SETTLED: Final = 1e-3  # points that all that is left could move


def elo_points(wins: Floats) -> Floats:
    """Points after all comparisons, on average over their orders.

    Args:
        wins: draws x models x models; [d, i, j] is what i won of its comparisons with j, each of
            which is worth one.

    Returns:
        draws x models; nan for a model without a comparison in that draw.
    """
    games = wins + wins.transpose(0, 2, 1)
    left = np.rint(games.sum(axis=(1, 2)) / 2)
    each = np.maximum(left, 1.0)
    won, met = wins.sum(axis=2) / each[:, None], games / each[:, None, None]
    # No gap closes faster, as a share of it and by comparison.
    fastest = K * _RATE / 2 * float(met.sum(axis=2).max(initial=0.0)) or 1.0
    fine = max(_FINE / fastest, float(left.max(initial=0.0)) / _STRIDES)
    stride = max(1, int(min(_STABLE / fastest, fine)))
    points = np.full(wins.shape[:2], CENTRE)

    def move(at: Floats) -> Floats:
        gap = at[:, :, None] - at[:, None, :]
        expected = (met / (1 + np.exp(-_RATE * gap))).sum(axis=2)
        moved: Floats = K * (won - expected)
        return moved

    moved = move(points)
    while (np.abs(moved).max(axis=1, initial=0.0) * left).max(initial=0.0) > _SETTLED:
        now = np.minimum(stride, left)
        # So many moves one after another, up to what their changes change of their changes.
        points = points + now[:, None] * move(points + (now - 1)[:, None] / 2 * moved)
        left = left - now
        moved = move(points)
    return np.where(games.any(axis=2), points, np.nan)
