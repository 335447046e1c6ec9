"""The vote of a preference set on one comparison in one presentation order (protocols A1.5)."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from annotation.core.choices import Order, Verdict
from judging.core.matrix import Cell, ColumnSource, Matrix


class VoteRule(StrEnum):
    """How members' verdicts become one; named in every table that uses it.

    DEFAULT: majority, an even split is a tie (it scores one half).
    PAPER: majority, an even split goes to the response shown first.
    SOFT: the sign of the summed log-odds.
    """

    DEFAULT = "DEFAULT"
    PAPER = "PAPER"
    SOFT = "SOFT"


@dataclass(frozen=True, slots=True)
class MemberVerdict:
    """One member's verdict in the comparison's own coordinates.

    `log_odds` is log P(A)/P(B) in the same coordinates, where the judge knows it.
    """

    verdict: Verdict
    log_odds: float | None = None


@dataclass(frozen=True, slots=True)
class Vote:
    """The members' decision: A, B, TIE (an even split), or None where nobody voted."""

    winner: Verdict | None
    counted: int
    rule: VoteRule


def vote(
    ballots: Sequence[MemberVerdict], *, order: Order, rule: VoteRule = VoteRule.DEFAULT
) -> Vote:
    """The decision of a set on one comparison and order.

    Args:
        ballots: the members' verdicts; members without one are simply not in it.
        order: how the comparison was shown; it matters to `PAPER` alone.
        rule: how an even split, or strength, is treated.
    """
    if rule is VoteRule.SOFT:
        strengths = [ballot.log_odds for ballot in ballots if ballot.log_odds is not None]
    else:
        strengths = [_STRENGTH[ballot.verdict] for ballot in ballots]
    if not strengths:
        return Vote(winner=None, counted=0, rule=rule)
    winner = _sign(sum(strengths))
    if winner is Verdict.TIE and rule is VoteRule.PAPER:
        winner = _FIRST_SHOWN[order]
    return Vote(winner=winner, counted=len(strengths), rule=rule)


_STRENGTH = {Verdict.A: 1.0, Verdict.B: -1.0, Verdict.TIE: 0.0}
_FIRST_SHOWN = {
    Order.ORIGINAL: Verdict.A,
    Order.SWAPPED: Verdict.B,
    Order.COMBINED: Verdict.TIE,  # nothing was shown first
}


def _sign(balance: float) -> Verdict:
    if balance == 0:
        return Verdict.TIE
    return Verdict.A if balance > 0 else Verdict.B


def score(winner: Verdict | None, *, truth: Verdict) -> float | None:
    """1 where the vote names the truth, 1/2 for an even split, 0 for the other; None unvoted.

    Raises:
        ValueError: the truth is a tie, which nothing is scored against (protocols A1.1).
    """
    if truth is Verdict.TIE:
        message = "only labels with a winner are scored"
        raise ValueError(message)
    if winner is None:
        return None
    if winner is Verdict.TIE:
        return 0.5
    return float(winner is truth)


VerdictKey = tuple[int, int, Order]
"""(comparison id, preference id, presentation order)."""


def correctness_matrix(
    *,
    winners: Sequence[tuple[int, Verdict]],
    columns: Sequence[tuple[int, ColumnSource]],
    verdicts: Mapping[VerdictKey, Verdict],
) -> Matrix:
    """Cells by dev comparison and preference (protocols A1.6).

    `original` holds the orders in which the CHOSEN response was shown first, which is the swapped
    presentation where B won. A tie names no winner, so it is no verdict here.

    Args:
        winners: comparison ids with the annotator's A or B, in row order.
        columns: preference ids with what each was distilled from, in column order.
        verdicts: the judge's, in the comparison's own coordinates; missing where there is none.
    """

    def cell(comparison: int, winner: Verdict, preference: int, *, chosen_first: bool) -> Cell:
        shows_a_first = (winner is Verdict.A) is chosen_first
        order = Order.ORIGINAL if shows_a_first else Order.SWAPPED
        verdict = verdicts.get((comparison, preference, order))
        return None if verdict in (None, Verdict.TIE) else int(verdict is winner)

    original, swapped = (
        tuple(
            tuple(
                cell(comparison, winner, preference, chosen_first=chosen_first)
                for preference, _ in columns
            )
            for comparison, winner in winners
        )
        for chosen_first in (True, False)
    )
    return Matrix(original, swapped, tuple(source for _, source in columns))


def shuffled_winners(
    winners: Sequence[tuple[int, Verdict]], *, seed: int, name: str
) -> tuple[tuple[int, Verdict], ...]:
    """The labels of the control: each flipped by a coin of its own (protocols A1.6).

    Args:
        winners: comparison ids with A or B.
        seed: of the coins.
        name: whose labels, so that annotators and scenarios get coins of their own.
    """
    digest = hashlib.sha256(f"{seed}\x1f{name}".encode()).digest()
    coins = random.Random(int.from_bytes(digest, "big"))
    return tuple(
        (comparison, winner.flipped() if coins.getrandbits(1) else winner)
        for comparison, winner in winners
    )
