"""Failures that come with HTTP 200."""

from __future__ import annotations

import pytest

from judging.core.failed_replies import counts_tokens, problem_within


def choice(message=None, finish="stop", **more):
    return {"choices": [{"message": message, "finish_reason": finish, **more}]}


TEXT = {"role": "assistant", "content": "Fine."}
EMPTY = {"role": "assistant", "content": None}
CALLS = [{"id": "1", "function": {"name": "answer", "arguments": '{"final": "A"}'}}]


@pytest.mark.parametrize(
    "data",
    [
        choice(TEXT),
        choice(TEXT, None),
        choice(TEXT, "length"),
        choice(TEXT, "eos"),
        choice(TEXT, ["stop"]),
        choice(TEXT, error=None),
        choice(TEXT) | {"error": None},
        choice(TEXT) | {"error": {}},
        choice(TEXT) | {"error": {"code": 0, "message": "success"}},
        choice(TEXT) | {"base_resp": {"status_code": 0, "status_msg": "success"}},
        choice(EMPTY) | {"base_resp": {"status_code": 0, "status_msg": "success"}},
        choice(TEXT | {"tool_calls": CALLS}),
        choice(TEXT | {"refusal": "no"}),
        choice(EMPTY),
        choice(EMPTY, "length"),
        choice(None),
        choice("text"),
        {"choices": []},
        {"choices": ["text"]},
        {"choices": [], "prompt_filter_results": []},
        {"choices": [], "prompt_filter_results": [{"content_filter_results": {"hate": {}}}, 1]},
        {"choices": {}},
        {"code": 0, "msg": "success"},
        {},
        [],
        "text",
        7,
        None,
    ],
)
def test_a_completion_is_no_failure(data):
    assert problem_within(data) is None


@pytest.mark.parametrize(
    ("data", "text", "cause"),
    [
        (choice(EMPTY, "error", error={"code": 502, "message": "gone"}), "gone", ""),
        (choice(TEXT, error={"code": 502, "message": "gone"}), "gone", ""),
        (choice(EMPTY, "error"), "finish_reason error", ""),
        (choice(TEXT, "network_error"), "finish_reason network_error", ""),
        (choice(TEXT) | {"error": "gone"}, "gone", ""),
        (choice(EMPTY) | {"base_resp": {"status_msg": "login fail"}}, "login fail", ""),
        (choice(None) | {"base_resp": {"status_msg": "login fail"}}, "login fail", ""),
        ({"choices": None, "error": {"message": "busy", "code": 429}}, "busy", ""),
        ({"error": "model is loading"}, "model is loading", ""),
        ([{"error": {"message": "no"}}], "no", ""),
        ({"code": 40301, "msg": "in arrears"}, "in arrears", ""),
        (
            choice(EMPTY | {"refusal": "I cannot."}),
            "I cannot.",
            "llm:refusal",
        ),
        (choice(EMPTY, "refusal"), "finish_reason refusal", "llm:refusal"),
        (choice(EMPTY, "content_filter"), "finish_reason content_filter", "llm:content-filter"),
        (
            choice(EMPTY, "SAFETY", content_filter_results={"violence": {"filtered": True}}),
            "finish_reason safety (violence)",
            "llm:content-filter",
        ),
        (
            {
                "choices": [],
                "prompt_filter_results": [
                    {"content_filter_results": {"hate": {"filtered": True}, "x": 1}}
                ],
            },
            "content_filter_results (hate)",
            "llm:content-filter",
        ),
        (choice(EMPTY | {"tool_calls": CALLS}), 'answer({"final": "A"})', "llm:tool-call"),
        (choice(EMPTY | {"tool_calls": {"a": 1}}), "()", "llm:tool-call"),
        (choice(EMPTY | {"function_call": {"name": "f"}}), "f()", "llm:tool-call"),
    ],
)
def test_a_failure_says_what_it_is(data, text, cause):
    found = problem_within(data)
    assert found is not None
    assert (found.text, found.cause) == (text, cause)


@pytest.mark.parametrize(
    ("data", "billed"),
    [
        ({"usage": {"prompt_tokens": 3}}, True),
        ({"usage": {"prompt_tokens": 0, "completion_tokens": None}}, False),
        ({"usage": None}, False),
        ({}, False),
        ([], False),
    ],
)
def test_only_stated_tokens_are_paid_for(data, billed):
    assert counts_tokens(data) is billed
