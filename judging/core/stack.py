"""Several ways to judge as one: no maximum over subsets, and the base judge always a member.

Protocols A1.6, "Stack". Each way is tried on every development pair by what it learns from the
others; the better it foretells them, the more it weighs.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from annotation.core.choices import Order, Verdict
from judging.core.rules import StackWay
from judging.core.votes import MemberVerdict, mean_log_odds, vote

Floats = npt.NDArray[np.float64]

BASE_BONUS: Final = 2.0
"""Log-likelihood that the base judge starts with: ten pairs are little against what is known."""
FEWEST_PAIRS: Final = 2
BARE_VERDICT: Final = math.log(4.0)
"""Log-odds of a verdict that comes without any: right four times in five."""
_NEAR_ONE: Final = 1e-12


def stack_weights(log_odds: Floats) -> Floats:
    """What each way weighs; they sum to 1. Of fewer than two pairs the base judge alone.

    Args:
        log_odds: (pairs, ways), of each pair by what the way learned without it, above 0 where the
            chosen response wins; the first way is the base judge.
    """
    if len(log_odds) < FEWEST_PAIRS:
        alone: Floats = np.zeros(log_odds.shape[1])
        alone[0] = 1.0
        return alone
    fits = -np.logaddexp(0.0, -log_odds).sum(axis=0)
    fits[0] += BASE_BONUS
    shares = np.exp(fits - fits.max())
    weights: Floats = shares / shares.sum()
    return weights


def held_out_shares(log_odds: Floats, without_two: Floats | None = None) -> tuple[float, ...]:
    """How right the stack is about each pair that it is learned without: 1, 0, of a tie 1/2.

    Args:
        log_odds: as for `stack_weights`.
        without_two: (pairs, pairs, ways), at [i, j] those of pair j by what a way learned without
            i and j. Where that would cost calls, None: those without j alone, which knew i.
    """
    shares = []
    for place, own in enumerate(log_odds):
        others = np.delete(log_odds if without_two is None else without_two[place], place, axis=0)
        score = stack_score(stack_weights(others), own)
        shares.append(0.5 if score == 0 else float(score > 0))
    return tuple(shares)


def stack_score(weights: Floats, log_odds: Floats) -> float:
    """-1/2 to 1/2, above 0 where the first response is better: sum of w (sigmoid(z) - 1/2)."""
    return float(weights @ (1.0 / (1.0 + np.exp(-log_odds)) - 0.5))


def log_odds_of_score(score: float) -> float:
    """The log-odds that a score stands for."""
    share = min(max(0.5 + score, _NEAR_ONE), 1.0 - _NEAR_ONE)
    return math.log(share) - math.log1p(-share)


def verdict_of_score(score: float) -> Verdict:
    """The verdict that a score stands for."""
    if score == 0:
        return Verdict.TIE
    return Verdict.A if score > 0 else Verdict.B


def way_log_odds(members: Sequence[Mapping[Order, MemberVerdict]], *, by_log_odds: bool) -> float:
    """Z of a comparison in favour of A by the preferences of one way, the mean of both orders.

    Args:
        members: of each preference, what the judge said in each order; missing where it said
            nothing that could be read.
        by_log_odds: l* decides; else a verdict is worth log 4, an even split or none 0.
    """
    if by_log_odds:
        odds = [
            {order: one.log_odds for order, one in own.items() if one.log_odds is not None}
            for own in members
        ]
        return mean_log_odds(odds) or 0.0
    votes = [
        vote([own[order] for own in members if order in own], order=order).winner
        for order in (Order.ORIGINAL, Order.SWAPPED)
    ]
    return sum(_WORTH[winner] for winner in votes) / len(votes)


_WORTH: Final = {
    Verdict.A: BARE_VERDICT,
    Verdict.B: -BARE_VERDICT,
    Verdict.TIE: 0.0,
    None: 0.0,
}


HEADERS: Final = {
    True: "一次加权投票，由几种判断方式组成：",
    False: "A weighted vote of several ways to judge, in percent:",
}
WAYS: Final = {
    True: {
        StackWay.BASE: "基础评判者",
        StackWay.AGGREGATE: "由所有对比提炼的偏好",
        StackWay.SELECTED: "选中的偏好",
    },
    False: {
        StackWay.BASE: "the base judge",
        StackWay.AGGREGATE: "the preference distilled from all comparisons",
        StackWay.SELECTED: "the selected preferences",
    },
}


@dataclass(frozen=True, slots=True)
class ToldWay:
    """A way of a stack's text: its weight, which one it is, and what it judges by.

    `way` is None of a text's own words; `measures` are properties with their weights.
    """

    weight: float
    way: StackWay | None
    text: str = ""
    measures: tuple[tuple[str, float], ...] = ()


def ways_text(ways: Iterable[tuple[StackWay, float, Sequence[str]]], *, language: str) -> str:
    """A stack in words, for people: a line a way with its weight and its preferences.

    Args:
        ways: each with its weight, 0..1, and the texts of its preferences.
        language: "zh…" for Chinese.
    """
    chinese = language.startswith("zh")
    lines = [HEADERS[chinese]]
    for way, weight, texts in ways:
        said = " / ".join(" ".join(text.split()) for text in texts if text)
        lines.append(f"{100 * weight:.1f} {WAYS[chinese][way]}{f': {said}' if said else ''}")
    return "\n".join(lines)
