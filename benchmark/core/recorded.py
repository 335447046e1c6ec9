"""A recorded judge against gold answers, over every reply that the source has.

These are the figures that papers of recorded judges print (protocols part D, LLMBar): a reply
without a verdict is wrong, names nobody as first, and two of them are the same outcome. Beside
them stand the figures of benchmark.core.accuracy and bias, which leave such replies out.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import Decisions, Judged
from benchmark.core.bias import shown_side


@dataclass(frozen=True, slots=True)
class EveryReply:
    """Counts over all replies on comparisons with a gold winner; ties earn one half.

    `paired` comparisons were judged in both orders, `alike` of them with one outcome; `ordered`
    replies were given in a known order, `first` of them name the first shown.
    """

    comparisons: int
    replies: int
    unreadable: int
    points: float
    paired: int
    alike: int
    ordered: int
    first: int

    @property
    def accuracy(self) -> float | None:
        """Share of the replies that name the gold winner."""
        return self.points / self.replies if self.replies else None

    @property
    def same_in_both_orders(self) -> float | None:
        """Share of the comparisons with one outcome in both orders."""
        return self.alike / self.paired if self.paired else None

    @property
    def picks_first(self) -> float | None:
        """Share of the replies that name the first shown."""
        return self.first / self.ordered if self.ordered else None


def every_reply(items: Iterable[Judged]) -> EveryReply:
    """The counts of one judge; comparisons whose gold answer is a tie are left out."""
    rows = [row for row in items if row.human is not Verdict.TIE and row.decisions]
    replies = [(row.human, order, won) for row in rows for order, won in row.decisions.items()]
    ordered = [(order, won) for _gold, order, won in replies if order is not Order.COMBINED]
    pairs = [pair for row in rows if (pair := _both(row.decisions))]
    return EveryReply(
        comparisons=len(rows),
        replies=len(replies),
        unreadable=sum(won is None for _gold, _order, won in replies),
        points=sum(_points(won, gold) for gold, _order, won in replies),
        paired=len(pairs),
        alike=sum(one is other for one, other in pairs),
        ordered=len(ordered),
        first=sum(won is not None and shown_side(won, order) == 1 for order, won in ordered),
    )


def _both(decisions: Decisions) -> tuple[Verdict | None, Verdict | None] | None:
    """The outcomes in both orders, None where one of them was not judged."""
    if Order.ORIGINAL in decisions and Order.SWAPPED in decisions:
        return decisions[Order.ORIGINAL], decisions[Order.SWAPPED]
    return None


def _points(won: Verdict | None, gold: Verdict) -> float:
    return 0.5 if won is Verdict.TIE else float(won is gold)
