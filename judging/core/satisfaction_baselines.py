"""Baselines that need no judge (seed 003, section 4.1 and appendix D).

Each answers with a whole score and, beside it, the unrounded one that it stands for. Score counts
are of the scores 1-5, lowest first. Without a score to go by the answer is None, never a default.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from typing import Final

from annotation.core.choices import Reason
from annotation.core.refusals import gettext_noop
from judging.core.calibration import LOWEST, history_mean, round_half_up


class Baseline(StrEnum):
    """What a baseline goes by; GLOBAL ones know the training users, HISTORY ones the user."""

    GLOBAL_MEAN = "GLOBAL_MEAN"
    GLOBAL_MEDIAN = "GLOBAL_MEDIAN"
    GLOBAL_MAJORITY = "GLOBAL_MAJORITY"
    HISTORY_MEAN = "HISTORY_MEAN"
    HISTORY_MEDIAN = "HISTORY_MEDIAN"
    HISTORY_CDF = "HISTORY_CDF"


NEAREST: Final = (1, 3, 20)
"""How many of a history's turns the nearest baseline averages: the released code's 1 and 3, and
a smoother one."""
NEAREST_NAMES: Final = {f"nearest_{k}": k for k in NEAREST}
EVALUATOR_WORDS: Final = {
    "global_mean": gettext_noop("Training users' mean"),
    "global_median": gettext_noop("Training users' median"),
    "global_majority": gettext_noop("Training users' most frequent score"),
    "history_mean": gettext_noop("User's own mean"),
    "history_median": gettext_noop("User's own median"),
    "history_cdf": gettext_noop("User's own distribution of scores"),
    "nearest_1": gettext_noop("User's most similar turn"),
    "nearest_3": gettext_noop("User's 3 most similar turns"),
    "nearest_20": gettext_noop("User's 20 most similar turns"),
    "lexical": gettext_noop("Lexical judge"),
    "learned": gettext_noop("Learned evaluator"),
}
"""What pages call the evaluators that need no endpoint; commands and files keep the names."""


@dataclass(frozen=True, slots=True)
class Prediction:
    """A whole score 1-5, the real-valued one behind it, and why it is below 4, if known.

    Some evaluators also say the chance (0-1) of a score below 4, and how likely each reason is
    where it is (`satisfaction_decisions.REASONS`, adding up to 1).
    """

    score: int
    expected: float
    reason: Reason | None = None
    dissatisfied: float | None = None
    reason_chances: tuple[float, ...] = ()


def mean(counts: Sequence[int]) -> Prediction | None:
    """The mean, rounded half up."""
    if not any(counts):
        return None
    exact = history_mean(counts)
    return Prediction(round_half_up(exact), float(exact))


def median(counts: Sequence[int]) -> Prediction | None:
    """The median, rounded half up where it lies between two scores."""
    total = sum(counts)
    if total == 0:
        return None
    cumulative = tuple(accumulate(counts))
    lower = bisect_left(cumulative, (total + 1) // 2)
    upper = bisect_left(cumulative, total // 2 + 1)
    exact = LOWEST + (lower + upper) / 2
    return Prediction(round_half_up(exact), exact)


def majority(counts: Sequence[int]) -> Prediction | None:
    """The most frequent score; of equals the lower."""
    if not any(counts):
        return None
    score = LOWEST + max(range(len(counts)), key=lambda place: (counts[place], -place))
    return Prediction(score, float(score))


def spread_by_history(keys: Sequence[str], *, history: Sequence[int]) -> tuple[Prediction, ...]:
    """The user's own distribution dealt over the turns of one block in an arbitrary fixed order.

    The order is that of the keys' SHA-1, as in the released code: the baseline knows the user's
    scale and nothing of the turns. Its expected score is the history mean.

    Args:
        keys: one stable, distinct key a turn (content, not row ids).
        history: counts of the user's scores in other scenarios, at least one.
    """
    cumulative = tuple(accumulate(history))
    expected = float(history_mean(history))
    order = sorted(
        range(len(keys)),
        key=lambda at: hashlib.sha1(keys[at].encode(), usedforsecurity=False).digest(),
    )
    results = [Prediction(LOWEST, expected)] * len(keys)
    for rank, at in enumerate(order):
        goal = (2 * rank + 1) * cumulative[-1]
        score = LOWEST + bisect_left([2 * len(keys) * c for c in cumulative], goal)
        results[at] = Prediction(score, expected)
    return tuple(results)
