from __future__ import annotations

import pytest

from judging.core.retrieval import build_blocks
from judging.core.satisfaction_curve import curve_sizes, learning_curve
from judging.core.satisfaction_general import GeneralSettings
from judging.core.satisfaction_model import Settings
from tests.judging.core.satisfaction_people import examples, sessions
from tests.refusals import refuses

QUICK = Settings(general=GeneralSettings(trees=2), folds=2)


@pytest.mark.parametrize(
    ("users", "asked", "sizes"),
    [
        (22, (), (4, 8, 12, 16)),
        (5, (), (4,)),
        (112, (), (4, 8, 12, 16, 24, 32, 48, 64)),
        (22, (17, 5, 5, 3, 18), (5, 17)),
    ],
)
def test_sizes_leave_room_for_those_held_out(users, asked, sizes):
    """A quarter is held out: 5 of 22, 1 of 5, 28 of 112."""
    assert curve_sizes(users, asked) == sizes


@pytest.mark.parametrize(("users", "asked"), [(4, ()), (22, (3,)), (22, (22,)), (0, ())])
def test_without_any_size_it_says_why(users, asked):
    with refuses("learned:too-few-ratings", match="a learning curve needs 4 training users"):
        curve_sizes(users, asked)


@pytest.fixture(scope="module")
def curve():
    seen = []
    others = build_blocks(sessions(users=2, seed=9))
    found = learning_curve(
        examples(),
        others,
        sizes=(4, 6),
        draws=2,
        seed=1,
        settings=QUICK,
        observer=seen.append,
    )
    return found, others, seen


def test_every_size_of_a_draw_answers_for_the_same_people(curve):
    found, _others, seen = curve
    assert [(one.users, one.draw) for one in found] == [
        (4, 0),
        (6, 0),
        (4, 1),
        (6, 1),
        (4, 2),
        (8, 2),
    ]
    assert len(seen) == 5
    for draw in (0, 1):
        small, large = (one for one in found if one.draw == draw)
        who = {turn.user for turn in small.held_out}
        assert {turn.block for turn in small.held_out} == {one.block.scenario for one in examples()}
        assert who == {turn.user for turn in large.held_out}
        assert len(who) == 2
        assert [turn.gold for turn in small.held_out] == [turn.gold for turn in large.held_out]
    assert {turn.user for turn in found[0].held_out} != {turn.user for turn in found[2].held_out}


def test_everybody_at_last_held_out_in_groups(curve):
    """8 users in 2 groups: each was predicted by a model of the other 4."""
    found, others, _seen = curve
    own, everyone = found[-2:]
    assert len(own.held_out) == 96
    assert own.others == ()
    assert everyone.held_out == ()
    assert [len(block) for block in everyone.others] == [len(one.targets) for one in others]
    taught = [(one.block.user, one.block.scenario) for one in examples() for _score in one.scores]
    scenarios: dict[tuple[str, str], str] = {}
    for turn, block in zip(own.held_out, taught, strict=True):
        assert turn.user == block[0]
        assert scenarios.setdefault(block, turn.block) == turn.block
    assert len(set(scenarios.values())) == len(scenarios)
    assert all(1 <= score <= 5 for block in everyone.others for score, _expected in block)


def test_the_same_seed_gives_the_same_curve(curve):
    again = learning_curve(examples(), curve[1], sizes=(4, 6), draws=2, seed=1, settings=QUICK)
    assert again == curve[0]


def test_without_others_only_the_held_out_are_predicted():
    found = learning_curve(examples(users=5), sizes=(4,), draws=1, seed=1, settings=QUICK)
    assert [bool(one.others) for one in found] == [False, False]


def test_a_group_that_teaches_nothing_is_left_out():
    """Only one user is ever dissatisfied: a group without them cannot be trained on."""
    made = []
    for one in examples(users=8):
        if one.block.user == "0":
            made.append(one)
        else:
            made.append(
                type(one)(one.block, tuple(5 for _ in one.scores), tuple(None for _ in one.reasons))
            )
    seen = []
    found = learning_curve(made, sizes=(4,), draws=4, seed=3, settings=QUICK, observer=seen.append)
    assert len(seen) == 5
    assert 1 < len(found) < 5
