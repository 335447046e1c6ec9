"""Bradley-Terry strengths from counts: the fit, what has no finite fit, and the bootstrap.

Comparisons with equal outcomes are one cell with a count, so a fit and its bootstrap cost what the
number of distinct outcomes costs: a million comparisons of twelve models are 198 cells. The
bootstrap draws sessions: those that hold the same comparisons are one block, and where each holds
one comparison the blocks are the cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from annotation.core.intervals import MIN_UNITS

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Integers = NDArray[np.int64]

SCALE: Final = float(400 / np.log(10))
"""Rating points per unit of natural log-odds: 400 points are odds of ten to one."""

CENTRE: Final = 1000.0
SAME: Final = 1e-6
"""Ratings closer than this many points share a rank."""

_CONVERGED: Final = 1e-10  # largest Newton step, in natural log-odds
_STEPS: Final = 100
_LARGEST_STEP: Final = 2.0  # a full Newton step overshoots where verdicts are lopsided
_HOLD: Final = 1e-6  # precision that holds models without a verdict where they are
_CHUNK: Final = 2_000_000  # numbers a chunk of draws may hold: bounds the bootstrap's memory


@dataclass(frozen=True, slots=True)
class VerdictCounts:
    """The verdicts on one comparison: how many `model_a` won and how many `model_b`.

    A tie is one half for each. Several verdicts on one comparison (annotators, orders) stand in
    one outcome; comparisons of one `session` are drawn together, one that names none by itself.
    """

    model_a: str
    model_b: str
    wins_a: float
    wins_b: float
    session: int | None = None


def outcome_of(
    model_a: str, model_b: str, verdicts: Iterable[Verdict], session: int | None = None
) -> VerdictCounts:
    """The outcome of one comparison from its verdicts, a tie being half a win for each."""
    counts = Counter(verdicts)
    half = counts[Verdict.TIE] / 2
    wins_a, wins_b = counts[Verdict.A] + half, counts[Verdict.B] + half
    return VerdictCounts(model_a, model_b, wins_a, wins_b, session)


_Outcome = tuple[str, str, float, float]
"""Two models, the first before the second by name, and their wins."""


@dataclass(frozen=True, slots=True)
class SessionBlocks:
    """Sessions that hold the same comparisons, as one block: `counts` of each.

    Block `block[i]` holds `times[i]` comparisons of cell `cell[i]`, ordered by cell.
    """

    counts: Integers
    block: Integers
    cell: Integers
    times: Integers

    @classmethod
    def of(cls, tally: Counter[tuple[int, ...]]) -> SessionBlocks:
        """The blocks of sessions, each told by the cells of its comparisons in order."""
        blocks = sorted(tally)
        entries = sorted(
            (cell, place, times)
            for place, cells in enumerate(blocks)
            for cell, times in Counter(cells).items()
        )
        cell, block, times = np.array(entries, dtype=np.int64).reshape(-1, 3).T
        return cls(np.array([tally[each] for each in blocks], dtype=np.int64), block, cell, times)

    def cells(self, drawn: Integers) -> Integers:
        """Draws x cells counts for draws x blocks; every cell is in some block."""
        starts = np.flatnonzero(np.diff(self.cell, prepend=-1))
        counts: Integers = np.add.reduceat(drawn[:, self.block] * self.times, starts, axis=1)
        return counts


@dataclass(frozen=True, slots=True)
class OutcomeCells:
    """Comparisons grouped into cells of equal outcome; in a cell `first` sorts before `second`."""

    models: tuple[str, ...]
    first: Integers
    second: Integers
    wins_first: Floats
    wins_second: Floats
    counts: Integers
    sessions: SessionBlocks

    @classmethod
    def of(cls, outcomes: Iterable[VerdictCounts]) -> OutcomeCells:
        """Group outcomes; a model against itself and a comparison without a verdict say nothing."""
        alone: Counter[_Outcome] = Counter()
        held: dict[int, list[_Outcome]] = {}
        for row in outcomes:
            if row.wins_a + row.wins_b > 0 and row.model_a != row.model_b:
                outcome = (
                    (row.model_a, row.model_b, row.wins_a, row.wins_b)
                    if row.model_a < row.model_b
                    else (row.model_b, row.model_a, row.wins_b, row.wins_a)
                )
                if row.session is None:
                    alone[outcome] += 1
                else:
                    held.setdefault(row.session, []).append(outcome)
        tally = alone + Counter(chain.from_iterable(held.values()))
        models = tuple(sorted({name for key in tally for name in key[:2]}))
        place = {model: index for index, model in enumerate(models)}
        keys = sorted(tally)
        number = {key: index for index, key in enumerate(keys)}
        return cls(
            models,
            np.array([place[key[0]] for key in keys], dtype=np.int64),
            np.array([place[key[1]] for key in keys], dtype=np.int64),
            np.array([key[2] for key in keys], dtype=np.float64),
            np.array([key[3] for key in keys], dtype=np.float64),
            np.array([tally[key] for key in keys], dtype=np.int64),
            SessionBlocks.of(
                Counter({(number[each],): count for each, count in alone.items()})
                + Counter(tuple(sorted(number[each] for each in own)) for own in held.values())
            ),
        )

    def wins_matrix(self, counts: Integers) -> Floats:
        """Draws x models x models wins for draws x cells counts."""
        size = len(self.models)
        wins = np.zeros((size * size, len(counts)))
        drawn = np.ascontiguousarray(counts.T)
        forward = (self.first * size + self.second).tolist()
        backward = (self.second * size + self.first).tolist()
        for cell, (one, other) in enumerate(zip(forward, backward, strict=True)):
            wins[one] += drawn[cell] * self.wins_first[cell]
            wins[other] += drawn[cell] * self.wins_second[cell]
        return np.ascontiguousarray(wins.T).reshape(len(counts), size, size)

    def by_session(self) -> Floats:
        """What each model won in a session of each block, and its verdicts (2, blocks, models)."""
        found = np.zeros((2, len(self.sessions.counts), len(self.models)))
        block, cell, times = self.sessions.block, self.sessions.cell, self.sessions.times
        first, second = self.wins_first[cell] * times, self.wins_second[cell] * times
        for models, won in ((self.first, first), (self.second, second)):
            np.add.at(found[0], (block, models[cell]), won)
            np.add.at(found[1], (block, models[cell]), first + second)
        return found

    def comparisons(self) -> Integers:
        """How many comparisons each model stands in."""
        seen = np.zeros(len(self.models), dtype=np.int64)
        np.add.at(seen, self.first, self.counts)
        np.add.at(seen, self.second, self.counts)
        return seen


def chains_of_wins(beats: Bools) -> Bools:
    """Draws x models x models: whether a chain of wins leads from one model to another."""
    size = beats.shape[1]
    reach = (beats | np.eye(size, dtype=bool)).astype(np.float32)
    length = 1
    while length < size:
        reach = (reach @ reach > 0).astype(np.float32)
        length *= 2
    return reach > 0


def largest_group(chains: Bools, comparisons: Integers) -> list[int]:
    """The models that all reach one another; of equal groups the most compared, then the first."""
    groups = {tuple(np.flatnonzero(row).tolist()) for row in chains & chains.T}
    ordered = sorted(
        groups, key=lambda group: (-len(group), -comparisons[list(group)].sum(), group)
    )
    return list(ordered[0]) if ordered else []


def fit_log_odds(wins: Floats, *, prior: float = 0.0) -> Floats:
    """Bradley-Terry strengths of many win matrices at once, by Newton's method.

    Args:
        wins: draws x models x models; [d, i, j] is how often i beat j, a tie one half for each.
            Without a prior every matrix must be strongly connected, or the strengths would be
            infinite.
        prior: precision of a normal prior of mean 0 on each strength, in natural log-odds ^ -2.

    Returns:
        draws x models natural log-odds strengths, mean zero in each draw.
    """
    strengths = np.zeros(wins.shape[:2])
    if strengths.size == 0:
        return strengths
    games = wins + wins.transpose(0, 2, 1)
    won = wins.sum(axis=2)
    diagonal = np.arange(wins.shape[1])
    largest, steps = np.array([np.inf]), 0
    while largest.max() > _CONVERGED and steps < _STEPS:
        gap = strengths[:, :, None] - strengths[:, None, :]
        expected = 1 / (1 + np.exp(-gap))
        curvature = games * expected * (1 - expected)
        hessian = -curvature
        hessian[:, diagonal, diagonal] += curvature.sum(axis=2)
        # The mean is free: anything positive fixes it, and a prior alone would do.
        hessian += curvature.mean(axis=(1, 2))[:, None, None]
        hessian[:, diagonal, diagonal] += prior
        gradient = won - (games * expected).sum(axis=2) - prior * strengths
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        largest = np.abs(step).max(axis=1)
        strengths += step * (_LARGEST_STEP / np.maximum(largest, _LARGEST_STEP))[:, None]
        steps += 1
    centred: Floats = strengths - strengths.mean(axis=1, keepdims=True)
    return centred


def ratings_on_scale(wins: Floats, zero: int | None) -> Floats:
    """Draws x models ratings on the 400-point scale, centred on the mean or on one model."""
    logits = fit_log_odds(wins)
    if zero is not None:
        logits = logits - logits[:, zero : zero + 1]
    return CENTRE + SCALE * logits


@dataclass(frozen=True, slots=True)
class Sample:
    """Bootstrap draws x rated models: between what each rating lies, which is one number mostly.

    A model that never loses to those whom a draw can rate has inf there, one that never wins -inf.
    Where a draw says nothing of a model `lowest` is -inf and `highest` inf. `bounded` draws have
    finite ratings alone. A draw holds `sessions`.
    """

    lowest: Floats
    highest: Floats
    bounded: int
    sessions: int

    def ranks(self) -> tuple[Integers, Integers]:
        """Draws x models: the best and the worst rank, 1 the best; equal ratings share one."""
        low, high = self.lowest, self.highest
        ahead = low[:, None, :] > high[:, :, None] + SAME
        before = high[:, None, :] > low[:, :, None] + SAME
        own = np.eye(low.shape[1], dtype=bool)
        return ahead.sum(axis=2) + 1, (before & ~own).sum(axis=2) + 1


def bootstrap_ratings(
    tally: OutcomeCells, core: Sequence[int], zero: int | None, *, draws: int, seed: int
) -> Sample:
    """Ratings of the core in `draws` resamples of the sessions; none for fewer than MIN_UNITS."""
    rng = np.random.default_rng(seed)
    sessions = tally.sessions
    total = int(sessions.counts.sum())
    width = max(1, len(tally.models) ** 2, len(sessions.block))
    lowest = [np.zeros((0, len(core)))]
    highest = [np.zeros((0, len(core)))]
    bounded_draws = 0
    left = draws if len(core) > 1 and total >= MIN_UNITS else 0
    fitted = _core_wins(tally, tally.counts[None, :], core) if left else np.zeros((1, 0, 0))
    centres = ratings_on_scale(fitted, zero)[0]
    while left:
        size = min(left, max(1, _CHUNK // width))
        left -= size
        drawn = rng.multinomial(total, sessions.counts / total, size=size)
        wins = _core_wins(tally, sessions.cells(drawn), core)
        chains = chains_of_wins(wins > 0)
        bounded = chains.all(axis=(1, 2))
        bounded_draws += int(bounded.sum())
        ratings = ratings_on_scale(wins[bounded], zero)
        apart = partly_rated(
            wins[~bounded], chains[~bounded], zero, tally.comparisons()[list(core)], centres
        )
        for kept, partly in ((lowest, apart[0]), (highest, apart[1])):
            kept += [ratings, partly]
    return Sample(np.concatenate(lowest), np.concatenate(highest), bounded_draws, total)


def _core_wins(tally: OutcomeCells, counts: Integers, core: Sequence[int]) -> Floats:
    """The wins of the rated models over one another, draws x core x core."""
    return tally.wins_matrix(counts)[:, core][:, :, core]


def partly_rated(
    wins: Floats, chains: Bools, zero: int | None, comparisons: Integers, centres: Floats
) -> tuple[Floats, Floats]:
    """Between what ratings lie in draws where no chain of wins leads from all models to all.

    Such a draw rates those that reach one another: the anchor's group, or else the largest. Without
    an anchor they have the mean that they have in the fit to all comparisons, so that those who are
    missing move nobody. Those ahead of the group are inf, those behind it -inf.

    Args:
        wins: draws x models x models.
        chains: the same, as `chains_of_wins` tells them.
        zero: the anchor's place.
        comparisons: of each model, by which equally large groups are told apart.
        centres: the ratings of the fit.
    """
    if zero is None:
        inside = np.zeros(wins.shape[:2], dtype=bool)
        for draw, each in enumerate(chains):
            group = largest_group(each, comparisons)
            inside[draw, group if len(group) > 1 else []] = True
    else:
        inside = chains[:, zero, :] & chains[:, :, zero]
    # Where nobody reaches anybody back, each is ahead of some or behind some.
    alone: Bools = np.logical_not(inside.any(axis=1))
    others: Bools = inside[:, None, :] | alone[:, None, None]
    oneway: Bools = chains & ~chains.transpose(0, 2, 1)
    ahead = (oneway & others).any(axis=2)
    behind = (oneway.transpose(0, 2, 1) & others).any(axis=2)
    both: Bools = inside[:, :, None] & inside[:, None, :]
    ratings = SCALE * fit_log_odds(np.where(both, wins, 0.0), prior=_HOLD)
    if zero is None:
        members = np.maximum(inside.sum(axis=1, keepdims=True), 1)
        ratings = ratings + ((centres - ratings) * inside).sum(axis=1, keepdims=True) / members
    else:
        ratings = ratings - ratings[:, zero : zero + 1] + CENTRE
    lowest = np.where(inside, ratings, np.where(ahead & ~behind, np.inf, -np.inf))
    highest = np.where(inside, ratings, np.where(behind & ~ahead, -np.inf, np.inf))
    return lowest, highest
