"""An endpoint that fails call after call is not asked any more."""

from __future__ import annotations

import asyncio
import socket

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.endpoints import Endpoint
from judging.llm import transport
from judging.llm.client import ChatClient
from judging.llm.errors import Breaker, EndpointDownError, LlmCode, LlmError
from judging.llm.pacing import Patience
from judging.llm.transport import Transport
from tests.clock import PATIENCE, deadline_at
from tests.fake_llm import Act, FakeLlm

QUICK = Patience(tries=2, first_wait=0.01, longest_wait=0.02)
HANG = Act(delay=PATIENCE)


@pytest.fixture
def closed_port():
    """A port of this machine at which nobody listens, held so that nobody can."""
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        yield held.getsockname()[1]


def ask(base_url, count, *, concurrency=1, patience=QUICK, breaker=None):
    """What came of so many questions asked at once, and how many calls were tried."""
    where = Endpoint("fake", base_url, "m", concurrency=concurrency, timeout_seconds=PATIENCE)

    async def run():
        client = ChatClient(where, patience=patience, breaker=breaker or Breaker(), environ={})
        requests = [where.request((Message(Speaker.USER, f"Hello {i}"),)) for i in range(count)]
        async with client:
            outcomes = await asyncio.gather(*map(client.complete, requests), return_exceptions=True)
        return outcomes, client.counts.calls

    return asyncio.run(run())


@pytest.fixture
def under_way(monkeypatch):
    """The most calls that a client had under way at a time, in a list."""
    now, most = [0], [0]
    ask = Transport.ask

    async def counted(self, body, say=None):
        now[0] += 1
        most[0] = max(most[0], now[0])
        try:
            return await ask(self, body, say)
        finally:
            now[0] -= 1

    monkeypatch.setattr(Transport, "ask", counted)
    return most


def down(outcomes):
    return [isinstance(one, EndpointDownError) for one in outcomes]


@pytest.mark.parametrize(
    ("status", "code"),
    [(401, LlmCode.REFUSED_KEY), (402, LlmCode.QUOTA), (404, LlmCode.UNKNOWN_MODEL)],
)
def test_a_refusal_of_every_call_stops_the_third(status, code):
    with FakeLlm(script=[Act(status=status)] * 99) as server:
        outcomes, calls = ask(server.base_url, 20)
    assert calls == server.stats()["calls"] == 3
    assert down(outcomes) == [False, False, *[True] * 18]
    assert {one.code for one in outcomes} == {code}
    assert f"HTTP {status}" in outcomes[-1].detail


@pytest.mark.parametrize(
    ("act", "code", "calls"),
    [
        (HANG, LlmCode.TIMEOUT, 3),
        (Act(raw=b"<html>Welcome"), LlmCode.NO_API, 3),
        (Act(status=404, raw=b"<html>Not Found"), LlmCode.UNKNOWN_MODEL, 3),
        (Act(status=504), LlmCode.TIMEOUT, 3),
        (Act(status=502, raw=b"<html>Bad Gateway"), LlmCode.UNAVAILABLE, 3 * QUICK.tries),
        (Act(status=429), LlmCode.RATE_LIMITED, 3 * QUICK.tries),
    ],
)
@pytest.mark.parametrize("concurrency", [1, 16])
def test_until_a_first_reply_three_calls_are_enough(
    act, code, calls, concurrency, under_way, monkeypatch
):
    with FakeLlm(script=[act] * 99) as server:
        if act is HANG:
            monkeypatch.setattr(transport, "deadline", deadline_at(lambda: server.bodies))
        outcomes, sent = ask(server.base_url, 40, concurrency=concurrency)
        assert under_way == [min(3, concurrency)]
    assert sent <= calls + min(3, concurrency) - 1  # some go out before the third fails
    assert {one.code for one in outcomes} == {code}
    assert sum(down(outcomes)) >= 38


def test_a_first_reply_lets_all_others_go_and_gives_failures_more_room():
    others = Act(together=20)
    with FakeLlm(script=[Act(), *[others] * 39, *[Act(status=502)] * 30]) as server:
        outcomes, _ = ask(server.base_url, 50, concurrency=20)
        assert server.stats()["most_at_once"] == 20
    assert not any(down(outcomes))
    with FakeLlm(script=[Act(status=502, together=20)] * 40) as server:
        outcomes, _ = ask(server.base_url, 30, concurrency=20, breaker=Breaker(proved=True))
        assert server.stats()["most_at_once"] == 20
    assert not any(down(outcomes))


def test_an_address_at_which_nobody_listens_stops_the_third_that_was_given_up(closed_port):
    outcomes, calls = ask(f"http://127.0.0.1:{closed_port}/v1", 20)
    assert calls <= 20 + 3  # each once, and then three again
    assert sum(down(outcomes)) == 18
    assert {(one.code, one.detail) for one in outcomes} == {
        (LlmCode.UNAVAILABLE, "no connection (Connection refused)")
    }
    assert not any(one.maybe_billed for one in outcomes)


def test_calls_that_wait_for_their_next_try_end_at_once(closed_port):
    slow = Patience(tries=3, first_wait=0.1, longest_wait=1)
    patient = Patience(tries=9, first_wait=3600, longest_wait=3600)
    breaker = Breaker(proved=True)
    where = Endpoint("fake", f"http://127.0.0.1:{closed_port}/v1", "m", concurrency=8)

    async def run():
        hasty = ChatClient(where, patience=slow, breaker=breaker, environ={})
        waiting = ChatClient(where, patience=patient, breaker=breaker, environ={})
        async with hasty, waiting:
            late = asyncio.create_task(
                waiting.complete(where.request((Message(Speaker.USER, "late"),)))
            )
            asked = [where.request((Message(Speaker.USER, str(i)),)) for i in range(3)]
            await asyncio.gather(*map(hasty.complete, asked), return_exceptions=True)
            with pytest.raises(EndpointDownError):
                await asyncio.wait_for(late, PATIENCE)

    asyncio.run(run())


def test_a_reply_between_failures_begins_the_count_anew():
    refused = Act(status=401)
    script = [refused, refused, Act(), refused, refused, Act(), Act()]
    with FakeLlm(script=script) as server:
        outcomes, calls = ask(server.base_url, 7)
    assert calls == 7
    assert [isinstance(one, LlmError) for one in outcomes] == [True, True, False] * 2 + [False]
    assert not any(down(outcomes))


def test_failures_that_may_be_a_question_s_own_are_given_more_room():
    with FakeLlm(script=[Act(status=500)] * 999) as server:
        outcomes, calls = ask(server.base_url, 60, concurrency=4)
    assert sum(down(outcomes)) >= 60 - 49 - 4
    assert calls < 60 * QUICK.tries
    once = Patience(tries=1)
    with FakeLlm(script=[Act(status=500)] * 24) as server:  # a pair that the server chokes on
        outcomes, _ = ask(server.base_url, 30, patience=once)
    assert [isinstance(one, LlmError) for one in outcomes] == [True] * 24 + [False] * 6
    assert not any(down(outcomes))


def test_a_request_that_is_wrong_says_nothing_of_the_next():
    with FakeLlm(script=[Act(status=400)] * 99) as server:
        outcomes, calls = ask(server.base_url, 60)
    assert calls == 60
    assert not any(down(outcomes))


def test_without_a_breaker_every_call_is_tried():
    never = Breaker(certain=99, likely=99)
    with FakeLlm(script=[Act(status=401)] * 9) as server:
        outcomes, calls = ask(server.base_url, 9, breaker=never)
    assert calls == 9
    assert not any(down(outcomes))
