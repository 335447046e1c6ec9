from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.matrix import Matrix
from judging.core.rules import SelectionMode
from judging.core.selection import assess, select
from judging.core.selection_search import SelectionSettings, Strategy
from tests.judging.core import slow_selection as slow
from tests.refusals import refuses


def matrix(original, swapped=None, sources=None):
    original = tuple(tuple(row) for row in original)
    swapped = original if swapped is None else tuple(tuple(row) for row in swapped)
    return Matrix(original, swapped, sources or (None,) * len(original[0]))


def test_the_best_column_is_selected():
    chosen = select(matrix([[0, 1], [0, 1], [1, 1]]))
    assert chosen.selected == ((1,),)
    assert (chosen.metric, chosen.denominator, chosen.accuracy) == (6, 6, 1.0)
    assert chosen.strategy is Strategy.BEST
    assert (chosen.rows, chosen.columns) == (3, 2)
    assert chosen.settings == SelectionSettings()


def test_a_majority_may_beat_every_member():
    # Each column is right on two of three rows, the three together on all.
    chosen = select(matrix([[1, 1, 0], [1, 0, 1], [0, 1, 1]]))
    assert (chosen.selected, chosen.accuracy) == (((0, 1, 2),), 1.0)


def test_an_even_split_scores_one_half():
    # {0, 1}: 1/2 + 1/2 in each order; nothing beats a single column's one row of two.
    chosen = select(matrix([[1, 0], [0, 1]]))
    assert (chosen.selected, chosen.metric, chosen.denominator) == (((0,),), 2, 4)


def test_of_equals_the_smallest_then_the_first():
    chosen = select(matrix([[0, 1, 0, 1]]))
    assert chosen.selected == ((1,),)
    pairs = select(
        matrix([[1, 1, 1, None], [None, None, None, 1]], [[None, None, None, 1], [1, 1, 1, None]])
    )
    assert pairs.selected == ((0, 3),)


def test_a_silent_subset_scores_nothing_and_the_denominator_stays():
    chosen = select(matrix([[1, None], [1, 1], [None, 0]], [[1, 0]] * 3))
    # {0}: original 1, 1, silent; swapped 1, 1, 1: 5 of 6. {0, 1} splits four ways: 2 + 3/2 = 3.5.
    assert (chosen.selected, chosen.metric, chosen.denominator) == (((0,),), 5, 6)


def test_an_order_nobody_judged_is_not_in_the_denominator():
    assert select(matrix([[1], [1]], [[None], [0]])).denominator == 3


def test_a_columns_own_pair_does_not_count():
    # Column 1 is perfect, on its own pair too; without that cell it is right once of twice.
    leaking = matrix([[0, 1], [1, 1]], sources=(None, 0))
    assert select(leaking).selected == ((0,),)
    assert select(leaking).metric == 2
    assert select(matrix([[0, 1], [1, 1]])).selected == ((1,),)


def test_the_aggregate_is_eligible_only_when_asked_for():
    seen = matrix([[0, 1]], sources=(None, "all"))
    assert select(seen).selected == ((0,),)
    asked = SelectionSettings(aggregate_eligible=True)
    assert select(seen, asked).selected == ((1,),)
    assert select(seen, asked).settings is asked


@pytest.mark.parametrize("mode", list(SelectionMode))
def test_without_a_verdict_there_is_nothing_to_select(mode):
    with refuses("selection:no-verdict", match="no comparison has a verdict"):
        select(matrix([[None, None]]), SelectionSettings(mode=mode))


def test_masking_may_leave_nothing():
    with refuses("selection:no-verdict", match="no comparison"):
        assess(matrix([[1]], sources=(0,)))


def test_the_aggregate_alone_cannot_be_selected():
    with refuses("selection:no-verdict", match="no column"):
        select(matrix([[1]], sources=("all",)))


@given(slow.matrices())
def test_it_equals_the_plain_search(tried):
    masked = tried.masked()
    columns = slow.eligible(tried)
    everything = range(tried.rows)
    if not columns or not slow.voiced(masked, everything):
        with refuses("selection:no-verdict"):
            select(tried)
        return
    chosen = select(tried)
    metric, subset = slow.best(masked, everything, columns)
    assert (chosen.metric, chosen.selected) == (metric, (subset,))
    assert chosen.denominator == slow.voiced(masked, everything)


@given(slow.matrices(columns=(1, 6), empty=False), st.randoms())
def test_the_order_of_the_rows_does_not_matter(tried, shuffler):
    plain = Matrix(tried.original, tried.swapped, (None,) * tried.columns)
    order = list(range(tried.rows))
    shuffler.shuffle(order)
    shuffled = Matrix(
        tuple(tried.original[row] for row in order),
        tuple(tried.swapped[row] for row in order),
        plain.sources,
    )
    assert select(shuffled) == select(plain)


@given(slow.matrices(empty=False))
def test_the_two_orders_weigh_alike(tried):
    plain = Matrix(tried.original, tried.swapped, (None,) * tried.columns)
    turned = Matrix(tried.swapped, tried.original, plain.sources)
    assert select(turned) == select(plain)
