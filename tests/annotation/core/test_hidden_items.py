from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotation.core.choices import StudyKind
from annotation.core.hidden_items import (
    PlannedItem,
    PlannedKind,
    Rates,
    ShownItem,
    due_repeat,
    gap_of,
    left_repeats,
    plan_items,
)


def plan_of(targets, *, gold=0.0, repeats=0.0, candidates=None, gap=10, seed=1):
    wanted = range(targets)
    return plan_items(
        wanted,
        frozenset(wanted) if candidates is None else candidates,
        rates=Rates(gold, repeats),
        gap=gap,
        seed=seed,
    )


def places(plan, kind):
    return [place for place, each in enumerate(plan) if each.kind is kind]


@st.composite
def studies(draw):
    """Sizes and rates at which both rates can be met: at most half of a plan is hidden."""
    gap = draw(st.integers(1, 12))
    targets = draw(st.integers(8 * gap, 20 * gap + 100))
    gold = draw(st.floats(0, 0.25))
    return {
        "targets": targets,
        "gold": gold,
        "repeats": draw(st.floats(0, 0.25)),
        "gap": gap,
        "seed": draw(st.integers(0, 2**32)),
    }


def test_a_plan_without_rates_is_the_order_as_it_was():
    assert plan_of(3) == [PlannedItem(target, PlannedKind.NORMAL) for target in range(3)]


def test_an_empty_study_has_an_empty_plan():
    assert plan_of(0, gold=0.5, repeats=0.5) == []


@given(studies())
def test_rates_are_met_within_one_item(study):
    plan = plan_of(**study)
    kinds = Counter(each.kind for each in plan)
    assert abs(kinds[PlannedKind.GOLD] - study["gold"] * len(plan)) <= 1
    assert abs(kinds[PlannedKind.REPEAT] - study["repeats"] * len(plan)) <= 1


@given(
    st.integers(0, 60),
    st.floats(0, 0.5),
    st.floats(0, 0.5),
    st.integers(1, 15),
    st.integers(0, 2**32),
    st.sets(st.integers(0, 59)),
)
def test_whatever_is_asked_the_plan_is_sound(targets, gold, repeats, gap, seed, candidates):
    known = {each for each in candidates if each < targets}
    plan = plan_of(targets, gold=gold, repeats=repeats, candidates=known, gap=gap, seed=seed)
    firsts = [each.target for each in plan if each.kind is not PlannedKind.REPEAT]
    assert sorted(firsts) == list(range(targets))
    assert {plan[place].target for place in places(plan, PlannedKind.GOLD)} <= known
    repeated = [each.first for each in plan if each.kind is PlannedKind.REPEAT]
    assert len(set(repeated)) == len(repeated)
    for place, each in enumerate(plan):
        if each.kind is PlannedKind.REPEAT:
            assert each.first is not None
            assert plan[each.first] == PlannedItem(each.target, PlannedKind.NORMAL)
            assert place - each.first >= gap
        else:
            assert each.first is None


@given(studies())
@settings(max_examples=25)
def test_the_same_seed_gives_the_same_plan(study):
    assert plan_of(**study) == plan_of(**study)


def test_another_seed_gives_another_plan():
    assert plan_of(100, gold=0.1, repeats=0.1) != plan_of(100, gold=0.1, repeats=0.1, seed=2)


def test_as_many_gold_items_as_there_are_candidates():
    plan = plan_of(100, gold=0.2, candidates={3, 5, 8})
    assert {plan[place].target for place in places(plan, PlannedKind.GOLD)} == {3, 5, 8}


def test_normal_items_keep_their_order():
    plan = plan_of(60, gold=0.2, repeats=0.2)
    normal = [plan[place].target for place in places(plan, PlannedKind.NORMAL)]
    assert normal == sorted(normal)


@pytest.mark.parametrize("seed", range(20))
def test_gold_is_spread_evenly_and_not_clumped(seed):
    """200 items, 20 gold: one in every stretch of 10, so a gap is 1 to 19 and three never meet."""
    found = places(plan_of(200, gold=0.1, seed=seed), PlannedKind.GOLD)
    assert [place // 10 for place in found] == list(range(20))
    assert max(later - earlier for earlier, later in pairwise(found)) < 20


def test_no_place_tells_gold():
    """Over 2,000 seeds each of the 10 places of a stretch is gold in 160 to 240 of them: the
    expectation is 200 with a standard deviation of 13.4, and 3 of those are 40."""
    counts = Counter(
        places(plan_of(20, gold=0.1, seed=seed), PlannedKind.GOLD)[0] for seed in range(2000)
    )
    assert set(counts) == set(range(10))
    assert all(160 <= count <= 240 for count in counts.values())


def test_repeats_come_after_gaps_of_many_lengths():
    plan = plan_of(400, repeats=0.2)
    gaps = Counter(place - each.first for place, each in enumerate(plan) if each.first is not None)
    assert len(gaps) >= 15
    assert min(gaps) >= 10
    assert max(gaps) <= 30


def test_a_repeat_goes_back_further_where_all_in_reach_have_one():
    """With a gap of 1 and half of all items repeats, some must reach back more than 3 places."""
    plan = plan_of(30, repeats=0.5, gap=1, seed=3)
    gaps = [place - each.first for place, each in enumerate(plan) if each.first is not None]
    assert max(gaps) > 3


def test_a_study_too_short_for_the_gap_repeats_nothing():
    assert not places(plan_of(12, repeats=0.25), PlannedKind.REPEAT)


def test_gold_alone_leaves_no_first_to_repeat():
    """Half gold and half repeats of 40 targets would be 80 items, 40 gold: nothing is normal."""
    plan = plan_of(40, gold=0.5, repeats=0.5, gap=4)
    firsts = {each.first for each in plan if each.kind is PlannedKind.REPEAT}
    assert all(plan[first].kind is PlannedKind.NORMAL for first in firsts)
    assert len(firsts) < 40


FIRST = ShownItem(item=7, place=2, repeat=99, repeat_place=5)


@pytest.mark.parametrize(
    ("since", "due"),
    [(0, None), (1, None), (2, 99), (3, 99)],
    ids=["at once", "too early", "as planned", "late"],
)
def test_a_repeat_is_due_after_as_many_items_as_planned(since, due):
    """Places 3 and 4 lie between 2 and 5, so two items come in between."""
    others = [ShownItem(item=100 + number, place=50 - number) for number in range(since)]
    assert due_repeat([*others, FIRST]) == due


def test_of_several_due_the_first_in_the_plan_comes():
    later = ShownItem(item=8, place=1, repeat=98, repeat_place=3)
    others = [ShownItem(item=number, place=number) for number in range(20, 25)]
    assert due_repeat([*others, FIRST, later]) == 98


def test_nothing_given_nothing_due():
    assert due_repeat([]) is None
    assert left_repeats([], gap=4) == []


def test_an_item_with_two_repeats_counts_once():
    twice = ShownItem(item=20, place=9, repeat=97, repeat_place=40)
    again = ShownItem(item=20, place=9, repeat=96, repeat_place=60)
    assert due_repeat([twice, again, FIRST]) is None
    assert due_repeat([ShownItem(item=21, place=10), twice, again, FIRST]) == 99


def test_at_the_end_repeats_come_that_keep_the_gap():
    other = ShownItem(item=8, place=3, repeat=98, repeat_place=40)
    done = [ShownItem(item=20, place=9), other, ShownItem(item=21, place=10), FIRST]
    assert left_repeats(done, gap=4) == [99]
    assert left_repeats(done, gap=2) == [99, 98]
    assert left_repeats(done, gap=5) == []


def test_conversations_that_are_held_have_the_gap_of_pairs():
    assert [gap_of(each) for each in StudyKind] == [10, 4, 10]
