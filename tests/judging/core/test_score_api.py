from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.conversations import Message, Speaker
from judging.core.chat import read_completion
from judging.core.score_api import parse_score, score_as_completion, score_body, scored_messages
from tests.refusals import refuses


def test_what_is_posted_has_the_response_apart_from_what_was_said_before():
    body = {
        "model": "reward",
        "max_tokens": 5,
        "messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello!"},
        ],
    }
    assert score_body(body) == {
        "model": "reward",
        "prompt": "Be kind.\n\nHi",
        "response": "Hello!",
        "messages": body["messages"],
    }


def test_the_response_is_the_last_message():
    asked = (Message(Speaker.USER, "Hi"),)
    assert scored_messages(asked, "Hello!") == (*asked, Message(Speaker.ASSISTANT, "Hello!"))


@pytest.mark.parametrize(
    ("answer", "score"),
    [
        (1.5, 1.5),
        (-3, -3.0),
        ({"score": 0.25}, 0.25),
        ({"reward": 2}, 2.0),
        ({"scores": [4.5, 1]}, 4.5),
        ([{"label": "LABEL_0", "score": 0.9}], 0.9),
        ([[{"score": 0.9}]], 0.9),
        ({"value": {"score": 7}}, 7.0),
    ],
)
def test_a_number_is_found_where_services_put_it(answer, score):
    reply = read_completion("key", score_as_completion(answer), latency_ms=1)
    assert parse_score(reply.text) == score


@pytest.mark.parametrize(
    "answer",
    [
        *(None, "1.5", {}, [], {"score": None}, {"score": True}, {"text": 1}),
        *(float("nan"), "inf", 10**400, [[[[[[[[[1.5]]]]]]]]]),
    ],
)
def test_an_answer_without_a_number_is_malformed(answer):
    with refuses("llm:malformed"):
        read_completion("key", score_as_completion(answer), latency_ms=1)


@pytest.mark.parametrize("text", ["", "good", "nan", "inf", "1,5"])
def test_a_text_without_a_finite_number_is_no_score(text):
    assert parse_score(text) is None


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_score_survives_the_way_through_the_engine(score):
    completion = score_as_completion({"score": score})
    assert parse_score(completion["choices"][0]["message"]["content"]) == score
