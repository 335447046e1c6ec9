from __future__ import annotations

from dataclasses import replace

import pytest

from judging.core.matrix import Matrix
from judging.core.rules import Combine
from judging.core.selection import assess, held_out_subsets
from judging.core.stand_in import StandInChoice

BASE, STACK, SUBSET = Combine.BASE, Combine.STACK, Combine.SUBSET


def matrix(base, own, *, sources):
    """Two columns that judge both orders alike: the first and the second of each row."""
    rows = tuple((one, two) for one, two in zip(base, own, strict=True))
    return Matrix(rows, rows, sources)


@pytest.mark.parametrize(
    ("base", "own", "accuracies", "beats", "p"),
    [
        # Held out, the second column is selected wherever it is the better one of the others.
        ([0, 0, 0, 0], [1, 1, 1, 1], (1.0, 0.0), True, 2 / 16),
        ([1, 1, 1, 1], [0, 0, 0, 0], (1.0, 1.0), False, 1.0),
        ([1, 1, 1, 0], [1, 1, 1, 0], (0.75, 0.75), False, 1.0),
    ],
)
def test_a_set_is_used_where_it_beats_the_base_judge_on_pairs_held_out(
    base, own, accuracies, beats, p
):
    found = assess(matrix(base, own, sources=(None, None)))
    held_out = found.held_out
    assert (held_out.accuracy, held_out.base_accuracy) == accuracies
    assert found.leave_one_out == accuracies[0]
    assert found.beats_base is beats
    assert held_out.p_over_base(seed=1) == p


@pytest.mark.parametrize(("last", "accuracy", "beats"), [(0, 0.95, False), (1, 1.0, True)])
def test_a_pair_and_a_half_of_ten_is_too_little_and_two_are_enough(last, accuracy, beats):
    base = [1] * 8 + [0] * 2
    original = tuple(zip(base, [1] * 10, strict=True))
    swapped = tuple(zip(base, [1] * 9 + [last], strict=True))
    found = assess(Matrix(original, swapped, (None, None)))
    assert (found.held_out.accuracy, found.held_out.base_accuracy) == (accuracy, 0.8)
    assert found.beats_base is beats


def test_what_stands_in_rests_on_the_same_pairs():
    found = assess(matrix([1] * 7 + [0] * 3, [1] * 9 + [0], sources=(None, None)))
    assert found.stand_in() == StandInChoice(SUBSET, 10, 0.7, 0.9)
    assert found.stand_in([1.0] * 8 + [0.0] * 2) == StandInChoice(BASE, 10, 0.7, 0.9, 0.8)
    voted = found.stand_in([1.0] * 8 + [0.5, 0.5], optimistic=True)
    assert voted == StandInChoice(STACK, 10, 0.7, 0.9, 0.9, optimistic=True)
    # Pairs that the vote has no say in count for nothing else either.
    assert found.stand_in([None] * 6 + [1.0] * 4) == StandInChoice(STACK, 4, 0.25, 0.75, 1.0)
    assert found.stand_in([None] * 10) == StandInChoice(BASE)


def test_a_row_of_which_one_order_has_a_verdict_counts_half():
    own = matrix([0, 0, 0], [1, 1, 1], sources=(None, None))
    found = assess(replace(own, swapped=((None, None), *own.swapped[1:])))
    assert found.held_out.accuracy_of([1.0, 0.0, 0.0]) == 1 / 5


def test_pairs_of_one_session_flip_together():
    """One session gains four points and one two; a row without a verdict is of no session here."""
    found = assess(matrix([0, 0, None, 0], [1, 1, None, 1], sources=(None, None)))
    assert found.held_out.rows == (0, 1, 3)
    assert found.held_out.p_over_base(seed=1) == 2 / 8
    assert found.held_out.p_over_base(seed=1, sessions=["a", "a", "b", "c"]) == 2 / 4


def test_of_one_pair_nothing_is_held_out_and_the_base_judge_stands():
    found = assess(matrix([0], [1], sources=(None, None)))
    assert (found.held_out, found.leave_one_out, found.beats_base) == (None, None, False)
    assert found.stand_in([1.0]) == StandInChoice(BASE)


def test_without_a_column_of_the_base_judge_there_is_nothing_to_beat():
    found = assess(matrix([1, 1], [1, 1], sources=(1, 0)))
    assert found.held_out.base_accuracy is None
    assert found.held_out.p_over_base(seed=1) is None
    assert found.beats_base
    assert found.stand_in() == StandInChoice(BASE)
    assert found.held_out.on({1}).rows == (1,)


def test_a_row_is_held_out_with_the_columns_that_saw_it():
    # The second column is right, but was distilled from the first row.
    taught = matrix([0, 0, 0], [1, 1, 1], sources=(None, 0))
    assert held_out_subsets(taught) == ((0,), (1,), (1,))
    # One that was distilled from all rows is held out of each.
    assert held_out_subsets(matrix([0, 0], [1, 1], sources=(None, "all"))) == ((0,), (0,))


def test_a_row_that_all_columns_saw_has_no_subset():
    assert held_out_subsets(matrix([1, 1], [1, 1], sources=(0, "all"))) == ((), (0,))
