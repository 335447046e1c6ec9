"""Which rules of a study may still change, and how its status may: by what harms no answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop

ALWAYS: Final = (
    "name",
    "overlap",
    "lease_minutes",
    "pause_gold_below",
    "pause_repeats_below",
    "pause_after",
    "fast_share",
    "fast_seconds",
    "completion_answers",
    "contact",
)
"""Rules that change nothing about answers that were given; the overlap only goes up."""

UNTOUCHED: Final = (
    "allow_tie",
    "allow_strength",
    "allow_both_bad",
    "ask_hallucination",
    "ask_questionnaire",
    "reveal_turns",
    "min_turns",
    "gold_rate",
    "repeat_rate",
    "sample",
)
"""Rules that change what is asked, or which items there are: only in a draft."""

_MOVES: Final[Mapping[str, frozenset[str]]] = {
    "DRAFT": frozenset({"OPEN"}),
    "OPEN": frozenset({"PAUSED", "CLOSED"}),
    "PAUSED": frozenset({"OPEN", "CLOSED"}),
    "CLOSED": frozenset({"OPEN"}),
}


class RuleFault(LabelledEnum):
    """Why a rule of a study stays as it is."""

    TOUCHED = (
        "study:touched",
        gettext_noop("This would change the questions or the items, which only a draft allows."),
    )
    OVERLAP_DOWN = (
        "study:overlap-down",
        gettext_noop(
            "This can only be raised: a lower number would exceed it with the answers already "
            "given."
        ),
    )


@dataclass(frozen=True, slots=True)
class FaultyRule:
    """A rule that may not change so, and why."""

    name: str
    fault: RuleFault


def may_become(before: str, after: str) -> bool:
    """Whether a study may go from one status to another; staying as it is always may be."""
    return before == after or after in _MOVES[before]


def faulty_changes(
    before: Mapping[str, object], after: Mapping[str, object], *, touched: bool
) -> list[FaultyRule]:
    """The changes that would harm what was answered, or tell annotators apart.

    Args:
        before: The rules as they stand, by name: all of `ALWAYS` and `UNTOUCHED`.
        after: The rules as they are to be.
        touched: Whether the study was opened, or anybody was given an item.
    """
    if not touched:
        return []
    faults = [
        FaultyRule(name, RuleFault.TOUCHED) for name in UNTOUCHED if before[name] != after[name]
    ]
    if int(str(after["overlap"])) < int(str(before["overlap"])):
        faults.append(FaultyRule("overlap", RuleFault.OVERLAP_DOWN))
    return faults
