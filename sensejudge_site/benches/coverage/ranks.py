"""Rank sets that hold the true ranks of all models at once, and what percentiles of ranks hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from annotation.core.intervals import tails
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.rank_sets import SAME, Floats, Integers, Sample
from benchmark.core.ranking import Ranking, bradley_terry
from sensejudge_site.benches.coverage.sampling import Random, members

_SEED: Final = 1
_MOST: Final = 4
_SPREAD: Final = 0.5
_TIED: Final = 0.15
_STRENGTHS: Final = {
    "five equal models": (0.0, 0.0, 0.0, 0.0, 0.0),
    "five apart": (0.8, 0.4, 0.0, -0.4, -0.8),
}


def ranks_held(rng: Random, units: int, draws: int) -> Mapping[str, bool | None]:
    """Whether the sets of all models hold their true ranks; None if no set is stated.

    Five models in sessions of one to four comparisons, in which their strengths vary. Any rank of
    equal models is a true one, so all their sets must hold all five.
    """
    found: dict[str, bool | None] = {}
    for name, strengths in _STRENGTHS.items():
        ranking = bradley_terry(_outcomes(rng, units, np.array(strengths)), draws=draws, seed=_SEED)
        truth = np.array(strengths)
        found[f"joint sets, {name}"] = _joint(ranking, truth)
        found[f"percentiles, {name}"] = _by_percentiles(ranking, truth)
    return found


def _outcomes(rng: Random, units: int, strengths: Floats) -> list[VerdictCounts]:
    session = members(rng, units, most=_MOST)
    own = strengths + _SPREAD * rng.standard_normal((units, len(strengths)))
    one = rng.integers(len(strengths), size=len(session))
    other = (one + rng.integers(1, len(strengths), size=len(session))) % len(strengths)
    odds = own[session, one] - own[session, other]
    won = np.where(rng.random(len(session)) < 1 / (1 + np.exp(-odds)), 1.0, 0.0)
    won = np.where(rng.random(len(session)) < _TIED, 0.5, won)
    return [
        VerdictCounts(f"m{a}", f"m{b}", share, 1 - share, unit)
        for a, b, share, unit in zip(
            one.tolist(), other.tolist(), won.tolist(), session.tolist(), strict=True
        )
    ]


def _holds(models: list[int], low: list[int], high: list[int], truth: Floats) -> bool:
    """Whether each set holds every rank that is true of its model."""
    best = 1 + (truth > truth[:, None]).sum(axis=1)
    worst = (truth >= truth[:, None]).sum(axis=1)
    return bool((low <= best[models]).all() and (high >= worst[models]).all())


def _joint(ranking: Ranking, truth: Floats) -> bool | None:
    rows = [row for row in ranking.models if row.rank_low is not None and row.rank_high is not None]
    if not rows:
        return None
    models = [int(row.model[1:]) for row in rows]
    lows, highs = [row.rank_low or 0 for row in rows], [row.rank_high or 0 for row in rows]
    return _holds(models, lows, highs, truth)


def _by_percentiles(ranking: Ranking, truth: Floats) -> bool | None:
    """The same of 95 % percentiles of the ranks in bootstrap draws; None unless all are rated."""
    sample = ranking.sample
    if sample is None or not len(sample.lowest) or len(sample.models) < len(truth):
        return None
    best, worst = _drawn_ranks(sample)
    low, high = tails(sample.units.effective)
    return _holds(
        [int(model[1:]) for model in sample.models],
        np.quantile(best, low, axis=0, method="lower").tolist(),
        np.quantile(worst, high, axis=0, method="higher").tolist(),
        truth,
    )


def _drawn_ranks(sample: Sample) -> tuple[Integers, Integers]:
    """Draws x models: the best and the worst rank of each."""
    low, high = sample.lowest, sample.highest
    best = 1 + (low[:, None, :] > high[:, :, None] + SAME).sum(axis=2)
    worst = (high[:, None, :] >= low[:, :, None] - SAME).sum(axis=2)
    return best, worst
