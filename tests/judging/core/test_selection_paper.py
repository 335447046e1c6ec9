from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judging.core.matrix import Matrix
from judging.core.rules import SelectionMode
from judging.core.selection import assess, select
from judging.core.selection_paper import PaperSearch
from judging.core.selection_search import SelectionSettings
from tests.judging.core import slow_selection as slow
from tests.paths import paper_vectors
from tests.refusals import refuses

PAPER = SelectionSettings(mode=SelectionMode.PAPER)
PENALTY = SelectionSettings(mode=SelectionMode.PAPER, difference_penalty=True)


def plain(original, swapped):
    return Matrix(
        tuple(tuple(row) for row in original),
        tuple(tuple(row) for row in swapped),
        (None,) * len(original[0]),
    )


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("sensejudge_select_plain", PAPER),
        ("sensejudge_select_with_difference", PENALTY),
        ("sensejudge_select_inverted", PAPER),
    ],
)
def test_it_gives_the_released_vectors(name, settings):
    vector = paper_vectors()[name]
    chosen = select(plain(vector["matrix_false"], vector["matrix_true"]), settings)
    assert [[list(some), chosen.metric] for some in chosen.selected] == vector["selected"]
    assert chosen.strategy == vector["strategy"]


def test_an_even_split_goes_to_the_response_shown_first():
    # {0, 1} splits everywhere: all three rows of the original order, none of the swapped.
    chosen = select(plain([[1, 0]] * 3, [[0, 1]] * 3), PAPER)
    assert (chosen.selected, chosen.metric, chosen.accuracy) == (((0,), (1,), (0, 1)), 3, 0.5)


def test_the_penalty_takes_off_the_gap_between_the_orders():
    # {0}: 3 + 2 - 1 = 4; {1}: 3 + 0 - 3 = 0; {0, 1}: original 3, swapped 0: 0.
    chosen = select(plain([[1, 1]] * 3, [[1, 0], [1, 0], [0, 0]]), PENALTY)
    assert (chosen.selected, chosen.metric, chosen.accuracy) == (((0,),), 4, 5 / 6)


def test_a_bad_worst_is_inverted():
    # {0} is always wrong: its complement, 4 of 4, beats the best (1, column 1).
    chosen = select(plain([[0, 0], [0, 0]], [[0, 0], [0, 1]]), PAPER)
    # {0, 1} is as bad: its split in the swapped order goes to the response shown first.
    assert (chosen.selected, chosen.strategy) == (((0,), (0, 1)), "inverted_worst")
    assert (chosen.metric, chosen.accuracy) == (4, 1.0)


def test_a_worst_that_nobody_heard_has_no_accuracy():
    # {1} is silent everywhere: score 0, so 2 - 0 beats the best metric, 1.
    chosen = select(plain([[1, None]], [[0, None]]), PAPER)
    assert (chosen.selected, chosen.strategy) == (((1,),), "inverted_worst")
    assert (chosen.metric, chosen.denominator, chosen.accuracy) == (2, 2, 0.0)


def test_more_than_twenty_columns_are_refused():
    with refuses("selection:too-many-columns", match="at most 20 columns, not 21"):
        select(plain([[1] * 21], [[1] * 21]), PAPER)


def test_a_search_without_columns_chooses_nothing():
    search = PaperSearch(plain([[1]], [[1]]), difference_penalty=False)
    assert search.choose(without_columns=[0]) is None


@given(slow.matrices(), st.booleans())
def test_it_equals_the_plain_search(tried, penalty):
    settings = PENALTY if penalty else PAPER
    if not slow.voiced(tried, range(tried.rows)):
        with refuses("selection:no-verdict"):
            select(tried, settings)
        return
    chosen = select(tried, settings)
    kept, metric, heard, strategy, accuracy = slow.paper(
        tried, range(tried.rows), range(tried.columns), penalty=penalty
    )
    assert list(chosen.selected) == kept
    assert (chosen.metric, chosen.denominator, chosen.strategy) == (metric, heard, strategy)
    assert chosen.accuracy == pytest.approx(accuracy)


@given(slow.matrices(), st.booleans())
def test_trust_equals_the_plain_computation(tried, penalty):
    if not slow.voiced(tried, range(tried.rows)):
        return
    found = assess(tried, PENALTY if penalty else PAPER)
    columns = range(tried.columns)
    null = [
        slow.paper(turned, range(tried.rows), columns, penalty=penalty)[1]
        for turned in slow.all_flips(tried)
    ]
    reached = sum(metric >= found.selection.metric for metric in null)
    assert found.null.p_value == pytest.approx(reached / len(null))
    assert found.leave_one_out == pytest.approx(slow.paper_leave_one_out(tried, penalty=penalty))
