from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from django.utils import timezone

from annotation.core.conversations import Message, Speaker
from judging.core.endpoints import Endpoint
from judging.llm.client import ChatClient
from judging.llm.errors import LlmError
from judging.models import CallClaim, LlmCall
from judging.services import runs
from judging.services.heartbeats import this_process
from judging.services.replies import KEYS_A_STATEMENT, CallClaims, RowReplyStore
from tests.clock import PATIENCE
from tests.factory import make_run
from tests.fake_llm import Act, FakeLlm

pytestmark = pytest.mark.django_db


def later(**time):
    return timezone.now() + timedelta(**time)


def test_a_key_is_claimed_by_one_owner_until_it_is_dropped():
    first, second = CallClaims(run_id=None), CallClaims(run_id=None)
    assert sorted(first.take(["a", "b"])) == ["a", "b"]
    assert second.take(["b", "c"]) == ["c"]
    assert ("b" in first, "b" in second) == (True, False)
    second.drop(["b"])
    assert second.take(["b"]) == []
    first.drop(["a", "b"])
    assert second.take(["b"]) == ["b"]
    assert first.take(["a"]) == ["a"]


def test_an_owner_that_gives_no_sign_of_life_loses_its_claims(settings):
    settings.RUN_STALE_SECONDS = 30
    first, second = CallClaims(run_id=None), CallClaims(run_id=None)
    first.take(["a", "b"])
    CallClaim.objects.update(expires_at=later(seconds=-1))
    first.keep()
    assert second.take(["a"]) == []
    assert CallClaim.objects.get(key="a").expires_at > later(seconds=25)
    CallClaim.objects.filter(key="b").update(expires_at=later(seconds=-1))
    assert second.take(["a", "b"]) == ["b"]
    first.drop_all()
    assert list(CallClaim.objects.values_list("key", flat=True)) == ["b"]


def test_a_run_that_is_taken_up_anew_waits_for_calls_of_its_old_worker_while_that_one_lives():
    run, other = make_run(status="RUNNING"), make_run()
    CallClaims(run_id=run.pk).take(["a"])
    dead = f"{this_process()}0 {'0' * 32}"
    for which, key in ((run, "b"), (other, "c")):
        CallClaim.objects.create(key=key, owner=dead, run=which, expires_at=later(seconds=9))
    CallClaim.objects.create(key="d", owner="elsewhere 1 2 3", run=run, expires_at=later(seconds=9))
    runs.dispatch(run.pk)
    assert sorted(CallClaim.objects.values_list("key", flat=True)) == ["a", "c", "d"]


def test_many_keys_are_claimed_and_dropped_in_few_statements(django_assert_num_queries):
    keys = [str(number) for number in range(KEYS_A_STATEMENT + 1)]
    claims = CallClaims(run_id=None)
    with django_assert_num_queries(4):
        assert len(claims.take(keys)) == len(keys)
        claims.drop(keys)


def asked_by_two(server, *, questions=20):
    """Two processes in small: two stores, each with a client, asked the same at once."""
    where = Endpoint("fake", server.base_url, "m")

    async def ask(client):
        requests = [
            where.request((Message(Speaker.USER, f"Question {n}"),)) for n in range(questions)
        ]
        return await asyncio.gather(
            *(client.complete(request) for request in requests), return_exceptions=True
        )

    async def both():
        async with (
            RowReplyStore(endpoint=None) as one,
            RowReplyStore(endpoint=None) as two,
            ChatClient(where, store=one) as first,
            ChatClient(where, store=two) as second,
        ):
            return await asyncio.gather(ask(first), ask(second))

    return async_to_sync(both)()


def test_what_two_ask_at_once_is_paid_for_once():
    with FakeLlm(latency=0.1) as server:
        first, second = asked_by_two(server)
    assert [reply.text for reply in first] == [reply.text for reply in second] == ["ok"] * 20
    assert (server.stats()["calls"], LlmCall.objects.count()) == (20, 20)
    assert not CallClaim.objects.exists()


def test_a_call_that_failed_may_be_asked_by_whoever_waited():
    with FakeLlm(latency=0.1, script=[Act(status=400)]) as server:
        (first,), (second,) = asked_by_two(server, questions=1)
    assert sorted(type(each).__name__ for each in (first, second)) == ["LlmError", "Reply"]
    assert isinstance(first, LlmError)
    assert server.stats()["calls"] == 2


def test_a_dead_owner_is_waited_for_no_longer_than_its_claim(settings):
    settings.RUN_STALE_SECONDS = 4
    where = Endpoint("fake", "http://127.0.0.1/v1", "m")
    request = where.request((Message(Speaker.USER, "Question 0"),))
    CallClaim.objects.create(key=request.key(), owner="dead", expires_at=later(minutes=5))

    async def ask():
        async with RowReplyStore(endpoint=None) as store:
            at_once = await store.take_many([request.key()])
            await CallClaim.objects.aupdate(expires_at=later(minutes=-1))
            return at_once, await store.take_many([request.key()])

    at_once, then = async_to_sync(ask)()
    assert (list(at_once.claimed), list(then.claimed)) == ([], [request.key()])


def test_claims_are_kept_while_calls_take_long(settings):
    settings.RUN_STALE_SECONDS = 2

    async def hold():
        async with RowReplyStore(endpoint=None) as store:
            await store.take_many(["a"])
            before = await CallClaim.objects.aget()
            async with asyncio.timeout(PATIENCE):
                while (await CallClaim.objects.aget()).expires_at <= before.expires_at:
                    await asyncio.sleep(0.02)

    async_to_sync(hold)()
    assert not CallClaim.objects.exists()
