"""What an ablation found: one row a variant of the method (seed 001, section 4.3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmark.core.accuracy import Judged, accuracy


class Vary(StrEnum):
    """What an ablation varies, all else equal."""

    WINDOW = "window"
    DEV_SIZE = "dev-size"
    SUBSET_SIZE = "subset-size"
    JUDGE = "judge"
    PREFERENCES = "preferences"


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant on one annotator's test comparisons, those that every variant judged.

    `dev` counts the labelled pairs learnt from, `members` the preferences that vote; both are
    summed over scenarios. `accuracy` and its ends are shares of `verdicts`.
    """

    annotator: str
    variant: str
    comparisons: int
    verdicts: int
    unreadable: int
    accuracy: float | None
    low: float | None
    high: float | None
    dev: int
    members: int
    run: int

    def to_json(self) -> dict[str, Any]:
        """As stored and printed."""
        return {name: getattr(self, name) for name in self.__slots__}


def ablation_row(
    judged: Sequence[Judged],
    *,
    annotator: str,
    variant: str,
    dev: int,
    members: int,
    run: int,
    seed: int,
) -> AblationRow:
    """The row of a variant from its decisions."""
    found = accuracy(judged, seed=seed)
    return AblationRow(
        annotator=annotator,
        variant=variant,
        comparisons=found.comparisons,
        verdicts=found.verdicts,
        unreadable=found.unreadable,
        accuracy=found.value,
        low=None if found.interval is None else found.interval.low,
        high=None if found.interval is None else found.interval.high,
        dev=dev,
        members=members,
        run=run,
    )
