"""How servers differ from the textbook: each manner says what one does with the body of a request.

Set one with `server.manner = manner_of("new-limit")`. They were seen at providers, gateways and
servers; names of models and texts are invented.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.fake_llm import Act

Body = Mapping[str, Any]
Manner = Callable[[Body], Act | None]


def refused(message: str, status: int = 400, **more: object) -> Act:
    """A refusal in OpenAI's shape."""
    problem = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Act(status=status, body={"error": problem | more})


def always(act: Act) -> Manner:
    return lambda _body: act


def _new_limit(body: Body) -> Act | None:
    if "max_tokens" not in body:
        return None
    said = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
    return refused(said, param="max_tokens", code="unsupported_parameter")


def _old_limit(body: Body) -> Act | None:
    if "max_completion_tokens" not in body:
        return refused("max_completion_tokens or max_tokens: one is needed")
    return None


def _reasons(body: Body) -> Act | None:
    if (limit := _new_limit(body)) is not None:
        return limit
    if body.get("temperature", 1) != 1:
        said = "Unsupported value: 'temperature' does not support 0 with this model."
        return refused(said, param="temperature", code="unsupported_value")
    if "logprobs" in body:
        return refused("You are not allowed to request logprobs from this model", 403)
    return None


def _five(body: Body) -> Act | None:
    if body.get("top_logprobs", 0) <= 5:
        return None
    detail = {"loc": ["body", "top_logprobs"], "msg": "Input should be less than or equal to 5"}
    return Act(status=422, body={"detail": [detail]})


def _streams_only(body: Body) -> Act | None:
    if body.get("stream"):
        return None
    return refused("This model only support stream mode, please enable the stream parameter.")


def _streams_if_long(body: Body) -> Act | None:
    if body.get("stream") or body.get("max_tokens", 0) <= 512:
        return None
    return refused("Requests with max_tokens > 512 must have stream=true")


def _no_stream_options(body: Body) -> Act | None:
    if (act := _streams_only(body)) is not None or "stream_options" not in body:
        return act
    extra = {"type": "extra_forbidden", "loc": ["body", "stream_options"], "msg": "Not permitted"}
    return Act(status=422, body={"object": "error", "message": {"detail": [extra]}})


def _no_system(status: int) -> Manner:
    def act(body: Body) -> Act | None:
        if all(message["role"] != "system" for message in body["messages"]):
            return None
        return Act(
            status=status,
            body={"object": "error", "message": "System role not supported", "code": status},
        )

    return act


def _no_schema(body: Body) -> Act | None:
    if "response_format" not in body:
        return None
    return refused("This response_format type is unavailable now")


def _warm(body: Body) -> Act | None:
    if body.get("temperature", 1) > 0:
        return None
    return Act(status=422, raw=b"temperature must be strictly positive")


def _at_least(body: Body) -> Act | None:
    limit = body.get("max_completion_tokens")
    if limit is None:
        return _new_limit(body)
    if limit >= 16:
        return None
    return refused(
        "max_tokens or model output limit was reached. Try again with higher max_tokens."
    )


def _at_most(body: Body) -> Act | None:
    if body.get("max_tokens", 0) <= 700:
        return None
    return refused(f"max_tokens: {body['max_tokens']} > 700, which is the maximum allowed")


def _within(body: Body) -> Act | None:
    """It says with HTTP 200 that it wants the new name."""
    act = _new_limit(body)
    return None if act is None else Act(body=act.body)


TEACHING: Mapping[str, Manner] = {
    "new-limit": _new_limit,
    "new-limit-of-two": _old_limit,
    "new-limit-within-200": _within,
    "reasons": _reasons,
    "five-alternatives": _five,
    "streams-only": _streams_only,
    "streams-if-long": _streams_if_long,
    "streams-anyway": always(Act(streams=True)),
    "no-stream-options": _no_stream_options,
    "no-system-400": _no_system(400),
    "no-system-500": _no_system(500),
    "no-schema": _no_schema,
    "warm": _warm,
    "at-least": _at_least,
    "at-most": _at_most,
}
"""What can be learned: asked the right way, each answers."""

EMPTY = {"role": "assistant", "content": None}
TOOL = {"id": "1", "type": "function", "function": {"name": "answer", "arguments": "{}"}}
_GEMINI = {"code": 400, "message": "API key not valid. Please pass one.", "status": "INVALID"}
_LONG = "This model's maximum context length is 2048 tokens. However, you requested 2723 tokens."

FAILING: Mapping[str, tuple[Act, str, str]] = {
    "key-400": (
        Act(status=400, raw=b'[{"error": {"code": 400, "message": "API key not valid."}}]'),
        "llm:refused-key",
        "HTTP 400 API key not valid.",
    ),
    "key-object": (
        Act(status=400, body={"error": _GEMINI}),
        "llm:refused-key",
        "HTTP 400 API key not valid. Please pass one.",
    ),
    "arrears": (
        refused("Access denied, make sure your account is in good standing.", code="Arrearage"),
        "llm:quota",
        "HTTP 400 Access denied, make sure your account is in good standing.",
    ),
    "balance-429": (
        refused("Insufficient balance. Please recharge.", 429, code="1113"),
        "llm:quota",
        "HTTP 429 Insufficient balance. Please recharge.",
    ),
    "suspended-429": (
        refused("Your account is suspended", 429, type="exceeded_current_quota_error"),
        "llm:quota",
        "HTTP 429 Your account is suspended",
    ),
    "code-msg-200": (
        Act(body={"code": 40301, "msg": "account in arrears", "data": None}),
        "llm:quota",
        "HTTP 200 account in arrears",
    ),
    "detail-model": (
        Act(status=422, body={"detail": "The model m-9 does not exist for this key."}),
        "llm:unknown-model",
        "HTTP 422 The model m-9 does not exist for this key.",
    ),
    "unknown-name": (
        Act(
            status=400, raw=b'[{"error": {"message": "Unknown name \\"x\\": Cannot find field."}}]'
        ),
        "llm:bad-request",
        'HTTP 400 Unknown name "x": Cannot find field.',
    ),
    "error-string-200": (
        Act(body={"error": "model is loading, please retry"}),
        "llm:unavailable",
        "HTTP 200 model is loading, please retry",
    ),
    "object-error-200": (
        Act(body={"object": "error", "message": "(gpu out of memory)", "code": 50001}),
        "llm:unavailable",
        "HTTP 200 (gpu out of memory)",
    ),
    "choices-null-200": (
        Act(body={"choices": None, "error": {"message": "Too busy", "code": 429}}),
        "llm:rate-limited",
        "HTTP 429 Too busy",
    ),
    "choice-error-200": (
        Act(
            text="",
            finish_reason="error",
            choice={"error": {"code": 502, "message": "Provider disconnected"}},
        ),
        "llm:unavailable",
        "HTTP 502 Provider disconnected",
    ),
    "event-error": (
        Act(
            raw=b'event: error\r\ndata: {"error": {"message": "Provider broke"}}\r\n\r\n',
            headers={"Content-Type": "text/event-stream"},
        ),
        "llm:unavailable",
        "HTTP 200 Provider broke",
    ),
    "filter-400": (
        refused("The response was filtered by the content management policy.", param="prompt"),
        "llm:content-filter",
        "HTTP 400 prompt: The response was filtered by the content management policy.",
    ),
    "filter-403": (
        refused("Your input was flagged", 403, metadata={"reasons": ["violence"]}),
        "llm:content-filter",
        "HTTP 403 Your input was flagged; violence",
    ),
    "filter-200": (
        Act(
            message={"role": "assistant"},
            finish_reason="content_filter",
            choice={"content_filter_results": {"violence": {"filtered": True}}},
        ),
        "llm:content-filter",
        "HTTP 200 finish_reason content_filter (violence)",
    ),
    "refusal-200": (
        Act(message=EMPTY | {"refusal": "I cannot compare these."}),
        "llm:refusal",
        "HTTP 200 I cannot compare these.",
    ),
    "tool-200": (
        Act(message=EMPTY | {"tool_calls": [TOOL]}, finish_reason="tool_calls"),
        "llm:tool-call",
        "HTTP 200 answer({})",
    ),
    "context": (refused(_LONG), "llm:over-context", f"HTTP 400 {_LONG}"),
}
"""What fails every call: what it does, the code that this has, and the words that are shown."""


def manner_of(name: str) -> Manner:
    """The manner of a name."""
    return TEACHING[name] if name in TEACHING else always(FAILING[name][0])
