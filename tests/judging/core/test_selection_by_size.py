from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.matrix import Matrix
from judging.core.selection import select, select_by_size
from judging.core.selection_rules import NothingToSelectError, TooManyColumnsError
from tests.judging.core.slow_selection import points

CELLS = st.sampled_from([0, 1, None])


def matrix(original, swapped, sources=None):
    return Matrix(
        tuple(map(tuple, original)),
        tuple(map(tuple, swapped)),
        sources or (None,) * len(original[0]),
    )


@given(st.data())
def test_the_best_of_each_size_is_the_best_of_all_tried_one_by_one(data):
    rows, columns = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 5))
    cells = st.lists(
        st.lists(CELLS, min_size=columns, max_size=columns), min_size=rows, max_size=rows
    )
    given_matrix = matrix(data.draw(cells), data.draw(cells))
    try:
        found = select_by_size(given_matrix, most=9)
    except NothingToSelectError:
        return
    assert list(found) == list(range(1, columns + 1))
    for size, subset in found.items():
        scores = {
            one: sum(points(given_matrix, row, one) for row in range(rows))
            for one in combinations(range(columns), size)
        }
        best = max(scores.values())
        assert subset == next(one for one, score in scores.items() if score == best)
    assert select(given_matrix).selected[0] in found.values()


def test_the_aggregate_is_in_no_subset():
    found = select_by_size(matrix([[0, 1, 1]], [[0, 1, 1]], (None, 0, "all")), most=9)
    assert list(found) == [1, 2]
    assert all(2 not in subset for subset in found.values())


def test_the_sizes_end_where_asked():
    assert list(select_by_size(matrix([[1, 0, 1]], [[1, 1, 1]]), most=2)) == [1, 2]


def test_more_columns_than_can_be_tried_are_refused():
    with pytest.raises(TooManyColumnsError):
        select_by_size(matrix([[1] * 21], [[1] * 21]), most=2)
