"""Sessions and users of very unequal size: whether intervals count them by how much each holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

import numpy as np

from benchmark.core.accuracy import JudgedColumns, accuracy, gain
from benchmark.core.bias import judge_position_bias
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.corrected import JudgedRows, corrected
from benchmark.core.decisions import ABSENT, Winners
from benchmark.core.model_satisfaction import AnswerOfModel, by_model
from benchmark.core.ranking import win_rates
from sensejudge_site.benches.coverage.sampling import (
    Floats,
    Found,
    Integers,
    Random,
    latent,
    members,
)

_MOST: Final = 4
_MEDIAN: Final = 4
_SEED: Final = 1
_FIRST: Final = 0.25
"""How much the judge leans to the first shown, in standard deviations of what it goes by."""
_RIGHT: Final = -0.5
"""Values above it count as right, or won: 69 % of standard normal values."""
_MARKS: Final = np.array([-2.0, -1.4, -0.6, 0.5])
"""Between the scores of 1 to 5, a quarter of which are below 4."""


def uneven_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """Units of skewed size; of one to four, of which one holds a third, or half, of all.

    Skewed sizes are log-normal about a median of four, as of users who write much or little. The
    size of a unit says nothing of what is in it: what is true is so for units of any size.
    """
    found: dict[str, Found] = {}
    for kind, sizes in _SIZES.items():
        unit = members(rng, units, most=_MOST) if draws == 1 else sizes(rng, units)
        found |= {f"{kind}: {name}": told for name, told in _figures(rng, unit, draws).items()}
    return found


def _skewed(rng: Random, units: int) -> Integers:
    sizes = np.ceil(_MEDIAN * np.exp(rng.standard_normal(units))).astype(np.int64)
    return np.repeat(np.arange(units), sizes)


def _giant(rng: Random, units: int, share: float) -> Integers:
    others = members(rng, units - 1, most=_MOST) + 1
    size = round(len(others) * share / (1 - share))
    return np.concatenate([np.zeros(size, dtype=np.int64), others])


_SIZES: Final[Mapping[str, Callable[[Random, int], Integers]]] = {
    "skewed": _skewed,
    "one of a third": partial(_giant, share=1 / 3),
    "one of half": partial(_giant, share=1 / 2),
}


def _figures(rng: Random, unit: Integers, draws: int) -> dict[str, Found]:
    """The figures by name, of members of these units."""
    n = len(unit)
    ones = np.ones(n, dtype=np.int8)
    ease = latent(rng, unit)
    before, after = (
        JudgedColumns(key=np.arange(n), session=unit, human=ones, won=_decided(rng, ease, share))
        for share in (0.5, 0.8)
    )
    told, gained = accuracy(after), gain(before, after, seed=_SEED, draws=draws)
    bias = judge_position_bias(after.won, sessions=unit)
    won = (latent(rng, unit) > _RIGHT).astype(float)
    outcomes = [
        VerdictCounts("a", "b", share, 1 - share, session)
        for share, session in zip(won.tolist(), unit.tolist(), strict=True)
    ]
    [rate] = [each for each in win_rates(outcomes) if each.model == "a"]
    scores = np.searchsorted(_MARKS, latent(rng, unit)) + 1
    answers = [
        AnswerOfModel(user, place, user, "a", "", score)
        for place, (user, score) in enumerate(zip(unit.tolist(), scores.tolist(), strict=True))
    ]
    [rated] = by_model(answers, stated=True)
    people = latent(rng, unit)
    judge = 0.7 * people + 0.5**0.5 * rng.standard_normal(n)
    labels = np.where(rng.permutation(n) < n / 2, (people > _RIGHT).astype(float), np.nan)
    fixed = corrected(
        JudgedRows((judge > _RIGHT).astype(float), labels, unit), is_random=True
    ).corrected
    return {
        "accuracy": (told.value, told.interval),
        "gain": (gained.value, gained.interval),
        "position bias": (bias.value, bias.interval),
        "win rate": (rate.value, rate.interval),
        "mean score": (rated.mean.value, rated.mean.interval),
        "dissatisfied share": (rated.dissatisfied.value, rated.dissatisfied.interval),
        "corrected win rate": (None, None) if fixed is None else (fixed.value, fixed.interval),
    }


def _decided(rng: Random, ease: Floats, share: float) -> Winners:
    """Two orders of each comparison, right where it is easy, the first shown at an advantage.

    The share of what is seen that is the comparison's own is `share` squared.
    """
    seen = share * ease[:, None] + (1 - share**2) ** 0.5 * rng.standard_normal((len(ease), 2))
    right = np.where(seen + _FIRST * np.array([1, -1]) > _RIGHT, 1, -1)
    return np.column_stack([right, np.full(len(ease), ABSENT)]).astype(np.int8)
