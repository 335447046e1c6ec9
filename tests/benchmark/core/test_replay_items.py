"""Which turns are replayed; the points and quotas are those of protocols B 2.2."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from annotation.core.refusals import Refused
from benchmark.core.replay_items import (
    ItemRule,
    ReplaySelection,
    ReplayTurn,
    chosen_turns,
    frozen_turns,
    hard_points,
    is_substantive,
    items_named,
)

ASKS = "Please plan two days in Beijing"  # 20 characters or more, and more than small talk


def turn(user=0, scenario="trip", session="s", position=1, request=ASKS, score=4, reason=None):
    return ReplayTurn(user, scenario, session, position, request, score, reason)


@pytest.mark.parametrize(
    ("word", "choice"),
    [
        ("all", ReplaySelection(ItemRule.ALL)),
        ("sample:20", ReplaySelection(ItemRule.SAMPLE, 20)),
        ("hard", ReplaySelection(ItemRule.HARD, 300)),
        ("hard:30", ReplaySelection(ItemRule.HARD, 30)),
        ("version:v-1", ReplaySelection(ItemRule.VERSION, version="v-1")),
    ],
)
def test_an_argument_names_a_choice(word, choice):
    assert items_named(word) == choice
    assert items_named(choice.word) == choice


@pytest.mark.parametrize(
    "word", ["", "sample", "sample:0", "sample:x", "soft:3", "all:3", "version:"]
)
def test_other_words_name_none(word):
    with pytest.raises(Refused, match="items are one of"):
        items_named(word)


@pytest.mark.parametrize(
    ("request_text", "expected"),
    [
        ("谢谢！", False),
        ("好的，谢谢你", False),
        ("OK thanks", False),
        ("…", False),
        ("", False),
        ("好的，那第二天呢？", True),
        ("Thanks, but cheaper", True),
        ("预算3000", True),
    ],
)
def test_small_talk_asks_for_nothing(request_text, expected):
    assert is_substantive(request_text) is expected


@pytest.mark.parametrize(
    ("given", "points"),
    [
        # 3 for <= 3, 2 for 3 or 4, 1.5 for a specific reason, 1 for asking, 1 for its length.
        (turn(score=3, reason=Reason.UNUSABLE), 3 + 2 + 1.5 + 1 + 1),
        (turn(score=1, reason=Reason.OTHER), 3 + 1 + 1),
        (turn(score=2, reason=Reason.NOT_RECORDED, request="Cheaper"), 3 + 1),
        (turn(score=4), 2 + 1 + 1),
        (turn(score=5), 1 + 1 - 0.5),
        (turn(score=3, request="Thanks"), 3 + 2 - 1.5),
        (turn(score=4, request="Thanks"), None),
        (turn(score=None), None),
        (turn(score=3, position=0), None),
    ],
)
def test_points(given, points):
    assert hard_points(given) == points


def places(turns, size=300):
    return chosen_turns(turns, ReplaySelection(ItemRule.HARD, size), seed=0)


def test_the_hard_selection_keeps_its_limits():
    same_session = [turn(position=at, score=at) for at in (1, 2, 3)]
    assert places(same_session) == [2]  # the 3 has 2 points more
    a_block = [turn(session=f"s{at}", score=3) for at in range(5)]
    assert places(a_block) == [0, 1, 2]
    both_best = [turn(session=f"s{at}", score=5) for at in range(2)]
    assert places(both_best) == [0]
    assert places([*both_best, turn(session="s9", score=4)]) == [0, 2]


def test_every_user_comes_first_then_the_quotas():
    """Quotas of 30 of 300: 2 of the ones, 5 of the twos, 7 of the fours; threes have most."""
    turns = [
        turn(user=score * 100 + at, session=f"{score}{at}", score=score)
        for score in (1, 2, 3, 4)
        for at in range(30)
    ]
    # One user each: everybody's best comes first, so points alone decide.
    assert {turns[at].score for at in places(turns, size=30)} == {3}
    of_one = [each._replace(user=0, scenario=each.session) for each in turns]
    drawn = [of_one[at].score for at in places(of_one, size=30)]
    # A three is the user's best; the quotas take 2, 5 and 7; the other 15 are threes again.
    assert {score: drawn.count(score) for score in (1, 2, 3, 4)} == {1: 2, 2: 5, 3: 16, 4: 7}
    assert len(places(of_one)) == 120


def test_a_choice_of_all_takes_all():
    assert chosen_turns([turn(), turn(score=None)], ReplaySelection(ItemRule.ALL), seed=1) == [0, 1]


@given(scores=st.lists(st.integers(1, 5), min_size=12, max_size=12), seed=st.integers(0, 9))
def test_a_sample_does_not_know_the_ratings(scores, seed):
    turns = [turn(session=f"s{at}") for at in range(12)]
    rated = [each._replace(score=score) for each, score in zip(turns, scores, strict=True)]
    choice = ReplaySelection(ItemRule.SAMPLE, 5)
    drawn = chosen_turns(turns, choice, seed=seed)
    assert chosen_turns(rated, choice, seed=seed) == drawn
    assert len(drawn) == 5
    # In whatever order the turns come, the same are drawn.
    back = chosen_turns(turns[::-1], choice, seed=seed)
    assert sorted(11 - at for at in back) == drawn


def test_seeds_draw_different_samples():
    turns = [turn(session=f"s{at}") for at in range(40)]
    choice = ReplaySelection(ItemRule.SAMPLE, 10)
    assert len({tuple(chosen_turns(turns, choice, seed=seed)) for seed in range(5)}) == 5


def test_of_a_version_the_last_turns_are_replayed_but_those_that_were_edited():
    def dialogue(key, *asked):
        said = [{"role": "user", "text": text} for text in asked]
        between = {"role": "assistant", "text": ASKS}
        return {"key": key, "messages": [said[0], between, *said[1:]]}

    dialogues = [dialogue("a", "first", "second"), dialogue("b", "first", "edited")]
    turns = [
        turn(session=session, position=at, request=text)
        for session in ("a", "b", "c")
        for at, text in enumerate(("first", "second"))
    ]
    assert frozen_turns(turns, dialogues) == [turns[1]]
