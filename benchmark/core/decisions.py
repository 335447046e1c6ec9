"""From a judge's stored replies on a comparison to its decision in each presentation order."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from annotation.core.choices import JudgmentStatus, Order, Verdict
from benchmark.core.accuracy import Decisions
from judging.core.votes import MemberVerdict, VoteRule, vote


@dataclass(frozen=True, slots=True)
class StoredJudgment:
    """One stored judgment of a comparison: under which preference, in which order, and what.

    `verdict` and `log_odds` are in the comparison's coordinates; the verdict is None unless DONE.
    """

    preference: int
    order: Order
    status: JudgmentStatus
    verdict: Verdict | None
    log_odds: float | None = None


def decide(
    replies: Iterable[StoredJudgment],
    members: Collection[int],
    *,
    rule: VoteRule = VoteRule.DEFAULT,
) -> Decisions:
    """The decision of a preference set on one comparison, by presentation order.

    An order is left out while a member has yet to answer in it, and where all that happened in it
    are calls that failed: only a reply that was read, or could not be, says something of the judge.
    """
    by_order: dict[Order, list[StoredJudgment]] = {}
    for reply in replies:
        if reply.preference in members:
            by_order.setdefault(reply.order, []).append(reply)
    return {
        order: vote(_ballots(given), order=order, rule=rule).winner
        for order, given in by_order.items()
        if _is_complete(given, members)
    }


def _is_complete(given: list[StoredJudgment], members: Collection[int]) -> bool:
    statuses = {reply.status for reply in given}
    answered = {JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE} & statuses
    return bool(answered) and JudgmentStatus.PENDING not in statuses and len(given) == len(members)


def _ballots(given: list[StoredJudgment]) -> list[MemberVerdict]:
    return [
        MemberVerdict(reply.verdict, reply.log_odds) for reply in given if reply.verdict is not None
    ]
