"""Which preferences judge like the annotator: the best subset of a matrix's columns.

Seed 001, section 3.2.4; exactly protocols A1.6. Every subset of up to 20 columns is tried, beyond
that a beam. A column never judges the pair it was distilled from, and the aggregate, which saw
every pair, is not eligible unless asked for. The result carries its settings.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from annotation.core.refusals import Refused
from annotation.core.significance import sign_flip_p
from judging.core.matrix import AGGREGATE, Matrix
from judging.core.rules import Combine, SelectionMode
from judging.core.selection_paper import PaperSearch
from judging.core.selection_search import (
    MOST_COLUMNS,
    Beam,
    Choice,
    Exhaustive,
    Flips,
    Search,
    SelectionSettings,
    Strategy,
    TraceStep,
    voiced_rows,
)
from judging.core.stand_in import StandInChoice, exceeds

MOST_EXACT_ROWS: Final = 10
"""Up to here all 2^n flips are tried."""
SAMPLED_FLIPS: Final = 1000
FLIPS_AT_ONCE: Final = 64

Of = TypeVar("Of")
Between = Callable[[], None]
"""Called now and then while the null is computed; it may raise to stop."""


@dataclass(frozen=True, slots=True)
class FlipNull:
    """The best dev accuracy when every label is a coin flip, the whole selection repeated.

    `p_value` is the share of flips that reach the observed metric; sampled flips count the
    observed one among them. `p95` is the accuracy that 95 % of the flips do not exceed. `counts`
    are the best accuracies with how many flips reached each, ascending.
    """

    p_value: float
    p95: float
    flips: int
    exact: bool
    seed: int | None
    counts: tuple[tuple[float, int], ...] = ()


@dataclass(frozen=True, slots=True)
class HeldOutPoints:
    """Points on each development pair of what was selected without it, and of the base judge.

    A pair is worth a point an order with a verdict, an even split one half. `rows` are those of the
    matrix that have one, `worths` their points. `base` is None where no column is the base judge.
    """

    rows: tuple[int, ...]
    selected: tuple[float, ...]
    base: tuple[float, ...] | None
    worths: tuple[int, ...]

    @property
    def accuracy(self) -> float:
        """Of the selected subsets: the leave-one-out accuracy."""
        return sum(self.selected) / sum(self.worths)

    @property
    def base_accuracy(self) -> float | None:
        """Of the base judge on the same pairs."""
        return None if self.base is None else sum(self.base) / sum(self.worths)

    def accuracy_of(self, shares: Sequence[float | None]) -> float:
        """Of something else on the same pairs, by row of the matrix how right it was, 0..1."""
        points = (
            worth * (shares[row] or 0.0) for row, worth in zip(self.rows, self.worths, strict=True)
        )
        return sum(points) / sum(self.worths)

    def on(self, rows: Container[int]) -> HeldOutPoints:
        """On some rows of the matrix alone."""
        kept = [place for place, row in enumerate(self.rows) if row in rows]

        def those(values: Sequence[Of]) -> tuple[Of, ...]:
            return tuple(values[place] for place in kept)

        base = None if self.base is None else those(self.base)
        return HeldOutPoints(those(self.rows), those(self.selected), base, those(self.worths))

    def p_over_base(self, *, seed: int, sessions: Sequence[Hashable] | None = None) -> float | None:
        """The p of the gain over the base judge, by sign flips over sessions (protocols A1.6).

        Args:
            seed: of sampled signs.
            sessions: of each row of the matrix; None where each has one of its own.
        """
        if self.base is None:
            return None
        gains: defaultdict[Hashable, float] = defaultdict(float)
        for row, own, other in zip(self.rows, self.selected, self.base, strict=True):
            gains[row if sessions is None else sessions[row]] += own - other
        return sign_flip_p(list(gains.values()), seed=seed)


def held_out_subsets(
    matrix: Matrix, settings: SelectionSettings | None = None
) -> tuple[tuple[int, ...], ...]:
    """By row the subset selected without it, its column and the aggregate; () where there is none.

    Raises:
        Refused: no verdict at all; paper mode with more than 20 columns, or of l*.
    """
    settings = settings or SelectionSettings()
    search = _search(matrix, settings)
    choices = (_held_out(search, matrix, row) for row in range(matrix.rows))
    return tuple(() if choice is None else choice.subsets[0] for choice in choices)


def _held_out(search: Search, matrix: Matrix, row: int) -> Choice | None:
    leaking = [column for column, source in enumerate(matrix.sources) if source in (row, AGGREGATE)]
    return search.choose(without_row=row, without_columns=leaking)


def leave_one_out(search: Search, matrix: Matrix) -> HeldOutPoints | None:
    """Each row under the subset selected without it, its column and the aggregate.

    Row-orders without any verdict are left out. None where there are fewer than two rows with a
    verdict: nothing is left to select on.
    """
    voiced = voiced_rows(matrix)
    rows = [int(row) for row in np.flatnonzero(voiced)]
    if len(rows) < 2:
        return None
    base = matrix.sources.index(None) if None in matrix.sources else None
    alone = None if base is None else Choice(((base,),), 0.0, 0, 0.0, Strategy.BEST)
    points = []
    for row in rows:
        choice = _held_out(search, matrix, row)
        points.append(0.0 if choice is None else search.points_on(row, choice))
    return HeldOutPoints(
        rows=tuple(rows),
        selected=tuple(points),
        base=None if alone is None else tuple(search.points_on(row, alone) for row in rows),
        worths=tuple(int(voiced[row]) for row in rows),
    )


def flip_null(
    search: Search,
    *,
    rows: int,
    metric: float,
    denominator: int,
    seed: int,
    between: Between | None = None,
) -> FlipNull:
    """The null distribution of the best metric, each pair's label flipped with probability 1/2.

    Args:
        search: the search that found the observed metric.
        rows: comparisons in the matrix.
        metric: the observed best metric.
        denominator: what turns a metric into an accuracy.
        seed: of the sampled flips; unused where all of them are tried.
        between: called after every 64 flips.
    """
    exact = rows <= MOST_EXACT_ROWS
    flips = _all_flips(rows) if exact else _sampled_flips(rows, seed)
    blocks = []
    for start in range(0, len(flips), FLIPS_AT_ONCE):
        blocks.append(search.best_under(flips[start : start + FLIPS_AT_ONCE]))
        if between is not None:
            between()
    best = np.concatenate(blocks)
    reached = int((best >= metric).sum())
    p95 = float(np.quantile(best, 0.95, method="inverted_cdf"))
    return FlipNull(
        p_value=reached / len(flips) if exact else (reached + 1) / (len(flips) + 1),
        p95=p95 / denominator,
        flips=len(flips),
        exact=exact,
        seed=None if exact else seed,
        counts=tuple(
            (float(value) / denominator, int(count))
            for value, count in zip(*np.unique(best, return_counts=True), strict=True)
        ),
    )


def _all_flips(rows: int) -> Flips:
    """All 2^n rows of +1 and -1, none flipped first."""
    numbers = np.arange(1 << rows)[:, None]
    flips: Flips = (1 - 2 * (numbers >> np.arange(rows) & 1)).astype(np.int8)
    return flips


def _sampled_flips(rows: int, seed: int) -> Flips:
    """Seeded flips, the same with every version of numpy."""
    generator = random.Random(seed)
    drawn = [[generator.getrandbits(1) for _ in range(rows)] for _ in range(SAMPLED_FLIPS)]
    return 1 - 2 * np.array(drawn, dtype=np.int8)


SIGNIFICANT_BELOW: Final = 0.05
DEFAULT_SEED: Final = 42


@dataclass(frozen=True, slots=True)
class Selection:
    """The selected subsets (one; in paper mode all tied best) and what they reach on dev.

    `metric` counts correct row-orders (an even split one half); `accuracy` is the share of
    `denominator`, in paper mode the mean over all tied subsets.
    """

    selected: tuple[tuple[int, ...], ...]
    metric: float
    denominator: int
    accuracy: float
    strategy: Strategy
    settings: SelectionSettings
    rows: int
    columns: int


@dataclass(frozen=True, slots=True)
class Assessment:
    """A selection with the two figures that say how far to trust it, and what else was best.

    `trace` is the best subset of each size; the selected one is the best of them. `null` is None
    where it was not asked for.
    """

    selection: Selection
    held_out: HeldOutPoints | None
    null: FlipNull | None
    trace: tuple[TraceStep, ...] = ()

    @property
    def leave_one_out(self) -> float | None:
        """The leave-one-out accuracy; None of fewer than two pairs with a verdict."""
        return None if self.held_out is None else self.held_out.accuracy

    @property
    def beats_base(self) -> bool:
        """Whether the set may be used: the best of thousands on ten pairs often is no better.

        Its leave-one-out accuracy exceeds the base judge's on the same pairs by the margin.
        """
        held_out = self.held_out
        return held_out is not None and exceeds(held_out.accuracy, held_out.base_accuracy)

    def stand_in(
        self, stack: Sequence[float | None] | None = None, *, optimistic: bool = False
    ) -> StandInChoice:
        """What stands in for the annotator: the base judge, this set, or a weighted vote.

        Args:
            stack: by row how right the weighted vote was that is learned without it, 0..1; None of
                a row that it has no say in, which then counts for nothing else either. None as a
                whole without such a vote.
            optimistic: whether those shares are too high.
        """
        held_out = self.held_out
        if held_out is not None and stack is not None:
            held_out = held_out.on({row for row, share in enumerate(stack) if share is not None})
        if held_out is None or not held_out.rows or held_out.base_accuracy is None:
            return StandInChoice(Combine.BASE)
        return StandInChoice.of(
            base=held_out.base_accuracy,
            subset=held_out.accuracy,
            stack=None if stack is None else held_out.accuracy_of(stack),
            pairs=len(held_out.rows),
            optimistic=optimistic,
        )

    @property
    def flagged(self) -> bool:
        """Whether coin flips do as well too often for the accuracy to mean much."""
        return self.null is not None and self.null.p_value > SIGNIFICANT_BELOW


def select(matrix: Matrix, settings: SelectionSettings | None = None) -> Selection:
    """The best subset of columns.

    Raises:
        Refused: no verdict at all, or no column that may be selected; paper mode with more than 20
            columns, or of a judge that is read by l*.
    """
    settings = settings or SelectionSettings()
    return _select(_search(matrix, settings), matrix, settings)


def assess(
    matrix: Matrix,
    settings: SelectionSettings | None = None,
    *,
    seed: int = DEFAULT_SEED,
    between: Between | None = None,
    has_null: bool = True,
) -> Assessment:
    """The best subset with its leave-one-out accuracy and, unless it is not wanted, its flip null.

    A beam over a hundred columns takes a minute: `between` is called meanwhile, and may stop it.

    Raises:
        Refused: no verdict at all, or no column that may be selected; paper mode with more than 20
            columns, or of a judge that is read by l*.
    """
    settings = settings or SelectionSettings()
    search = _search(matrix, settings)
    selection = _select(search, matrix, settings)
    return Assessment(
        selection=selection,
        held_out=leave_one_out(search, _seen(matrix, settings)),
        null=flip_null(
            search,
            rows=matrix.rows,
            metric=selection.metric,
            denominator=selection.denominator,
            seed=seed,
            between=between,
        )
        if has_null
        else None,
        trace=search.trace(),
    )


def select_by_size(
    matrix: Matrix, settings: SelectionSettings | None = None, *, most: int
) -> dict[int, tuple[int, ...]]:
    """The best subset of each size from 1 to `most`, or to the number of eligible columns.

    Raises:
        Refused: no verdict at all; more than 20 eligible columns, where not every subset is tried.
    """
    search = _search(matrix, settings or SelectionSettings())
    if not isinstance(search, Exhaustive):
        message = f"more than {MOST_COLUMNS} columns: not every subset is tried"
        raise Refused("selection:too-many-columns", message)
    found = {size: search.choose_of_size(size) for size in range(1, most + 1)}
    return {size: choice.subsets[0] for size, choice in found.items() if choice is not None}


def _seen(matrix: Matrix, settings: SelectionSettings) -> Matrix:
    """The matrix as the mode sees it."""
    return matrix if settings.mode is SelectionMode.PAPER else matrix.masked()


def _search(matrix: Matrix, settings: SelectionSettings) -> Search:
    seen = _seen(matrix, settings)
    if not voiced_rows(seen).any():
        message = "no comparison has a verdict"
        raise Refused("selection:no-verdict", message)
    if settings.mode is SelectionMode.PAPER:
        if seen.log_odds is not None:
            raise Refused("vote:by-log-odds", "paper mode cannot be combined with l*")
        return PaperSearch(seen, difference_penalty=settings.difference_penalty)
    eligible = [
        column
        for column, source in enumerate(seen.sources)
        if settings.aggregate_eligible or source != AGGREGATE
    ]
    return Exhaustive(seen, eligible) if len(eligible) <= MOST_COLUMNS else Beam(seen, eligible)


def _select(search: Search, matrix: Matrix, settings: SelectionSettings) -> Selection:
    choice = search.choose()
    if choice is None:
        message = "no column may be selected"
        raise Refused("selection:no-verdict", message)
    return Selection(
        selected=choice.subsets,
        metric=choice.metric,
        denominator=choice.denominator,
        accuracy=choice.accuracy,
        strategy=choice.strategy,
        settings=settings,
        rows=matrix.rows,
        columns=matrix.columns,
    )
