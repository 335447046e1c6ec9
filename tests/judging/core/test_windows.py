from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Message, Speaker
from judging.core.money import estimate_tokens
from judging.core.rules import Excerpt, Window, excerpt

ROLES = {"s": Speaker.SYSTEM, "u": Speaker.USER, "a": Speaker.ASSISTANT}


def talk(*messages):
    """Messages written as "u:text"."""
    return tuple(Message(ROLES[item[0]], item[2:]) for item in messages)


def texts(found):
    return [message.text for message in found.messages]


THREE = talk("s:be brief", "u:one", "a:1", "u:two", "a:2", "u:three")


@pytest.mark.parametrize(
    ("window", "kept", "omitted"),
    [
        (Window.ALL, ["be brief", "one", "1", "two", "2", "three"], 0),
        (Window.LAST_TURN, ["be brief", "three"], 4),
        (Window.LAST_TWO_TURNS, ["be brief", "two", "2", "three"], 2),
    ],
)
def test_windows_are_turns_and_keep_the_system_message(window, kept, omitted):
    found = excerpt(THREE, window=window, budget=1_000)
    assert (texts(found), found.omitted) == (kept, omitted)


def test_the_budget_drops_the_oldest_turns():
    # "be brief" 3, "three" 2, "two" + "2" 2, "one" + "1" 2 tokens
    assert texts(excerpt(THREE, window=Window.ALL, budget=7)) == ["be brief", "two", "2", "three"]
    assert texts(excerpt(THREE, window=Window.ALL, budget=6)) == ["be brief", "three"]


def test_the_last_turn_is_whole_whatever_the_budget():
    long = talk("u:old", "a:old", "u:" + "x" * 10_000, "a:half", "u:more")
    found = excerpt(long, window=Window.ALL, budget=-3)
    assert texts(found) == ["more"]
    assert found.omitted == 4


def test_messages_that_follow_one_another_are_one_turn():
    found = excerpt(talk("u:a", "a:b", "u:c", "u:d"), window=Window.LAST_TURN, budget=0)
    assert texts(found) == ["c", "d"]


def test_a_conversation_without_a_user_is_shown_as_it_is():
    assert excerpt((), window=Window.ALL, budget=0) == Excerpt((), 0)
    found = excerpt(talk("s:only", "a:hello"), window=Window.LAST_TURN, budget=0)
    assert texts(found) == ["only", "hello"]


@given(
    st.lists(st.tuples(st.sampled_from("sua"), st.text(max_size=30)), max_size=12),
    st.sampled_from(Window),
    st.integers(0, 60),
)
def test_an_excerpt_is_a_subsequence_that_fits_or_is_the_last_turn(items, window, budget):
    dialogue = tuple(Message(ROLES[role], text) for role, text in items)
    found = excerpt(dialogue, window=window, budget=budget)
    rest = iter(dialogue)
    assert all(message in rest for message in found.messages)
    assert len(found.messages) + found.omitted == len(dialogue)
    more = excerpt(dialogue, window=window, budget=budget + 20)
    assert len(more.messages) >= len(found.messages)
    assert sum(estimate_tokens(m.text) for m in more.messages) >= sum(
        estimate_tokens(m.text) for m in found.messages
    )
