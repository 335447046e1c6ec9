from __future__ import annotations

import json

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.batch_files import BatchFailure, LineFault, read_batch, request_line
from judging.core.chat import ChatRequest
from judging.core.problems import Problem
from tests.refusals import refuses

REQUEST = ChatRequest("http://x/v1", "m", (Message(Speaker.USER, "你好"),))
KEY = REQUEST.key()
OTHER = "f" * 64


def line(key=KEY, **fields):
    return json.dumps({"custom_id": key, **fields})


def completion(text="ok"):
    return {
        "choices": [{"message": {"content": text}}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 1},
    }


def good(key=KEY, text="ok"):
    return line(key, response={"status_code": 200, "body": completion(text)}, error=None)


def read(*lines):
    return read_batch(lines, awaited={KEY, OTHER})


def test_a_request_is_written_in_the_provider_s_layout():
    assert json.loads(request_line(REQUEST)) == {
        "custom_id": KEY,
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "m",
            "messages": [{"role": "user", "content": "你好"}],
            "temperature": 0.0,
            "max_tokens": 1024,
        },
    }
    assert "\n" not in request_line(REQUEST)


def test_replies_come_in_any_order_and_not_all_at_once():
    found = read(good(OTHER, "<think>hm</think>two"), "  \n", good())
    assert {key: reply.text for key, reply in found.replies.items()} == {KEY: "ok", OTHER: "two"}
    assert found.replies[OTHER].reasoning == "hm"
    assert found.replies[KEY].usage.input_tokens == 3
    assert (read(good()).replies.keys(), read().replies) == ({KEY}, {})


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        (
            line(response={"status_code": 429, "body": {"error": {"message": "slow"}}}),
            BatchFailure(KEY, 429, Problem("slow")),
        ),
        (
            line(response={"status_code": 500, "body": "broken"}),
            BatchFailure(KEY, 500, Problem("broken")),
        ),
        (
            line(response={"status_code": 400, "body": {"error": "too long"}}),
            BatchFailure(KEY, 400, Problem("too long")),
        ),
        (
            line(response=None, error={"code": "batch_expired", "message": "late"}),
            BatchFailure(KEY, 0, Problem("late", kinds=("batch_expired",))),
        ),
    ],
)
def test_a_request_that_failed_says_how(text, failure):
    assert read(text).failures == {KEY: failure}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "no custom_id"),
        (json.dumps({"custom_id": 5}), "no custom_id"),
        (
            good("e" * 64),
            f"no reply to {'e' * 64} is awaited: it is stored, or belongs to another run",
        ),
        (line(), f"no response and no error for {KEY}"),
        (
            line(response={"status_code": True, "body": completion()}),
            f"the response to {KEY} has no status_code",
        ),
        (line(response={"body": completion()}), f"the response to {KEY} has no status_code"),
        (
            line(response={"status_code": 200, "body": {"choices": []}}),
            f"the response to {KEY} is not a chat completion",
        ),
    ],
)
def test_a_fault_is_named_with_its_line(text, reason):
    with refuses("batch:faults") as refused:
        read(good(OTHER), text)
    assert refused.value.faults == (LineFault(2, reason),)
    assert str(refused.value) == f"line 2: {reason}"


def test_every_fault_is_listed():
    with refuses("batch:faults") as refused:
        read(good(), "{", good(), line(OTHER, error={}), line(OTHER, error={}))
    assert [(fault.line, fault.reason.split()[0]) for fault in refused.value.faults] == [
        (2, "not"),
        (3, "more"),
        (5, "more"),
    ]


def test_a_line_that_is_too_long_or_nested_too_deep_is_a_fault(monkeypatch):
    with refuses("batch:faults") as caught:
        read("[" * 100_000)
    assert caught.value.faults == (LineFault(1, "not JSON"),)
    monkeypatch.setattr("judging.core.batch_files.MOST_CHARACTERS", 1_000)
    with refuses("batch:faults") as caught:
        read(good(), good(OTHER, "x" * 1_000))
    assert caught.value.faults == (LineFault(2, "more than 1,000 characters"),)
