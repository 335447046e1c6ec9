"""Scoring services (reward models): what is posted to one, and what it answers.

The request is JSON with `model`, `prompt` (what was said before), `response` (the text to score)
and `messages` (both, by role); the answer a number, alone or under `score`, `reward` or `value`,
or the first of a list of such. Within the engine a score travels as a reply's text, so that it is
stored, shared, paced and tried again like any other reply.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from annotation.core.dialogue import Dialogue, Message, Speaker

REWARD_SCALE: Final = "reward"
"""A score whose range only its model knows; a higher one is better."""
_FIELDS: Final = ("score", "reward", "value", "scores", "rewards", "values")


def scored_messages(dialogue: Dialogue, response: str) -> Dialogue:
    """The conversation with the response to score as its last message."""
    return (*dialogue, Message(Speaker.ASSISTANT, response))


def score_body(chat_body: Mapping[str, Any]) -> dict[str, Any]:
    """What is posted, from the body of a chat request whose last message is to be scored."""
    *before, last = chat_body["messages"]
    return {
        "model": chat_body["model"],
        "prompt": "\n\n".join(message["content"] for message in before),
        "response": last["content"],
        "messages": [*before, last],
    }


def score_as_completion(answer: object) -> dict[str, Any]:
    """The answer of a scoring service in the form of a chat completion.

    An answer without a number has no message in it, which reads as malformed.
    """
    score = _number(answer)
    if score is None:
        return {"choices": []}
    return {"choices": [{"message": {"content": json.dumps(score)}, "finish_reason": "stop"}]}


def parse_score(text: str) -> float | None:
    """The score in a reply's text; None where it is no finite number."""
    try:
        score = float(text)
    except ValueError:
        return None
    return score if math.isfinite(score) else None


def _number(answer: object) -> float | None:
    """The score in an answer, however deep it is wrapped."""
    if isinstance(answer, bool):
        return None
    if isinstance(answer, int | float):
        return float(answer) if math.isfinite(answer) else None
    if isinstance(answer, Mapping):
        return next((_number(answer[name]) for name in _FIELDS if name in answer), None)
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return _number(answer[0]) if answer else None
    return None
