"""Which model is better by corrected pair win rates: Bradley-Terry, intervals, joint rank sets.

Each pair of models has a win rate of its own, corrected with one lambda for all pairs; it counts as
many times as the pair has labels, so without any use of the judge the ratings are those of people
alone. Where comparisons were labelled with differing chances each label counts for as many as it
stands for (the ratio form of Horvitz-Thompson's sum). A bootstrap draws units (sessions) with
labelled and unlabelled rows together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from annotation.core.intervals import Units
from benchmark.core.bradley_terry import (
    chains_of_wins,
    largest_group,
    partly_rated,
    ratings_on_scale,
    weakly_rated,
)
from benchmark.core.corrected import CorrectedFigure, JudgedRows, corrected
from benchmark.core.rank_sets import SAME, Floats, Sample, joint_ranks, surely_ahead

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_CHUNK: Final = 1_000_000
_SUMS: Final = (
    6  # rows, scores; labels, scores of the labelled and 1, over chances; how many labels
)
_NONE: Final = 1e-9
"""A share of wins this near to none is none: rounding is no win."""


class JudgedPair(NamedTuple):
    """One row: what the judge said of a comparison, and a person where one did.

    Both are what the first model gets, 1, 1/2 or 0, of several people their mean; `unit` is the
    session. `chance` is the probability with which it was to be labelled, which matters where it
    was; None where all were as likely.
    """

    model_a: str
    model_b: str
    score: float
    label: float | None
    unit: Hashable
    chance: float | None = None

    def of(self, model: str) -> tuple[float, float | None, Hashable]:
        """Score, label and unit as one of the two models sees them."""
        if model == self.model_a:
            return self.score, self.label, self.unit
        return 1 - self.score, None if self.label is None else 1 - self.label, self.unit


def agreement_figure(
    rows: Iterable[tuple[JudgedPair, bool]], *, is_random: bool
) -> CorrectedFigure:
    """How far a judge agrees with people on all that it judged, from where both said something.

    One row a pair: 1 for the same winner, 1/2 where either says tie, 0 for the other winner. What
    stands for the judge's own score of it is whether it said the same in both orders, 1 or 1/2.

    Args:
        rows: at least one; with each whether all of the judge's verdicts on it were the same.
        is_random: as for `corrected`.
    """
    told = [
        pair._replace(
            score=1.0 if same else 0.5,
            label=None if pair.label is None else 1 - abs(pair.label - pair.score),
        )
        for pair, same in rows
    ]
    return corrected(_judged(told), is_random=is_random)


def _judged(pairs: Sequence[JudgedPair]) -> JudgedRows:
    chances = [pair.chance for pair in pairs if pair.chance is not None]
    told = [(pair.score, pair.label, pair.unit) for pair in pairs]
    return JudgedRows.of(told, chances if len(chances) == len(pairs) else None)


@dataclass(frozen=True, slots=True)
class CorrectedRating:
    """One model's rating; None where it never lost or won, or nothing links it to the others.

    `low` and `high` are the ends of its 95 % interval, None where there is none or it has no end
    on that side; `rank_low` and `rank_high` hold the rank of every model at once in 95 of 100.
    """

    model: str
    rating: float | None
    low: float | None
    high: float | None
    rank: int | None
    rank_low: int | None
    rank_high: int | None


@dataclass(frozen=True, slots=True)
class CorrectedRanking:
    """Ratings, best first; `weight` is the lambda of all pairs."""

    models: tuple[CorrectedRating, ...]
    weight: float
    labels: int
    units: int
    draws: int
    seed: int


def win_figures(
    pairs: Sequence[JudgedPair], *, is_random: bool
) -> tuple[tuple[str, CorrectedFigure], ...]:
    """Every model's win rate, by people, by the judge and corrected, in their `order`."""
    place: dict[str, int] = {}
    sides = [
        (place.setdefault(one, len(place)), place.setdefault(two, len(place)))
        for one, two, *_said in pairs
    ]
    rows = _judged(pairs)
    first, second = np.array(sides, dtype=np.int64).reshape(-1, 2).T
    found = []
    for model, at in place.items():
        own = (first == at) | (second == at)
        is_first = first[own] == at
        scores, labels = (
            np.where(is_first, said, 1 - said) for said in (rows.scores[own], rows.labels[own])
        )
        _names, units = np.unique(rows.units[own], return_inverse=True)
        chances = None if rows.chances is None else rows.chances[own]
        told = JudgedRows(scores, labels, units, chances)
        found.append((model, corrected(told, is_random=is_random)))
    return tuple(sorted(found, key=lambda each: (each[1].order, each[0])))


def corrected_ranking(
    pairs: Sequence[JudgedPair], *, draws: int, seed: int
) -> CorrectedRanking | None:
    """Bradley-Terry on corrected pair win rates.

    Args:
        pairs: rows of which the labelled ones are a random part.
        draws: of the bootstrap over units.
        seed: of the bootstrap; the order of the rows does not matter, the units' does not either.

    Returns:
        None where the rows as a whole cannot be corrected, or no two models were compared.
    """
    rows = [pair if pair.model_a < pair.model_b else _turned(pair) for pair in pairs]
    rows = [pair for pair in rows if pair.model_a != pair.model_b]
    if not rows:
        return None
    whole = corrected(_judged(rows), is_random=True)
    if whole.weight is None:
        return None
    models = sorted({model for pair in rows for model in pair[:2]})
    place = {model: index for index, model in enumerate(models)}
    kinds = _Kinds.of(rows, place)
    wins = kinds.wins(kinds.counts[None, :], whole.weight)
    chains = chains_of_wins(wins > 0)[0]
    compared = kinds.games().sum(axis=0).astype(np.int64)
    group = largest_group(chains, compared)
    rated = group if len(group) > 1 else []
    fitted = ratings_on_scale(wins[:, rated][:, :, rated], None)
    sample = _bootstrap(kinds, rated, whole.weight, compared, fitted[0], draws=draws, seed=seed)
    return CorrectedRanking(
        models=_rows(models, rated, fitted[0], sample),
        weight=whole.weight,
        labels=whole.labels,
        units=int(kinds.counts.sum()),
        draws=len(sample.lowest),
        seed=seed,
    )


def _turned(pair: JudgedPair) -> JudgedPair:
    return JudgedPair(pair.model_b, pair.model_a, *pair.of(pair.model_b), pair.chance)


@dataclass(frozen=True, slots=True)
class _Kinds:
    """Units that hold the same rows are of one kind; `counts` of each.

    `first` and `second` are the models of each pair that occurs. `sums` has, by kind, sums over the
    rows of each pair, as of _SUMS (kinds, 6 x pairs); a unit holds few pairs, so it is sparse.
    """

    models: int
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    counts: NDArray[np.int64]
    sums: csr_array

    @classmethod
    def of(cls, rows: Iterable[JudgedPair], place: dict[str, int]) -> _Kinds:
        from scipy.sparse import csr_array

        rows = list(rows)
        number = {pair: at for at, pair in enumerate(sorted({row[:2] for row in rows}))}
        held: dict[Hashable, list[_PairRow]] = {}
        for one, other, score, label, unit, chance in rows:
            stands_for = 1.0 if label is None or chance is None else 1 / chance
            held.setdefault(unit, []).append((number[one, other], score, label, stands_for))
        tally = Counter(tuple(sorted(own, key=_in_order)) for own in held.values())
        kinds = sorted(tally, key=lambda own: [_in_order(each) for each in own])
        told = [(at, *row) for at, own in enumerate(kinds) for row in own]
        sums: list[tuple[float, ...]] = [
            (1, score, 0, 0, 0, 0)
            if label is None
            else (1, score, label * stands_for, score * stands_for, stands_for, 1)
            for _at, _pair, score, label, stands_for in told
        ]
        at = np.repeat([row[0] for row in told], _SUMS)
        columns = np.array([row[1] for row in told])[:, None] + len(number) * np.arange(_SUMS)
        shape = (len(kinds), _SUMS * len(number))
        first, second = np.array([[place[model] for model in pair] for pair in number]).T
        return cls(
            len(place),
            first,
            second,
            np.array([tally[own] for own in kinds], dtype=np.int64),
            csr_array((np.ravel(sums), (at, columns.ravel())), shape=shape),
        )

    @property
    def width(self) -> int:
        """How many numbers a draw of a bootstrap needs at once."""
        return int(max(self.models**2, *self.sums.shape))

    def _drawn(self, counts: NDArray[np.int64]) -> Floats:
        """The sums of draws x kinds counts, (6, draws, pairs)."""
        sums: Floats = counts.astype(np.float64) @ self.sums
        return sums.reshape(len(counts), _SUMS, -1).transpose(1, 0, 2)

    def labelled_units(self, models: Sequence[int]) -> Units:
        """Returns the units by the labels that they hold on pairs of these models."""
        among = np.isin(self.first, models) & np.isin(self.second, models)
        known: Floats = self.sums[:, -len(self.first) :] @ among.astype(np.float64)
        return Units.of(known, self.counts)

    def games(self) -> Floats:
        """Models x models: how many labels each two have."""
        found = np.zeros((self.models, self.models))
        found[self.first, self.second] = self._drawn(self.counts[None, :])[-1, 0]
        return found + found.T

    def wins(self, counts: NDArray[np.int64], weight: float) -> Floats:
        """Draws x models x models of corrected wins, for draws x kinds counts.

        A corrected rate may leave 0 to 1. Where labels say that either model won, neither gets less
        than half a win: beyond that end lies no model that never wins.
        """
        rows, scores, labels, of_labelled, stand_for, known = self._drawn(counts)
        some, all_of = np.maximum(known, 1), np.maximum(stand_for, 1)
        share = weight * scores / np.maximum(rows, 1) + (labels - weight * of_labelled) / all_of
        share = np.where(share < _NONE, 0.0, np.where(share > 1 - _NONE, 1.0, share))
        least = np.where((labels > _NONE) & (labels < stand_for - _NONE), 0.5 / some, 0.0)
        share = np.clip(share, least, 1 - least)
        wins = np.zeros((len(counts), self.models, self.models))
        wins[:, self.first, self.second] = known * share
        wins[:, self.second, self.first] = known * (1 - share)
        return wins


_PairRow = tuple[int, float, float | None, float]
"""Which pair, the judge, a person, and for how many rows the label stands (1 / chance)."""


def _in_order(row: _PairRow) -> tuple[int, float, float, float]:
    pair, score, label, stands_for = row
    return pair, score, -1.0 if label is None else label, stands_for


def _bootstrap(
    kinds: _Kinds,
    rated: Sequence[int],
    weight: float,
    compared: NDArray[np.int64],
    centres: Floats,
    *,
    draws: int,
    seed: int,
) -> Sample:
    """Ratings in resamples of the units; none if those with a label are too few."""
    rng = np.random.default_rng(seed)
    total, labelled = int(kinds.counts.sum()), kinds.labelled_units(rated)
    none = np.zeros((0, len(rated)))
    parts = [(none, none, none)]
    bounded_draws = 0
    left = 0 if labelled.few else draws
    while left:
        size = min(left, max(1, _CHUNK // kinds.width))
        left -= size
        drawn = rng.multinomial(total, kinds.counts / total, size=size)
        wins = kinds.wins(drawn, weight)[:, rated][:, :, rated]
        chains = chains_of_wins(wins > 0)
        bounded = chains.all(axis=(1, 2))
        bounded_draws += int(bounded.sum())
        ratings = ratings_on_scale(wins[bounded], None)
        apart = partly_rated(wins[~bounded], chains[~bounded], None, compared[list(rated)], centres)
        parts += [(ratings, ratings, ratings), (*apart, weakly_rated(wins[~bounded]))]
    return Sample.of(parts, bounded_draws, labelled, kinds.games()[np.ix_(rated, rated)])


def _rows(
    models: Sequence[str], rated: Sequence[int], fitted: Floats, sample: Sample
) -> tuple[CorrectedRating, ...]:
    has_ends = len(sample.points) > 0
    best = worst = None
    if has_ends:
        best, worst = joint_ranks(surely_ahead(fitted, sample))
    found = []
    for index, model in enumerate(models):
        if index not in rated:
            found.append(CorrectedRating(model, None, None, None, None, None, None))
            continue
        at = rated.index(index)
        found.append(
            CorrectedRating(
                model,
                float(fitted[at]),
                sample.end(at, upper=False) if has_ends else None,
                sample.end(at, upper=True) if has_ends else None,
                int((fitted > fitted[at] + SAME).sum()) + 1,
                None if best is None else int(best[at]),
                None if worst is None else int(worst[at]),
            )
        )
    return tuple(sorted(found, key=lambda row: (row.rating is None, -(row.rating or 0), row.model)))
