from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.assignment import (
    Progress,
    draw_evenly,
    free_slot,
    lease_end,
    renewal_seconds,
    study_order,
)
from annotation.core.splits import SplitItem, SplitSettings, split


def test_a_lease_runs_for_the_study_s_minutes():
    now = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
    assert lease_end(now, 15) == datetime(2026, 11, 21, 12, 15, tzinfo=UTC)


@pytest.mark.parametrize(("minutes", "seconds"), [(1, 20), (9, 180), (15, 300), (600, 300)])
def test_a_lease_is_renewed_well_before_it_ends(minutes, seconds):
    assert renewal_seconds(minutes) == seconds


@pytest.mark.parametrize(
    ("taken", "overlap", "slot"),
    [((), 1, 0), ((0,), 1, None), ((0,), 2, 1), ((1,), 2, 0), ((0, 2), 3, 1), ((0, 1, 2), 3, None)],
)
def test_the_lowest_free_slot_is_given(taken, overlap, slot):
    assert free_slot(taken, overlap) == slot


def test_progress_counts_what_is_done_and_what_is_left():
    assert Progress(done=3, skipped=2, left=5).total == 10


@given(st.lists(st.tuples(st.integers(0, 9), st.integers()), unique=True))
def test_a_study_gives_out_every_target_once_whatever_the_order_of_the_file(pairs):
    targets = [(pair, f"s{pair[0]}", f"c{pair[1]}") for pair in pairs]
    order = study_order(targets)
    assert sorted(order) == sorted(pairs)
    assert study_order(reversed(targets)) == order


def test_every_sessions_first_comparison_comes_before_any_second():
    targets = [((session, n), f"s{session}", f"c{n}") for session in range(9) for n in range(3)]
    order = study_order(targets)
    rounds = [[session for session, _ in order[start : start + 9]] for start in (0, 9, 18)]
    assert rounds[0] == rounds[1] == rounds[2]
    assert sorted(rounds[0]) == list(range(9))


def test_it_is_the_order_in_which_splits_draw_sessions():
    items = [SplitItem(n, n, f"a{n}", f"b{n}", f"s{n}", "c") for n in range(40)]
    dev = split(items, SplitSettings(), winners=set(range(40))).dev
    order = study_order([(n, f"s{n}", "c") for n in range(40)])
    assert set(order[:10]) == set(dev)


STRATA = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=30)


def is_level(drawn, offered):
    """Whether strata differ by at most one, but for those that are used up."""
    open_ones = [drawn[each] for each in offered if drawn[each] < offered[each]]
    return all(count <= floor + 1 for floor in open_ones for count in drawn.values())


@given(STRATA, st.integers(0, 30))
def test_a_draw_is_level_in_both_strata_as_far_as_the_items_allow(strata, size):
    drawn = draw_evenly(list(zip(strata, strata, strict=True)), size)
    assert len(drawn) == min(size, len(strata))
    assert not Counter(drawn) - Counter(strata)
    assert is_level(Counter(a for a, _ in drawn), Counter(a for a, _ in strata))
    for outer in "abc":
        inner = [pair for pair in drawn if pair[0] == outer]
        assert is_level(Counter(inner), Counter(pair for pair in strata if pair[0] == outer))


def drawn_by_looking_at_all(strata, size, drawn):
    """The rule as it is said: before each draw every stratum is looked at."""
    left = list(range(len(strata)))
    counts, named, taken = Counter(), Counter(), []

    def count(own):
        counts.update([own[:1], own])
        named.update(enumerate(own))

    for own in drawn:
        count(own)
    for _draw in range(size):
        chosen = ()
        while len(chosen) < 2:
            depth = len(chosen)
            first = {}
            for place in left:
                if strata[place][:depth] == chosen:
                    first.setdefault(strata[place][: depth + 1], place)
            said = {own: (counts[own], named[depth, own[-1]], first[own]) for own in first}
            chosen = min(said, key=said.get)
        taken.append(next(place for place in left if strata[place] == chosen))
        left.remove(taken[-1])
        count(chosen)
    return taken


@given(STRATA, st.integers(0, 30), STRATA)
def test_a_draw_is_as_if_all_strata_were_looked_at_before_each(strata, size, before):
    items = list(enumerate(strata))
    if size < len(items):
        wanted = drawn_by_looking_at_all(strata, size, before)
        assert draw_evenly(items, size, drawn=before) == wanted


def test_without_strata_the_first_items_are_drawn():
    assert draw_evenly([(number, ()) for number in range(9)], 4) == [0, 1, 2, 3]


def test_what_was_drawn_before_counts_and_names_are_spread_over_the_whole():
    items = [(f"{a}{x}{n}", (a, x)) for a in "ab" for x in "xyz" for n in range(3)]
    assert draw_evenly(items, 6) == ["ax0", "by0", "az0", "bx0", "ay0", "bz0"]
    assert draw_evenly(items, 2, drawn=[("a", "x"), ("a", "y")]) == ["bz0", "bx0"]
