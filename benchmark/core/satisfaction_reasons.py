"""Whether an evaluator names the reason that the user gave (seed 003, section 3: rationales).

Only turns count for which both name one of the five reasons; how the rest fall is in the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Reason, is_satisfied
from annotation.core.intervals import Interval, wilson
from benchmark.core.satisfaction_evaluation import GoldBlock, Predictions
from judging.core.satisfaction_decisions import REASONS

SATISFIED: Final = "SATISFIED"
UNKNOWN: Final = "UNKNOWN"
COLUMNS: Final = (*(reason.value for reason in REASONS), UNKNOWN, SATISFIED)
"""Rows and columns of the table; UNKNOWN is dissatisfied without a reason on record."""


@dataclass(frozen=True, slots=True)
class ReasonFigures:
    """The confusion of reasons: `table[stated][predicted]` counts turns, in the order of COLUMNS.

    Of `both` turns for which each names a reason, `right` name the same one; always naming the
    reason that is stated most often among them would name `commonest` right.
    """

    table: tuple[tuple[int, ...], ...]
    both: int
    right: int
    commonest: int

    @property
    def share(self) -> float | None:
        """Share of named reasons that are right; None where none is named."""
        return self.right / self.both if self.both else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's interval of the share."""
        return wilson(self.right, self.both)


def reason_figures(blocks: Sequence[GoldBlock], predictions: Predictions) -> ReasonFigures | None:
    """Stated against predicted reasons; None for an evaluator that never names one."""
    cells: Counter[tuple[str, str]] = Counter()
    for block, own in zip(blocks, predictions, strict=True):
        for score, reason, one in zip(block.gold, block.reasons, own, strict=True):
            if one is not None:
                cells[_word(score, reason), _word(one.score, one.reason)] += 1
    names = {reason.value for reason in REASONS}
    if not any(predicted in names for _stated, predicted in cells):
        return None
    both = {cell: n for cell, n in cells.items() if names.issuperset(cell)}
    stated: Counter[str] = Counter()
    for (given, _predicted), n in both.items():
        stated[given] += n
    return ReasonFigures(
        table=tuple(tuple(cells[row, column] for column in COLUMNS) for row in COLUMNS),
        both=sum(both.values()),
        right=sum(n for (given, predicted), n in both.items() if given == predicted),
        commonest=max(stated.values(), default=0),
    )


def _word(score: int, reason: Reason | None) -> str:
    if is_satisfied(score):
        return SATISFIED
    return reason.value if reason in REASONS else UNKNOWN
