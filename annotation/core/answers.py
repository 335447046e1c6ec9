"""Which kind of answer is looked at, and what an item's number stands for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from annotation.core.choices import Verdict

VERDICT_VALUES: Final = (Verdict.A, Verdict.B, Verdict.TIE)
"""The verdicts in the order of their value numbers; without ties the first two."""

SCORES: Final = (1, 2, 3, 4, 5)
"""The scores in the order of their value numbers."""


class AnswerKind(StrEnum):
    """What annotators gave: verdicts on comparisons, or scores of responses and sessions."""

    VERDICTS = "verdicts"
    SCORES = "scores"


class TargetKind(StrEnum):
    """What an answer is about."""

    COMPARISON = "comparison"
    RESPONSE = "response"
    SESSION = "session"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What an answer is about, by the number of its row."""

    kind: TargetKind
    id: int

    @property
    def item(self) -> int:
        """A number that no other target of the same kind of answer has."""
        return 2 * self.id + 1 if self.kind is TargetKind.SESSION else 2 * self.id


def target_of(kind: AnswerKind, item: int) -> Target:
    """The target that an item's number stands for."""
    if kind is AnswerKind.VERDICTS:
        return Target(TargetKind.COMPARISON, item // 2)
    return Target(TargetKind.SESSION if item % 2 else TargetKind.RESPONSE, item // 2)


def written_answer(kind: AnswerKind, value: int) -> Verdict | int:
    """The verdict or score that a value number stands for."""
    return VERDICT_VALUES[value] if kind is AnswerKind.VERDICTS else SCORES[value]
