"""The expected score of a turn from the log-probabilities of one digit (protocols A2.3)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Final

from judging.core.chat import TokenStep

_SCORE: Final = re.compile(r'"classification"\s*:\s*"?([1-5])')
_DIGIT: Final = re.compile(r"\W*([1-5])\W*")


def expected_score(text: str, steps: Sequence[TokenStep] | None) -> float | None:
    """Sum of k p_k over the scores 1-5, renormalised over those among the alternatives.

    Args:
        text: the reply; its last `"classification"` counts.
        steps: its tokens with their alternatives, offsets in bytes of `text`.

    Returns:
        A number in [1, 5], or None where the digit's alternatives are not known.
    """
    found = list(_SCORE.finditer(text))
    if not found or not steps:
        return None
    place = len(text[: found[-1].start(1)].encode())
    for step in steps:
        if step.offset <= place < step.offset + len(step.token.encode()):
            return _mean_digit(step)
    return None


def _mean_digit(step: TokenStep) -> float | None:
    weights = [
        (int(digit.group(1)), math.exp(entry.logprob))
        for entry in step.top
        if (digit := _DIGIT.fullmatch(entry.token)) and math.isfinite(entry.logprob)
    ]
    total = sum(weight for _, weight in weights)
    return sum(score * weight for score, weight in weights) / total if total else None
