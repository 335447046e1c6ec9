"""Which model is better: win rates, Bradley-Terry and Elo, with what the data cannot say.

A model that never lost (or never won) has no finite Bradley-Terry rating, and models that were
never linked by comparisons cannot be placed on one scale: both are stated results, never numbers.
Everything works on counts, so a bootstrap over a million comparisons costs what one over a hundred
does.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.intervals import Interval, Units, clustered_wilson
from annotation.core.refusals import Refused
from benchmark.core.bradley_terry import (
    CENTRE,
    Counts,
    OutcomeCells,
    VerdictCounts,
    bootstrap_ratings,
    chains_of_wins,
    largest_group,
    ratings_on_scale,
)
from benchmark.core.elo import elo_points
from benchmark.core.rank_sets import (
    SAME,
    Bools,
    Floats,
    Sample,
    joint_ranks,
    shares_above,
    shares_first,
    surely_ahead,
)

_CHUNK_OF_DRAWS: Final = 200


class RatingMethod(StrEnum):
    """What models are ordered by."""

    BRADLEY_TERRY = "bradley-terry"
    ELO = "elo"  # on average over the orders of the comparisons
    WIN_RATE = "win-rate"  # a share from 0 to 1


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

    `low` and `high` are 95 % bootstrap percentiles, of a win rate the ends of its `WinRate`;
    `rank_low` and `rank_high` hold the ranks of all models at once in 95 of 100 samples. They are
    None for a model that is not rated, and for too few sessions. An end that lies among draws in
    which the model never loses, or never wins, is None and `…_unbounded`: of such draws a stated
    one has at most `tails` of the effective sessions on its side (.9 % with ten sessions, 2.3 %
    with a hundred).
    Ranks start at 1, equal ratings share one; None for a model that is not comparable. A model that
    never lost or never won is surely ahead or behind if the sessions with it are enough.
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
    """Ratings, best first, with the settings that made them.

    `bounded_draws` of `draws` kept every rated model finite. The comparisons are of `sessions`;
    `units` are those with rated models (all if none is rated), by how many comparisons each holds.
    `above` has, by two models, the share of the draws in which the first is above the second, where
    neither is above a half of it; both are rated. `ahead` are the pairs of which the first is
    surely ahead, all at once.
    Where verdicts are `ties_alone` draws do not differ, and there is no interval.
    `first` has the share in which no rated model is above a model; those of whom that holds in a
    draw share it, so that all models together have 1. `sample` has the draws themselves.
    """

    models: tuple[ModelRating, ...]
    comparisons: int
    sessions: int
    units: Units
    draws: int
    bounded_draws: int
    seed: int
    anchor: str | None
    method: RatingMethod = RatingMethod.BRADLEY_TERRY
    above: Mapping[tuple[str, str], float] = field(default_factory=dict)
    ahead: frozenset[tuple[str, str]] = frozenset()
    first: Mapping[str, float] = field(default_factory=dict)
    sample: Sample | None = field(default=None, compare=False, repr=False)
    ties_alone: bool = False


def win_rates(outcomes: Iterable[VerdictCounts] | OutcomeCells) -> tuple[WinRate, ...]:
    """Win rate of every model over all its comparisons, best first (equal ones by name)."""
    tally = outcomes if isinstance(outcomes, OutcomeCells) else OutcomeCells.of(outcomes)
    wins = tally.wins
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
    outcomes: Iterable[VerdictCounts] | OutcomeCells,
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
    return rank_models(outcomes, RatingMethod.BRADLEY_TERRY, draws=draws, seed=seed, anchor=anchor)


def rank_models(
    outcomes: Iterable[VerdictCounts] | OutcomeCells,
    method: RatingMethod,
    *,
    draws: int = 1000,
    seed: int = 0,
    anchor: str | None = None,
) -> Ranking:
    """Models by one of the methods, with bootstrap intervals over sessions.

    By Elo and win rate all models are rated that comparisons link, whoever won; `anchor` is 1000
    by Elo, too, and means nothing to win rates.

    Raises:
        Refused: the anchor is not one of the rated models.
    """
    tally = outcomes if isinstance(outcomes, OutcomeCells) else OutcomeCells.of(outcomes)
    wins = tally.wins
    by_odds = method is RatingMethod.BRADLEY_TERRY
    chains = chains_of_wins((wins if by_odds else wins + wins.T)[None] > 0)[0]
    core = largest_group(chains, tally.comparisons())
    rated = core if len(core) > 1 else []
    if anchor is not None and anchor not in [tally.models[index] for index in rated]:
        message = f"the anchor model {anchor!r} has no rating in these comparisons"
        raise Refused("ranking:unknown-anchor", message)
    zero = rated.index(tally.models.index(anchor)) if anchor is not None else None
    if by_odds:
        fitted = ratings_on_scale(wins[np.ix_(rated, rated)][None], zero)[0]
        sample = bootstrap_ratings(tally, rated, zero, draws=draws, seed=seed)
    else:
        rate = _elo if method is RatingMethod.ELO else _shares
        fitted, sample = rate(tally, rated, zero, draws, seed)
    ratings = {index: float(fitted[place]) for place, index in enumerate(rated)}
    ranking = ranking_of(
        tally, chains, core, ratings, sample, method=method, draws=draws, seed=seed, anchor=anchor
    )
    return _with_ends_of_shares(ranking, tally) if method is RatingMethod.WIN_RATE else ranking


def _with_ends_of_shares(ranking: Ranking, tally: OutcomeCells) -> Ranking:
    """Each win rate with the interval that stands beside every rating; none without draws."""
    if ranking.ties_alone:
        return ranking
    found = {rate.model: rate.interval for rate in win_rates(tally)}
    rows = []
    for row in ranking.models:
        interval = None if row.rank_low is None else found[row.model]
        low, high = (interval.low, interval.high) if interval else (None, None)
        rows.append(replace(row, low=low, high=high, low_unbounded=False, high_unbounded=False))
    return replace(ranking, models=tuple(rows))


def ranking_of(
    tally: OutcomeCells,
    chains: Bools,
    core: Sequence[int],
    ratings: dict[int, float],
    sample: Sample,
    *,
    method: RatingMethod,
    draws: int,
    seed: int,
    anchor: str | None,
) -> Ranking:
    """The finished table.

    Args:
        tally: the comparisons.
        chains: models x models, whether a chain of wins (or of comparisons) links them.
        core: the places of the largest group that it links.
        ratings: by place, in its order, where it has two models or more.
        sample: the same in bootstrap draws.
        method: that made them.
        draws: that were asked for.
        seed: of the draws.
        anchor: the model that is 1000.
    """
    names = [tally.models[index] for index in ratings]
    ahead = np.zeros((len(ratings), len(ratings)), dtype=bool)
    if len(sample.points):
        places = [*ratings]
        ahead = surely_ahead(
            np.array([*ratings.values()]),
            sample,
            has_enough=lambda place: not tally.units_of(places[place]).few,
        )
    rows = _rows(tally, chains, core, ratings, sample, ahead)
    is_even = len(tally.counts) > 0 and np.array_equal(tally.wins_first, tally.wins_second)
    if is_even:  # no draw differs: a width of zero would claim certainty
        rows = [replace(row, low=None, high=None) for row in rows]
    return Ranking(
        models=tuple(sorted(rows, key=_best_first)),
        comparisons=int(tally.counts.sum()),
        sessions=int(tally.sessions.counts.sum()),
        units=sample.units if ratings else tally.units_among(range(len(tally.models))),
        draws=draws,
        bounded_draws=sample.bounded,
        seed=seed,
        anchor=anchor,
        method=method,
        ties_alone=is_even,
        above=shares_above(sample, names),
        ahead=frozenset((names[one], names[other]) for one, other in np.argwhere(ahead).tolist()),
        first=shares_first(sample, names),
        sample=replace(sample, models=tuple(names)),
    )


_Rated = tuple[Floats, Sample]
"""The ratings, and those of bootstrap draws."""


def _elo(
    tally: OutcomeCells, rated: Sequence[int], zero: int | None, draws: int, seed: int
) -> _Rated:
    verdicts = tally.wins_first + tally.wins_second
    first, second = tally.wins_first / verdicts, tally.wins_second / verdicts
    once = replace(tally, wins_first=first, wins_second=second)

    def points(drawn: Counts) -> Floats:
        found = elo_points(once.wins_of(drawn))[:, rated]
        return found if zero is None else found - found[:, zero : zero + 1] + CENTRE

    return _fitted_and_sampled(tally, rated, points, draws, seed)


def _shares(
    tally: OutcomeCells, rated: Sequence[int], _zero: int | None, draws: int, seed: int
) -> _Rated:
    def shares(drawn: Counts) -> Floats:
        wins = tally.wins_of(drawn)
        won, lost = wins.sum(axis=2)[:, rated], wins.sum(axis=1)[:, rated]
        played = won + lost
        return np.where(played > 0, won / np.where(played > 0, played, 1.0), np.nan)

    return _fitted_and_sampled(tally, rated, shares, draws, seed)


def _fitted_and_sampled(
    tally: OutcomeCells,
    rated: Sequence[int],
    rate: Callable[[Counts], Floats],
    draws: int,
    seed: int,
) -> _Rated:
    """A rating that is a number, or nothing (nan) of a model that a draw misses."""
    rng = np.random.default_rng(seed)
    units = tally.units_among(rated)
    size = 0 if units.few else draws
    chunks = [
        rate(tally.sessions.draw(rng, min(_CHUNK_OF_DRAWS, size - start)))
        for start in range(0, size, _CHUNK_OF_DRAWS)
    ]
    drawn = np.concatenate([np.zeros((0, len(rated))), *chunks])
    missed = np.isnan(drawn)
    lowest, highest = (np.where(missed, end, drawn) for end in (-np.inf, np.inf))
    bounded = int((~missed.any(axis=1)).sum())
    fitted = rate(tally.sessions.counts[None, :])[0]
    return fitted, Sample(lowest, highest, drawn, bounded, units)


@dataclass(frozen=True, slots=True)
class HeadToHead:
    """How the verdicts on two models went, seen from the first, on so many comparisons."""

    wins: int
    ties: int
    losses: int
    comparisons: int

    @property
    def n(self) -> int:
        """Verdicts."""
        return self.wins + self.ties + self.losses

    @property
    def share(self) -> float:
        """Of verdicts that the first won, a tie one half."""
        return (self.wins + self.ties / 2) / self.n


def head_to_head(
    verdicts: Iterable[tuple[str, str, Verdict, int]],
) -> dict[tuple[str, str], HeadToHead]:
    """By two models that were compared, in both directions; a model against itself says nothing.

    Args:
        verdicts: model A, model B, the verdict, the comparison.
    """
    rows = list(verdicts)
    seen = Counter((a, b) for a, b, _key in {(a, b, key) for a, b, _verdict, key in rows})
    counts = Counter((a, b, verdict) for a, b, verdict, _key in rows)
    return _duels(counts, seen)


def duels_of_counts(
    verdicts: Iterable[tuple[str, str, Verdict, int]],
) -> dict[tuple[str, str], HeadToHead]:
    """The same of comparisons that have one verdict each: model A, model B, verdict, how many."""
    counts: Counter[tuple[str, str, Verdict]] = Counter()
    seen: Counter[tuple[str, str]] = Counter()
    for a, b, verdict, count in verdicts:
        counts[a, b, verdict] += count
        seen[a, b] += count
    return _duels(counts, seen)


def _duels(
    counts: Counter[tuple[str, str, Verdict]], seen: Counter[tuple[str, str]]
) -> dict[tuple[str, str], HeadToHead]:
    def won(one: str, other: str, verdict: Verdict) -> int:
        return counts[one, other, verdict] + counts[other, one, verdict.flipped()]

    return {
        (a, b): HeadToHead(
            wins=won(a, b, Verdict.A),
            ties=won(a, b, Verdict.TIE),
            losses=won(a, b, Verdict.B),
            comparisons=seen[a, b] + seen[b, a],
        )
        for a, b in {each for pair in seen for each in (pair, pair[::-1])}
        if a != b
    }


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
    ahead: Bools,
) -> list[ModelRating]:
    """One row a model, in the order of the tally."""
    places = {index: place for place, index in enumerate(ratings)}
    standings = [_standing(index, chains, core) for index in range(len(tally.models))]
    comparable = [i for i, where in enumerate(standings) if where is not Standing.NOT_COMPARABLE]
    unsure = {i for i in comparable if i not in ratings and tally.units_of(i).few}
    comparisons = tally.comparisons()
    best, worst = joint_ranks(ahead)
    rows = []
    for index, model in enumerate(tally.models):
        above = [other for other in comparable if _is_above(other, index, chains, ratings)]
        place = places.get(index) if len(sample.points) else None
        low = high = rank_low = rank_high = None
        if place is not None:
            low, high = (sample.end(place, upper=upper) for upper in (False, True))
            unrated = {other for other in above if other not in ratings}
            rank_low = int(best[place]) + len(unrated - unsure)
            rank_high = int(worst[place]) + len(unrated | unsure)
        rows.append(
            ModelRating(
                model=model,
                standing=standings[index],
                rating=ratings.get(index),
                low=low,
                high=high,
                rank=len(above) + 1 if index in comparable else None,
                rank_low=rank_low,
                rank_high=rank_high,
                comparisons=int(comparisons[index]),
                low_unbounded=place is not None and low is None,
                high_unbounded=place is not None and high is None,
            )
        )
    return rows


def _is_above(other: int, index: int, chains: Bools, ratings: dict[int, float]) -> bool:
    """Whether the comparisons place `other` above `index`."""
    if other in ratings and index in ratings:
        return ratings[other] > ratings[index] + SAME
    return bool(chains[other, index] and not chains[index, other])


def _best_first(row: ModelRating) -> tuple[float, str]:
    """Sort key: by rank, models that are not comparable last, equal ones by name."""
    return (float("inf") if row.rank is None else row.rank, row.model)
