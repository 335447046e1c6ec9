"""Which model is better once length and layout are allowed for: Bradley-Terry with covariates.

Length (characters), headings, list items and bold passages of each response are counted outside of
code. Of a comparison of a and b each becomes (a - b) / (a + b + 1), divided by its root mean square
over the comparisons, so that naming the responses the other way round changes nothing. Then

    log-odds(a wins) = R_a - R_b + sum over styles of beta x,

fitted together by Newton's method, ties one half; the R are what ratings would be if all wrote
alike. The beta have a normal prior of precision .5 (the penalty of Chatbot Arena's style control),
which hardly moves them but keeps them finite where a style always wins. Chatbot Arena counts tokens
and subtracts means; neither is needed here.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import Interval, percentile_interval
from benchmark.core.bradley_terry import (
    CENTRE,
    OutcomeCells,
    VerdictCounts,
    chains_of_wins,
    largest_group,
    partly_rated,
    weakly_rated,
)
from benchmark.core.bradley_terry import PRIOR as RATING_PRIOR
from benchmark.core.rank_sets import SCALE, Bools, Floats, Integers, Sample
from benchmark.core.ranking import Ranking, RatingMethod, bradley_terry, ranking_of

STYLES: Final = ("length", "headings", "lists", "bold")
PRIOR: Final = 0.5
_HOLD: Final = 1e-6
_CONVERGED: Final = 1e-8
_NEAR: Final = 1e-3  # of draws: the step after one so small would be about its square
_STEPS: Final = 50
_LARGEST_STEP: Final = 2.0
_CHUNK: Final = 4_000_000  # numbers that draws x comparisons may hold at once
_PRODUCTS: Final = 8_000_000  # and comparisons x pairs of models and styles, 64 MB

_CODE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_HEADING: Final = re.compile(r"^ {0,3}#{1,6}[ \t]", re.MULTILINE)
_ITEM: Final = re.compile(r"^[ \t]*(?:[-*+]|\d{1,3}[.)])[ \t]|^[ \t]*\d{1,3}、", re.MULTILINE)
_BOLD: Final = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")

_Weights = NDArray[np.floating[Any]]

StyleCounts = tuple[int, int, int, int]
"""Characters, headings, list items and bold passages."""


def style_counts(text: str) -> StyleCounts:
    """How long a response is, and how it is laid out outside of code."""
    prose = _CODE.sub("", text)
    marks = (len(pattern.findall(prose)) for pattern in (_HEADING, _ITEM, _BOLD))
    headings, items, bold = marks
    return len(text), headings, items, bold


class StyledOutcome(NamedTuple):
    """A comparison's verdicts, and how its two responses are written."""

    outcome: VerdictCounts
    style_a: StyleCounts
    style_b: StyleCounts


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """What one root mean square more of a style does to the log-odds of winning.

    None where no two responses that were compared differ in it.
    """

    style: str
    value: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class StyleRanking:
    """Ratings with styles allowed for, and their effects; without rated models there are none."""

    ranking: Ranking
    effects: tuple[StyleEffect, ...]


def style_ranking(
    rows: Sequence[StyledOutcome], *, draws: int = 1000, seed: int = 0, anchor: str | None = None
) -> StyleRanking:
    """Bradley-Terry with style control and bootstrap intervals over sessions.

    Who is rated is decided as without control: the largest group in which everybody beat everybody,
    directly or through others.

    Raises:
        Refused: the anchor is not one of the rated models.
    """
    outcomes = [row.outcome for row in rows]
    plain = bradley_terry(outcomes, draws=0, seed=seed, anchor=anchor)
    tally = OutcomeCells.of(outcomes)
    chains = chains_of_wins(tally.wins[None] > 0)[0]
    core = largest_group(chains, tally.comparisons())
    if len(core) < 2:
        return StyleRanking(plain, ())
    names = [tally.models[index] for index in core]
    zero = names.index(anchor) if anchor is not None else None
    data = _Comparisons.of(rows, names)
    ones = np.ones((1, len(data.first)))
    strengths, beta = _fit(data, ones, np.zeros(len(core) + len(STYLES)))
    fitted = _on_scale(strengths, zero)[0]
    units, sessions = tally.units_among(core), int(tally.sessions.counts.sum())
    size = 0 if units.few else draws
    parts, betas, bounded = _bootstrap(
        data, fitted, beta[0], zero, sessions=sessions, draws=size, seed=seed
    )
    games = tally.wins[np.ix_(core, core)]
    sample = Sample.of(parts, bounded, units, games + games.T)
    effects = tuple(
        StyleEffect(style, float(beta[0, place]), percentile_interval(betas[:, place], units=units))
        if data.styles[:, place].any()
        else StyleEffect(style, None, None)
        for place, style in enumerate(STYLES)
    )
    ratings = dict(zip(core, fitted.tolist(), strict=True))
    ranking = ranking_of(
        tally,
        chains,
        core,
        ratings,
        sample,
        method=RatingMethod.BRADLEY_TERRY,
        draws=draws,
        seed=seed,
        anchor=anchor,
    )
    return StyleRanking(ranking, effects)


class _Comparisons(NamedTuple):
    """Comparisons of rated models by column; `session` numbers theirs among all."""

    first: Integers
    second: Integers
    wins: Floats
    games: Floats
    styles: Floats
    session: Integers
    models: int

    @classmethod
    def of(cls, rows: Sequence[StyledOutcome], names: Sequence[str]) -> _Comparisons:
        place = {name: index for index, name in enumerate(names)}
        sessions: dict[tuple[bool, int], int] = {}
        numbers = [
            sessions.setdefault(
                (False, at) if row.outcome.session is None else (True, row.outcome.session),
                len(sessions),
            )
            for at, row in enumerate(rows)
            if _tells(row.outcome)
        ]
        told = [row for row in rows if _tells(row.outcome)]
        kept = [
            (row, number)
            for row, number in zip(told, numbers, strict=True)
            if row.outcome.model_a in place and row.outcome.model_b in place
        ]
        outcomes = [row.outcome for row, _number in kept]
        one, other = (
            np.array(styles, dtype=np.float64).reshape(-1, len(STYLES))
            for styles in ([row.style_a for row, _n in kept], [row.style_b for row, _n in kept])
        )
        share = (one - other) / (one + other + 1)
        spread = np.sqrt((share**2).mean(axis=0))
        return cls(
            np.array([place[each.model_a] for each in outcomes], dtype=np.int64),
            np.array([place[each.model_b] for each in outcomes], dtype=np.int64),
            np.array([each.wins_a for each in outcomes]),
            np.array([each.wins_a + each.wins_b for each in outcomes]),
            share / np.where(spread > 0, spread, 1.0),
            np.array([number for _row, number in kept], dtype=np.int64),
            len(names),
        )

    @property
    def design(self) -> Floats:
        """Comparisons x (models and styles): +1 at the first model, -1 at the second; styles."""
        rows = np.arange(len(self.first))
        models = np.zeros((len(rows), self.models))
        models[rows, self.first] = 1
        models[rows, self.second] = -1
        return np.hstack([models, self.styles])


def _tells(outcome: VerdictCounts) -> bool:
    return outcome.wins_a + outcome.wins_b > 0 and outcome.model_a != outcome.model_b


def _fit(
    data: _Comparisons,
    weights: _Weights,
    start: Floats,
    *,
    converged: float = _CONVERGED,
    hold: float = _HOLD,
) -> tuple[Floats, Floats]:
    """Strengths (draws x models) and betas (draws x styles) for draws x comparisons weights.

    `hold` is the precision of a normal prior on each strength.
    """
    kind, size = weights.dtype, data.models
    design, won, games = (each.astype(kind) for each in (data.design, data.wins, data.games))
    upper = np.triu_indices(design.shape[1])
    blocks = list(_blocks(len(design), len(upper[0])))
    kept = _products(design, upper) if len(blocks) == 1 else None
    prior = np.concatenate([np.full(size, hold), np.full(len(STYLES), PRIOR)])
    found = np.tile(start, (len(weights), 1))
    largest, steps = np.array([np.inf]), 0
    while len(found) and largest.max() > converged and steps < _STEPS:
        chance = 1 / (1 + np.exp(-(found.astype(kind) @ design.T)))
        gradient = (weights * (won - games * chance)) @ design - prior * found
        bend = weights * games * chance * (1 - chance)
        curvature = np.zeros((len(weights), len(upper[0])), dtype=kind)
        for rows in blocks:
            own = _products(design[rows], upper) if kept is None else kept
            curvature += bend[:, rows] @ own
        hessian = np.zeros((len(weights), len(prior), len(prior)))
        hessian[:, upper[0], upper[1]] = curvature
        hessian[:, upper[1], upper[0]] = curvature
        # The mean of the strengths is free: anything positive fixes it.
        hessian[:, :size, :size] += np.abs(curvature).mean(axis=1)[:, None, None]
        hessian[:, np.arange(len(prior)), np.arange(len(prior))] += prior
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        found += step * (_LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))[:, None]
        steps += 1
    return found[:, :size], found[:, size:]


def _blocks(comparisons: int, width: int) -> Iterator[slice]:
    """Comparisons so few at a time that a table as wide has at most _PRODUCTS numbers."""
    step = max(1, _PRODUCTS // max(1, width))
    return (slice(start, start + step) for start in range(0, comparisons, step))


def _products(design: _Weights, upper: tuple[Integers, ...]) -> _Weights:
    return np.asarray(design[:, upper[0]] * design[:, upper[1]])


def _on_scale(strengths: Floats, zero: int | None) -> Floats:
    middle = strengths.mean(axis=1) if zero is None else strengths[:, zero]
    return CENTRE + SCALE * (strengths - middle[:, None])


def _bootstrap(
    data: _Comparisons,
    fitted: Floats,
    beta: Floats,
    zero: int | None,
    *,
    sessions: int,
    draws: int,
    seed: int,
) -> tuple[list[tuple[Floats, Floats, Floats]], Floats, int]:
    """Resamples of the sessions; models that a draw cannot rate are as without control.

    Returns:
        Parts of a Sample, the betas (draws x styles), and how many draws are bounded.
    """
    rng = np.random.default_rng(seed)
    start = np.concatenate([(fitted - CENTRE) / SCALE, beta])
    games = np.zeros((data.models, data.models), dtype=np.int64)
    np.add.at(games, (data.first, data.second), 1)
    comparisons = games.sum(axis=0) + games.sum(axis=1)
    none = np.zeros((0, data.models))
    parts, betas, bounded = [(none, none, none)], [np.zeros((0, len(STYLES)))], 0
    chunk = max(1, _CHUNK // max(1, len(data.first)))
    for begin in range(0, draws, chunk):
        size = min(chunk, draws - begin)
        drawn = np.array(
            [
                np.bincount(rng.integers(sessions, size=sessions), minlength=sessions)
                for _ in range(size)
            ]
        )
        weights = drawn[:, data.session].astype(np.float32)
        wins = _wins(data, weights)
        chains = chains_of_wins(wins > 0)
        low, high = partly_rated(wins, chains, zero, comparisons, fitted)
        inside: Bools = np.isfinite(low) & np.isfinite(high)
        loose = ~inside.all(axis=1)
        weak, _betas = _fit(data, weights[loose], start, converged=_NEAR, hold=RATING_PRIOR)
        weights *= inside[:, data.first] & inside[:, data.second]
        strengths, beta_drawn = _fit(data, weights, start, converged=_NEAR)
        ratings = _centred(SCALE * strengths, inside, fitted, zero)
        points = ratings.copy()
        points[loose] = np.where(np.isnan(weakly_rated(wins[loose])), np.nan, SCALE * weak)
        parts.append((np.where(inside, ratings, low), np.where(inside, ratings, high), points))
        betas.append(beta_drawn)
        bounded += int((~loose).sum())
    return parts, np.concatenate(betas), bounded


def _wins(data: _Comparisons, weights: _Weights) -> Floats:
    """Draws x models x models."""
    size = data.models
    found = np.zeros((len(weights), size * size))
    for rows in _blocks(len(data.first), size * size):
        first, second, won = data.first[rows], data.second[rows], data.wins[rows]
        pairs = np.zeros((len(first), size * size))
        pairs[np.arange(len(first)), first * size + second] = won
        pairs[np.arange(len(first)), second * size + first] = data.games[rows] - won
        found += weights[:, rows] @ pairs
    return found.reshape(-1, size, size)


def _centred(ratings: Floats, inside: Bools, fitted: Floats, zero: int | None) -> Floats:
    """Ratings with the mean that those of the draw's group have in the fit, or the anchor's."""
    if zero is not None:
        return ratings - ratings[:, zero : zero + 1] + CENTRE
    members = np.maximum(inside.sum(axis=1, keepdims=True), 1)
    shift = ((fitted - ratings) * inside).sum(axis=1, keepdims=True) / members
    return np.asarray(ratings + shift)
