from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.core.choices import Verdict
from judging.core.rules import StackWay
from judging.core.runs import AppliedPlan, DistilPlan, OtherJudge, WeightedWay

A, B = Verdict.A, Verdict.B
BARE = AppliedPlan(scenario_id=1, scenario="s", winners=((11, A), (10, B)), ties=0, base=1)
FULL = replace(
    BARE,
    selected=(2, 3, 4),
    shuffled=(5, 2),
    more_shuffled=((6,), ()),
    stack=7,
    unscored=(12,),
    learned_from=(10,),
)
WAYS = (
    WeightedWay(StackWay.BASE, 0.25, (1,)),
    WeightedWay(StackWay.SELECTED, 0.75, (2, 3)),
)


def test_without_a_set_no_subset_is_applied():
    assert BARE.subsets == ()
    assert BARE.draws == ()


@pytest.mark.parametrize(
    ("tied", "subsets"),
    [((), ((2, 3, 4),)), ((0b011, 0b100), ((2, 3), (4,)))],
)
def test_the_selected_set_is_applied_or_all_that_are_tied(tied, subsets):
    assert replace(FULL, tied=tied).subsets == subsets


def test_each_draw_of_the_control_has_its_set():
    assert FULL.draws == ((5, 2), (6,), ())


def test_a_control_is_used_in_the_way_of_what_stands_in():
    by_set = replace(FULL, stack=None)
    assert by_set.control == FULL.draws  # sets beside a set
    assert FULL.control == ()  # sets are none beside a vote
    assert replace(FULL, shuffled_votes=True).control == FULL.draws
    assert replace(by_set, shuffled_votes=True).control == ()
    # Beside the base judge there is nothing to hold against it.
    assert replace(by_set, selected=(FULL.base,)).control == ()
    assert replace(by_set, selected=None).control == ()


def test_a_control_of_ways_is_computed_from_them():
    plan = replace(FULL, stack=9, shuffled=(8,), shuffled_votes=True, shuffled_ways=WAYS)
    assert 8 not in plan.preferences
    assert (8, WAYS, plan.comparisons) in list(plan.votes())


def test_fresh_comparisons_are_those_that_nothing_was_learned_from():
    assert FULL.comparisons == (11, 10, 12)
    assert FULL.fresh == (11, 12)


def test_every_preference_is_asked_once_with_the_base_judge_first():
    assert BARE.preferences == (1,)
    assert FULL.preferences == (1, 2, 3, 4, 7, 5, 6)
    # A weighted vote is computed from its ways: nobody is asked under its own text.
    assert replace(FULL, ways=WAYS).preferences == (1, 2, 3, 4, 5, 6)


def test_others_judge_the_labelled_comparisons_that_they_were_not_learned_from():
    plain = OtherJudge(8, (20,), learned_from=(10,))
    stacked = OtherJudge(9, (30,), learned_from=(), ways=WAYS)
    assert (plain.asked, stacked.asked) == ((20,), (1, 2, 3))
    plan = replace(BARE, unscored=(12,), others=(plain, stacked))
    assert list(plan.cells()) == [(11, (1, 20, 2, 3)), (10, (1, 2, 3)), (12, (1,))]


def test_weighted_votes_are_computed_of_those_who_have_ways():
    plain, stacked = OtherJudge(8, (20,), ()), OtherJudge(9, (30,), (10,), WAYS)
    assert list(replace(FULL, others=(plain,)).votes()) == []
    assert list(replace(FULL, ways=WAYS, others=(plain, stacked)).votes()) == [
        (7, WAYS, (11, 10, 12)),
        (30, WAYS, frozenset({11})),
    ]


def test_flipped_labels_are_those_of_any_draw_in_file_order():
    plan = DistilPlan(
        scenario_id=1,
        scenario="s",
        dev=(5, 3, 9),
        winners=((5, A), (3, B), (9, A)),
        shuffled=((5, A), (3, A), (9, A)),
        dev_ties=0,
        test_winners=(),
        test_ties=0,
        more_shuffled=(((5, B), (3, A), (9, A)),),
    )
    assert plan.draws == (plan.shuffled, *plan.more_shuffled)
    assert plan.flipped == ((5, B), (3, A))
    without = replace(plan, shuffled=(), more_shuffled=())
    assert (without.draws, without.flipped) == (((),), ())
