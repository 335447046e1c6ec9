"""Which response is shown first, and what an answer on the page means (protocols.md, A2b).

A page speaks of the first and the second response; a label speaks of A and B. Every translation
between the two is here.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from annotation.core.choices import Order, Verdict


class Answer(StrEnum):
    """Which response is better, as shown to the annotator."""

    FIRST = "FIRST"
    TIE = "TIE"
    SECOND = "SECOND"


_AS_SHOWN: Final = {Verdict.A: Answer.FIRST, Verdict.B: Answer.SECOND, Verdict.TIE: Answer.TIE}
_AS_STORED: Final = {answer: verdict for verdict, answer in _AS_SHOWN.items()}


def verdict_of(answer: Answer, order: Order) -> Verdict:
    """The verdict in the comparison's own coordinates, of an answer given under a presentation."""
    verdict = _AS_STORED[answer]
    return verdict.flipped() if order is Order.SWAPPED else verdict


def answer_of(verdict: Verdict, order: Order) -> Answer:
    """The answer on a page with this presentation that a stored verdict stands for."""
    return _AS_SHOWN[verdict.flipped() if order is Order.SWAPPED else verdict]


@dataclass(frozen=True, slots=True)
class PastOrder:
    """How often an annotator was first shown a comparison of these models in this order.

    Attributes:
        model_a: Model of the comparison's response A, "" where unknown.
        model_b: Model of its response B, "" where unknown.
        order: The presentation order.
        count: Number of first presentations, 0 or more.
    """

    model_a: str
    model_b: str
    order: Order
    count: int


def balanced_order(
    model_a: str, model_b: str, past: Iterable[PastOrder], *, random: Random
) -> Order:
    """The presentation order of a comparison that an annotator has not seen before.

    Within a block the side that was shown first less often comes first; at a draw a coin decides,
    so no annotator can tell from one pair how the next is shown. After any number of choices the
    two counts of a block differ by at most one. A block is an unordered pair of two different,
    known models; all other comparisons of the annotator form one block of their own, in which the
    sides are responses A and B.

    Args:
        model_a: Model of response A, "" where unknown.
        model_b: Model of response B, "" where unknown.
        past: The annotator's first presentations so far, skipped ones included, hidden repeats not;
            those of other blocks are ignored.
        random: Decides draws.
    """
    lead = 0  # first presentations of side A minus those of side B
    for seen in past:
        if _block(seen.model_a, seen.model_b) != _block(model_a, model_b):
            continue
        a_first = seen.order is Order.ORIGINAL
        if _block(model_a, model_b) is not None and seen.model_a != model_a:
            a_first = not a_first
        lead += seen.count if a_first else -seen.count
    if lead == 0:
        return random.choice([Order.ORIGINAL, Order.SWAPPED])
    return Order.SWAPPED if lead > 0 else Order.ORIGINAL


def _block(model_a: str, model_b: str) -> frozenset[str] | None:
    """The unordered pair of models, or None where they do not tell the sides apart."""
    if not model_a or not model_b or model_a == model_b:
        return None
    return frozenset((model_a, model_b))
