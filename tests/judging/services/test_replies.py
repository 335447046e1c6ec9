from __future__ import annotations

import asyncio
from dataclasses import replace
from decimal import Decimal

import pytest
from asgiref.sync import async_to_sync

from annotation.core.conversations import Message, Speaker
from judging.core.chat import ChatRequest, Reply, TokenStep, Usage
from judging.core.endpoints import Endpoint
from judging.core.verdicts import TokenLogprob
from judging.llm.client import ChatClient
from judging.models import LlmCall, ModelEndpoint
from judging.services import replies
from judging.services.replies import COMMIT_EVERY, RowReplyStore
from tests.clock import PATIENCE
from tests.fake_llm import FakeLlm

pytestmark = pytest.mark.django_db

STEPS = (TokenStep(0, "A", (TokenLogprob("A", -0.5),)),)
USAGE = Usage(input_tokens=1_000, cached_tokens=400, output_tokens=100)


def question(number=0, **fields):
    request = ChatRequest(
        "http://127.0.0.1/v1", "m", (Message(Speaker.USER, f"Question {number}"),)
    )
    return replace(request, **fields)


def reply(request, text="Answer", **fields):
    return Reply(request.key(), text, **fields)


@pytest.fixture
def endpoint():
    return ModelEndpoint.objects.create(
        name="priced",
        base_url="http://127.0.0.1/v1",
        model="m",
        input_price=Decimal("2.5"),
        cached_input_price=Decimal("0.5"),
        output_price=Decimal(10),
    )


def stored(*pairs, endpoint=None):
    async def run():
        async with RowReplyStore(endpoint=endpoint) as store:
            for request, answer in pairs:
                await store.put(request, answer)

    async_to_sync(run)()


def found(*keys):
    async def run():
        async with RowReplyStore(endpoint=None) as store:
            return await store.get_many(keys)

    return async_to_sync(run)()


def test_a_reply_comes_back_as_it_was(endpoint):
    request = question(attempt=2, sample=1, top_logprobs=5)
    answer = reply(
        request,
        reasoning="because",
        finish_reason="stop",
        usage=USAGE,
        steps=STEPS,
        latency_ms=321,
    )
    stored((request, answer), endpoint=endpoint)
    assert found(answer.key, "0" * 64) == {answer.key: answer}
    row = LlmCall.objects.get()
    assert (row.endpoint, row.model, row.attempt, row.sample_index) == (endpoint, "m", 2, 1)
    assert row.request == request.body()
    # 600 tokens at 2.5, 400 at 0.5 and 100 at 10, each for a million
    assert row.cost == Decimal("0.0027")


def test_a_reply_without_log_probabilities_or_usage_comes_back_too():
    answer = reply(question())
    stored((question(), answer))
    assert found(answer.key) == {answer.key: answer}
    assert LlmCall.objects.get().cost is None


def test_a_reply_from_a_batch_file_has_its_price(endpoint):
    endpoint.batch_price_share = Decimal("0.5")

    async def run():
        async with RowReplyStore(endpoint=endpoint, batch=True) as store:
            await store.put(question(), reply(question(), usage=USAGE))

    async_to_sync(run)()
    assert LlmCall.objects.get().cost == Decimal("0.00135")


def test_a_reply_that_is_there_already_stays():
    stored((question(), reply(question(), "first")))
    stored((question(), reply(question(), "second")), (question(1), reply(question(1))))
    assert found(question().key())[question().key()].text == "first"
    assert LlmCall.objects.count() == 2


def test_replies_are_committed_when_enough_wait():
    async def run():
        async with RowReplyStore(endpoint=None) as store:
            for number in range(COMMIT_EVERY - 1):
                await store.put(question(number), reply(question(number)))
            before = await LlmCall.objects.acount()
            await store.put(question(-1), reply(question(-1)))
            return before, await LlmCall.objects.acount()

    assert async_to_sync(run)() == (0, COMMIT_EVERY)


def test_a_lone_reply_is_committed_after_half_a_second():
    waits, half_seconds = [], asyncio.Queue()

    async def pass_time(seconds):
        waits.append(seconds)
        await half_seconds.get()

    async def run():
        async with RowReplyStore(endpoint=None, sleep=pass_time) as store:
            for count in range(2):
                await store.put(question(count), reply(question(count)))
                assert await LlmCall.objects.acount() == count
                half_seconds.put_nowait(None)
                async with asyncio.timeout(PATIENCE):
                    while await LlmCall.objects.acount() == count:
                        await asyncio.sleep(0.01)

    async_to_sync(run)()
    assert LlmCall.objects.count() == 2
    assert waits == [0.5, 0.5]


def test_a_reply_that_waits_is_found_without_a_query(django_assert_num_queries):
    async def run():
        async with RowReplyStore(endpoint=None) as store:
            await store.put(question(), reply(question()))
            return await store.get_many([question().key()])

    with django_assert_num_queries(3):  # the commit on leaving: one statement in a savepoint
        assert set(async_to_sync(run)()) == {question().key()}


def test_many_keys_are_asked_for_in_few_queries(django_assert_num_queries):
    with django_assert_num_queries(3):
        assert found(*(str(number) for number in range(1_200))) == {}


def test_many_replies_are_written_in_one_statement(django_assert_num_queries):
    with django_assert_num_queries(3) as queries:  # one, in a savepoint
        stored(*((question(number), reply(question(number))) for number in range(50)))
    assert "INSERT INTO judging_llmcall" in queries[1]["sql"]


def test_a_commit_that_fails_is_not_passed_over(monkeypatch):
    monkeypatch.setattr(replies, "COMMIT_SECONDS", 0.01)
    unwritable = replace(reply(question()), finish_reason=None)

    async def run():
        store = RowReplyStore(endpoint=None)
        await store.put(question(), unwritable)
        async with asyncio.timeout(PATIENCE):
            while True:
                await store.put(question(1), reply(question(1)))
                await asyncio.sleep(0.01)

    with pytest.raises(TypeError):
        async_to_sync(run)()
    with pytest.raises(TypeError):
        stored((question(), unwritable))


def test_the_second_run_of_a_job_makes_no_call(endpoint):
    with FakeLlm(latency=0.01) as server:
        where = Endpoint("fake", server.base_url, "m")

        async def run():
            async with (
                RowReplyStore(endpoint=endpoint) as store,
                ChatClient(where, store=store) as client,
            ):
                messages = [(Message(Speaker.USER, f"Question {i}"),) for i in range(100)]
                await asyncio.gather(*(client.complete(where.request(m)) for m in messages))
                return client.counts

        first = async_to_sync(run)()
        second = async_to_sync(run)()
    assert (first.calls, first.stored) == (100, 0)
    assert (second.calls, second.stored) == (0, 100)
    assert LlmCall.objects.count() == 100
