"""How endpoints want to be asked, as their refusals say it."""

from __future__ import annotations

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import ChatRequest, JsonSchema
from judging.core.manners import PLAIN, Manners, lesson_in, manners_of
from judging.core.problems import read_problem

REQUEST = ChatRequest(
    "http://x/v1",
    "m",
    (Message(Speaker.SYSTEM, "Be brief."), Message(Speaker.USER, "Hello")),
    schema=JsonSchema("s", {"type": "object"}),
    top_logprobs=20,
)
BODY = REQUEST.body()
BARE = ChatRequest("http://x/v1", "m", (Message(Speaker.USER, "Hello"),)).body()


def lesson(message, sent=BODY, **more):
    problem = read_problem({"error": {"message": message, **more}})
    assert problem is not None
    return lesson_in(problem, sent)


NEW_NAME = {"limit_name": "max_completion_tokens"}
NO_SYSTEM = {"system_role": False}
NO_SCHEMA = {"json_schema": False}
STREAM = {"streams": True}


@pytest.mark.parametrize(
    ("message", "taught"),
    [
        # OpenAI and Azure, LiteLLM, OpenRouter behind a gateway
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.", NEW_NAME),
        ("Unrecognized request argument supplied: max_tokens", NEW_NAME),
        ("m does not support parameters: {'max_tokens': 1024}", NEW_NAME),
        ("'temperature' does not support 0 with this model. Only 1.", {"temperature": False}),
        ("`temperature` is deprecated for this model.", {"temperature": False}),
        ("invalid temperature: only 1 is allowed for this model", {"temperature": False}),
        ("gpt-5 models don't support temperature=0.", {"temperature": False}),
        # TGI, FastAPI
        ("temperature must be strictly positive", {"warm": True}),
        ("temperature: must be greater than 0", {"warm": True}),
        # FastAPI, OpenAI, vLLM, Fireworks, xAI
        (
            "Input should be less than or equal to 5: body.top_logprobs",
            {"most_alternatives": 5},
        ),
        ("top_logprobs: Expected a value <= 5, but got 20 instead.", {"most_alternatives": 5}),
        ("Requested logprobs of 20, greater than max allowed: 8", {"most_alternatives": 8}),
        ("top_logprobs is out of range", {"most_alternatives": 5}),
        ("top_logprobs must in [0,5]", {"most_alternatives": 5}),
        ("Logprobs must be in the range [1, 20)", {"most_alternatives": 19}),
        ("You are not allowed to request logprobs from this model", {"logprobs": False}),
        ("Log probabilities are not available", {"logprobs": False}),
        # TGI, OpenRouter
        ("`top_n_tokens` must be >= 0 and <= 5. Given: 20", {"most_alternatives": 5}),
        ("No endpoints found that can handle the requested parameters.", {"logprobs": False}),
        # DashScope, Fireworks
        ("This model only support stream mode, please enable the stream parameter", STREAM),
        ("Requests with max_tokens > 4096 must have stream=true", STREAM),
        ("parameter.enable_thinking must be false for non-streaming calls", STREAM),
        # DeepSeek, Groq, DashScope, OpenAI, vLLM
        ("This response_format type is unavailable now", NO_SCHEMA),
        ("This model does not support response format `json_schema`.", NO_SCHEMA),
        ("'messages' must contain the word 'json' to use 'response_format'", NO_SCHEMA),
        ("Invalid schema for response_format 'memory'", NO_SCHEMA),
        # Templates, Gemma at Google, o1, LiteLLM, Chinese gateways
        ("System role not supported", NO_SYSTEM),
        ("Input should be 'user' or 'assistant': messages.0.role", NO_SYSTEM),
        ("Developer instruction is not enabled for models/gemma-3", NO_SYSTEM),
        ("'messages[0].role' does not support 'system' with this model", NO_SYSTEM),
        ("Conversation roles must alternate user/assistant/user/...", NO_SYSTEM),
        ("该模型不支持system角色", NO_SYSTEM),
        # Anthropic, DeepSeek, OpenAI
        ("max_tokens: 1024 > 512, which is the maximum allowed", {"most_tokens": 512}),
        (
            "Invalid max_tokens value, the valid range of max_tokens is [1, 800]",
            {"most_tokens": 800},
        ),
        ("max_tokens must be at least 2,048", {"least_tokens": 2048}),
        ("Try again with higher max_tokens.", {}),
        # Nothing that was sent is named.
        ('Invalid JSON payload received. Unknown name "x": Cannot find field.', {}),
        ("upstream connect error", {}),
        ("The operating system failed", {}),
        ("seed is not supported", {}),
    ],
)
def test_a_refusal_teaches_what_it_names(message, taught):
    assert lesson(message) == taught


@pytest.mark.parametrize(
    "message",
    [
        "temperature is not supported",
        "logprobs are not supported",
        "response_format is not supported",
        "System role not supported",
        "stream_options is not supported",
    ],
)
def test_what_was_not_sent_is_no_lesson(message):
    sent = {name: BARE[name] for name in ("model", "messages", "max_tokens")}
    assert lesson(message, sent) == {}


def test_a_lesson_is_learned_from_the_field_that_a_validation_names():
    problem = read_problem({"detail": [{"loc": ["body", "top_logprobs"], "msg": "<= 5"}]})
    assert problem is not None
    assert lesson_in(problem, BODY) == {"most_alternatives": 5}


def test_the_next_lesson_follows_the_first():
    renamed = Manners(limit_name="max_completion_tokens").wire(BODY)
    extra = "max_completion_tokens: Extra inputs are not permitted"
    assert lesson(extra, renamed) == {"limit_name": "max_tokens"}
    assert lesson("max_tokens is not supported", renamed) == {}
    assert lesson("max_tokens: no", BODY | {"max_tokens": None}) == {}
    warm = Manners(warm=True).wire(BARE)
    assert lesson("temperature must be positive", warm) == {"temperature": False}
    five = Manners(most_alternatives=5).wire(BODY)
    assert lesson("top_logprobs must be at most 3", five) == {"most_alternatives": 3}
    one = Manners(most_alternatives=1).wire(BODY)
    assert lesson("top_logprobs must be at most 0", one) == {"logprobs": False}
    short = BODY | {"max_tokens": 1}
    limit = "max_tokens or model output limit was reached. Try again with higher max_tokens."
    assert lesson(limit, short) == {"least_tokens": 16}
    told = PLAIN.wire(BARE, told=True)
    assert lesson("stream_options is not supported", told) == {"stream_options": False}
    without = Manners(stream_options=False).wire(BARE, told=True)
    assert without["stream"] is True
    assert lesson("streaming is not supported", without) == {"streams": False}
    assert lesson("seed is not supported", without) == {}


def test_what_is_not_known_to_differ_is_sent_as_it_is():
    assert PLAIN.wire(BODY) is BODY
    assert Manners().whole(BODY) == BODY


def test_everything_is_sent_as_the_endpoint_takes_it():
    manners = Manners(
        limit_name="max_completion_tokens",
        least_tokens=16,
        most_tokens=512,
        temperature=False,
        most_alternatives=5,
        json_schema=False,
        system_role=False,
        streams=True,
    )
    sent = manners.wire(BODY)
    assert sent == {
        "model": "m",
        "messages": [{"role": "user", "content": "Be brief.\n\nHello"}],
        "max_completion_tokens": 512,
        "logprobs": True,
        "top_logprobs": 5,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert manners.whole(BARE | {"max_tokens": 1})["max_completion_tokens"] == 16
    assert "stream" not in manners.whole(BODY)
    assert Manners(streams=False).wire(BODY, told=True) == BODY
    silent = Manners(logprobs=False, warm=True).whole(BODY)
    assert (silent["temperature"], "logprobs" in silent, "top_logprobs" in silent) == (
        0.01,
        False,
        False,
    )
    assert Manners(warm=True).whole(BODY | {"temperature": 0.7})["temperature"] == 0.7
    assert "max_tokens" not in Manners(least_tokens=3).whole({"model": "m"})


def test_manners_are_stored_by_what_differs():
    manners = Manners(streams=True, most_alternatives=5)
    assert manners.to_json() == {"most_alternatives": 5, "streams": True}
    assert manners_of(manners.to_json()) == manners
    assert manners_of({}) is PLAIN
    assert manners_of({"later": 1}) is PLAIN
    assert manners.takes("logprobs")
    assert not Manners(logprobs=False).takes("logprobs")


def test_parameters_that_are_not_named_are_left_out_one_by_one():
    message = "No endpoints found that can handle the requested parameters."
    without_letters = {name: BODY[name] for name in BODY if "logprobs" not in name}
    assert lesson(message, without_letters) == NO_SCHEMA
    assert lesson(message, BARE) == {}
