"""Models that are compared in sessions: the figures of the leaderboard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from annotation.core.intervals import Interval
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.ranking import ModelRating, RatingMethod, rank_models, win_rates
from benchmark.core.style_control import StyleCounts, StyledOutcome, style_ranking
from sensejudge_site.benches.coverage.sampling import Floats, Found, Integers, Random, members

_SEED: Final = 1
_MODELS: Final = ("a", "b", "c", "d")
_STRENGTHS: Final = np.array([0.75, 0.25, -0.25, -0.75])
_MATCHINGS: Final = np.array([[[0, 1], [2, 3]], [[0, 2], [1, 3]], [[0, 3], [1, 2]]])
_SPREAD: Final = 0.5
"""Of a model's strength over sessions, in log-odds."""
_TIED: Final = 0.15
_RATINGS: Final = {"rating": RatingMethod.BRADLEY_TERRY, "Elo": RatingMethod.ELO}


class _Pairs(NamedTuple):
    """Comparisons by column: two models, the session; strengths are sessions x models."""

    one: Integers
    other: Integers
    session: Integers
    strength: Floats

    def odds(self) -> Floats:
        """By how much the first is the better one in its session."""
        return self.strength[self.session, self.one] - self.strength[self.session, self.other]

    def outcomes(self, rng: Random, odds: Floats) -> list[VerdictCounts]:
        """Who won; a tie now and then."""
        won = np.where(rng.random(len(odds)) < 1 / (1 + np.exp(-odds)), 1.0, 0.0)
        won = np.where(rng.random(len(odds)) < _TIED, 0.5, won)
        columns = (each.tolist() for each in (self.one, self.other, won, self.session))
        return [
            VerdictCounts(_MODELS[one], _MODELS[other], share, 1 - share, unit)
            for one, other, share, unit in zip(*columns, strict=True)
        ]


def _pairs(rng: Random, units: int) -> _Pairs:
    matching = members(rng, units, most=2)
    strength = _STRENGTHS + _SPREAD * rng.standard_normal((units, len(_MODELS)))
    drawn = _MATCHINGS[rng.integers(len(_MATCHINGS), size=len(matching))]
    one, other = drawn.reshape(-1, 2).T
    return _Pairs(one, other, np.repeat(matching, 2), strength)


def leaderboard_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """Four models whose strengths differ by session; a session pairs all of them once or twice."""
    pairs = _pairs(rng, units)
    outcomes = pairs.outcomes(rng, pairs.odds())
    rates = {rate.model: (rate.value, rate.interval) for rate in win_rates(outcomes)}
    found: dict[str, Found] = {f"win rate, model {each}": rates[each] for each in _MODELS[:2]}
    for figure, method in _RATINGS.items():
        ranking = rank_models(outcomes, method, draws=draws, seed=_SEED)
        found |= _ratings(figure, ranking.models)
    return found


_WORTH: Final = np.array([1.5, 0.5, 0.0, 0.8])
"""What length, headings, lists and bold are worth, in log-odds a whole difference."""


def style_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """The same models, of which the better ones write more, and more headings and bold, too.

    What is written at length in a session is so by all models in part.
    """
    pairs = _pairs(rng, units)
    at_length = 0.3 * rng.standard_normal(units)[pairs.session]
    one, other = (_styles(rng, model, at_length) for model in (pairs.one, pairs.other))
    odds = pairs.odds() + ((one - other) / (one + other + 1)) @ _WORTH
    rows = [
        StyledOutcome(outcome, *styles)
        for outcome, *styles in zip(
            pairs.outcomes(rng, odds), _counts(one), _counts(other), strict=True
        )
    ]
    found = style_ranking(rows, draws=draws, seed=_SEED)
    effects = {each.style: (each.value, each.interval) for each in found.effects}
    return {**effects, **_ratings("rating", found.ranking.models)}


def _styles(rng: Random, model: Integers, at_length: Floats) -> Floats:
    """Characters, headings, list items and bold passages of responses (n x 4)."""
    length = np.exp(6 + at_length + 0.3 * _STRENGTHS[model] + 0.4 * rng.standard_normal(len(model)))
    mean = np.array([1.0, 4.0, 3.0]) * np.exp(np.outer(_STRENGTHS[model], [0.5, 0.0, 0.5]))
    return np.column_stack([np.rint(length), rng.poisson(mean)])


def _counts(styles: Floats) -> list[StyleCounts]:
    return [(length, *marks) for length, *marks in styles.astype(int).tolist()]


def _ratings(figure: str, rows: Sequence[ModelRating]) -> dict[str, Found]:
    found = {row.model: row for row in rows}
    return {f"{figure}, model {model}": _rating(found[model]) for model in _MODELS[:2]}


def _rating(row: ModelRating) -> Found:
    if row.low is None or row.high is None:
        return row.rating, None
    return row.rating, Interval(row.low, row.high)
