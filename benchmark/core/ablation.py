"""What an ablation found: one row a variant of the method (seed 001, section 4.3, Table 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from annotation.core.choices import LabelledEnum, Order, Verdict
from annotation.core.refusals import gettext_noop
from benchmark.core.accuracy import Judged, accuracy

RUN_KIND: Final = "ABLATE"
"""Of the runs that make ablations."""


class Vary(LabelledEnum):
    """What an ablation varies, all else equal."""

    WINDOW = "window", gettext_noop("Conversation shown to the judge")
    DEV_SIZE = "dev-size", gettext_noop("Number of labelled pairs to learn from")
    SUBSET_SIZE = "subset-size", gettext_noop("Number of voting preferences")
    JUDGE = "judge", gettext_noop("Distilling and judging models")
    PREFERENCES = "preferences", gettext_noop("Choice of voting preferences")
    PROMPT = "prompt", gettext_noop("Judge prompt, by failures against gold answers")


@dataclass(frozen=True, slots=True)
class AblationRow:
    """One variant on one annotator's test comparisons, those that every variant judged.

    `dev` counts the labelled pairs learnt from, `members` the preferences that vote; both are
    summed over scenarios. `accuracy` and its ends are shares of `verdicts`, of both orders.
    `original` is the accuracy where the CHOSEN response was shown first, the paper's (q, c, r),
    `swapped` where it was shown second, (q, r, c) (protocols A1.6); None in rows of before they
    were kept. `annotator` is "" and `run` None in the rows over all annotators together.
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
    run: int | None
    original: float | None = None
    swapped: float | None = None

    @property
    def mean(self) -> float | None:
        """The mean of both orders, which the paper calls Total; None without either."""
        if self.original is None or self.swapped is None:
            return None
        return (self.original + self.swapped) / 2

    @property
    def difference(self) -> float | None:
        """How much more often it is right where the chosen response is shown first."""
        if self.original is None or self.swapped is None:
            return None
        return self.original - self.swapped

    def to_json(self) -> dict[str, Any]:
        """As stored."""
        return {name: getattr(self, name) for name in self.__slots__}

    def record(self) -> dict[str, Any]:
        """As printed, with what follows from both orders."""
        return {**self.to_json(), "mean": self.mean, "difference": self.difference}


def ablation_row(
    judged: Sequence[Judged],
    *,
    annotator: str,
    variant: str,
    dev: int,
    members: int,
    run: int | None,
) -> AblationRow:
    """The row of a variant from its decisions."""
    found = accuracy(judged)
    original, swapped = (accuracy(_shown_at(judged, first=first)).value for first in (True, False))
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
        original=original,
        swapped=swapped,
    )


def _shown_at(judged: Sequence[Judged], *, first: bool) -> list[Judged]:
    """What was decided where the human's choice was shown first, or else second."""
    rows = []
    for each in judged:
        order = Order.ORIGINAL if (each.human is Verdict.A) is first else Order.SWAPPED
        decided = {order: each.decisions[order]} if order in each.decisions else {}
        rows.append(replace(each, decisions=decided))
    return rows
