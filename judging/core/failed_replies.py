"""Failures within a success: an answer with HTTP 200 that holds an error instead of a text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from judging.core.causes import CONTENT_FILTER, REFUSAL, TOOL_CALL
from judging.core.problems import FINE, Problem, read_problem, words_in


def problem_within(data: object) -> Problem | None:
    """The failure in an answer that came with HTTP 200; None for a completion.

    An empty completion without a reason is none: a second try may be better.
    """
    if type(data) is dict and not data.get("error"):
        choices = data.get("choices")
        if type(choices) is list and choices and type(choices[0]) is dict:
            choice = choices[0]
            message = choice.get("message")
            if (
                type(message) is dict
                and message.get("content")
                and choice.get("finish_reason") in ("stop", "length", None)
                and not choice.get("error")
            ):
                return None  # nearly every reply
    return _problem_within(data)


def _problem_within(data: object) -> Problem | None:
    if isinstance(data, list):
        return read_problem(data)
    if not isinstance(data, Mapping):
        return None
    choices = data.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if isinstance(choice, Mapping):
        return _told(data.get("error")) or _in_choice(choice) or _beside(data, choice)
    return _filtered(data.get("prompt_filter_results")) or _told(data)


def _beside(data: Mapping[str, object], choice: Mapping[str, object]) -> Problem | None:
    """MiniMax tells in `base_resp` why a message is empty, and of full ones that all is well."""
    message = choice.get("message")
    has_text = isinstance(message, Mapping) and message.get("content")
    return None if has_text else _told(data.get("base_resp"))


def _told(error: object) -> Problem | None:
    """The error that a part of an answer tells in words, unless they say that all is well."""
    found = read_problem(error)
    return None if found is None or found.message.lower() in FINE else found


_FILTERED: Final = (
    "content_filter",
    "content-filter",
    "safety",
    "sensitive",
    "blocklist",
    "prohibited_content",
    "recitation",
    "spii",
    "moderated",
)
_BROKEN: Final = (
    "error",
    "failed",
    "abort",
    "aborted",
    "network_error",
    "insufficient_system_resource",
    "malformed_function_call",
)


def _in_choice(choice: Mapping[str, object]) -> Problem | None:
    ending = words_in(choice.get("finish_reason")).lower()
    if found := _told(choice.get("error")):
        return found
    if ending in _FILTERED:
        reason = _reasons(choice.get("content_filter_results"))
        return Problem(f"finish_reason {ending}{reason}", cause=CONTENT_FILTER)
    if ending in _BROKEN:
        return Problem(f"finish_reason {ending}")
    message = choice.get("message")
    fields = message if isinstance(message, Mapping) else {}
    return None if fields.get("content") else _in_place_of_text(fields, ending)


def _in_place_of_text(message: Mapping[str, object], ending: str) -> Problem | None:
    """Why a message is empty."""
    if refusal := words_in(message.get("refusal")):
        return Problem(refusal, cause=REFUSAL)
    if ending == "refusal":
        return Problem("finish_reason refusal", cause=REFUSAL)
    if message.get("tool_calls") or message.get("function_call"):
        return Problem(_tool(message), cause=TOOL_CALL)
    return None


def _tool(message: Mapping[str, object]) -> str:
    """What was called, as in `answer({"final": "A"})`."""
    calls = message.get("tool_calls")
    call = calls[0] if isinstance(calls, list) and calls else None
    function = call.get("function") if isinstance(call, Mapping) else message.get("function_call")
    fields = function if isinstance(function, Mapping) else {}
    return f"{words_in(fields.get('name'))}({words_in(fields.get('arguments'))})"


def _filtered(results: object) -> Problem | None:
    """A prompt that Azure filtered, of which no choice came."""
    for result in results if isinstance(results, list) else ():
        found = result.get("content_filter_results") if isinstance(result, Mapping) else None
        if reason := _reasons(found):
            return Problem(f"content_filter_results{reason}", cause=CONTENT_FILTER)
    return None


def _reasons(results: object) -> str:
    """The categories that a filter hit, in brackets."""
    parts = results.items() if isinstance(results, Mapping) else ()
    hit = [str(name) for name, part in parts if isinstance(part, Mapping) and part.get("filtered")]
    return f" ({', '.join(hit)})" if hit else ""


def counts_tokens(data: object) -> bool:
    """Whether an answer says that it cost tokens."""
    usage = data.get("usage") if isinstance(data, Mapping) else None
    counts = usage.values() if isinstance(usage, Mapping) else ()
    return any(isinstance(count, int | float) and count > 0 for count in counts)
