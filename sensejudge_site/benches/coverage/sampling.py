"""What the models share: sizes of units, and values that vary together within a unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import Interval

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Random = np.random.Generator

Found = tuple[float | None, Interval | None]
"""A figure's value and its interval."""
Measure = Callable[[Random, int, int], Mapping[str, Found]]
"""The figures by name of a sample of so many units, with so many bootstrap draws."""

WITHIN: Final = 0.2
"""Of the variance of what is said, the part that a unit's members share."""


def members(rng: Random, units: int, *, most: int) -> Integers:
    """The unit of each member; every unit has from one to `most`, each number as often."""
    return np.repeat(np.arange(units), rng.integers(1, most + 1, size=units))


def latent(rng: Random, unit: Integers) -> Floats:
    """Standard normal values of which those of one unit correlate by WITHIN."""
    shared = rng.standard_normal(int(unit[-1]) + 1)[unit]
    values: Floats = WITHIN**0.5 * shared + (1 - WITHIN) ** 0.5 * rng.standard_normal(len(unit))
    return values
