from __future__ import annotations

import random
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from annotation.core.refusals import Refused
from judging.core.matrix import Matrix
from judging.core.rules import SelectionMode
from judging.core.selection import assess, select, select_by_size
from judging.core.selection_search import SelectionSettings
from tests.judging.core import slow_selection as slow
from tests.judging.core.slow_selection import points
from tests.refusals import refuses

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
    except Refused:
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
    with refuses("selection:too-many-columns"):
        select_by_size(matrix([[1] * 21], [[1] * 21]), most=2)


@given(slow.matrices(columns=(1, 5)))
def test_the_trace_tells_the_best_of_each_size_with_its_metric(tried):
    try:
        found = assess(tried)
    except Refused:
        return
    sizes = select_by_size(tried, most=9)
    assert {step.size: step.subset for step in found.trace} == sizes
    masked = tried.masked()
    for step in found.trace:
        assert step.metric == sum(
            slow.points(masked, row, step.subset) for row in range(tried.rows)
        )
    best = max(step.metric for step in found.trace)
    first = next(step for step in found.trace if step.metric == best)
    assert (found.selection.selected, found.selection.metric) == ((first.subset,), best)


def test_a_beam_tells_the_sizes_that_it_grew_to():
    generator = random.Random(3)
    cells = tuple(tuple(generator.randint(0, 1) for _ in range(22)) for _ in range(3))
    found = assess(matrix(cells, cells))
    assert found.selection.strategy == "beam"
    assert [step.size for step in found.trace] == list(range(1, len(found.trace) + 1))
    assert len(found.trace) < 22
    best = max(found.trace, key=lambda step: step.metric)
    assert (best.subset,) == found.selection.selected


def test_paper_mode_tells_no_sizes():
    settings = SelectionSettings(mode=SelectionMode.PAPER)
    assert assess(matrix([[1, 0]], [[1, 0]]), settings).trace == ()
