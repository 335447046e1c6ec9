from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.splits import (
    Pooling,
    SplitItem,
    SplitSampling,
    SplitSettings,
    is_pooled,
    left_to_test,
    sessions_to_own_parts,
    split,
)
from tests.paths import paper_vectors


def items(count, *, a_session=1):
    """Comparisons 0, 1, … in file order, so many of them in each session."""
    return [
        SplitItem(n, n, f"a{n}", f"b{n}", session=f"s{n // a_session}", key=f"c{n}")
        for n in range(count)
    ]


def split_all(some, **changes):
    """Every comparison has a winner."""
    return split(some, SplitSettings(**changes), winners={item.comparison_id for item in some})


@pytest.mark.parametrize(
    ("count", "dev"),
    [(0, 0), (1, 0), (2, 1), (3, 1), (9, 4), (19, 9), (20, 10), (21, 10), (500, 10)],
)
def test_few_sessions_give_half_of_them_to_dev(count, dev):
    parts = split_all(items(count))
    assert (len(parts.dev), len(parts.test)) == (dev, count - dev)


@given(
    count=st.integers(0, 60),
    a_session=st.integers(1, 4),
    size=st.integers(1, 20),
    seed=st.integers(0, 5),
    winners=st.sets(st.integers(0, 59)),
)
def test_no_session_is_on_both_sides(count, a_session, size, seed, winners):
    some = items(count, a_session=a_session)
    parts = split(some, SplitSettings(size=size, seed=seed), winners=winners)
    session = {item.comparison_id: item.session for item in some}
    dev = [session[key] for key in parts.dev]
    assert len(set(dev)) == len(dev)
    assert set(parts.dev) <= winners
    assert {session[key] for key in parts.test} == set(session.values()) - set(dev)
    assert list(parts.test) == sorted(parts.test)
    assert list(parts.dev) == sorted(parts.dev)


def rank(*keys):
    return int(hashlib.sha256("\x1f".join(keys).encode()).hexdigest(), 16)


def test_sessions_and_their_comparisons_are_drawn_by_the_rank_of_their_keys():
    some = items(40, a_session=2)
    sessions = sorted({item.session for item in some}, key=lambda key: rank("42", key))[:10]
    expected = {
        min(
            (item for item in some if item.session == session),
            key=lambda item: rank("42", item.session, item.key),
        ).comparison_id
        for session in sessions
    }
    assert set(split_all(some).dev) == expected


GOLDEN_DEV = (2, 5, 7, 9, 11, 12, 17, 25, 26, 28)


def test_the_draw_is_the_same_on_every_machine():
    # By hand: the ten of s0 … s29 with the least sha256 of "42\x1fs<n>".
    assert split_all(items(30)).dev == GOLDEN_DEV


def test_whoever_labelled_everything_shares_the_split_and_later_labels_move_it_little():
    some = items(100)
    everything = set(split_all(some).dev)
    early = split(some, SplitSettings(), winners=set(range(60)))
    assert {key for key in everything if key < 60} <= set(early.dev)


def test_sessions_with_ties_alone_are_test():
    parts = split(items(30), SplitSettings(), winners=set(range(20)))
    assert set(range(20, 30)) <= set(parts.test)
    assert len(parts.dev) == 10


@pytest.mark.parametrize("change", [{"seed": 43}, {"size": 11}])
def test_the_draw_depends_on_each_setting(change):
    assert split_all(items(400)).dev != split_all(items(400), **change).dev


def test_repetitions_of_a_turn_and_its_texts_are_in_neither_part():
    repeated = [
        SplitItem(1, 10, "x", "y", "s", "1"),
        SplitItem(2, 10, "y", "x", "s", "2"),
        SplitItem(3, 10, "x", "y", "s", "3"),
        SplitItem(4, 11, "x", "y", "t", "4"),
        SplitItem(5, 12, "x", "z", "u", "5"),
    ]
    parts = split(repeated, SplitSettings(), winners={2, 4})
    assert parts.dev == ()  # of the two sessions one has no winner that stands
    assert parts.test == (1, 4, 5)


def test_texts_that_are_not_available_are_not_known_to_be_equal():
    unknown = [
        SplitItem(1, 10, None, None, "s", "1"),
        SplitItem(2, 10, None, None, "s", "2"),
        SplitItem(3, 10, "x", None, "s", "3"),
    ]
    assert split(unknown, SplitSettings(), winners=()).test == (1, 2, 3)


def test_what_came_later_is_test_except_beside_a_development_pair():
    some = items(40)
    dev = split_all(some).dev
    later = [
        *some,
        SplitItem(40, 40, "a", "b", session=f"s{dev[0]}", key="c40"),
        SplitItem(41, 41, "a", "b", session="new", key="c41"),
    ]
    test = left_to_test(later, dev, SplitSampling.DEFAULT)
    assert 41 in test
    assert 40 not in test
    assert not set(test) & set(dev)


@pytest.mark.parametrize(
    ("sessions", "pooling", "expected"),
    [
        ({}, Pooling.AUTO, False),
        ({1: 3}, Pooling.AUTO, False),  # one scenario is all of them
        ({1: 9, 2: 9, 3: 40}, Pooling.AUTO, True),  # dev 4, 4, 10: median 4
        ({1: 10, 2: 10, 3: 2}, Pooling.AUTO, False),  # dev 5, 5, 1: median 5
        ({1: 8, 2: 12}, Pooling.AUTO, False),  # dev 4, 6: median 5
        ({1: 8, 2: 10}, Pooling.AUTO, True),  # dev 4, 5: median 4.5
        ({1: 40, 2: 0, 3: 0}, Pooling.AUTO, False),  # scenarios with ties alone say nothing
        ({1: 2, 2: 2}, Pooling.SCENARIO, False),
        ({1: 40}, Pooling.ALL, True),
    ],
)
def test_scenarios_with_few_pairs_are_pooled(sessions, pooling, expected):
    assert is_pooled(sessions, pooling, size=10) is expected


def test_a_small_size_asks_for_no_more_pairs_than_itself():
    assert not is_pooled({1: 4, 2: 4}, Pooling.AUTO, size=2)
    assert is_pooled({1: 2, 2: 2}, Pooling.AUTO, size=2)


@pytest.mark.parametrize(
    ("sessions", "expected"),
    [
        ({}, 0),
        ({1: 3}, 0),
        ({1: 10, 2: 10, 3: 2}, 0),
        ({1: 8, 2: 10}, 2),
        ({1: 9, 2: 9, 3: 40}, 1),  # dev 5, 4, 10: median 5
        ({1: 7, 2: 2}, 11),
        ({1: 7, 2: 2, 3: 0}, 11),  # a scenario with ties alone is not waited for
    ],
)
def test_so_many_more_sessions_give_scenarios_parts_of_their_own(sessions, expected):
    assert sessions_to_own_parts(sessions, size=10) == expected


@given(st.dictionaries(st.integers(0, 5), st.integers(0, 30)), st.integers(1, 12))
def test_more_sessions_are_wanted_only_where_scenarios_are_pooled(sessions, size):
    more = sessions_to_own_parts(sessions, size=size)
    assert (more > 0) is is_pooled(sessions, Pooling.AUTO, size=size)
    assert more <= sum(2 * size for count in sessions.values() if count)


def paper(some):
    return split(some, SplitSettings(sampling=SplitSampling.PAPER), winners=())


@pytest.mark.parametrize(
    ("count", "dev"),
    [
        # random.seed(42); random.sample(range(n), 10), computed by hand with CPython.
        (10, (1, 0, 4, 9, 6, 5, 8, 2, 3, 7)),
        (11, (10, 1, 0, 4, 9, 6, 5, 8, 2, 3)),
        (50, (40, 7, 1, 17, 15, 14, 8, 6, 34, 5)),
    ],
)
def test_paper_sampling_draws_as_the_released_code(count, dev):
    parts = paper(items(count, a_session=2))
    assert parts.dev == dev
    assert sorted(parts.dev + parts.test) == list(range(count))  # sessions may be on both sides


def test_paper_sampling_gives_the_released_vectors():
    vectors = paper_vectors()
    for count, dev in vectors["sensejudge_dev_split_indices"].items():
        assert list(paper(items(int(count))).dev) == dev


def test_paper_sampling_loses_no_small_scenario():
    parts = paper(items(9))
    assert (len(parts.dev), len(parts.test)) == (4, 5)


def test_a_size_below_one_is_refused():
    with pytest.raises(ValueError, match="at least one comparison, not 0"):
        SplitSettings(size=0)
