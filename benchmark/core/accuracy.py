"""How often a judge agrees with a human, and whether preferences made it agree more.

Each comparison was judged in up to two presentation orders; the score pools the orders (seed
001, section 3.2.3; protocols A1.7), and because the two verdicts on one comparison depend on each
other, intervals draw comparisons. A verdict that could not be read is either left out or counted
as wrong: both policies are always available, none is a silent default.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, cluster_index, percentile_interval
from judging.core.votes import MemberVerdict, VoteRule, score, vote

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""Column sums of each draw (draws, columns) to one value a draw (draws,)."""


def bootstrap_sums(
    rows: Floats, statistic: Statistic, *, seed: int, draws: int = DEFAULT_DRAWS
) -> Interval | None:
    """Percentile bootstrap of a statistic of column sums; None without rows.

    Args:
        rows: units x columns, one unit (a comparison) a row.
        statistic: what is computed from the sums of the columns over the drawn units.
        seed: the same seed gives the same interval, whatever the order of the rows.
        draws: number of resamples.
    """
    if len(rows) == 0:
        return None
    return percentile_interval(drawn_values(rows, statistic, seed=seed, draws=draws))


def drawn_values(
    rows: Floats, statistic: Statistic, *, seed: int | Sequence[int], draws: int = DEFAULT_DRAWS
) -> Floats:
    """The statistic in every draw (draws,), for figures that combine several groups of units.

    Args:
        rows: as for `bootstrap_sums`, at least one.
        statistic: as there.
        seed: one number, or several, so that groups are drawn independently.
        draws: number of resamples.
    """
    cells, counts = np.unique(rows, axis=0, return_counts=True)
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(len(rows), counts / len(rows), size=draws)
    return statistic(drawn @ cells)


def by_unit(units: Sequence[Hashable], rows: Floats) -> Floats:
    """The rows of each unit summed, so that what belongs together is drawn together.

    Args:
        units: the unit of each row; they keep the order in which they first appear.
        rows: one of each key, with the same columns.

    Raises:
        ValueError: there are not as many units as rows.
    """
    index, count = cluster_index(units, units=len(rows))
    if count == len(rows):
        return rows
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, index, rows)
    return sums


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


@dataclass(frozen=True, slots=True)
class Opinion:
    """A judge's ballots on one comparison; `log_odds` is their mean, in favour of A."""

    for_a: int
    for_b: int
    ties: int
    unread: int
    log_odds: float | None

    @property
    def ballots(self) -> int:
        """Those that could be read."""
        return self.for_a + self.for_b + self.ties

    @property
    def verdict(self) -> Verdict | None:
        """The majority, a tie where it is even, None without a ballot."""
        if not self.ballots:
            return None
        if self.for_a == self.for_b:
            return Verdict.TIE
        return Verdict.A if self.for_a > self.for_b else Verdict.B

    @property
    def confidence(self) -> float:
        """0..1: how far the ballots lean to one side; 1 where all name one response."""
        return abs(self.for_a - self.for_b) / self.ballots if self.ballots else 0.0

    @property
    def sureness(self) -> tuple[float, float]:
        """By which verdicts are ordered: leaning first, then strength."""
        return self.confidence, abs(self.log_odds or 0.0)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """A person's verdict that the judge's is not."""

    comparison: int
    annotator: int
    human: Verdict
    opinion: Opinion

    @property
    def opposed(self) -> bool:
        """Each names another response; otherwise one of them says tie."""
        return Verdict.TIE not in {self.human, self.opinion.verdict}


def opinion(replies: Iterable[StoredJudgment], members: Collection[int]) -> Opinion:
    """The ballots of a preference set among the replies on one comparison."""
    given = [reply for reply in replies if reply.preference in members]
    verdicts = [reply.verdict for reply in given]
    odds = [reply.log_odds for reply in given if reply.log_odds is not None]
    return Opinion(
        for_a=verdicts.count(Verdict.A),
        for_b=verdicts.count(Verdict.B),
        ties=verdicts.count(Verdict.TIE),
        unread=verdicts.count(None),
        log_odds=sum(odds) / len(odds) if odds else None,
    )


def disagreements(
    labels: Iterable[tuple[int, int, Verdict, Opinion]],
) -> list[Disagreement]:
    """The labels that differ from a judge's verdict, its surest first.

    Args:
        labels: comparison, annotator, the human verdict and the judge's opinion; one without a
            ballot is no disagreement.
    """
    found = [
        Disagreement(comparison, annotator, human, said)
        for comparison, annotator, human, said in labels
        if said.verdict not in {None, human}
    ]
    return sorted(found, key=_surest_first)


def _surest_first(row: Disagreement) -> tuple[float, float, int, int]:
    confidence, strength = row.opinion.sureness
    return -confidence, -strength, row.comparison, row.annotator


Decisions = Mapping[Order, Verdict | None]
"""The judge's winner on one comparison by presentation order, in the comparison's coordinates.

An order is missing where it was not judged, and None where nothing readable was answered.
"""


class InvalidPolicy(StrEnum):
    """What a verdict that could not be read counts as."""

    EXCLUDED = "EXCLUDED"
    WRONG = "WRONG"


@dataclass(frozen=True, slots=True)
class Judged:
    """One comparison: what the human said and what the judge decided in each order."""

    key: int
    human: Verdict
    decisions: Decisions


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Agreement of a judge with a human over `verdicts` decisions on `comparisons`.

    `value` is 0..1, None where nothing is scored; an even split scores one half. `unreadable`
    decisions are left out of `verdicts` or stand in it as wrong, by `policy`. `ties` are the
    human ties, which nothing is scored against.
    """

    value: float | None
    interval: Interval | None
    verdicts: int
    comparisons: int
    unreadable: int
    ties: int
    policy: InvalidPolicy


@dataclass(frozen=True, slots=True)
class Gain:
    """Accuracy with preferences minus accuracy of the base judge, on the same comparisons.

    `value` is -1..1; None where no comparison is scored under both.
    """

    value: float | None
    interval: Interval | None
    comparisons: int


def accuracy(
    items: Iterable[Judged],
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
) -> Accuracy:
    """Share of the judge's decisions that name the human's winner, orders pooled."""
    rows = list(items)
    untied = [row for row in rows if row.human is not Verdict.TIE]
    stakes = stakes_of(untied, policy=policy)
    return Accuracy(
        value=float(pooled(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=bootstrap_sums(stakes, pooled, seed=seed, draws=draws),
        verdicts=int(stakes[:, 1].sum()),
        comparisons=len(stakes),
        unreadable=sum(decision is None for row in untied for decision in row.decisions.values()),
        ties=len(rows) - len(untied),
        policy=policy,
    )


def gain(
    base: Iterable[Judged],
    selected: Iterable[Judged],
    *,
    seed: int,
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED,
    draws: int = DEFAULT_DRAWS,
) -> Gain:
    """How much more often `selected` agrees than `base`, paired by comparison.

    A draw takes a comparison with both its scores, so what makes a comparison easy or hard for
    both judges cancels out of the interval.
    """
    before = {row.key: row for row in base if row.human is not Verdict.TIE}
    after = [row for row in selected if row.key in before]
    base_points, base_counts = _points([before[row.key] for row in after], policy)
    points, counts = _points(after, policy)
    stakes = np.column_stack([base_points, base_counts, points, counts])
    stakes = stakes[(base_counts > 0) & (counts > 0)]
    return Gain(
        value=float(difference(stakes.sum(axis=0)[None])[0]) if len(stakes) else None,
        interval=bootstrap_sums(stakes, difference, seed=seed, draws=draws),
        comparisons=len(stakes),
    )


def stakes_of(rows: Sequence[Judged], *, policy: InvalidPolicy) -> Floats:
    """Points earned and points at stake (comparisons, 2), where anything is at stake.

    Raises:
        ValueError: a row's human verdict is a tie.
    """
    points, counts = _points(rows, policy)
    return np.column_stack([points, counts])[counts > 0]


def pooled(sums: Floats) -> Floats:
    """Points earned of points at stake; every comparison has something at stake."""
    return sums[:, 0] / sums[:, 1]


def difference(sums: Floats) -> Floats:
    """What the last two columns earn over the first two, of points at stake."""
    return pooled(sums[:, 2:]) - pooled(sums)


def _points(rows: Sequence[Judged], policy: InvalidPolicy) -> tuple[Floats, Floats]:
    """For each comparison the points earned over its orders and how many were at stake."""
    unread = _UNREAD[policy]
    points, counts = [], []
    for row in rows:
        scores = [score(winner, truth=row.human) for winner in row.decisions.values()]
        counted = [unread if earned is None else earned for earned in scores]
        readable = [earned for earned in counted if earned is not None]
        points.append(sum(readable))
        counts.append(len(readable))
    return np.array(points, dtype=np.float64), np.array(counts, dtype=np.float64)


_UNREAD: Final[Mapping[InvalidPolicy, float | None]] = {
    InvalidPolicy.EXCLUDED: None,
    InvalidPolicy.WRONG: 0.0,
}
