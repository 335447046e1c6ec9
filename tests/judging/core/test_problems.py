"""What is read of the errors of providers, gateways and servers, each in its published shape."""

from __future__ import annotations

import json

import pytest

from judging.core.problems import LONGEST_MESSAGE, Problem, read_problem, wait_in

OPENAI = {
    "message": "Unsupported parameter: 'max_tokens'.",
    "type": "invalid_request_error",
    "param": "max_tokens",
    "code": "unsupported_parameter",
}
QUOTED = {"error": {"message": "Unsupported value: 'temperature'", "code": None}}


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ({"error": OPENAI}, "Unsupported parameter: 'max_tokens'."),
        ([{"error": {"code": 400, "message": "API key not valid."}}], "API key not valid."),
        ({"error": "model is loading"}, "model is loading"),
        ({"error": ["one", {"message": "two"}]}, "one; two"),
        ({"detail": "Not found"}, "Not found"),
        (
            {"detail": [{"loc": ["body", "temperature"], "msg": "too low", "type": "value_error"}]},
            "temperature: too low",
        ),
        ({"detail": [{"loc": ["body", "messages", 0, "role"]}]}, "messages.0.role"),
        ({"code": 40301, "msg": "account in arrears", "data": None}, "account in arrears"),
        ({"object": "error", "message": "(out of memory)", "code": 50001}, "(out of memory)"),
        ({"message": "Unauthorized", "request_id": "1"}, "Unauthorized"),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "Busy"}}, "Busy"),
        ({"success": False, "errors": [{"code": 7003, "message": "No route"}]}, "No route"),
        ({"base_resp": {"status_code": 1027, "status_msg": "output flagged"}}, "output flagged"),
        ({"error": {"reason": "quota"}}, "quota"),
        ({"error": {"message": "twice", "detail": "twice"}}, "twice"),
        ({"error": {"message": "part", "detail": "the part and more"}}, "the part and more"),
        ({"message": {"detail": [{"loc": ["body", "n"], "msg": "Extra"}]}}, "n: Extra"),
        (
            {"error": {"message": "Provider error", "metadata": {"raw": json.dumps(QUOTED)}}},
            "Provider error; Unsupported value: 'temperature'",
        ),
        (
            {"error": {"message": "Flagged", "metadata": {"reasons": ["violence"]}}},
            "Flagged; violence",
        ),
        ({"error": {"message": "Flagged", "metadata": {"reasons": "x"}}}, "Flagged"),
        ({"error": {"code": 400, "message": "too long", "n_ctx": 2048}}, "too long (n_ctx 2048)"),
        ({"error": {"code": "context_length_exceeded"}}, "context_length_exceeded"),
        ({"error": {"message": "busy", "param": "prompt"}}, "prompt: busy"),
        ({"error": {"message": "busy", "param": "None"}}, "busy"),
        ("plain words", "plain words"),
        ('{"error": "inner"}', "inner"),
        ("{no JSON", "{no JSON"),
        ('{"a": 1}', '{"a": 1}'),
    ],
)
def test_an_error_of_any_shape_is_read(body, text):
    found = read_problem(body)
    assert found is not None
    assert found.text == text


@pytest.mark.parametrize(
    "body", [None, 7, True, [], {}, "", {"error": {}}, {"error": {"code": 0}}, {"code": 10**30}]
)
def test_what_says_nothing_is_no_error(body):
    assert read_problem(body) is None


def test_everything_it_says_is_kept():
    found = read_problem({"error": OPENAI | {"status": "429", "retry_after": 3}})
    assert found == Problem(
        OPENAI["message"],
        kinds=("unsupported_parameter", "invalid_request_error", "429"),
        parameter="max_tokens",
        status=429,
        wait=3,
    )
    assert found.words.startswith("max_tokens unsupported parameter: 'max_tokens'. unsupported_")


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (429, 429),
        ("503", 503),
        (400.0, 0),
        (True, 0),
        (200, 0),
        (10**400, 0),
        ("4 2", 0),
        ("４２９", 0),
        (None, 0),
        ([429], 0),
    ],
)
def test_a_status_is_that_of_a_failure(code, status):
    found = read_problem({"error": {"message": "no", "code": code}})
    assert found is not None
    assert found.status == status


@pytest.mark.parametrize(
    ("delay", "wait"),
    [
        ("2s", 2.0),
        ("0.5s", 0.5),
        (7, 7.0),
        ("soon", None),
        (-1, None),
        ("nan", None),
        ("1e999", None),
        (10**400, None),
        ([], None),
    ],
)
def test_a_wait_is_a_number_of_seconds(delay, wait):
    retry = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": delay}
    found = read_problem({"error": {"message": "slow down", "details": [retry]}})
    assert found is not None
    assert found.wait == wait


def test_an_error_is_read_to_some_depth_and_length():
    deep: object = "bottom"
    for _ in range(50):
        deep = {"error": deep}
    assert read_problem(deep) is None
    found = read_problem({"error": {"message": "x" * 10**6, "code": ["x"]}})
    assert found is not None
    assert len(found.message) == LONGEST_MESSAGE
    assert read_problem("[" * 10_000) is not None


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 20s.", 20),
        ("Please try again in 1m26.4s.", 86.4),
        ("try again in 120ms", 0.12),
        ("Please retry after 5 seconds", 5),
        ("Please retry in 38.25s", 38.25),
        ("Please try again later", None),
    ],
)
def test_a_message_may_say_how_long_to_wait(message, seconds):
    assert wait_in(message) == (None if seconds is None else pytest.approx(seconds))
