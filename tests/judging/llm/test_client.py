from __future__ import annotations

import asyncio
import math
import random
import sys
from functools import partial

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import JsonSchema, Sampling, Usage
from judging.core.endpoints import Endpoint
from judging.llm import client as client_module
from judging.llm import transport
from judging.llm.client import ChatClient
from judging.llm.errors import LlmCode, LlmError
from judging.llm.pacing import Pacer, Patience
from judging.llm.stores import MemoryReplyStore
from tests.clock import PATIENCE, HandClock, deadline_at, until
from tests.fake_llm import Act, FakeLlm

QUICK = Patience(tries=4, first_wait=0.01, longest_wait=0.02)
KEY = "sk-very-secret-0123456789"


def endpoint(server, **fields):
    return Endpoint(**({"name": "fake", "base_url": server.base_url, "model": "m"} | fields))


def say(text, **fields):
    """A request with one message."""
    return lambda where: where.request((Message(Speaker.USER, text),), **fields)


def ask(server, *questions, store=None, environ=None, patience=QUICK, **fields):
    """The replies, or errors, to questions that are asked at once, and what the client counted."""
    where = endpoint(server, **fields)

    async def run():
        client = ChatClient(
            where, store=store, patience=patience, environ=environ or {}, rng=random.Random(0)
        )
        async with client:
            answers = await asyncio.gather(
                *(client.complete(question(where)) for question in questions),
                return_exceptions=True,
            )
        return answers, client.counts

    return asyncio.run(run())


def failure(server, **fields):
    (error,), counts = ask(server, say("Hello"), **fields)
    assert isinstance(error, LlmError), error
    return error, counts


@pytest.fixture
def clock(monkeypatch):
    """The clock of clients, which stands still unless they sleep."""
    clock = HandClock()
    monkeypatch.setattr(client_module, "time", clock)
    monkeypatch.setattr(client_module, "Pacer", partial(Pacer, sleep=clock.sleep))
    return clock


@pytest.fixture
def hang(monkeypatch, clock):
    """Has every deadline expire once the server has got a number of calls more than it answered."""

    def set_up(server, *, answered=0):
        calls = {"expired": 0}

        def is_due():
            return server.stats()["calls"] > answered + calls["expired"]

        def expired(seconds):
            calls["expired"] += 1
            clock.now += seconds

        monkeypatch.setattr(transport, "deadline", deadline_at(is_due, expired))

    return set_up


def test_a_reply_comes_with_its_usage_and_latency(clock):
    clock.tick = 0.25
    with FakeLlm() as server:
        (reply,), counts = ask(server, say("Hello there"))
    assert (reply.text, reply.finish_reason) == ("ok", "stop")
    assert reply.usage == Usage(input_tokens=2, cached_tokens=0, output_tokens=1)
    assert reply.latency_ms == 250  # read before the call and after it
    assert (counts.calls, counts.replies, counts.input_tokens) == (1, 1, 2)


def test_the_request_carries_sampling_schema_and_log_probabilities():
    question = say("Hello", schema=JsonSchema("s", {"type": "object"}), top_logprobs=4)
    able = {"has_logprobs": True, "has_json_schema": True, "sampling": Sampling(0.3, 9)}
    with FakeLlm() as server:
        (reply,), _ = ask(server, question, **able)
    (body,) = server.bodies
    assert (body["temperature"], body["max_tokens"], body["top_logprobs"]) == (0.3, 9, 4)
    assert body["response_format"]["json_schema"]["name"] == "s"
    assert reply.steps[0].token == "ok"


@pytest.mark.parametrize(
    ("bad", "code"),
    [
        (Act(status=500), LlmCode.UNAVAILABLE),
        (Act(status=503), LlmCode.UNAVAILABLE),
        (Act(status=429, headers={"Retry-After": "0"}), LlmCode.RATE_LIMITED),
        (Act(status=429), LlmCode.RATE_LIMITED),
        (Act(status=408), LlmCode.TIMEOUT),
        (Act(drop=True), LlmCode.UNAVAILABLE),
        (Act(raw=b'{"choices": [{'), LlmCode.MALFORMED),
        (Act(raw=b"\xff\xfe"), LlmCode.MALFORMED),
        (Act(body={"choices": []}), LlmCode.MALFORMED),
        (Act(body={"error": {"message": "overloaded", "code": 503}}), LlmCode.UNAVAILABLE),
        (Act(body={"error": {"message": "unknown"}}), LlmCode.UNAVAILABLE),
    ],
)
def test_what_may_pass_is_tried_again(bad, code):
    with FakeLlm(script=[bad, bad]) as server:
        (reply,), counts = ask(server, say("Hello"))
    assert (reply.text, counts.calls) == ("ok", 3)
    with FakeLlm(script=[bad] * 9) as server:
        error, counts = failure(server)
    assert (error.code, error.permanent, counts.calls) == (code, False, QUICK.tries)


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (400, LlmCode.BAD_REQUEST),
        (401, LlmCode.REFUSED_KEY),
        (402, LlmCode.QUOTA),
        (403, LlmCode.FORBIDDEN),
        (404, LlmCode.UNKNOWN_MODEL),
        (422, LlmCode.BAD_REQUEST),
    ],
)
def test_what_will_not_pass_is_asked_once(status, code):
    with FakeLlm(script=[Act(status=status)]) as server:
        error, counts = failure(server)
    assert (error.code, error.permanent, counts.calls) == (code, True, 1)
    assert f"HTTP {status} scripted {status}" in error.detail


@pytest.mark.parametrize("page", [b"<!doctype html><p>Sign in", b"\n <html>404"])
def test_a_web_page_is_no_api_and_is_not_tried_again(page):
    with FakeLlm(script=[Act(raw=page)] * 9) as server:
        error, counts = failure(server)
    assert (error.code, error.permanent, counts.calls) == (LlmCode.NO_API, True, 1)
    assert not error.maybe_billed


def test_a_spent_quota_is_not_haste():
    problem = {"error": {"message": "You exceeded", "code": "insufficient_quota"}}
    with FakeLlm(script=[Act(status=429, body=problem)]) as server:
        error, counts = failure(server)
    assert (error.code, counts.calls) == (LlmCode.QUOTA, 1)


def test_an_answer_that_does_not_come_is_a_time_out(hang):
    with FakeLlm(script=[Act(delay=PATIENCE)] * 9) as server:
        hang(server)
        error, counts = failure(server, timeout_seconds=PATIENCE)
    assert (error.code, counts.calls) == (LlmCode.TIMEOUT, QUICK.tries)
    assert error.detail == "no answer within 60 s"


def test_a_try_that_fails_late_is_the_last(hang):
    soon = Patience(tries=4, first_wait=0.01, longest_wait=0.02, last_start=PATIENCE / 2)
    with FakeLlm(script=[Act(status=500), Act(delay=PATIENCE), Act()]) as server:
        hang(server, answered=1)
        error, counts = failure(server, timeout_seconds=PATIENCE, patience=soon)
    assert (error.code, counts.calls) == (LlmCode.TIMEOUT, 2)


def test_an_endpoint_that_is_not_there_is_unavailable():
    with FakeLlm() as server:
        gone = server.base_url
    (error,), counts = ask(server, say("Hello"), base_url=gone)
    assert error.code is LlmCode.UNAVAILABLE
    assert counts.calls == QUICK.tries


def test_a_redirect_is_not_followed():
    with FakeLlm() as other:
        away = Act(status=307, headers={"Location": f"{other.base_url}/chat/completions"})
        with FakeLlm(script=[away]) as server:
            error, _ = failure(server, environ={"LLM_KEY": KEY}, key_variable="LLM_KEY")
    assert error.code is LlmCode.NO_API
    assert other.stats()["calls"] == 0


def test_retry_after_holds_every_call_of_the_client(clock):
    began = clock.now
    with FakeLlm(script=[Act(status=429, headers={"Retry-After": "0.2"})]) as server:
        answers, counts = ask(server, *(say(f"Hello {i}") for i in range(4)), concurrency=1)
    assert [reply.text for reply in answers] == ["ok"] * 4
    assert counts.calls == 5
    assert clock.now == pytest.approx(began + 0.2)
    assert [reply.latency_ms for reply in answers] == [0] * 4  # the pause is no latency


def test_a_retry_after_that_is_too_long_is_given_up_for_now():
    with FakeLlm(script=[Act(status=429, headers={"Retry-After": "3600"})]) as server:
        error, counts = failure(server)
    assert (error.code, error.permanent, error.retry_after) == (LlmCode.RATE_LIMITED, False, 3600)
    assert counts.calls == 1


def test_no_more_calls_at_a_time_than_allowed():
    with FakeLlm(script=[Act(together=3)] * 20) as server:
        answers, _ = ask(server, *(say(f"Hello {i}") for i in range(20)), concurrency=3)
    assert len(answers) == 20
    assert server.stats()["most_at_once"] == 3


def test_calls_keep_their_order_so_that_prefixes_repeat():
    with FakeLlm() as server:
        ask(server, *(say(f"Hello {i:02}") for i in range(20)), concurrency=1)
    said = [body["messages"][0]["content"] for body in server.bodies]
    assert said == sorted(said)


def test_a_stored_reply_is_not_paid_for_again():
    store = MemoryReplyStore()
    with FakeLlm(rule="longer") as server:
        (first,), _ = ask(server, say("Hello"), store=store)
        (again,), counts = ask(server, say("Hello"), store=store)
    assert first == again
    assert server.stats()["calls"] == 1
    assert (counts.calls, counts.stored) == (0, 1)


def test_equal_questions_that_are_asked_at_once_share_one_call():
    with FakeLlm(latency=0.05) as server:
        answers, counts = ask(server, *[say("Hello")] * 10)
    assert len({id(reply) for reply in answers}) == 1
    assert (server.stats()["calls"], counts.shared) == (1, 9)


def test_a_failure_is_shared_and_not_kept():
    store = MemoryReplyStore()
    with FakeLlm(script=[Act(status=400)]) as server:
        answers, _ = ask(server, say("Hello"), say("Hello"), store=store)
        (later,), _ = ask(server, say("Hello"), store=store)
    assert [error.code for error in answers] == [LlmCode.BAD_REQUEST] * 2
    assert later.text == "ok"


class CountingStore(MemoryReplyStore):
    def __init__(self):
        super().__init__()
        self.asked = []

    async def get_many(self, keys):
        self.asked.append(len(keys))
        return await super().get_many(keys)


def test_the_store_is_asked_once_for_all_that_is_asked_at_once():
    store = CountingStore()
    with FakeLlm() as server:
        ask(server, *(say(f"Hello {i}") for i in range(50)), store=store)
    assert store.asked == [50]


def test_what_is_wanted_while_the_store_is_asked_makes_one_more_query():
    class SlowStore(CountingStore):
        def __init__(self):
            super().__init__()
            self.begun, self.may_answer = asyncio.Event(), asyncio.Event()

        async def get_many(self, keys):
            self.begun.set()
            await self.may_answer.wait()
            return await super().get_many(keys)

    async def run(where, store):
        async with ChatClient(where, store=store) as client:
            requests = [say(f"Hello {number}")(where) for number in range(5)]
            tasks = [asyncio.create_task(client.complete(requests[0]))]
            await store.begun.wait()
            for request in requests[1:]:
                tasks.append(asyncio.create_task(client.complete(request)))
                await asyncio.sleep(0)
            store.may_answer.set()
            await asyncio.gather(*tasks)

    store = SlowStore()
    with FakeLlm() as server:
        asyncio.run(run(endpoint(server), store))
    assert store.asked == [1, 4]


def test_a_store_that_fails_fails_the_question():
    class BrokenStore(MemoryReplyStore):
        async def get_many(self, keys):
            raise OSError("disk gone")

    with FakeLlm() as server:
        answers, _ = ask(server, say("Hello"), say("Hi"), store=BrokenStore())
    assert [type(error) for error in answers] == [OSError, OSError]
    assert server.stats()["calls"] == 0


def test_one_who_gives_up_does_not_take_the_call_from_the_others():
    async def run(where):
        async with ChatClient(where, patience=QUICK) as client:
            request = say("Hello")(where)
            hasty = asyncio.create_task(client.complete(request))
            patient = asyncio.create_task(client.complete(request))
            await until(lambda: server.bodies)
            hasty.cancel()
            server.most_answers = math.inf
            return await patient

    with FakeLlm() as server:
        server.most_answers = 0
        assert asyncio.run(run(endpoint(server))).text == "ok"
    assert server.stats()["calls"] == 1


def test_leaving_ends_what_is_under_way():
    async def run(where):
        async with ChatClient(where, patience=QUICK) as client:
            task = asyncio.create_task(client.complete(say("Hello")(where)))
            await until(lambda: server.bodies)
        with pytest.raises(asyncio.CancelledError):
            await task

    with FakeLlm(latency=PATIENCE) as server:
        asyncio.run(run(endpoint(server)))


def test_the_key_is_read_from_the_named_variable_and_sent_as_a_bearer():
    with FakeLlm() as server:
        ask(server, say("Hello"), key_variable="LLM_MY_KEY", environ={"LLM_MY_KEY": f" {KEY}\n"})
    assert server.headers[0]["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("variable", ["", "LLM_NOT_SET"])
def test_without_a_key_none_is_sent(variable):
    with FakeLlm() as server:
        ask(server, say("Hello"), key_variable=variable, environ={"OTHER": KEY})
    assert "Authorization" not in server.headers[0]


def test_the_key_is_shown_nowhere(caplog):
    problem = {"error": {"message": f"Incorrect API key provided: {KEY}.", "code": "invalid"}}
    caplog.set_level("DEBUG")
    with FakeLlm(script=[Act(status=401, body=problem)]) as server:
        error, _ = failure(server, key_variable="LLM_MY_KEY", environ={"LLM_MY_KEY": KEY})
    assert error.detail == "HTTP 401 Incorrect API key provided: ***."
    assert KEY not in caplog.text
    assert KEY not in repr(endpoint(server, key_variable="LLM_MY_KEY"))


@pytest.mark.parametrize("key", ["sk-“quoted”-key", "sk-a\nb", "sk-a\0b"])
def test_a_key_that_no_header_can_carry_is_refused_without_a_call(key):
    with FakeLlm() as server:
        error, _ = failure(server, key_variable="LLM_MY_KEY", environ={"LLM_MY_KEY": key})
        assert server.stats()["calls"] == 0
    assert error.code is LlmCode.REFUSED_KEY
    assert key not in error.detail


def test_nothing_is_told_of_this_machine_nor_taken_from_the_library_s_own_variables(monkeypatch):
    for name in ("OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/elsewhere")
    with FakeLlm() as server:
        ask(server, say("Hello"))
    headers = server.headers[0]
    assert headers["User-Agent"] == "SenseJudge"
    assert not [name for name in headers if name.lower().startswith(("x-stainless", "openai-"))]
    assert KEY not in str(headers)


def test_every_request_is_like_the_first_that_the_library_built():
    texts = ["Hello", 'Much longer, with "quotes", 汉字 and \U0001f600', "Hi"]
    with FakeLlm() as server:
        ask(server, *map(say, texts), concurrency=1, key_variable="LLM_K", environ={"LLM_K": KEY})
    first, *others = (dict(headers) for headers in server.headers)
    lengths = {int(headers.pop("Content-Length")) for headers in (first, *others)}
    assert others == [first, first]
    assert len(lengths) == 3
    assert [body["messages"][0]["content"] for body in server.bodies] == texts
    assert [{**body, "messages": []} for body in server.bodies][1:] == [
        {**server.bodies[0], "messages": []}
    ] * 2


def test_a_server_that_knows_the_limit_by_its_new_name_is_understood():
    problem = {"error": {"message": "Use 'max_completion_tokens' instead of 'max_tokens'."}}
    with FakeLlm(script=[Act(status=400, body=problem)]) as server:
        answers, _ = ask(server, say("Hello"), say("Hi"), concurrency=1)
    assert [reply.text for reply in answers] == ["ok", "ok"]
    assert ["max_tokens" in body for body in server.bodies] == [True, False, False]
    assert server.bodies[1]["max_completion_tokens"] == 1024


def test_a_server_that_refuses_both_names_is_not_asked_forever():
    problem = {"error": {"message": "max_completion_tokens is wrong"}}
    with FakeLlm(script=[Act(status=400, body=problem)] * 9) as server:
        error, _ = failure(server)
    assert error.code is LlmCode.BAD_REQUEST
    assert server.stats()["calls"] == 2


def test_calls_are_paced():
    with FakeLlm() as server:
        _, counts = ask(server, *(say(f"Hello {i}") for i in range(3)), tokens_per_minute=10**9)
    assert counts.calls == 3


def test_openai_is_imported_only_once_a_call_is_made():
    code = (
        "import sys; import judging.llm.client as c; from judging.core.endpoints import Endpoint;"
        "c.ChatClient(Endpoint('e', 'http://127.0.0.1/v1', 'm'));"
        "sys.exit('openai' in sys.modules or 'httpx2' in sys.modules)"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_client_that_lands_waits_for_what_was_sent_and_sends_nothing_more():
    with FakeLlm(script=[Act(), Act(status=500)]) as server:
        server.most_answers = 0
        where, store = endpoint(server, concurrency=2), MemoryReplyStore()

        async def run():
            async with ChatClient(where, store=store, patience=QUICK) as client:
                asked = asyncio.gather(
                    *(client.complete(say(f"Question {n}")(where)) for n in range(5)),
                    return_exceptions=True,
                )
                await until(lambda: len(server.bodies) == 2)
                landing = asyncio.create_task(client.land())
                await asyncio.sleep(0)  # it begins to land
                server.most_answers = math.inf
                await landing
                return await asked

        answers = asyncio.run(run())
    assert server.stats()["calls"] == 2
    kinds = sorted(type(answer).__name__ for answer in answers)
    assert kinds == ["CancelledError"] * 3 + ["LlmError", "Reply"]
