from __future__ import annotations

import pytest

from judging.core.chat import CompletionPieces
from judging.core.conversations import (
    NEVER,
    TALK_TEXTS,
    Ending,
    LiveConversation,
    LiveMessage,
    ReplyState,
    Requirement,
    messages_for_model,
    poll_ms,
    talk_text,
)


def message(state, reply="r"):
    return LiveMessage(1, "s", "t", state, reply)


def talk(*states, met=(), min_turns=1):
    requirements = tuple(Requirement(n, "x", each) for n, each in enumerate(met, start=1))
    return LiveConversation(tuple(message(state) for state in states), requirements, min_turns)


@pytest.mark.parametrize(
    ("states", "met", "min_turns", "satisfied", "given_up"),
    [
        ([], [], 1, False, False),
        (["DONE"], [], 1, True, True),
        (["DONE"], [], 0, True, True),
        (["DONE"], [], 2, False, False),
        (["DONE", "STOPPED"], [], 2, True, True),
        (["DONE", "FAILED"], [], 2, False, False),
        (["DONE", "FAILED"], [], 1, True, True),
        (["DONE", "WAITING"], [], 1, False, False),
        (["DONE", "WRITING"], [], 1, False, False),
        (["DONE"], [True, False], 1, False, True),
        (["DONE"], [True, True], 1, True, True),
    ],
)
def test_when_a_conversation_may_end(states, met, min_turns, satisfied, given_up):
    now = talk(*map(ReplyState, states), met=met, min_turns=min_turns)
    assert (now.may_end_satisfied, now.may_give_up) == (satisfied, given_up)
    assert now.may_end(Ending.SATISFIED) is satisfied


def test_what_a_page_says_of_a_conversation():
    now = talk(ReplyState.DONE, ReplyState.FAILED, met=[True, False], min_turns=3)
    assert (now.replies, now.met, now.replies_missing, now.failed) == (1, 1, 2, True)
    assert not talk().failed
    assert not talk().pending
    assert talk().last is None


@pytest.mark.parametrize(
    ("seconds", "begun", "wait"),
    [(0, False, 120), (2, False, 400), (20, False, 1000), (0, True, 250), (60, True, 250)],
)
def test_a_page_asks_less_often_the_longer_it_waits(seconds, begun, wait):
    assert poll_ms(seconds, begun=begun) == wait


def test_many_replies_under_way_are_asked_for_less_often():
    assert poll_ms(0, begun=False, under_way=5) == 120
    assert poll_ms(0, begun=False, under_way=16) == 320
    assert poll_ms(60, begun=True, under_way=100) == 2000


def said(messages):
    return [(each.role.value, each.text) for each in messages]


def test_the_model_is_sent_the_conversation_so_far():
    sent = messages_for_model("Be kind.", [("a", "A"), ("b", None), ("c", "C"), ("d", None)], "e")
    assert said(sent) == [
        ("system", "Be kind."),
        ("user", "a"),
        ("assistant", "A"),
        ("user", "b\n\nc"),
        ("assistant", "C"),
        ("user", "d\n\ne"),
    ]
    assert said(messages_for_model(" ", [], "e")) == [("user", "e")]


def test_every_code_has_a_sentence_and_unknown_ones_the_last_resort():
    assert talk_text("llm:timeout") == TALK_TEXTS["llm:timeout"]
    assert talk_text("llm:refused-key") == NEVER


def piece(delta=None, finish=None, **more):
    return {"choices": [{"delta": delta, "finish_reason": finish}], **more}


def test_pieces_make_the_whole_completion():
    pieces = CompletionPieces()
    assert not pieces.add(piece({"role": "assistant", "content": ""}))
    assert not pieces.add(piece({"reasoning_content": "hm"}))
    assert pieces.add(piece({"content": "Hel"}))
    assert pieces.add(piece({"content": "lo"}))
    assert not pieces.ended
    assert not pieces.add(piece(None, "stop"))
    assert pieces.ended
    assert not pieces.add({"choices": [], "usage": {"prompt_tokens": 3}})
    assert pieces.content == "Hello"
    assert pieces.completion() == {
        "choices": [
            {
                "message": {"content": "Hello", "reasoning_content": "hm", "refusal": ""},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 3},
    }


@pytest.mark.parametrize("event", [None, [], {}, {"choices": None}, {"choices": ["x"]}])
def test_events_without_a_choice_add_nothing(event):
    pieces = CompletionPieces()
    assert not pieces.add(event)
    assert pieces.completion() == {}


def test_pieces_keep_log_probabilities_and_why_there_is_no_text():
    pieces = CompletionPieces()
    steps = [{"token": "A", "logprob": -0.1}, {"token": ".", "logprob": -0.2}]
    for step in steps:
        event = piece({"content": step["token"]})
        event["choices"][0]["logprobs"] = {"content": [step]}
        assert pieces.add(event)
    (choice,) = pieces.completion()["choices"]
    assert choice["logprobs"] == {"content": steps}
    silent = CompletionPieces()
    assert not silent.add(piece({"refusal": "I "}))
    assert not silent.add(piece({"refusal": "cannot.", "tool_calls": [{"id": "1"}]}))
    last = piece({}, "error")
    last["choices"][0] |= {"error": {"message": "gone"}, "logprobs": {"content": "none"}}
    assert not silent.add(last)
    (choice,) = silent.completion()["choices"]
    assert choice["message"]["refusal"] == "I cannot."
    assert choice["message"]["tool_calls"] == [{"id": "1"}]
    assert (choice["error"], choice["finish_reason"]) == ({"message": "gone"}, "error")
    assert "logprobs" not in choice


def test_a_stream_may_hold_a_message_in_one_piece():
    pieces = CompletionPieces()
    whole = {"message": {"content": [{"type": "text", "text": "Whole."}]}, "finish_reason": "stop"}
    assert pieces.add({"choices": [whole]})
    assert pieces.content == "Whole."
