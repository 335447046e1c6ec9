"""Scoring services (reward models): what is posted to one, and what it answers.

The request is JSON with `model`, `prompt` (what was said before), `response` (the text to score)
and `messages` (both, by role); the answer a number, alone or under `score`, `reward` or `value`,
or the first of a list of such. Within the engine a score travels as a reply's text, so that it is
stored, shared, paced and tried again like any other reply.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from annotation.core.conversations import Dialogue, Message, Speaker
from judging.core.chat import TokenStep, finite_number
from judging.core.tokens import letter_of
from judging.core.verdicts import letter_log_odds

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


_DEEPEST: Final = 8


def _number(answer: object, *, deepest: int = _DEEPEST) -> float | None:
    """The score in an answer, wrapped so many times at most."""
    if not deepest:
        return None
    if isinstance(answer, int | float):
        return finite_number(answer)
    if isinstance(answer, Mapping):
        return next(
            (_number(answer[name], deepest=deepest - 1) for name in _FIELDS if name in answer), None
        )
    if isinstance(answer, Sequence) and not isinstance(answer, str):
        return _number(answer[0], deepest=deepest - 1) if answer else None
    return None


_SCORE: Final = re.compile(r'"classification"\s*+:\s*+"?([1-5])')
_SIDE: Final = re.compile(r'"satisfied"\s*+:\s*+"?(true|false)')
_SIDE_WORD: Final = re.compile(r"\W*+(true|false)\W*+", re.IGNORECASE)
_DIGIT: Final = re.compile(r"\W*+([1-5])\W*+")


def expected_score(text: str, steps: Sequence[TokenStep] | None) -> float | None:
    """Sum of k p_k over the scores 1-5, renormalised over those among the alternatives.

    Args:
        text: the reply; its last `"classification"` counts.
        steps: its tokens with their alternatives, offsets in bytes of `text`.

    Returns:
        A number in [1, 5], or None where the digit's alternatives are not known.
    """
    step = _deciding(_SCORE, text, steps)
    return None if step is None else _mean_digit(step)


def expected_side(text: str, steps: Sequence[TokenStep] | None) -> float | None:
    """3 + P(satisfied), for a reply that says no more than satisfied (4) or not (3).

    Args:
        text: the reply; its last `"satisfied"` counts.
        steps: as in `expected_score`.

    Returns:
        A number in [3, 4], or None where the alternatives of the word are not known.
    """
    step = _deciding(_SIDE, text, steps)
    if step is None:
        return None
    weights = {"true": 0.0, "false": 0.0}
    for entry in step.top:
        word = _SIDE_WORD.fullmatch(entry.token)
        if word and math.isfinite(entry.logprob):
            weights[word.group(1).lower()] += math.exp(entry.logprob)
    total = sum(weights.values())
    return 3 + weights["true"] / total if total else None


def letter_odds(steps: Sequence[TokenStep] | None) -> float | None:
    """The log-odds of the first token that is a letter A or B, else of the first token.

    Blanks, quotes and other marks may stand before the letter.
    """
    for step in steps or ():
        if letter_of(step.token):
            return letter_log_odds(step.top)
        if any(character.isalnum() for character in step.token):
            break
    return letter_log_odds(steps[0].top) if steps else None


def _deciding(
    pattern: re.Pattern[str], text: str, steps: Sequence[TokenStep] | None
) -> TokenStep | None:
    """The token in which the last match of a pattern has its value."""
    found = list(pattern.finditer(text))
    if not found or not steps:
        return None
    place = len(text[: found[-1].start(1)].encode())
    for step in steps:
        if step.offset <= place < step.offset + len(step.token.encode()):
            return step
    return None


def _mean_digit(step: TokenStep) -> float | None:
    weights = [
        (int(digit.group(1)), math.exp(entry.logprob))
        for entry in step.top
        if (digit := _DIGIT.fullmatch(entry.token)) and math.isfinite(entry.logprob)
    ]
    total = sum(weight for _, weight in weights)
    return sum(score * weight for score, weight in weights) / total if total else None
