"""The selection written out plainly, one subset after the other: what the quick one must equal."""

from __future__ import annotations

from itertools import combinations, product
from statistics import fmean

from hypothesis import strategies as st

from judging.core.matrix import Matrix


def points(matrix, row, subset):
    """Row-orders won by a subset on one row, an even split one half (default rule)."""
    total = 0.0
    if matrix.log_odds is not None:
        known = [matrix.log_odds[row][column] for column in subset]
        known = [one for one in known if one is not None]
        mean = sum(known) / len(known) if known else 0.0
        return 2 * ((mean > 1e-9) + 0.5 * (abs(mean) <= 1e-9)) if known else 0.0
    for order in (matrix.original, matrix.swapped):
        cells = [order[row][column] for column in subset if order[row][column] is not None]
        if cells:
            total += (sum(cells) * 2 > len(cells)) + 0.5 * (sum(cells) * 2 == len(cells))
    return total


def voiced(matrix, rows):
    return sum(
        any(cell is not None for cell in order[row])
        for order in (matrix.original, matrix.swapped)
        for row in rows
    )


def subsets(columns):
    return [some for size in range(1, len(columns) + 1) for some in combinations(columns, size)]


def best(matrix, rows, columns):
    """(score, subset): the highest score, then the smallest, then the first subset."""
    tried = [(sum(points(matrix, row, some) for row in rows), some) for some in subsets(columns)]
    return max(tried, key=lambda one: (one[0], -len(one[1]), [-column for column in one[1]]))


def eligible(matrix):
    return [column for column, source in enumerate(matrix.sources) if source != "all"]


def leave_one_out(matrix):
    rows = [row for row in range(matrix.rows) if voiced(matrix, [row])]
    if len(rows) < 2:
        return None
    won = 0.0
    for row in rows:
        columns = [column for column in eligible(matrix) if matrix.sources[column] != row]
        if columns:
            others = [other for other in range(matrix.rows) if other != row]
            won += points(matrix, row, best(matrix, others, columns)[1])
    return won / voiced(matrix, rows)


def flipped(matrix, rows):
    def turn(order):
        return tuple(
            tuple(None if cell is None else 1 - cell for cell in cells) if row in rows else cells
            for row, cells in enumerate(order)
        )

    odds = matrix.log_odds and tuple(
        tuple(None if one is None else -one for one in own) if row in rows else own
        for row, own in enumerate(matrix.log_odds)
    )
    return Matrix(turn(matrix.original), turn(matrix.swapped), matrix.sources, odds)


def all_flips(matrix):
    for coins in product([False, True], repeat=matrix.rows):
        yield flipped(matrix, {row for row, coin in enumerate(coins) if coin})


def paper_votes(matrix, row, subset):
    """((won, heard) in the original order, the same swapped) under the released rule."""
    votes = []
    for order, tie in ((matrix.original, True), (matrix.swapped, False)):
        cells = [order[row][column] for column in subset if order[row][column] is not None]
        ones = sum(cells)
        won = bool(cells) and (tie if ones * 2 == len(cells) else ones * 2 > len(cells))
        votes.append((won, bool(cells)))
    return votes


def paper(matrix, rows, columns, *, penalty):
    """(subsets, metric, most heard, strategy, accuracy) as the released code selects."""
    scored = []
    for some in subsets(columns):
        votes = [paper_votes(matrix, row, some) for row in rows]
        first, second = (sum(row[order][0] for row in votes) for order in (0, 1))
        heard = sum(order[1] for row in votes for order in row)
        metric = first + second - (abs(second - first) if penalty else 0)
        scored.append((some, metric, first + second, heard))
    metric = max(one[1] for one in scored)
    worst, most_heard = min(one[2] for one in scored), max(one[3] for one in scored)
    if most_heard - worst > metric:
        kept = [one for one in scored if one[2] == worst]
        won, metric, strategy = (
            [one[3] - one[2] for one in kept],
            most_heard - worst,
            "inverted_worst",
        )
    else:
        kept = [one for one in scored if one[1] == metric]
        won, strategy = [one[2] for one in kept], "forward_best"
    mean_heard = fmean(one[3] for one in kept)
    accuracy = fmean(won) / mean_heard if mean_heard else 0.0
    return [one[0] for one in kept], metric, most_heard, strategy, accuracy


def paper_leave_one_out(matrix, *, penalty):
    rows = [row for row in range(matrix.rows) if voiced(matrix, [row])]
    if len(rows) < 2:
        return None
    total = 0.0
    for row in rows:
        columns = [
            column for column, source in enumerate(matrix.sources) if source not in (row, "all")
        ]
        if not columns:
            continue
        others = [other for other in range(matrix.rows) if other != row]
        kept, _, _, strategy, _ = paper(matrix, others, columns, penalty=penalty)
        for some in kept:
            votes = paper_votes(matrix, row, some)
            won, heard = (sum(order[place] for order in votes) for place in (0, 1))
            total += (heard - won if strategy == "inverted_worst" else won) / len(kept)
    return total / voiced(matrix, rows)


@st.composite
def matrices(draw, *, rows=(1, 4), columns=(1, 5), empty=True):
    count, width = draw(st.integers(*rows)), draw(st.integers(*columns))
    cell = st.sampled_from([0, 1, None]) if empty else st.sampled_from([0, 1])
    cells = st.tuples(*[st.tuples(*[cell] * width)] * count)
    source = st.one_of(st.none(), st.just("all"), st.integers(0, count - 1))
    return Matrix(draw(cells), draw(cells), draw(st.tuples(*[source] * width)))


def of_log_odds(rows, sources=None):
    """The matrix of a judge that is read by l*."""
    odds = tuple(map(tuple, rows))
    cells = tuple(tuple(None if one is None else int(one > 0) for one in row) for row in odds)
    return Matrix(cells, cells, sources or (None,) * len(odds[0]), odds)


@st.composite
def matrices_of_log_odds(draw, *, rows=(1, 4), columns=(1, 5)):
    count, width = draw(st.integers(*rows)), draw(st.integers(*columns))
    cell = st.sampled_from([None, *(one / 10 for one in range(-9, 10) if one)])
    odds = draw(st.tuples(*[st.tuples(*[cell] * width)] * count))
    source = st.one_of(st.none(), st.just("all"), st.integers(0, count - 1))
    return of_log_odds(odds, draw(st.tuples(*[source] * width)))
