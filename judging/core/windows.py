"""How much of a conversation a judge sees: all of it within a budget, or its last turns.

Seed 001's Table 4 compares the windows. A turn is a user's message, or several in a row, with
what follows; system messages before the first turn stay in every window.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from annotation.core.dialogue import Dialogue, Speaker
from judging.core.tokens import estimate_tokens


class Window(StrEnum):
    """Which turns of a conversation enter a prompt."""

    ALL = "ALL"
    LAST_TURN = "LAST_TURN"
    LAST_TWO_TURNS = "LAST_TWO_TURNS"


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The messages that are shown, and how many earlier ones are not."""

    messages: Dialogue
    omitted: int


def excerpt(dialogue: Dialogue, *, window: Window, budget: int) -> Excerpt:
    """The part of a conversation that a prompt shows.

    Within the window, turns are taken from the newest back while their estimated tokens fit
    `budget`. The last turn is always whole: it is the request that the responses answer.
    """
    opening, turns = _turns(dialogue)
    wanted = {Window.ALL: len(turns), Window.LAST_TURN: 1, Window.LAST_TWO_TURNS: 2}[window]
    left = budget - _tokens(opening)
    kept: list[Dialogue] = []
    for turn in reversed(turns[-wanted:] if wanted else []):
        left -= _tokens(turn)
        if kept and left < 0:
            break
        kept.append(turn)
    shown = opening + tuple(message for turn in reversed(kept) for message in turn)
    return Excerpt(shown, len(dialogue) - len(shown))


def _turns(dialogue: Dialogue) -> tuple[Dialogue, list[Dialogue]]:
    """The messages before the first turn, and the turns."""
    starts = [
        place
        for place, message in enumerate(dialogue)
        if message.role is Speaker.USER
        and (place == 0 or dialogue[place - 1].role is not Speaker.USER)
    ]
    if not starts:
        return dialogue, []
    ends = [*starts[1:], len(dialogue)]
    turns = [dialogue[start:end] for start, end in zip(starts, ends, strict=True)]
    return dialogue[: starts[0]], turns


def _tokens(messages: Dialogue) -> int:
    return sum(estimate_tokens(message.text) for message in messages)
