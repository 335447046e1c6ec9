"""A learned prediction with what moved it, as it is kept with its judgment and read on its page."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from judging.core.satisfaction_features import Group

_LEAST: Final = 0.005
"""A smaller move is not worth a line: it would read as 0.00."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Why a turn was scored as it was.

    `dissatisfied` is the chance (0-1) of a score below 4; `baseline`, the mean score of the users
    that were learned from, plus `moves` is the expectation before it is kept within 1-5.
    """

    dissatisfied: float
    baseline: float
    moves: Mapping[Group, float]

    @property
    def strongest(self) -> tuple[tuple[Group, float], ...]:
        """The moves that can be seen, the strongest first."""
        seen = [(group, move) for group, move in self.moves.items() if abs(move) >= _LEAST]
        return tuple(sorted(seen, key=lambda item: -abs(item[1])))


def to_text(explained: Explained) -> str:
    """As kept in place of a judge's raw reply."""
    return json.dumps(
        {
            "dissatisfied": explained.dissatisfied,
            "baseline": explained.baseline,
            "moves": {group.value: move for group, move in explained.moves.items()},
        }
    )


def from_text(text: str) -> Explained:
    """What `to_text` gave."""
    kept: dict[str, Any] = json.loads(text)
    return Explained(
        kept["dissatisfied"],
        kept["baseline"],
        {Group(name): move for name, move in kept["moves"].items()},
    )
