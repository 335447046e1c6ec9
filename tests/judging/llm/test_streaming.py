"""Replies told while they are written, against the loopback server."""

from __future__ import annotations

import asyncio
import random
from dataclasses import replace

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import Usage
from judging.core.endpoints import Endpoint
from judging.llm import transport
from judging.llm.client import ChatClient
from judging.llm.errors import LlmCode, LlmError
from judging.llm.pacing import Patience
from judging.llm.stores import MemoryReplyStore
from tests.clock import PATIENCE, deadline_at
from tests.fake_llm import Act, FakeLlm

QUICK = Patience(tries=3, first_wait=0.01, longest_wait=0.02)
TEXT = "Two days in Kyoto."


def stream(server, *, times=1, store=None, stop_at=None, told=None, occasion="a"):
    """The replies to the same request asked `times` times, what was told, what was counted."""
    where = Endpoint("fake", server.base_url, "m", timeout_seconds=PATIENCE)
    told = [] if told is None else told

    async def one(client, number):
        request = replace(
            where.request((Message(Speaker.USER, "Where to?"),)), occasion=f"{occasion}{number}"
        )
        asking = asyncio.create_task(client.stream(request, told.append))
        while stop_at is not None and not asking.done():
            await asyncio.sleep(0.005)
            if len(told) >= stop_at:
                asking.cancel()
        return await asking

    async def run():
        async with ChatClient(
            where, store=store, patience=QUICK, environ={}, rng=random.Random(0)
        ) as client:
            found = await asyncio.gather(
                *(one(client, number) for number in range(times)), return_exceptions=True
            )
        return found, client.counts

    replies, counts = asyncio.run(run())
    return replies, told, counts


def test_a_reply_is_told_piece_by_piece_and_counted():
    with FakeLlm(script=[Act(text=TEXT)]) as server:
        (reply,), told, counts = stream(server)
    assert told == [TEXT[:end] for end in range(4, len(TEXT) + 4, 4)]
    assert (reply.text, reply.finish_reason) == (TEXT, "stop")
    assert reply.usage == Usage(input_tokens=2, cached_tokens=0, output_tokens=5)
    assert (counts.calls, counts.output_tokens) == (1, 5)
    (body,) = server.bodies
    assert (body["stream"], body["stream_options"]) == (True, {"include_usage": True})


def test_reasoning_is_told_but_not_part_of_the_reply():
    with FakeLlm(script=[Act(text="<think>hm</think>Yes")]) as server:
        (reply,), told, _ = stream(server)
    assert told[-1] == "<think>hm</think>Yes"
    assert (reply.text, reply.reasoning) == ("Yes", "hm")


def test_a_reply_that_breaks_off_begins_anew():
    with FakeLlm(script=[Act(text=TEXT, breaks_after=2), Act(text=TEXT)]) as server:
        (reply,), told, counts = stream(server)
    assert reply.text == TEXT
    assert told[:3] == ["Two ", "Two days", "Two "]
    assert counts.calls == 2


@pytest.mark.parametrize(
    ("act", "code"),
    [
        (Act(text=TEXT, breaks_after=1), LlmCode.UNAVAILABLE),
        (Act(drop=True), LlmCode.UNAVAILABLE),
        (Act(status=503), LlmCode.UNAVAILABLE),
        (Act(status=429, headers={"Retry-After": "0"}), LlmCode.RATE_LIMITED),
        (Act(raw=b"{"), LlmCode.MALFORMED),
        (Act(raw=b"data: {", headers={"Content-Type": "text/event-stream"}), LlmCode.MALFORMED),
        (Act(raw=b"", headers={"Content-Type": "text/event-stream"}), LlmCode.UNAVAILABLE),
        (
            Act(raw=b"data: [DONE]\n\n", headers={"Content-Type": "text/event-stream"}),
            LlmCode.MALFORMED,
        ),
        (
            Act(
                raw=b'data: {"error": {"code": 503, "message": "full"}}\n\n',
                headers={"Content-Type": "text/event-stream"},
            ),
            LlmCode.UNAVAILABLE,
        ),
        (Act(status=401), LlmCode.REFUSED_KEY),
        (Act(status=400), LlmCode.BAD_REQUEST),
    ],
)
def test_what_goes_wrong_has_a_code(act, code):
    with FakeLlm(script=[act] * QUICK.tries) as server:
        (error,), _, _ = stream(server)
    assert isinstance(error, LlmError), error
    assert error.code == code


SAID = b'data: {"choices": [{"delta": {"content": "Yes"}}]}'
OVER = b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}'


@pytest.mark.parametrize("kind", ["text/event-stream", "text/plain", "application/json"])
@pytest.mark.parametrize(
    "raw",
    [
        b"\n\n".join((SAID, OVER, b"data: [DONE]\n\n")),
        b"\r\r".join((SAID, OVER)),
        b"\xef\xbb\xbf" + b"\r\n\r\n".join((SAID, OVER)),
        b": ping\n\nevent: message\n" + b"\n\n".join((SAID, b'data: {"choices": null}', OVER)),
    ],
)
def test_a_stream_is_read_however_it_is_written(raw, kind):
    with FakeLlm(script=[Act(raw=raw, headers={"Content-Type": kind})]) as server:
        (reply,), _, counts = stream(server)
    assert (reply.text, counts.calls) == ("Yes", 1)


@pytest.mark.parametrize(
    "line",
    [
        b'data: {"object": "error", "message": "Engine died", "code": 500}',
        b'data: {"type": "error", "code": "500", "message": "Engine died"}',
        b'event: error\ndata: {"code": "InternalError.Algo", "message": "Engine died"}',
        b'error: {"code": 500, "message": "Engine died"}',
        b"data: Engine died",
    ],
)
def test_an_error_midway_is_told_and_never_half_a_reply(line):
    raw = b"\n\n".join((SAID, line, b"data: [DONE]\n\n"))
    act = Act(raw=raw, headers={"Content-Type": "text/event-stream"})
    with FakeLlm(script=[act] * QUICK.tries) as server:
        (error,), _, counts = stream(server)
    assert isinstance(error, LlmError), error
    assert "Engine died" in error.detail
    assert counts.replies == 0


def test_an_answer_that_is_no_json_is_quoted():
    with FakeLlm(script=[Act(raw=b"try later"), Act(raw=b" \n")] * QUICK.tries) as server:
        (first, _), _, _ = stream(server, times=2)
    assert first.detail in {"the answer is not JSON: try later", "the answer is empty"}


def test_half_a_character_loses_no_reply():
    raw = b'{"choices": [{"message": {"content": "Yes \xe9"}, "finish_reason": "stop"}]}'
    with FakeLlm(script=[Act(raw=raw)]) as server:
        (reply,), _, _ = stream(server)
    assert reply.text == "Yes \ufffd"


def test_a_refusal_that_quotes_a_text_teaches_nothing():
    async def run(server):
        where = Endpoint("fake", server.base_url, "m", timeout_seconds=PATIENCE)
        async with ChatClient(where, patience=QUICK, environ={}) as client:
            with pytest.raises(LlmError, match="What is the temperature"):
                await client.complete(where.request((Message(Speaker.USER, "One?"),)))
            await client.complete(where.request((Message(Speaker.USER, "Two?"),)))
            return client.manners

    message = "Cannot read: 'What is the temperature?'"
    with FakeLlm(script=[Act(status=400, body={"error": {"message": message}})] * 2) as server:
        manners = asyncio.run(run(server))
    assert server.bodies[-1]["temperature"] == 0
    assert manners.temperature


def test_a_reply_that_stops_coming_is_a_timeout(monkeypatch):
    told, expired = [], []
    # Each deadline expires after the first piece of its try was read.
    deadline = deadline_at(lambda: len(told) > len(expired), expired.append)
    monkeypatch.setattr(transport, "deadline", deadline)
    with FakeLlm(script=[Act(text=TEXT, stalls_after=1)] * QUICK.tries) as server:
        (error,), told, _ = stream(server, told=told)
    assert error.code == LlmCode.TIMEOUT
    assert told == ["Two "] * QUICK.tries


def test_a_server_that_does_not_stream_is_read_all_the_same():
    body = {"choices": [{"message": {"content": TEXT}, "finish_reason": "stop"}]}
    with FakeLlm(script=[Act(body=body)]) as server:
        (reply,), told, _ = stream(server)
    assert (reply.text, told) == (TEXT, [])


def test_cancelling_ends_the_call():
    with FakeLlm(script=[Act(text=TEXT, stalls_after=1)]) as server:
        (error,), told, counts = stream(server, stop_at=1)
    assert isinstance(error, asyncio.CancelledError)
    assert told == ["Two "]
    assert counts.replies == 0


def test_equal_questions_of_two_occasions_share_nothing_and_one_occasion_is_paid_once():
    store = MemoryReplyStore()
    with FakeLlm(script=[Act(text="One."), Act(text="Other.")]) as server:
        replies, _, counts = stream(server, times=2, store=store)
        assert sorted(reply.text for reply in replies) == ["One.", "Other."]
        assert counts.calls == 2
        again, _, counts = stream(server, times=2, store=store)
    assert [reply.text for reply in again] == [reply.text for reply in replies]
    assert (counts.calls, counts.stored) == (0, 2)
