"""The agreement of everybody who answered: overall, by scenario and model pair, and two by two.

Answers are columns of numbers, one entry an answer. Of several answers of one annotator to one item
(hidden repeats, two studies) the first in the columns stands: agreement is between people.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.agreement import (
    AnswerCounts,
    Coefficient,
    IntArray,
    Measure,
    SessionKinds,
    answer_counts,
    cross_table,
    pair_coefficients,
    share_interval,
)
from annotation.core.agreement_many import coefficients
from annotation.core.intervals import DEFAULT_DRAWS, Interval

MATRIX_LIMIT: Final = 20
"""Annotators compared two by two; beyond it those with the most shared items."""

RELIABLE: Final = 0.8
TENTATIVE: Final = 0.667


@dataclass(frozen=True, slots=True)
class AnswerScale:
    """What can be answered and what is measured on it; the first of `measures` leads.

    Attributes:
        categories: Number of values.
        measures: Of any number of raters.
        pair_measures: Of two raters.
    """

    categories: int
    measures: tuple[Measure, ...]
    pair_measures: tuple[Measure, ...]


def verdict_scale(*, ties: bool) -> AnswerScale:
    """Verdicts A and B, and TIE where ties count."""
    return AnswerScale(
        3 if ties else 2,
        (Measure.ALPHA_NOMINAL, Measure.PERCENT, Measure.FLEISS, Measure.AC1),
        (Measure.PERCENT, Measure.KAPPA),
    )


SCORE_SCALE: Final = AnswerScale(
    5,
    (
        Measure.ALPHA_ORDINAL,
        Measure.ALPHA_INTERVAL,
        Measure.AC2_ORDINAL,
        Measure.AC2_QUADRATIC,
        Measure.PERCENT,
        Measure.FLEISS,
    ),
    (Measure.PERCENT, Measure.KAPPA, Measure.KAPPA_LINEAR, Measure.KAPPA_QUADRATIC),
)


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """Columns of equal length, one entry an answer.

    Attributes:
        item: Number of what was judged.
        annotator: Number of who judged.
        value: 0 to categories - 1.
        scenario: Number of the item's scenario.
        models: Number of the item's model pair; negative where it has none.
        session: Number of the item's session; intervals draw them.
    """

    item: IntArray
    annotator: IntArray
    value: IntArray
    scenario: IntArray
    models: IntArray
    session: IntArray

    def chosen(self, which: IntArray | np.ndarray[tuple[int], np.dtype[np.bool_]]) -> Answers:
        """The answers at some places."""
        return Answers(
            self.item[which],
            self.annotator[which],
            self.value[which],
            self.scenario[which],
            self.models[which],
            self.session[which],
        )

    def first_of_each(self) -> Answers:
        """The answers without second ones of the same annotator to the same item."""
        if not len(self.item):
            return self
        pairs = np.stack([self.item, self.annotator], axis=1)
        _pairs, first = np.unique(pairs, axis=0, return_index=True)
        return self.chosen(np.sort(first))


@dataclass(frozen=True, slots=True)
class GroupFigures:
    """The agreement on a group of items.

    Attributes:
        key: Number of the scenario or model pair; None for everything.
        items: Items with two answers or more.
        answers: Answers on these.
        same: Items on which all answers are the same.
        same_interval: Wilson's of same / items with sessions as units; None for too few.
        coefficients: In the order of the scale's measures.
    """

    key: int | None
    items: int
    answers: int
    same: int
    same_interval: Interval | None
    coefficients: tuple[Coefficient, ...]

    @property
    def different(self) -> int:
        """Items on which not all answers are the same."""
        return self.items - self.same

    @property
    def same_share(self) -> float | None:
        """Same / items; None without items."""
        return self.same / self.items if self.items else None

    @property
    def leading(self) -> Coefficient:
        """The measure that an answer in words rests on."""
        return self.coefficients[0]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two annotators on the items that both answered."""

    first: int
    second: int
    coefficients: tuple[Coefficient, ...]

    @property
    def items(self) -> int:
        """Items that both answered."""
        return self.coefficients[0].items


@dataclass(frozen=True, slots=True)
class AgreementReport:
    """Everything the agreement page says.

    Attributes:
        overall: All items together.
        scenarios: Each scenario with an answer, by number.
        models: Each model pair with an answer, by number.
        annotators: Who is compared two by two, those with the most shared items first.
        left_out: Number of annotators beyond `MATRIX_LIMIT`.
        overlaps: Pairs of `annotators` with at least one item in common.
        fewest: Fewest and most answers on an item that has two or more; 0 without any.
        most: See `fewest`.
    """

    overall: GroupFigures
    scenarios: tuple[GroupFigures, ...]
    models: tuple[GroupFigures, ...]
    annotators: tuple[int, ...]
    left_out: int
    overlaps: tuple[Overlap, ...]
    fewest: int
    most: int


class Finding(StrEnum):
    """What the leading figure says; the interval decides, not the value."""

    NO_OVERLAP = "NO_OVERLAP"
    UNDEFINED = "UNDEFINED"
    TOO_FEW = "TOO_FEW"  # fewer sessions than an interval needs
    UNSURE = "UNSURE"  # too many draws leave the figure undefined, or none moves it
    RELIABLE = "RELIABLE"
    TENTATIVE = "TENTATIVE"
    LOW = "LOW"
    CHANCE = "CHANCE"
    AGAINST = "AGAINST"


def finding_of(leading: Coefficient) -> Finding:
    """Krippendorff's marks (.8, .667) on the lower end of the interval, and chance."""
    if leading.interval is None:
        return _without_interval(leading)
    low, high = leading.interval.low, leading.interval.high
    steps = ((RELIABLE, Finding.RELIABLE), (TENTATIVE, Finding.TENTATIVE))
    for mark, finding in steps:
        if low >= mark:
            return finding
    if low > 0:
        return Finding.LOW
    return Finding.AGAINST if high < 0 else Finding.CHANCE


def _without_interval(leading: Coefficient) -> Finding:
    if leading.items == 0:
        return Finding.NO_OVERLAP
    if leading.units.few:
        return Finding.TOO_FEW
    return Finding.UNDEFINED if leading.value is None else Finding.UNSURE


def agreement_report(
    answers: Answers, scale: AnswerScale, *, seed: int, draws: int = DEFAULT_DRAWS
) -> AgreementReport:
    """Measure the agreement in all ways of the scale.

    Args:
        answers: All answers, in the order in which they were given.
        scale: The values and measures.
        seed: Of the bootstraps.
        draws: Resamples of each.
    """
    kept = answers.first_of_each()
    items, first, place = np.unique(kept.item, return_index=True, return_inverse=True)
    cells = np.bincount(
        place * scale.categories + kept.value, minlength=len(items) * scale.categories
    )
    counts = cells.astype(np.int64).reshape(-1, scale.categories)

    sessions = kept.session[first]

    def figures(key: int | None, rows: NDArray[np.bool_]) -> GroupFigures:
        table = answer_counts(counts[rows], sessions[rows])
        return _figures(key, table, scale, seed=seed, draws=draws)

    def by(keys: IntArray) -> tuple[GroupFigures, ...]:
        known = np.unique(keys[keys >= 0])
        return tuple(figures(int(key), keys == key) for key in known)

    together = counts.sum(axis=1)
    shared = together[together >= 2]
    everybody, matrix = _matrix(kept, place, shared_items=together >= 2)
    chosen = everybody[:MATRIX_LIMIT]
    return AgreementReport(
        overall=figures(None, np.ones(len(items), dtype=np.bool_)),
        scenarios=by(kept.scenario[first]),
        models=by(kept.models[first]),
        annotators=tuple(chosen),
        left_out=len(everybody) - len(chosen),
        overlaps=_overlaps(chosen, matrix, sessions[together >= 2], scale, seed=seed, draws=draws),
        fewest=int(shared.min()) if len(shared) else 0,
        most=int(shared.max(initial=0)),
    )


def _figures(
    key: int | None, table: AnswerCounts, scale: AnswerScale, *, seed: int, draws: int
) -> GroupFigures:
    found = coefficients(scale.measures, table, seed=seed, draws=draws)
    unanimous = table.pairable & (table.patterns.max(axis=1, initial=0) == table.ratings)
    same = int(table.items[unanimous].sum())
    interval = share_interval(table.sessions, unanimous.astype(np.float64), table.pairable)
    return GroupFigures(key, found[0].items, found[0].answers, same, interval, found)


def _matrix(
    answers: Answers, place: IntArray, *, shared_items: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> tuple[list[int], IntArray]:
    """Who answered items that others answered too, and their values by item (-1: none).

    Returns:
        Annotators, those with the most such items first, and their values: (annotators, items),
        for at most `MATRIX_LIMIT` of them.
    """
    on_shared = shared_items[place]
    people, number = np.unique(answers.annotator[on_shared], return_counts=True)
    order = np.lexsort((people, -number))
    ranked = people[order]
    row_of = np.full(len(people), -1, dtype=np.int64)
    row_of[order[:MATRIX_LIMIT]] = np.arange(min(len(people), MATRIX_LIMIT))
    rows = row_of[np.searchsorted(people, answers.annotator[on_shared])]
    columns = (np.cumsum(shared_items) - 1)[place[on_shared]]
    matrix = np.full((min(len(people), MATRIX_LIMIT), int(shared_items.sum())), -1, dtype=np.int64)
    listed = rows >= 0
    matrix[rows[listed], columns[listed]] = answers.value[on_shared][listed]
    return [int(each) for each in ranked], matrix


def _overlaps(
    annotators: Sequence[int],
    matrix: IntArray,
    sessions: IntArray,
    scale: AnswerScale,
    *,
    seed: int,
    draws: int,
) -> tuple[Overlap, ...]:
    found = []
    for one, other in combinations(range(len(annotators)), 2):
        cells = cross_table(matrix[one], matrix[other], categories=scale.categories)
        if cells.any():
            both = (matrix[one] >= 0) & (matrix[other] >= 0)
            kinds = matrix[one, both] * scale.categories + matrix[other, both]
            held = SessionKinds.of(kinds, sessions[both], number=cells.size)
            measured = pair_coefficients(
                scale.pair_measures, cells, held=held, seed=seed, draws=draws
            )
            found.append(Overlap(annotators[one], annotators[other], measured))
    return tuple(found)
