from __future__ import annotations

import random
from unittest.mock import patch

import pytest
from hypothesis import given

from judging.core.matrix import Matrix
from judging.core.selection import assess, select
from judging.core.selection_search import Beam, Exhaustive
from tests.judging.core import slow_selection as slow


def chosen_by(search):
    choice = search.choose()
    assert choice is not None
    return choice


def wide(rows, columns, *, seed=1, sources=None):
    generator = random.Random(seed)

    def cells():
        return tuple(
            tuple(generator.choice([0, 1, 1, None]) for _ in range(columns)) for _ in range(rows)
        )

    return Matrix(cells(), cells(), sources or (None,) * columns)


@given(slow.matrices(columns=(1, 4)))
def test_a_beam_that_holds_every_subset_is_exact(tried):
    # At most C(4, 2) = 6 subsets of a size: nothing is dropped, and patience is not what is tried.
    columns = range(tried.columns)
    if not slow.voiced(tried, range(tried.rows)):
        return
    beam, exact = Beam(tried, columns), Exhaustive(tried, columns)
    with patch("judging.core.selection_search.PATIENCE", tried.columns):
        found = chosen_by(beam)
    best = chosen_by(exact)
    assert (found.metric, found.denominator) == (best.metric, best.denominator)
    assert len(found.subsets[0]) <= len(best.subsets[0]) + 1
    for row in range(tried.rows):
        assert beam.points_on(row, found) == slow.points(tried, row, found.subsets[0])


def test_above_twenty_columns_it_is_a_beam_and_says_so():
    tried = wide(8, 21)
    chosen = select(tried)
    assert chosen.strategy == "beam"
    assert chosen.metric == sum(slow.points(tried, row, chosen.selected[0]) for row in range(8))
    best_single = max(slow.best(tried, range(8), [column])[0] for column in range(21))
    assert chosen.metric >= best_single


def test_twenty_one_columns_with_the_aggregate_are_searched_exactly():
    assert select(wide(4, 21, sources=(None,) * 20 + ("all",))).strategy == "best"


def test_the_beam_finds_what_the_exact_search_finds_on_real_sizes():
    tried = wide(10, 12, seed=4)
    exact = chosen_by(Exhaustive(tried, range(12)))
    assert chosen_by(Beam(tried, range(12))).metric == exact.metric


def test_trust_is_computed_with_the_beam_too():
    found = assess(wide(3, 21))
    assert found.null.flips == 8
    assert found.null.p_value == pytest.approx(
        sum(
            select(turned).metric >= found.selection.metric
            for turned in slow.all_flips(wide(3, 21))
        )
        / 8
    )
    assert found.leave_one_out is not None
    assert 0 <= found.leave_one_out <= 1


def test_a_fold_may_leave_the_beam_nothing():
    tried = wide(2, 21, sources=(0,) * 21)
    search = Beam(tried.masked(), range(21))
    assert search.choose(without_row=0, without_columns=range(21)) is None
    silent = Matrix(((None,) * 2,), ((None,) * 2,), (None, None))
    assert chosen_by(Beam(silent, range(2))).accuracy == 0.0
    assert chosen_by(Exhaustive(silent, range(2))).accuracy == 0.0


def test_it_stops_at_the_last_column():
    # Every further column helps: three rows, each known to one column alone.
    cells = ((1, None, None), (None, 1, None), (None, None, 1))
    found = chosen_by(Beam(Matrix(cells, cells, (None,) * 3), range(3)))
    assert (found.subsets, found.metric) == (((0, 1, 2),), 6)
