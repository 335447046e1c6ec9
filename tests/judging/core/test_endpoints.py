from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import JsonSchema, Sampling
from judging.core.endpoints import (
    SITE_SECRETS,
    Endpoint,
    context_in_error,
    holds_key,
    lays_key_open,
    listed_context,
    looks_like_key,
    may_be_asked,
    may_hold_key,
)
from tests.refusals import refuses

MESSAGES = (Message(Speaker.USER, "Hello"),)
SCHEMA = JsonSchema("x", {})


@pytest.mark.parametrize(
    "url",
    [
        *("", "llm.example/v1", "file:///etc/passwd", "http://", "https://me:secret@llm.example"),
        *("http://[localhost]/v1", "http://[", "http://localhost:99999/v1"),
    ],
)
def test_an_address_that_cannot_be_used_is_refused(url):
    with refuses("llm:bad-endpoint") as refused:
        Endpoint("e", url, "m")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("variable", "allowed"),
    [("", True), ("LLM_OPENAI", True), ("OTHER_KEY", True), ("HOME", False)]
    + [(secret, False) for secret in sorted(SITE_SECRETS)],
)
def test_a_key_comes_from_a_variable_meant_for_it_and_never_opens_the_site(variable, allowed):
    listed = {"OTHER_KEY", *SITE_SECRETS}
    assert may_hold_key(variable, listed=listed) is allowed
    if allowed:
        where = Endpoint("e", "http://x/v1", "m", variable, listed_variables=listed)
        assert where.key_variable == variable
    else:
        with refuses("llm:key-variable", match=variable):
            Endpoint("e", "http://x/v1", "m", variable, listed_variables=listed)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8000/v1", True),
        ("http://127.0.0.1:8000/v1", True),
        ("http://[::1]:8000/v1", True),
        ("http://127.8.8.8/v1", True),
        ("http://127.evil.example/v1", False),
        ("https://llm.example/v1", False),
        ("http://localhost.example/v1", False),
    ],
)
def test_calls_to_this_machine_are_told_apart(url, local):
    assert Endpoint("e", url, "m").is_local is local


def test_a_request_leaves_out_what_the_endpoint_cannot_do():
    plain = Endpoint("e", "http://127.0.0.1/v1", "m", sampling=Sampling(0.2, 300))
    request = plain.request(MESSAGES, schema=SCHEMA, top_logprobs=5, attempt=2)
    assert (request.schema, request.top_logprobs, request.attempt) == (None, 0, 2)
    assert request.sampling == Sampling(0.2, 300)


def test_a_request_takes_what_it_can_and_never_more_tokens_than_the_limit():
    able = Endpoint("e", "http://127.0.0.1/v1", "m", has_logprobs=True, has_json_schema=True)
    request = able.request(MESSAGES, schema=SCHEMA, top_logprobs=5, max_tokens=1)
    assert (request.schema, request.top_logprobs, request.sampling.max_tokens) == (SCHEMA, 5, 1)
    assert able.request(MESSAGES, max_tokens=9_999).sampling.max_tokens == 1024


def test_further_fields_go_along_and_null_leaves_one_out():
    extra = {"reasoning_effort": "low", "temperature": None}
    where = Endpoint("e", "http://127.0.0.1/v1", "m", sampling=Sampling(0.2, 300, extra))
    body = where.request(MESSAGES, max_tokens=5).body()
    assert body["reasoning_effort"] == "low"
    assert body["max_tokens"] == 5
    assert "temperature" not in body


@pytest.mark.parametrize("extra", [{"n": 2}, {"stream": True}, {"messages": []}, ["a"], "a", None])
def test_further_fields_cannot_touch_what_is_filled_in_here(extra):
    with refuses("llm:bad-endpoint", match="JSON object without"):
        Endpoint("e", "http://127.0.0.1/v1", "m", sampling=Sampling(extra=extra))


SYSTEM, SECOND = Message(Speaker.SYSTEM, "Be kind."), Message(Speaker.SYSTEM, "Be brief.")
USER, REPLY = Message(Speaker.USER, "Hello"), Message(Speaker.ASSISTANT, "Hi")


@pytest.mark.parametrize(
    ("messages", "merged"),
    [
        ((USER, REPLY), (USER, REPLY)),
        ((SYSTEM, USER, REPLY), (Message(Speaker.USER, "Be kind.\n\nHello"), REPLY)),
        ((SYSTEM, SECOND, USER), (Message(Speaker.USER, "Be kind.\n\nBe brief.\n\nHello"),)),
        ((SYSTEM, REPLY, USER), (REPLY, Message(Speaker.USER, "Be kind.\n\nHello"))),
        ((SYSTEM,), (Message(Speaker.USER, "Be kind."),)),
        ((SYSTEM, REPLY), (Message(Speaker.USER, "Be kind."), REPLY)),
    ],
)
def test_without_a_system_role_the_first_user_message_says_it(messages, merged):
    plain = Endpoint("e", "http://127.0.0.1/v1", "m", has_system_role=False)
    assert plain.request(messages).messages == merged
    able = Endpoint("e", "http://127.0.0.1/v1", "m")
    assert able.request(messages).messages == messages


@pytest.mark.parametrize(
    ("rows", "context"),
    [
        ([{"id": "m", "max_model_len": 4096}], 4096),  # vLLM
        ([{"id": "/models/x.gguf", "meta": {"n_ctx_train": 32768, "n_ctx": 2048}}], 2048),
        ([{"id": "m", "meta": {"n_ctx_train": 32768}}], 32768),  # llama.cpp before 2026
        ([{"id": "m", "context_length": 200_000}], 200_000),  # OpenRouter
        ([{"id": "other", "max_model_len": 1}, {"id": "m", "max_model_len": 2}], 2),
        ([{"id": "other", "max_model_len": 1}, {"id": "third", "max_model_len": 2}], None),
        ([{"id": "m"}], None),  # OpenAI
        ([{"id": "m", "max_model_len": "4096", "meta": None}], None),
        ([{"id": "m", "max_model_len": 0, "context_length": True}], None),
        ([{"id": "m", "max_model_len": 10**30, "context_length": 4096}], 4096),
        ([{"id": "m", "max_model_len": 2**31}], None),
        (["m"], None),
        ([], None),
        (None, None),
    ],
)
def test_a_list_of_models_tells_the_context_or_nothing_is_guessed(rows, context):
    assert listed_context({"object": "list", "data": rows}, model="m") == context


def test_what_is_no_list_of_models_tells_nothing():
    assert listed_context(["m"], model="m") is None


@pytest.mark.parametrize(
    ("said", "context"),
    [
        (
            "HTTP 400 This model's maximum context length is 8192 tokens. However, you requested "
            "8204 tokens",
            8192,
        ),
        ("HTTP 400 request (9001 tokens) exceeds the available context size (2048 tokens)", 2048),
        ("HTTP 400 the request exceeds the available context size. (n_ctx 16,384)", 16384),
        ("HTTP 400 maximum context length is 0", None),
        ("HTTP 400 maximum context length is ,", None),
        ("HTTP 400 maximum context length is 2147483647", 2**31 - 1),
        (f"HTTP 400 maximum context length is {10**30}", None),
        ("HTTP 400 max_tokens is too large: 99999", None),
    ],
)
def test_a_refusal_of_a_long_request_tells_the_context(said, context):
    assert context_in_error(said) == context


RANDOM = "4f9c1b7de02a4c5f8b6d3e1a9c7f5b2d"


@pytest.mark.parametrize(
    ("text", "found", "found_unnamed"),
    [
        ("sk-proj-4f9c1b7de02a4c5f8b6d", True, True),
        ("Bearer abcdefgh12", True, True),
        (f"http://llm/v1?x={RANDOM}", False, True),
        (f"/models/snapshots/{RANDOM}", False, False),
        ("xai-grok-4-fast", False, False),
        ("hf-llama-3-70b-instruct-awq", False, False),
    ],
)
def test_a_key_is_told_from_a_name(text, found, found_unnamed):
    assert (holds_key(text), holds_key(text, named=False)) == (found, found_unnamed)


@pytest.mark.parametrize(
    ("variable", "is_key"),
    [
        ("LLM_OPENAI_KEY", False),
        ("LLM_A_LONG_NAME_OF_A_VARIABLE_FOR_A_KEY", False),
        (RANDOM, True),
        ("a-name-that-no-variable-has-because-it-is-long", True),
        ("gsk_4f9c1b7de02a4c5f8b6d", True),
    ],
)
def test_a_key_typed_as_a_variable_s_name_is_known(variable, is_key):
    assert looks_like_key(variable) is is_key


@pytest.mark.parametrize(
    ("address", "hosts", "used", "allowed"),
    [
        ("https://api.openai.com/v1", {"api.openai.com"}, (), True),
        ("https://elsewhere.example/v1", {"api.openai.com"}, (), False),
        ("https://elsewhere.example/v1", {"*"}, (), True),
        ("http://lab:8080/v1", {"lab:8080"}, (), True),
        ("http://lab:8081/v1", {"lab:8080"}, (), False),
        ("https://lab:9/v2", (), ("http://lab:9/v1",), True),
        ("http://lab:9/v2", (), ("https://lab:9/v1",), False),
    ],
)
def test_where_an_endpoint_may_be(address, hosts, used, allowed):
    assert may_be_asked(address, hosts=hosts, used=used) is allowed


def test_a_provider_is_asked_by_https():
    assert lays_key_open("http://api.openai.com/v1")
    assert not lays_key_open("https://api.openai.com/v1")
    assert not lays_key_open("http://127.0.0.1:8080/v1")


@pytest.mark.parametrize(("times", "has_room"), [(2, True), (4, False)])
def test_a_reply_may_be_longer_as_far_as_the_context_has_room(times, has_room):
    where = Endpoint("e", "http://x/v1", "m", sampling=Sampling(max_tokens=100), context_tokens=250)
    assert where.has_room(MESSAGES, times) is has_room
    assert where.request(MESSAGES, times_longer=times).sampling.max_tokens == 100 * times


@pytest.mark.parametrize("address", ["http://[localhost]/v1", "http://[", "ftp://localhost/v1"])
def test_what_is_no_address_is_never_asked(address):
    assert not may_be_asked(address, hosts={"*"})
    assert not may_be_asked("http://localhost/v1", hosts=(), used=[address])
    assert not lays_key_open(address)


def test_headers_are_names_with_the_names_of_variables():
    headers = {"api-key": "LLM_AZURE_KEY", "X-Route": "ROUTE", "Authorization": "LLM_AUTH"}
    where = Endpoint("e", "http://127.0.0.1/v1", "m", headers=headers, listed_variables={"ROUTE"})
    assert where.headers == headers
    with refuses("llm:key-variable"):
        Endpoint("e", "http://127.0.0.1/v1", "m", headers={"X-Route": "ROUTE"})


@pytest.mark.parametrize(
    "headers",
    [
        None,
        [],
        "api-key",
        {"Host": "LLM_KEY"},
        {"content-length": "LLM_KEY"},
        {"Content-Type": "LLM_KEY"},
        {"TRANSFER-ENCODING": "LLM_KEY"},
        {"Connection": "LLM_KEY"},
        {"Cookie": "LLM_KEY"},
        {"Proxy-Authorization": "LLM_KEY"},
        {"X-Forwarded-For": "LLM_KEY"},
        {"a b": "LLM_KEY"},
        {"a\r\nb": "LLM_KEY"},
        {"": "LLM_KEY"},
        {"é": "LLM_KEY"},
        {"api-key": ""},
        {"api-key": "sk-typed-here"},
        {"api-key": 7},
        {"api-key": None},
        {"api-key": "LLM_A", "API-Key": "LLM_B"},
        {f"x-{number}": "LLM_KEY" for number in range(21)},
    ],
)
def test_other_headers_are_refused(headers):
    with refuses("llm:bad-headers"):
        Endpoint("e", "http://127.0.0.1/v1", "m", headers=headers)
