"""The vote of a preference set on one comparison (protocols A1.5).

Members' verdicts are counted in each presentation order. Where a judge's log-odds of the letters
are known they decide instead: both orders together give one verdict, by l* (protocols A1.4).
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from annotation.core.choices import Order, Verdict
from annotation.core.refusals import Refused
from judging.core.matrix import Cell, ColumnSource, Matrix
from judging.core.verdicts import verdict_of_log_odds


class VoteRule(StrEnum):
    """How members' verdicts become one; named in every table that uses it.

    DEFAULT: majority, an even split is a tie (it scores one half).
    PAPER: majority, an even split goes to the response shown first.
    SOFT: the sign of the summed log-odds.

    All three count in one order; a run that is read by l* has a verdict from both orders, which
    the last two cannot be combined with (`check_rule`).
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


def check_rule(rule: VoteRule, *, by_log_odds: bool) -> None:
    """Refuse to count votes by another rule where l* decides.

    Raises:
        Refused: it is so.
    """
    if by_log_odds and rule is not VoteRule.DEFAULT:
        raise Refused("vote:by-log-odds", f"{rule.lower()} cannot be combined with l*")


def mean_log_odds(members: Iterable[Mapping[Order, float]]) -> float | None:
    """l* of a set in favour of A: the mean of its members' l* (protocols A1.4).

    A member's l* is the mean of its log-odds in both orders. One that lacks an order has none and
    is left out; None where nobody is left, which is an unparseable verdict.

    Args:
        members: of each, the log-odds by order in the comparison's own coordinates.
    """
    own = [
        (odds[Order.ORIGINAL] + odds[Order.SWAPPED]) / 2
        for odds in members
        if Order.ORIGINAL in odds and Order.SWAPPED in odds
    ]
    return sum(own) / len(own) if own else None


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


def log_odds_matrix(
    *,
    winners: Sequence[tuple[int, Verdict]],
    columns: Sequence[tuple[int, ColumnSource]],
    log_odds: Mapping[VerdictKey, float],
) -> Matrix:
    """The matrix of a judge that is read by l*: both orders of a cell carry its one verdict.

    Args:
        winners: as for `correctness_matrix`.
        columns: as there.
        log_odds: the judge's, in the comparison's own coordinates; missing where there are none.
    """

    def strength(comparison: int, winner: Verdict, preference: int) -> float | None:
        odds = {
            order: log_odds[comparison, preference, order]
            for order in (Order.ORIGINAL, Order.SWAPPED)
            if (comparison, preference, order) in log_odds
        }
        found = mean_log_odds([odds])
        if found is None or verdict_of_log_odds(found) is Verdict.TIE:
            return None  # it names no winner, so it is no verdict here
        return found if winner is Verdict.A else -found

    strengths = tuple(
        tuple(strength(comparison, winner, preference) for preference, _ in columns)
        for comparison, winner in winners
    )
    cells = tuple(tuple(None if one is None else int(one > 0) for one in row) for row in strengths)
    return Matrix(cells, cells, tuple(source for _, source in columns), log_odds=strengths)


CONTROL_DRAWS: Final = 10
"""Of the embedded judge, which asks nobody: one draw has a spread of 16 to 30 points."""


def shuffled_winners(
    winners: Sequence[tuple[int, Verdict]], *, seed: int, name: str, number: int = 0
) -> tuple[tuple[int, Verdict], ...]:
    """The labels of the control: exactly half of them flipped (protocols A1.6).

    Of an odd number a coin decides whether the smaller or the larger half is flipped.

    Args:
        winners: comparison ids with A or B.
        seed: of the draw.
        name: whose labels, so that annotators and scenarios get draws of their own.
        number: which draw, from 0.
    """
    which = f"\x1f{number}" if number else ""
    digest = hashlib.sha256(f"{seed}\x1f{name}{which}".encode()).digest()
    draw = random.Random(int.from_bytes(digest, "big"))
    half = (len(winners) + draw.getrandbits(1)) // 2
    flipped = set(draw.sample(range(len(winners)), half))
    return tuple(
        (comparison, winner.flipped() if place in flipped else winner)
        for place, (comparison, winner) in enumerate(winners)
    )
