from __future__ import annotations

import json
from dataclasses import replace

import pytest

from annotation.core.conversations import Message, Speaker
from judging.core.chat import (
    ChatRequest,
    JsonSchema,
    Sampling,
    TokenStep,
    Usage,
    event_data,
    is_stream,
    lines_of,
    read_completion,
    steps_from_json,
    steps_to_json,
)
from judging.core.verdicts import TokenLogprob
from tests.refusals import refuses

REQUEST = ChatRequest("http://127.0.0.1:1/v1", "m", (Message(Speaker.USER, "Hello 你好"),))


def completion(content, **extra):
    return {"choices": [{"message": {"role": "assistant", "content": content}, **extra}]}


def read(content, **extra):
    return read_completion("k", completion(content, **extra), latency_ms=7)


def token(text, top=(), raw=None):
    return {
        "token": text,
        "bytes": raw,
        "top_logprobs": [{"token": name, "logprob": value} for name, value in top],
    }


def test_the_key_is_the_digest_of_the_canonical_json():
    # Computed apart, so that a key never changes by accident: every stored reply hangs on it.
    from hashlib import sha256

    canonical = (
        '{"attempt":0,"base_url":"http://127.0.0.1:1/v1","max_tokens":1024,"messages":'
        '[{"content":"Hello \\u4f60\\u597d","role":"user"}],"model":"m","sample":0,'
        '"temperature":0.0}'
    )
    assert REQUEST.key() == sha256(canonical.encode()).hexdigest()


@pytest.mark.parametrize(
    ("sampling", "drawn"),
    [
        (Sampling(), False),
        (Sampling(temperature=0.7), True),
        (Sampling(extra={"temperature": None}), True),  # the server's own, which nobody knows
        (Sampling(temperature=0.7, extra={"temperature": 0}), False),
    ],
)
def test_the_same_request_gets_the_same_reply_at_temperature_0(sampling, drawn):
    assert replace(REQUEST, sampling=sampling).is_drawn is drawn


@pytest.mark.parametrize(
    "other",
    [
        replace(REQUEST, base_url="http://127.0.0.1:2/v1"),
        replace(REQUEST, model="n"),
        replace(REQUEST, messages=(Message(Speaker.SYSTEM, "Hello 你好"),)),
        replace(REQUEST, messages=(Message(Speaker.USER, "Hello"),)),
        replace(REQUEST, sampling=Sampling(temperature=0.1)),
        replace(REQUEST, sampling=Sampling(max_tokens=1)),
        replace(REQUEST, sampling=Sampling(extra={"top_p": 0.5})),
        replace(REQUEST, sampling=Sampling(extra={"temperature": None})),
        replace(REQUEST, schema=JsonSchema("a", {"type": "object"})),
        replace(REQUEST, top_logprobs=5),
        replace(REQUEST, sample=1),
        replace(REQUEST, attempt=1),
        replace(REQUEST, occasion="a talk"),
    ],
)
def test_whatever_could_change_the_reply_changes_the_key(other):
    assert other.key() != REQUEST.key()


def test_a_slash_at_the_end_of_the_address_does_not():
    assert replace(REQUEST, base_url="http://127.0.0.1:1/v1/").key() == REQUEST.key()


def test_the_body_asks_for_what_is_wanted_and_nothing_else():
    assert REQUEST.body() == {
        "model": "m",
        "messages": [{"role": "user", "content": "Hello 你好"}],
        "temperature": 0.0,
        "max_tokens": 1024,
    }
    full = replace(REQUEST, schema=JsonSchema("score", {"type": "object"}), top_logprobs=3).body()
    assert (full["logprobs"], full["top_logprobs"]) == (True, 3)
    assert full["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "score", "schema": {"type": "object"}, "strict": True},
    }


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ("  plain \n", "plain", ""),
        ("<think>hm</think>\n\nyes", "yes", "hm"),
        ("hm</think>yes", "yes", "hm"),
        ("<think>never ends", "", "never ends"),
        ("", "", ""),
        (None, "", ""),
        ([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}, 3], "in parts", ""),
        ("nul \x00 and half \ud83d", "nul \ufffd and half \ufffd", ""),
    ],
)
def test_reasoning_is_taken_out_once(content, text, reasoning):
    reply = read(content)
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_that_comes_apart_is_kept(name):
    data = {"choices": [{"message": {"content": "yes", name: "because"}}]}
    assert read_completion("k", data, latency_ms=1).reasoning == "because"


@pytest.mark.parametrize(
    "data", [None, [], {}, {"choices": []}, {"choices": [3]}, {"choices": [{"message": None}]}]
)
def test_what_is_no_completion_is_refused(data):
    with refuses("llm:malformed"):
        read_completion("k", data, latency_ms=1)


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, Usage()),
        ({"prompt_tokens": 9, "completion_tokens": 2}, Usage(9, None, 2)),
        (
            {
                "prompt_tokens": 9,
                "completion_tokens": 2,
                "prompt_tokens_details": {"cached_tokens": 8},
            },
            Usage(9, 8, 2),
        ),
        ({"prompt_tokens": 9, "prompt_cache_hit_tokens": 4}, Usage(9, 4, None)),
        ({"prompt_tokens": "9", "completion_tokens": -1, "prompt_cache_hit_tokens": True}, Usage()),
        ({"prompt_tokens": 2**31, "completion_tokens": 2**31 - 1}, Usage(None, None, 2**31 - 1)),
        ({"prompt_tokens": 50.0, "completion_tokens": 20.5}, Usage(50, None, None)),
        ({"prompt_tokens": 1e300, "completion_tokens": float("nan")}, Usage()),
    ],
)
def test_usage_is_kept_as_the_endpoint_counts(usage, expected):
    assert read_completion("k", completion("x") | {"usage": usage}, latency_ms=1).usage == expected


def test_steps_keep_the_first_token_and_lone_characters_with_offsets_into_the_text():
    tokens = [
        token("<think>"),
        token("A"),
        token("</think>"),
        token("\n"),
        token("分", raw=list("分".encode())),
        token(": "),
        token("4", [("4", -0.1), ("5", -2.5)]),
        token(" done"),
    ]
    reply = read("<think>A</think>\n分: 4 done", logprobs={"content": tokens})
    assert reply.steps == (
        TokenStep(0, "分", ()),
        TokenStep(5, "4", (TokenLogprob("4", -0.1), TokenLogprob("5", -2.5))),
    )


def test_tokens_of_reasoning_that_came_apart_are_skipped():
    tokens = [token("B"), token("."), token("A", [("A", -0.2)])]
    reply = read("A", logprobs={"content": tokens})
    assert reply.steps == (TokenStep(0, "A", (TokenLogprob("A", -0.2),)),)


def test_the_first_token_is_kept_even_where_the_reply_is_blank():
    tokens = [token("\n", [("\n", -0.1), ("A", -3.0)])]
    reply = read("\n", logprobs={"content": tokens})
    assert reply.text == ""
    assert reply.steps is not None
    assert reply.steps[0].top[1] == TokenLogprob("A", -3.0)


def test_odd_log_probabilities_do_no_harm():
    tokens = [
        {"token": "A", "bytes": [999], "top_logprobs": [{"token": "A"}, 7, {"logprob": -1}]},
        "nothing",
        {"token": "B", "top_logprobs": None},
    ]
    steps = read("AB", logprobs={"content": tokens}).steps
    assert steps == (TokenStep(0, "A", ()), TokenStep(1, "B", ()))
    assert read("AB", logprobs={"content": None}).steps is None
    assert read("AB").steps is None


def test_steps_survive_storing():
    steps = (TokenStep(3, "A", (TokenLogprob("A", -0.5), TokenLogprob("B", -1.0))),)
    assert steps_from_json(json.loads(json.dumps(steps_to_json(steps)))) == steps
    assert steps_from_json(steps_to_json(None)) is None


def test_the_finish_reason_and_the_latency_are_kept():
    reply = read("x", finish_reason="length")
    assert (reply.finish_reason, reply.latency_ms, reply.key) == ("length", 7, "k")
    assert read("x", finish_reason=None).finish_reason == ""


@pytest.mark.parametrize(
    "odd", [float("inf"), float("-inf"), float("nan"), 10**400, 1e6, -1e6, True, "-1", None]
)
def test_a_number_that_no_row_can_hold_is_left_out(odd):
    logprobs = {"content": [token("A", [("A", odd), ("B", -1)])]}
    reply = read("A", logprobs=logprobs)
    assert reply.steps == (TokenStep(0, "A", (TokenLogprob("B", -1.0),)),)


def test_a_token_that_no_row_can_hold_is_mended():
    logprobs = {"content": [token("\ud800", [("\0", -1)])]}
    reply = read("A", logprobs=logprobs, finish_reason="st\0p")
    assert reply.finish_reason == "st\ufffdp"
    assert steps_to_json(reply.steps) == [[0, "\ufffd", [["\ufffd", -1.0]]]]


@pytest.mark.parametrize(
    ("reason", "is_cut"),
    [
        ("length", True),
        ("MAX_TOKENS", True),
        ("model_length", True),
        ("stop", False),
        ("", False),
    ],
)
def test_a_reply_that_reached_its_longest_length_is_cut(reason, is_cut):
    assert read("Because", finish_reason=reason).is_cut is is_cut


@pytest.mark.parametrize(
    ("content", "text", "reasoning"),
    [
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
          {"type": "text", "text": "yes"}], "yes", "hm"),
        ([{"type": "reasoning", "text": "hm"}, {"type": "output_text", "text": "yes"}],
         "yes", "hm"),
        ("[THINK]hm[/THINK]yes", "yes", "hm"),
        ("<|channel|>analysis<|message|>hm<|end|><|start|>assistant<|channel|>final<|message|>yes",
         "yes", "hm"),
    ],
)  # fmt: skip
def test_reasoning_is_taken_out_however_it_is_marked(content, text, reasoning):
    reply = read(content)
    assert (reply.text, reply.reasoning) == (text, reasoning)


@pytest.mark.parametrize(
    ("tokens", "content"),
    [
        (["<think>", "A", "</think>", "B", ": ", "4"], "<think>A</think>B: 4"),
        (["[TH", "INK]", "A", "[/THINK]", "B", ": ", "4"], "[THINK]A[/THINK]B: 4"),
        (["analysis", "A", ".", "assistantfinal", "B", ":", "Ġ4"], "analysisA.assistantfinalB: 4"),
        (["<think>", "A", "</think>", "▁B", ":", "▁4"], "<think>A</think> B: 4"),
    ],
)
def test_offsets_count_from_the_answer(tokens, content):
    reply = read(content, logprobs={"content": [token(each) for each in tokens]})
    assert reply.text == "B: 4"
    assert [step.token.strip() for step in reply.steps or ()] == ["B", "4"]
    for step in reply.steps or ():
        end = step.offset + len(step.token)
        assert reply.text[max(step.offset, 0) : end].strip() == step.token.strip()


def test_offsets_count_over_reasoning_within_an_answer():
    tokens = ["é", "\n", "<think>", "5", "</think>", "score ", "4", "\n", "<think>", "6"]
    content = "".join(tokens)
    reply = read(content, logprobs={"content": [token(each) for each in tokens]})
    assert reply.text == "é\n\nscore 4"
    assert [(step.offset, step.token) for step in reply.steps or ()] == [(0, "é"), (10, "4")]


def test_alternatives_are_read_through_the_marks_of_a_tokenizer():
    first = {
        "token": "token_id:32",
        "bytes": None,
        "top_logprobs": [
            {"token": "token_id:32", "bytes": [65], "logprob": -0.1},
            {"token": "ĠB", "bytes": None, "logprob": -2.0},
        ],
    }
    reply = read("A", logprobs={"content": [first]})
    assert reply.steps is not None
    assert reply.steps[0].top == (TokenLogprob("A", -0.1), TokenLogprob(" B", -2.0))


@pytest.mark.parametrize(
    "content",
    [
        "Yes",
        ["Yes"],
        {"type": "text", "text": "Yes"},
        [[], {"type": "thinking", "text": "No"}, "Yes"],
    ],
)
def test_a_text_is_read_in_any_form(content):
    assert read(content).text == "Yes"


def test_lines_of_a_stream():
    assert lines_of(b"a\r\nb\rc") == [b"a", b"", b"b", b"c"]
    assert is_stream(b"\xef\xbb\xbf: hello")
    assert not is_stream(b"{}")
    assert event_data(b"data: {}") == event_data(b"\xef\xbb\xbfdata:{}") == b"{}"
    assert event_data(b"event: ping") == event_data(b"") == b""
