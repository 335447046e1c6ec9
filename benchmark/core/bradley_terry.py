"""Bradley-Terry strengths from counts: the fit, what has no finite fit, and the bootstrap.

Comparisons with equal outcomes are one cell with a count, so a fit and its bootstrap cost what the
number of distinct outcomes costs: a million comparisons of twelve models are 198 cells. The
bootstrap draws sessions: those that hold the same comparisons are one block, and where each holds
one comparison the blocks are the cells.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from annotation.core.intervals import Units
from benchmark.core.rank_sets import SCALE, Bools, Floats, Integers, Sample
from judging.core.formats.battles import BattleTable

Counts = NDArray[np.integer[Any]]

CENTRE: Final = 1000.0
PRIOR: Final = 0.25
"""Precision of each rating before any verdict: a standard deviation of 2 in natural log-odds, about
350 rating points, so that one comparison in which nobody lost yet does not settle a pair."""

_CONVERGED: Final = 1e-10  # largest Newton step, in natural log-odds
_STEPS: Final = 100
_LARGEST_STEP: Final = 2.0  # a full Newton step overshoots where verdicts are lopsided
_HOLD: Final = 1e-6  # precision that holds models without a verdict where they are
_CHUNK: Final = 2_000_000  # numbers a chunk of draws may hold: bounds the bootstrap's memory
_SEVERAL: Final = 8  # sessions of a block from which on a binomial a block is the cheaper draw
_NARROW: Final = 64  # counts of drawn blocks are small numbers, and may be so many times more
_MANY: Final = 20_000
_CHANCES: Final = np.cumsum([np.exp(-1.0) / factorial(times) for times in range(9)])
_POISSON: Final = np.searchsorted(_CHANCES, (np.arange(1 << 16) + 0.5) / (1 << 16)).astype(np.uint8)
"""By a random number of 16 bits, how often what is expected once is drawn."""
_EXACT: Final = 2**22  # up to here single precision tells halves apart


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
    wins_a = wins_b = 0.0
    for verdict in verdicts:
        if verdict is Verdict.TIE:
            wins_a, wins_b = wins_a + 0.5, wins_b + 0.5
        elif verdict is Verdict.A:
            wins_a += 1
        else:
            wins_b += 1
    return VerdictCounts(model_a, model_b, wins_a, wins_b, session)


@dataclass(frozen=True, slots=True)
class SessionBlocks:
    """Sessions that hold the same comparisons, as one block: `counts` of each.

    Block `block[i]` holds `times[i]` comparisons of cell `cell[i]`, ordered by block.
    """

    counts: Integers
    block: Integers
    cell: Integers
    times: Integers

    @classmethod
    def of(cls, cell: Integers, session: Integers, times: Integers) -> SessionBlocks:
        """The blocks of comparisons, each `times` in a cell and a session; below 0, its own.

        Sessions are told apart by a sum of random numbers of their comparisons' cells: two of
        100,000 that differ have equal ones once in four billion samples.
        """
        many, alone = int(cell.max()) + 1, session < 0
        pairs, place = np.unique(session[~alone] * many + cell[~alone], return_inverse=True)
        held = np.bincount(place, weights=times[~alone], minlength=len(pairs)).astype(np.int64)
        cells = pairs % many
        _name, start = np.unique(pairs // many, return_index=True)
        size = np.diff(start, append=len(pairs))
        one = start[(size == 1) & (held[start] == 1)]
        single = np.bincount(cell[alone], weights=times[alone], minlength=many)
        single += np.bincount(cells[one], minlength=many)
        own = np.flatnonzero(single)
        start, size = (each[(size > 1) | (held[start] > 1)] for each in (start, size))
        # Of sessions that are alike the first tells what all hold.
        mark = np.random.default_rng(0).integers(1 << 62, size=many, dtype=np.uint64)
        sums = np.cumsum(np.append(np.uint64(0), mark[cells] * held.astype(np.uint64)))
        sums = sums[start + size] - sums[start]
        sums, first, counts = np.unique(sums, return_index=True, return_counts=True)
        order = np.lexsort((sums, cells[start[first]]))
        first, counts = first[order], counts[order]
        length = size[first]
        block = np.repeat(np.arange(len(first)), length)
        at = start[first][block] + np.arange(len(block)) - (np.cumsum(length) - length)[block]
        return cls(
            np.concatenate([single[own], counts]).astype(np.int64),
            np.concatenate([np.arange(len(own)), len(own) + block]),
            np.concatenate([own, cells[at]]),
            np.concatenate([np.ones(len(own), dtype=np.int64), held[at]]),
        )

    def draw(self, rng: np.random.Generator, size: int) -> Counts:
        """How often each block is drawn in `size` resamples of all sessions: size x blocks.

        Of more than _MANY different ones each is drawn a Poisson number of times: their total
        varies then, which moves no share and no rating.
        """
        total, blocks = int(self.counts.sum()), len(self.counts)
        if total > _SEVERAL * blocks:
            return np.asarray(rng.multinomial(total, self.counts / total, size=size))
        if blocks > _MANY:
            starts = np.cumsum(self.counts) - self.counts
            kind = np.min_scalar_type(int(_POISSON.max()) * int(self.counts.max()))
            drawn = np.empty((size, blocks), dtype=kind)
            for row in drawn:
                own = _POISSON[rng.integers(len(_POISSON), size=total, dtype=np.uint16)]
                row[:] = own if total == blocks else np.add.reduceat(own, starts, dtype=kind)
            return drawn
        drawn = np.empty((size, blocks), dtype=np.uint16)
        owner = np.repeat(np.arange(blocks), self.counts)
        for row in drawn:
            picked = rng.integers(total, size=total, dtype=np.uint32)
            row[:] = np.bincount(owner[picked], minlength=blocks)
        return drawn


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
        number: dict[tuple[str, str, float, float], int] = {}
        sessions: dict[int, int] = {}
        placed = [
            (
                number.setdefault((row.model_a, row.model_b, row.wins_a, row.wins_b), len(number)),
                -1 if row.session is None else sessions.setdefault(row.session, len(sessions)),
            )
            for row in outcomes
        ]
        cell, session = np.array(placed, dtype=np.int64).reshape(-1, 2).T
        return cls.of_columns(list(number), cell, session, np.ones(len(cell), dtype=np.int64))

    @classmethod
    def of_columns(
        cls,
        kinds: Sequence[tuple[str, str, float, float]],
        kind: Integers,
        session: Integers,
        times: Integers,
    ) -> OutcomeCells:
        """Group many comparisons at once.

        Args:
            kinds: the outcomes there are: two models and their wins.
            kind: of each row, the place of its outcome.
            session: of each row, the number of its session; below 0 each is one by itself.
            times: how many comparisons a row stands for.
        """
        turned = [
            (one, other, a, b) if one < other else (other, one, b, a) for one, other, a, b in kinds
        ]
        telling = [key[2] + key[3] > 0 and key[0] != key[1] for key in turned]
        keys = sorted({key for key, tells in zip(turned, telling, strict=True) if tells})
        place = {key: index for index, key in enumerate(keys)}
        cells = np.array([place.get(key, -1) for key in turned], dtype=np.int64)
        seen = cells[kind] >= 0 if len(kind) else np.zeros(0, dtype=bool)
        cell, session, times = cells[kind[seen]], session[seen], times[seen]
        models = tuple(sorted({name for key in keys for name in key[:2]}))
        at = {model: index for index, model in enumerate(models)}
        return cls(
            models,
            np.array([at[key[0]] for key in keys], dtype=np.int64),
            np.array([at[key[1]] for key in keys], dtype=np.int64),
            np.array([key[2] for key in keys], dtype=np.float64),
            np.array([key[3] for key in keys], dtype=np.float64),
            np.bincount(cell, weights=times, minlength=len(keys)).astype(np.int64),
            SessionBlocks.of(cell, session, times) if keys else _NO_SESSIONS,
        )

    @classmethod
    def of_battles(cls, table: BattleTable) -> OutcomeCells:
        """The battles of a file."""
        kinds = [outcome_of(each.model_a, each.model_b, [each.verdict]) for each in table.kinds]
        outcomes = [(each.model_a, each.model_b, each.wins_a, each.wins_b) for each in kinds]
        return cls.of_columns(outcomes, table.kind, table.session, table.times)

    @property
    def wins(self) -> Floats:
        """Models x models: how often each won over each, a tie one half."""
        wins = np.zeros((len(self.models), len(self.models)))
        np.add.at(wins, (self.first, self.second), self.wins_first * self.counts)
        np.add.at(wins, (self.second, self.first), self.wins_second * self.counts)
        return wins

    def wins_of(self, drawn: Counts) -> Floats:
        """Draws x models x models wins of drawn sessions (draws x blocks)."""
        size, blocks = len(self.models), len(self.sessions.counts)
        wins = np.zeros((len(drawn), size * size))
        block, cell, times = self.sessions.block, self.sessions.cell, self.sessions.times
        # Halves are exact in single precision, which multiplies twice as fast.
        kind: type[np.floating[Any]] = np.float32 if self._has_halves() else np.float64
        forward, backward = (
            one[cell] * size + other[cell]
            for one, other in ((self.first, self.second), (self.second, self.first))
        )
        slab = max(1, _CHUNK // max(1, size * size))
        for start in range(0, blocks, slab):
            end = min(start + slab, blocks)
            here = slice(*np.searchsorted(block, [start, end]).tolist())
            row = (block[here] - start) * size * size
            table = np.bincount(
                np.concatenate([row + forward[here], row + backward[here]]),
                weights=np.concatenate(
                    [side[cell[here]] * times[here] for side in (self.wins_first, self.wins_second)]
                ),
                minlength=(end - start) * size * size,
            )
            wins += drawn[:, start:end].astype(kind) @ table.astype(kind).reshape(end - start, -1)
        return wins.reshape(len(drawn), size, size)

    def _has_halves(self) -> bool:
        """Whether all wins are whole or half, and so few that single precision counts them all."""
        wins = np.concatenate([self.wins_first, self.wins_second])
        most = float(wins.max(initial=0.0)) * float(self.counts.sum())
        return most < _EXACT and bool((2 * wins == np.rint(2 * wins)).all())

    def by_session(self) -> Floats:
        """What each model won in a session of each block, and its verdicts (2, blocks, models)."""
        found = np.zeros((2, len(self.sessions.counts), len(self.models)))
        block, cell, times = self.sessions.block, self.sessions.cell, self.sessions.times
        first, second = self.wins_first[cell] * times, self.wins_second[cell] * times
        for models, won in ((self.first, first), (self.second, second)):
            np.add.at(found[0], (block, models[cell]), won)
            np.add.at(found[1], (block, models[cell]), first + second)
        return found

    def units_among(self, models: Sequence[int]) -> Units:
        """Returns the sessions by their comparisons between these models."""
        return self._units(np.isin(self.first, models) & np.isin(self.second, models))

    def units_of(self, model: int) -> Units:
        """Returns the sessions by their comparisons of this model."""
        return self._units((self.first == model) | (self.second == model))

    def _units(self, is_counted: Bools) -> Units:
        block, cell, times = self.sessions.block, self.sessions.cell, self.sessions.times
        counts = self.sessions.counts
        totals = np.bincount(block, weights=times * is_counted[cell], minlength=len(counts))
        return Units.of(totals.astype(np.float64), counts)

    def comparisons(self) -> Integers:
        """How many comparisons each model stands in."""
        seen = np.zeros(len(self.models), dtype=np.int64)
        np.add.at(seen, self.first, self.counts)
        np.add.at(seen, self.second, self.counts)
        return seen


_NO_SESSIONS: Final = SessionBlocks(*(np.zeros(0, dtype=np.int64) for _ in range(4)))


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


def bootstrap_ratings(
    tally: OutcomeCells, core: Sequence[int], zero: int | None, *, draws: int, seed: int
) -> Sample:
    """Ratings of the core in `draws` resamples of the sessions; none if these are too few."""
    rng = np.random.default_rng(seed)
    sessions, units = tally.sessions, tally.units_among(core)
    width = max(1, len(tally.models) ** 2, len(sessions.counts) // _NARROW)
    none = np.zeros((0, len(core)))
    parts = [(none, none, none)]
    bounded_draws = 0
    left = 0 if units.few else draws
    rated = np.ix_(core, core)
    centres = ratings_on_scale(tally.wins[rated][None], zero)[0] if left else np.zeros(0)
    while left:
        size = min(left, max(1, _CHUNK // width))
        left -= size
        wins = tally.wins_of(sessions.draw(rng, size))[:, rated[0], rated[1]]
        chains = chains_of_wins(wins > 0)
        bounded = chains.all(axis=(1, 2))
        bounded_draws += int(bounded.sum())
        ratings = ratings_on_scale(wins[bounded], zero)
        apart = partly_rated(
            wins[~bounded], chains[~bounded], zero, tally.comparisons()[list(core)], centres
        )
        parts += [(ratings, ratings, ratings), (*apart, weakly_rated(wins[~bounded]))]
    games = tally.wins[rated]
    return Sample.of(parts, bounded_draws, units, games + games.T)


def weakly_rated(wins: Floats) -> Floats:
    """Returns finite ratings of draws in which a model never won or never lost, by a weak prior.

    Their mean is 0. A model is nan outside the largest group that comparisons link, whoever won.

    Args:
        wins: draws x models x models.
    """
    linked = chains_of_wins(wins + wins.transpose(0, 2, 1) > 0)
    largest = linked.sum(axis=2).argmax(axis=1)
    points = SCALE * fit_log_odds(wins, prior=PRIOR)
    return np.where(linked[np.arange(len(wins)), largest], points, np.nan)


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
