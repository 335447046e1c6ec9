"""What changed between two versions of a text, in one column."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from itertools import groupby

from annotation.core.worddiff import Piece, word_diff


class Change(StrEnum):
    """What happened to a run of text."""

    KEPT = "KEPT"
    GONE = "GONE"
    NEW = "NEW"


@dataclass(frozen=True, slots=True)
class ChangedPiece:
    """A run of text that stayed, went or came."""

    text: str
    change: Change


def changes(before: str, after: str) -> tuple[ChangedPiece, ...] | None:
    """Both texts as one: what stayed, and in its place what went before what came.

    Returns:
        The pieces in order, or None where the texts are too long to compare.
    """
    sides = word_diff(before, after)
    if sides is None:
        return None
    gone, new = map(_between, sides)
    kept = zip(
        *([piece.text for piece in side if not piece.differs] for side in sides), strict=True
    )
    found = []
    space = ""
    for place, (old_text, text) in enumerate([*kept, ("", "")]):
        went = gone.get(place, "")
        found += [
            ChangedPiece(space + went if went else "", Change.GONE),
            ChangedPiece(new.get(place, ""), Change.NEW),
            ChangedPiece(text, Change.KEPT),
        ]
        space = _space_lost(old_text, text)
    return tuple(piece for piece in found if piece.text)


def _space_lost(before: str, after: str) -> str:
    """The space that stood behind a word before and does not now: it goes with what follows."""
    had = before[len(before.rstrip()) :]
    return had if after == after.rstrip() else ""


def _between(pieces: list[Piece]) -> dict[int, str]:
    """The text that differs before the n-th run that both have, by n."""
    found: dict[int, str] = {}
    place = 0
    for differs, run in groupby(pieces, key=lambda piece: piece.differs):
        texts = [piece.text for piece in run]
        if differs:
            found[place] = "".join(texts)
        else:
            place += len(texts)
    return found
