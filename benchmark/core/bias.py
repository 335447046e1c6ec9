"""Whether who is shown first matters: to the humans, and to the judge (protocols A1.8).

Position bias is P(first shown wins) - 1/2. A human sees a comparison once, so a Wilson interval
holds; a judge sees it in both orders, and comparisons of one session share texts, so the units of
its interval are sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval
from benchmark.core.accuracy import Bools, Integers, by_unit, session_units, share_interval
from benchmark.core.decisions import SHOWN_FIRST, Decisions, Winners, is_read, winners


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How often the first shown won among the verdicts with a winner and a known order.

    `value` is -1/2..1/2, positive where the first shown is favoured, None without such verdicts.
    `ties` name no winner, `unknown` verdicts were given in an order that nobody recorded.
    """

    value: float | None
    interval: Interval | None
    first: int
    second: int
    ties: int
    unknown: int

    @property
    def verdicts(self) -> int:
        """The verdicts behind `value`."""
        return self.first + self.second

    @property
    def gap(self) -> int:
        """The paper's |#first - #second|, in verdicts."""
        return abs(self.first - self.second)


@dataclass(frozen=True, slots=True)
class Consistency:
    """Share of comparisons with one and the same winner in both orders.

    `comparisons` are those with a readable decision in both; `both_tied` of them had an even
    split in both orders, which names no winner and so is not counted as consistent.
    """

    value: float | None
    interval: Interval | None
    comparisons: int
    both_tied: int


def human_position_bias(labels: Iterable[tuple[Verdict, Order | None, int | None]]) -> PositionBias:
    """Position bias of the people who labelled, with sessions as the units of the interval.

    Args:
        labels: verdict in the comparison's coordinates, the order it was shown in or None, and the
            session; a label without one is of a session of its own.
    """
    rows = [(shown_side(verdict, order), session) for verdict, order, session in labels]
    sides = [side for side, _session in rows]
    first, second = sides.count(1), sides.count(-1)
    won = np.array([side for side in sides if side in {1, -1}], dtype=np.int64)
    wins = np.column_stack([won == 1, won != 0]).astype(np.float64)
    units = session_units(session for side, session in rows if side in {1, -1})
    return PositionBias(
        value=first / (first + second) - 0.5 if first + second else None,
        interval=_shifted(share_interval(by_unit(units, wins))),
        first=first,
        second=second,
        ties=sides.count(0),
        unknown=sides.count(None),
    )


def judge_position_bias(
    decisions: Iterable[Decisions] | Winners,
    *,
    sessions: Integers | None = None,
) -> PositionBias:
    """Position bias of a judge, from its decisions on each comparison.

    Args:
        decisions: one mapping a comparison.
        sessions: that of each comparison; None where each is of its own.
    """
    won = winners(decisions)
    units = _units(won, sessions)
    named = np.abs(won) == 1
    first, second = firsts_and_seconds(won)
    named_one = first + second > 0
    wins = np.column_stack([first, first + second]).astype(np.float64)[named_one]
    firsts, seconds = int(first.sum()), int(second.sum())
    return PositionBias(
        value=firsts / (firsts + seconds) - 0.5 if len(wins) else None,
        interval=_shifted(share_interval(by_unit(units[named_one], wins))),
        first=firsts,
        second=seconds,
        ties=int((won == 0).sum()),
        unknown=int(named.sum()) - firsts - seconds,
    )


def consistency(
    decisions: Iterable[Decisions] | Winners,
    *,
    sessions: Integers | None = None,
) -> Consistency:
    """How many comparisons the judge decided alike whichever response was shown first.

    Arguments as for `judge_position_bias`.
    """
    won = winners(decisions)
    readable, one_winner = read_and_alike(won)
    both_tied = int((won[readable, :2] == 0).all(axis=1).sum())
    counted = np.column_stack([one_winner, readable])[readable].astype(np.float64)
    by_session = by_unit(_units(won, sessions)[readable], counted)
    same, comparisons = (int(total) for total in counted.sum(axis=0))
    return Consistency(
        value=same / comparisons if comparisons else None,
        interval=share_interval(by_session),
        comparisons=comparisons,
        both_tied=both_tied,
    )


def firsts_and_seconds(won: Winners) -> tuple[Integers, Integers]:
    """By comparison, in how many orders the first shown won, and in how many the second."""
    named = np.abs(won) == 1
    first, second = ((named & (won == shown)).sum(axis=1) for shown in (SHOWN_FIRST, -SHOWN_FIRST))
    return first, second


def read_and_alike(won: Winners) -> tuple[Bools, Bools]:
    """By comparison, whether both orders could be read, and whether they name one winner."""
    original, swapped, _combined = won.T
    readable = is_read(original) & is_read(swapped)
    return readable, readable & (original == swapped) & (original != 0)


def _units(won: Winners, sessions: Integers | None) -> Integers:
    return session_units([None] * len(won)) if sessions is None else sessions


def shown_side(verdict: Verdict, order: Order | None) -> int | None:
    """1 where the first shown won, -1 for the second, 0 for a tie, None for an unknown order."""
    if verdict is Verdict.TIE:
        return 0
    if order is None or order is Order.COMBINED:
        return None
    shown = verdict if order is Order.ORIGINAL else verdict.flipped()
    return 1 if shown is Verdict.A else -1


def _shifted(share: Interval | None) -> Interval | None:
    """The interval of P(first shown wins) - 1/2 from that of the share."""
    if share is None:
        return None
    return Interval(share.low - 0.5, share.high - 0.5, share.level, share.draws)
