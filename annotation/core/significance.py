"""Whether a difference could be chance: sign flips over units that belong together, Holm's rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

MOST_EXACT_UNITS: Final = 19
"""Up to here every sign flip is tried."""
SAMPLED_FLIPS: Final = 10_000
_ROUNDING: Final = 1e-9
_BITS: Final = 8


def sign_flip_p(differences: Sequence[float] | NDArray[np.float64], *, seed: int) -> float | None:
    """The two-sided p of a sum of paired differences under random signs (protocols A1.7).

    It is the share of all 2^n sign flips whose sum is at least as far from zero as the observed
    one; from 20 units on of 10,000 seeded flips, the observed one among them. Units without a
    difference change nothing.

    Args:
        differences: one a unit (a session), what the second way earned over the first.
        seed: of the sampled flips.

    Returns:
        0..1; None without a unit, 1 where none differs.
    """
    values = np.asarray(differences, dtype=np.float64)
    if not len(values):
        return None
    values = values[values != 0]
    far = abs(values.sum()) - _ROUNDING * max(1.0, float(np.abs(values).sum()))
    if len(values) <= MOST_EXACT_UNITS:
        sums = np.zeros(1)
        for value in values:
            sums = np.concatenate([sums + value, sums - value])
        return float((np.abs(sums) >= far).mean())
    sizes, counts = np.unique(np.abs(values), return_counts=True)
    sums = (2 * _positive(counts, seed=seed) - counts) @ sizes
    return (1 + int((np.abs(sums) >= far).sum())) / (SAMPLED_FLIPS + 1)


def _positive(counts: NDArray[np.intp], *, seed: int) -> NDArray[np.float64]:
    """How many of the differences of each size are positive, in every sampled flip.

    Of up to eight by counting a byte's bits, which takes a tenth of a binomial draw.
    """
    draw = np.random.default_rng(seed)
    few = counts <= _BITS
    positive = np.empty((SAMPLED_FLIPS, len(counts)))
    coins = draw.integers(0, 1 << _BITS, size=(SAMPLED_FLIPS, int(few.sum())), dtype=np.uint8)
    positive[:, few] = np.bitwise_count(coins & ((1 << counts[few]) - 1).astype(np.uint8))
    positive[:, ~few] = draw.binomial(counts[~few], 0.5, size=(SAMPLED_FLIPS, int((~few).sum())))
    return positive


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p of several tests, in the order given; None stays None and counts not.

    The k-th smallest of m is multiplied by m - k + 1, none is smaller than the one before it, and
    none is above 1.
    """
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    least = 0.0
    for rank, (p, place) in enumerate(known):
        least = max(least, min(1.0, p * (len(known) - rank)))
        adjusted[place] = least
    return adjusted
