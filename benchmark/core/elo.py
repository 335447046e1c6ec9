"""Elo: points that move after each comparison, as they are on average over all orders.

Everybody begins with 1000 points; after a comparison K (score - expected score) points pass from
one model to the other, the score being the share of its verdicts that were won and the expected
one 1 / (1 + 10^(-gap / 400)). Models do not change, so the order of the comparisons says nothing of
them. In a random order each comparison is as likely as any other to be the next: on average points
move by the mean of what all comparisons would move. That is followed here, from 1000 over as many
moves as there are comparisons: the first one by one, the others in strides that grow with the moves
made, so that a million comparisons cost little more than a thousand. It gives each bootstrap draw
what it gives the comparisons, and differs from the mean over thousands of orders by less than a
hundredth of the way from 1000: a comparison that is still to come is a little rarer among those
before it. With few comparisons points stay near 1000, whatever the models are; with many they come
to where they would move no more, which are the Bradley-Terry ratings.
"""

from __future__ import annotations

from math import ceil, log
from typing import Final

import numpy as np

from benchmark.core.bradley_terry import CENTRE
from benchmark.core.rank_sets import Floats

K: Final = 4.0
"""Points that a comparison can move at most; FastChat's. Chess has 10 to 40."""
_RATE: Final = log(10) / 400
_ONE_BY_ONE: Final = 32
_GROWTH: Final = 1.2  # of the moves made, from one stride to the next
_GAMMA: Final = 1 - 0.5**0.5


def elo_points(wins: Floats) -> Floats:
    """Points after all comparisons, on average over their orders.

    Args:
        wins: draws x models x models; [d, i, j] is what i won of its comparisons with j, each of
            which is worth one.

    Returns:
        draws x models; nan for a model without a comparison in that draw.
    """
    games = wins + wins.transpose(0, 2, 1)
    moves = np.rint(games.sum(axis=(1, 2)) / 2)
    each = np.maximum(moves, 1.0)
    won, met = wins.sum(axis=2) / each[:, None], games / each[:, None, None]
    points = np.full(wins.shape[:2], CENTRE)

    def expected(at: Floats) -> Floats:
        shares: Floats = 1 / (1 + np.exp(_RATE * (at[:, None, :] - at[:, :, None])))
        return shares

    def move(share: Floats) -> Floats:
        moved: Floats = K * (won - (met * share).sum(axis=2))
        return moved

    for done in range(int(min(_ONE_BY_ONE, moves.max(initial=0.0)))):
        points = points + (done < moves)[:, None] * move(expected(points))
    behind = np.maximum(moves / _ONE_BY_ONE, 1.0)
    strides = ceil(log(behind.max(initial=1.0)) / log(_GROWTH))
    for stride in range(strides):
        # Rosenbrock's method of second order, which does not overshoot where points have settled:
        # those of models that are often compared do long before those of rare ones.
        start, end = (behind ** (step / strides) for step in (stride, stride + 1))
        size = _ONE_BY_ONE * (end - start)[:, None]
        share = expected(points)
        slopes = K * _RATE * met * share * (1 - share)
        matrix = -_GAMMA * size[:, :, None] * slopes
        diagonal = np.arange(matrix.shape[1])
        matrix[:, diagonal, diagonal] = 1 - matrix.sum(axis=2)  # nobody meets themselves
        first = np.linalg.solve(matrix, (size * move(share))[:, :, None])[:, :, 0]
        right = size * move(expected(points + first)) - 2 * first
        second = np.linalg.solve(matrix, right[:, :, None])[:, :, 0]
        points = points + 1.5 * first + 0.5 * second
    return np.where(games.any(axis=2), points, np.nan)
