"""Which model is better: win rates and Bradley-Terry ratings, with what the data cannot say.

A model that never lost (or never won) has no finite rating, and models that were never linked by
comparisons cannot be placed on one scale: both are stated results, never numbers. Everything
works on counts, so a bootstrap over a million comparisons costs what one over a hundred does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np

from annotation.core.intervals import Interval, clustered_wilson, missing_units, tails
from annotation.core.refusals import Refused
from benchmark.core.bradley_terry import (
    SAME,
    Bools,
    Floats,
    Integers,
    OutcomeCells,
    Sample,
    VerdictCounts,
    bootstrap_ratings,
    chains_of_wins,
    largest_group,
    ratings_on_scale,
)

_MIDDLE: Final = 0.5


class Standing(StrEnum):
    """What the comparisons say about a model's rating."""

    RATED = "RATED"
    UNBOUNDED = "UNBOUNDED"  # never lost (or never won) against the rated models
    NOT_COMPARABLE = "NOT_COMPARABLE"  # no chain of wins links it to them either way


@dataclass(frozen=True, slots=True)
class WinRate:
    """Share of verdicts won, a tie counting one half.

    The interval is Wilson's with sessions as units: neither two verdicts on one comparison nor two
    comparisons of one session are independent trials.
    """

    model: str
    value: float
    interval: Interval | None
    comparisons: int
    verdicts: int


@dataclass(frozen=True, slots=True)
class ModelRating:
    """One row of a ranking; `rating` is None exactly where `standing` is not RATED.

    `low` and `high` are 95 % bootstrap percentiles, `rank_low` and `rank_high` those of the rank;
    None for a model that is not rated, and for fewer than MIN_UNITS sessions. An end that lies
    among draws in which the model never loses, or never wins, is None and `…_unbounded`: of such
    draws a stated one has at most `tails` of the sessions on its side (.9 % with ten sessions,
    2.3 % with a hundred).
    Ranks start at 1, equal ratings share one; None for a model that is not comparable.
    """

    model: str
    standing: Standing
    rating: float | None
    low: float | None
    high: float | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None
    comparisons: int
    low_unbounded: bool = False
    high_unbounded: bool = False


@dataclass(frozen=True, slots=True)
class Ranking:
    """Bradley-Terry ratings, best first, with the settings that made them.

    `bounded_draws` of `draws` kept every rated model finite. The comparisons are of `sessions`, of
    which an interval needs `missing` more.
    """

    models: tuple[ModelRating, ...]
    comparisons: int
    sessions: int
    draws: int
    bounded_draws: int
    seed: int
    anchor: str | None

    @property
    def missing(self) -> int:
        """How many sessions more would give intervals; 0 where there are enough."""
        return missing_units(self.sessions)


def win_rates(outcomes: Iterable[VerdictCounts]) -> tuple[WinRate, ...]:
    """Win rate of every model over all its comparisons, best first (equal ones by name)."""
    tally = OutcomeCells.of(outcomes)
    wins = tally.wins_matrix(tally.counts[None, :])[0]
    won, lost, comparisons = wins.sum(axis=1), wins.sum(axis=0), tally.comparisons()
    held, times = tally.by_session(), tally.sessions.counts
    rates = []
    for index, model in enumerate(tally.models):
        verdicts, n = float(won[index] + lost[index]), int(comparisons[index])
        value = float(won[index]) / verdicts
        hits, trials = held[:, :, index]
        own = trials > 0
        interval = clustered_wilson(hits[own], trials[own], times=times[own])
        rates.append(WinRate(model, value, interval, n, round(verdicts)))
    return tuple(sorted(rates, key=lambda rate: (-rate.value, rate.model)))


def bradley_terry(
    outcomes: Iterable[VerdictCounts],
    *,
    draws: int = 1000,
    seed: int = 0,
    anchor: str | None = None,
) -> Ranking:
    """Maximum-likelihood Bradley-Terry ratings with bootstrap intervals over sessions.

    Scale: 400 points are odds of ten to one; the mean of the rated models is 1000, or the
    anchor model is 1000. The rated models are the largest group in which everybody beat
    everybody, directly or through others; only there are finite ratings defined.

    Raises:
        Refused: the anchor is not one of the rated models.
    """
    tally = OutcomeCells.of(outcomes)
    wins = tally.wins_matrix(tally.counts[None, :])[0]
    chains = chains_of_wins(wins[None] > 0)[0]
    core = largest_group(chains, tally.comparisons())
    rated = core if len(core) > 1 else []
    if anchor is not None and anchor not in [tally.models[index] for index in rated]:
        message = f"the anchor model {anchor!r} has no rating in these comparisons"
        raise Refused("ranking:unknown-anchor", message)
    zero = rated.index(tally.models.index(anchor)) if anchor is not None else None
    fitted = ratings_on_scale(wins[np.ix_(rated, rated)][None], zero)[0]
    ratings = {index: float(fitted[place]) for place, index in enumerate(rated)}
    sample = bootstrap_ratings(tally, rated, zero, draws=draws, seed=seed)
    rows = _rows(tally, chains, core, ratings, sample)
    return Ranking(
        models=tuple(sorted(rows, key=_best_first)),
        comparisons=int(tally.counts.sum()),
        sessions=int(tally.sessions.counts.sum()),
        draws=draws,
        bounded_draws=sample.bounded,
        seed=seed,
        anchor=anchor,
    )


def _standing(index: int, chains: Bools, core: Sequence[int]) -> Standing:
    """Where a model stands towards the rated ones; one model alone cannot be rated."""
    if index in core and len(core) > 1:
        return Standing.RATED
    others = [member for member in range(len(chains)) if member != index]
    linked = core if index not in core else others
    if chains[index, linked].any() or chains[linked, index].any():
        return Standing.UNBOUNDED
    return Standing.NOT_COMPARABLE


def _rows(
    tally: OutcomeCells,
    chains: Bools,
    core: Sequence[int],
    ratings: dict[int, float],
    sample: Sample,
) -> list[ModelRating]:
    """One row a model, in the order of the tally."""
    places = {index: place for place, index in enumerate(ratings)}
    standings = [_standing(index, chains, core) for index in range(len(tally.models))]
    comparable = [i for i, where in enumerate(standings) if where is not Standing.NOT_COMPARABLE]
    comparisons = tally.comparisons()
    ranks = sample.ranks()
    rows = []
    for index, model in enumerate(tally.models):
        above = [other for other in comparable if _is_above(other, index, chains, ratings)]
        ahead = sum(other not in ratings for other in above)  # above in every draw
        spread = _spread(sample, ranks, places[index], ahead) if index in places else _NO_SPREAD
        rows.append(
            ModelRating(
                model=model,
                standing=standings[index],
                rating=ratings.get(index),
                low=spread.low,
                high=spread.high,
                rank=len(above) + 1 if index in comparable else None,
                rank_low=spread.rank_low,
                rank_high=spread.rank_high,
                comparisons=int(comparisons[index]),
                low_unbounded=spread.rank_low is not None and spread.low is None,
                high_unbounded=spread.rank_high is not None and spread.high is None,
            )
        )
    return rows


@dataclass(frozen=True, slots=True)
class _Spread:
    low: float | None = None
    high: float | None = None
    rank_low: int | None = None
    rank_high: int | None = None


_NO_SPREAD: Final = _Spread()
_Ranks = tuple[Integers, Integers]
"""Draws x models, the best and the worst."""


def _spread(sample: Sample, ranks: _Ranks, place: int, ahead: int) -> _Spread:
    """The interval of one rated model, ranked behind `ahead` others; ranks round outwards."""
    if not len(sample.lowest):
        return _NO_SPREAD
    best, worst = ranks
    ends = tails(sample.sessions)
    return _Spread(
        percentile_end(sample.lowest[:, place], ends[0]),
        percentile_end(sample.highest[:, place], ends[1]),
        int(np.quantile(best[:, place], ends[0], method="lower")) + ahead,
        int(np.quantile(worst[:, place], ends[1], method="higher")) + ahead,
    )


def percentile_end(drawn: Floats, tail: float) -> float | None:
    """The percentile of draws at which an interval ends; None where it lies among infinite ones."""
    with np.errstate(invalid="ignore"):  # between a number and infinity
        value = float(np.quantile(drawn, tail))
    if not np.isfinite(value):
        value = float(np.quantile(drawn, tail, method="higher" if tail < _MIDDLE else "lower"))
    return value if np.isfinite(value) else None


def _is_above(other: int, index: int, chains: Bools, ratings: dict[int, float]) -> bool:
    """Whether the comparisons place `other` above `index`."""
    if other in ratings and index in ratings:
        return ratings[other] > ratings[index] + SAME
    return bool(chains[other, index] and not chains[index, other])


def _best_first(row: ModelRating) -> tuple[float, float, str]:
    """Sort key: by rank, models that are not comparable last, equal ones by name."""
    rank = float("inf") if row.rank is None else row.rank
    return (rank, -(row.rating or 0.0), row.model)
