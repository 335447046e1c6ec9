"""From verdicts to the matrix of a selection, and the coins of the shuffled control."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Mapping, Sequence

from annotation.core.choices import Order, Verdict
from judging.core.matrix import Cell, ColumnSource, Matrix

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
