"""Selecting columns of a judge that is read by l*: subsets are averaged, not counted."""

from __future__ import annotations

from unittest.mock import patch

import pytest
from hypothesis import given

from judging.core.rules import SelectionMode
from judging.core.selection import assess, select
from judging.core.selection_search import Beam, Exhaustive, SelectionSettings
from tests.judging.core import slow_selection as slow
from tests.refusals import refuses


def test_one_strong_member_outweighs_two_weak_ones():
    # Counted, {0, 1, 2} would be wrong on both rows; averaged it is right: 2.0 - .5 - .5 > 0.
    chosen = select(slow.of_log_odds([[2.0, -0.5, -0.5], [2.0, -0.5, -0.5]]))
    assert (chosen.selected, chosen.accuracy) == (((0,),), 1.0)
    search = Exhaustive(slow.of_log_odds([[2.0, -0.5, -0.5]]), range(3))
    (step,) = [step for step in search.trace() if step.size == 3]
    assert step.metric == 2


def test_log_odds_that_cancel_are_a_tie_although_their_sum_is_not_quite_zero():
    assert 0.1 + 0.2 - 0.3 != 0
    search = Exhaustive(slow.of_log_odds([[0.1, 0.2, -0.3]]), range(3))
    assert [step.metric for step in search.trace()] == [2, 2, 1]


@given(slow.matrices_of_log_odds())
def test_it_equals_the_plain_search(tried):
    seen = tried.masked()
    rows, columns = range(tried.rows), slow.eligible(seen)
    if not slow.voiced(seen, rows) or not columns:
        return
    chosen = select(tried)
    score, subset = slow.best(seen, rows, columns)
    assert (chosen.selected, chosen.metric) == ((subset,), score)
    assert chosen.denominator == slow.voiced(seen, rows)


@given(slow.matrices_of_log_odds(rows=(2, 3), columns=(1, 4)))
def test_leave_one_out_and_the_null_equal_the_plain_ones(tried):
    seen = tried.masked()
    rows, columns = range(tried.rows), slow.eligible(seen)
    if not slow.voiced(seen, rows) or not columns:
        return
    found = assess(tried)
    assert found.leave_one_out == slow.leave_one_out(seen)
    null = [slow.best(flip, rows, columns)[0] for flip in slow.all_flips(seen)]
    reached = sum(one >= found.selection.metric for one in null)
    assert found.null.p_value == reached / len(null)


@given(slow.matrices_of_log_odds(columns=(1, 4)))
def test_a_beam_that_holds_every_subset_is_exact(tried):
    columns = range(tried.columns)
    if not slow.voiced(tried, range(tried.rows)):
        return
    beam, exact = Beam(tried, columns), Exhaustive(tried, columns)
    with patch("judging.core.selection_search.PATIENCE", tried.columns):
        found = beam.choose()
    best = exact.choose()
    assert (found.metric, found.denominator) == (best.metric, best.denominator)
    for row in range(tried.rows):
        assert beam.points_on(row, found) == slow.points(tried, row, found.subsets[0])


def test_the_paper_s_rules_do_not_combine_with_it():
    with refuses("vote:by-log-odds"):
        select(slow.of_log_odds([[1.0]]), SelectionSettings(mode=SelectionMode.PAPER))


@pytest.mark.parametrize("columns", [21, 30])
def test_above_twenty_columns_it_is_a_beam(columns):
    tried = slow.of_log_odds([[1.0] * columns, [-0.5] * (columns - 1) + [3.0]])
    chosen = select(tried)
    assert (chosen.strategy, chosen.accuracy) == ("beam", 1.0)
