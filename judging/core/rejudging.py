"""Judging again: which cells are known, and which the judge is asked about."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from annotation.core.choices import Order
from judging.core.runs import ORDERS

Known = TypeVar("Known", bound=Hashable)

JudgedText = tuple[int, str, Order]
"""(comparison id, preference text, presentation order)."""


_SHAPING: Final = (
    "judge",
    "version",
    "base_url",
    "model",
    "temperature",
    "max_tokens",
    "context_tokens",
    "extra_sampling",
    "rule",
    "window",
    "prompt",
)
"""What of a judge's snapshot decides a verdict on a pair, the prompts aside."""


def judges_alike(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Whether two snapshots of a judge put the same questions about pairs, and read them alike.

    Prompts that it asks nothing about pairs by may differ, those that distilled included.
    """

    def pair_prompts(snapshot: Mapping[str, Any]) -> dict[str, str]:
        prompts: Mapping[str, str] = snapshot.get("prompts", {})
        return {name: said for name, said in prompts.items() if name.startswith("judge_pair")}

    return pair_prompts(before) == pair_prompts(after) and all(
        before.get(name) == after.get(name) for name in _SHAPING
    )


@dataclass(frozen=True, slots=True)
class ColumnText:
    """A preference by id with its text; None where it was never distilled."""

    preference: int
    text: str | None


@dataclass(frozen=True, slots=True)
class PlannedCell(Generic[Known]):
    """One judgment of a run: taken over where `known` is there, to be asked where it is None."""

    comparison: int
    column: ColumnText
    order: Order
    known: Known | None

    @property
    def asks(self) -> bool:
        """Whether the judge is asked: not without a text, which is answered by an error code."""
        return self.known is None and self.column.text is not None


def planned_cells(
    comparisons: Sequence[int],
    columns: Sequence[ColumnText],
    judged: Mapping[JudgedText, Known],
) -> Iterator[PlannedCell[Known]]:
    """Every comparison under every column in both orders, in the order in which they are asked.

    All calls of one comparison and order stand together, so that a server can reuse what it read.

    Args:
        comparisons: their ids.
        columns: what they are judged under, the base judge's included.
        judged: what is known by comparison, text and order.
    """
    for comparison in comparisons:
        for order in ORDERS:
            for column in columns:
                known = None
                if column.text is not None:
                    known = judged.get((comparison, column.text, order))
                yield PlannedCell(comparison, column, order, known)
