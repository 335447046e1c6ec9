"""An answer that is longer than any reply fails its call, before it is in memory."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import Sampling
from judging.core.endpoints import Endpoint
from judging.llm.answer_size import most_bytes
from judging.llm.client import ChatClient
from judging.llm.errors import LlmError
from tests.fake_llm import Act, FakeLlm

SHORT = Sampling(max_tokens=16)
MOST = most_bytes(Endpoint("fake", "http://127.0.0.1/v1", "m", sampling=SHORT))
LONG = b" " * (MOST + 1)
PACKED = {"Content-Encoding": "gzip"}


def refused(server, ask):
    where = Endpoint("fake", server.base_url, "m", sampling=SHORT)

    async def run():
        async with ChatClient(where) as client:
            await ask(client, where.request((Message(Speaker.USER, "Hello"),)))

    with pytest.raises(LlmError) as caught:
        asyncio.run(run())
    return caught.value


async def complete(client, request):
    await client.complete(request)


async def stream(client, request):
    await client.stream(request, lambda _said: None)


EMPTY_BLOCKS = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * (MOST // 5 + 1)
"""Packed bytes that unpack to nothing, however many come."""


@pytest.mark.parametrize("ask", [complete, stream])
@pytest.mark.parametrize(
    "act",
    [
        pytest.param(Act(raw=LONG), id="long"),
        pytest.param(Act(raw=LONG, status=500), id="long failure"),
        pytest.param(Act(raw=LONG, status=302), id="long redirect"),
        pytest.param(Act(raw=gzip.compress(LONG), headers=PACKED), id="packed"),
        pytest.param(Act(raw=gzip.compress(LONG), headers=PACKED, status=400), id="packed failure"),
        pytest.param(Act(raw=b"", headers={"Content-Encoding": "gzip, gzip"}), id="packed twice"),
    ],
)
def test_an_answer_that_is_too_long_fails_its_call_once(ask, act):
    with FakeLlm() as server:
        server.told[""] = act
        error = refused(server, ask)
        assert (error.code, error.maybe_billed) == ("llm:too-long", True)
        assert server.stats()["calls"] == 1


def test_packed_bytes_that_unpack_to_nothing_are_counted_too():
    with FakeLlm() as server:
        server.told[""] = Act(raw=EMPTY_BLOCKS, headers=PACKED)
        assert refused(server, complete).code == "llm:too-long"


def test_events_are_counted_as_they_come():
    content = b"on and on " * 1000
    event = b'data: {"choices": [{"delta": {"content": "%b"}}]}\n\n' % content
    with FakeLlm() as server:
        server.told[""] = Act(
            raw=event * (MOST // len(event) + 1), headers={"Content-Type": "text/event-stream"}
        )
        assert refused(server, stream).code == "llm:too-long"


def test_a_list_of_models_is_bounded_too():
    with FakeLlm() as server:
        server.models = [{"id": "m", "description": "x" * MOST}]

        async def listing(client, _request):
            await client.listing()

        assert refused(server, listing).code == "llm:too-long"


def test_a_packed_answer_of_usual_length_is_read():
    raw = b'{"choices": [{"message": {"content": "Fine."}}]}'
    with FakeLlm() as server:
        server.told[""] = Act(raw=gzip.compress(raw), headers=PACKED)
        where = Endpoint("fake", server.base_url, "m", sampling=SHORT)

        async def run():
            async with ChatClient(where) as client:
                return await client.complete(where.request((Message(Speaker.USER, "Hello"),)))

        assert asyncio.run(run()).text == "Fine."


@pytest.mark.parametrize(("tokens", "most"), [(1024, 8), (100_000, 64)])
def test_longer_replies_may_be_larger_up_to_a_bound(tokens, most):
    sampling = Sampling(max_tokens=tokens)
    assert most_bytes(Endpoint("e", "http://x/v1", "m", sampling=sampling)) == most * 2**20


def test_json_that_is_nested_too_deep_is_malformed():
    with FakeLlm() as server:
        server.told[""] = Act(raw=b"[" * 100_000)
        assert refused(server, complete).code == "llm:malformed"
