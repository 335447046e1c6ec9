"""What a preference set decided on each comparison, from stored judgments by column.

A page reads tens of thousands of judgments, of which columns are made once: to count them there
costs a fraction of what an object each does.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.votes import VoteRule

Decisions = Mapping[Order, Verdict | None]
"""The judge's winner on one comparison by presentation order, in the comparison's coordinates.

An order is missing where it was not judged, and None where nothing readable was answered.
"""

Winners = NDArray[np.int8]
"""Decisions by column (comparisons, orders): 1 for A, -1 for B, 0 for a tie, UNREAD or ABSENT."""
UNREAD: Final = 2
ABSENT: Final = 3
SHOWN_FIRST: Final = np.array([1, -1, 0], dtype=np.int8)
"""By order, the winner that was shown first; 0 where nobody knows."""

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Memberships = Sequence[tuple[Collection[int], Collection[int]]]
"""Comparisons, and the preferences whose votes count on them; no comparison is in two."""

_ORDERS: Final = tuple(Order)
_STATUSES: Final = tuple(JudgmentStatus)
_STRENGTHS: Final = np.array([1.0, -1.0, 0.0, np.nan])  # of A, B, a tie, and no verdict
# A judgment is read as one number, the sum of three codes: fewer cells, and none is a text.
ORDER_CODES: Final = {order: place for place, order in enumerate(_ORDERS)}
STATUS_CODES: Final = {status: place * len(_ORDERS) for place, status in enumerate(_STATUSES)}
VERDICT_CODES: Final = {
    verdict: place * len(_ORDERS) * len(_STATUSES)
    for place, verdict in enumerate((Verdict.A, Verdict.B, Verdict.TIE, None))
}

_WINNERS: Final = {1: Verdict.A, -1: Verdict.B, 0: Verdict.TIE}
_PENDING: Final = _STATUSES.index(JudgmentStatus.PENDING)
_REPLIED: Final = [
    _STATUSES.index(JudgmentStatus.DONE),
    _STATUSES.index(JudgmentStatus.UNPARSEABLE),
]
_CODES: Final = {Verdict.A: 1, Verdict.B: -1, Verdict.TIE: 0, None: UNREAD}


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


def codes(verdicts: Iterable[Verdict]) -> Winners:
    """Human verdicts by column."""
    return np.array([_CODES[each] for each in verdicts], dtype=np.int8)


def winners(decisions: Iterable[Decisions] | Winners) -> Winners:
    """The decisions on some comparisons by column, a row a comparison."""
    if isinstance(decisions, np.ndarray):
        return decisions
    cells = [
        _CODES[each[order]] if order in each else ABSENT for each in decisions for order in _ORDERS
    ]
    return np.array(cells, dtype=np.int8).reshape(-1, len(_ORDERS))


def is_read(won: Winners) -> NDArray[np.bool_]:
    """Which decisions could be read."""
    read: NDArray[np.bool_] = won < UNREAD
    return read


@dataclass(frozen=True, slots=True)
class Judgments:
    """Judgments by column; verdict and log-odds are in the comparison's coordinates.

    `code` is the sum of the codes of order, status and verdict; `log_odds` are nan where there are
    none.
    """

    run: Integers
    comparison: Integers
    preference: Integers
    code: Integers
    log_odds: Floats

    @classmethod
    def of(cls, rows: Iterable[tuple[int, int, int, int, float | None]]) -> Judgments:
        """The columns of rows with run, comparison, preference, code and log-odds."""
        cells: Iterable[Any] = chain.from_iterable(rows)
        numbers = np.fromiter(cells, dtype=np.float64).reshape(-1, 5)  # None becomes nan
        run, comparison, preference, code = numbers[:, :4].astype(np.int64).T
        return cls(run, comparison, preference, code, numbers[:, 4])

    def by_run(self) -> dict[int, Judgments]:
        """The judgments of each run."""
        ordered = np.argsort(self.run, kind="stable")
        runs, starts = np.unique(self.run[ordered], return_index=True)
        parts = np.split(ordered, starts[1:])
        return {int(run): self._at(part) for run, part in zip(runs, parts, strict=False)}

    def decisions(
        self, memberships: Memberships, *, rule: VoteRule = VoteRule.DEFAULT
    ) -> Mapping[int, Decisions]:
        """By comparison, what its preference set decided in each order, by judging.core.votes.vote.

        An order is left out while a member has yet to answer in it, and where all that happened in
        it are calls that failed: only a reply that was read, or could not be, says something of the
        judge.
        """
        votes, members = self._counted(memberships)
        order = votes.code % len(_ORDERS)
        cells = votes.comparison * len(_ORDERS) + order
        _cells, first, group = np.unique(cells, return_index=True, return_inverse=True)

        def count(rows: NDArray[np.bool_]) -> Integers:
            return np.bincount(group[rows], minlength=len(first))

        verdict, status = votes.verdict, votes.code // len(_ORDERS) % len(_STATUSES)
        strength = votes.log_odds if rule is VoteRule.SOFT else verdict
        cast = ~np.isnan(verdict) & ~np.isnan(strength)
        balance = np.bincount(group[cast], weights=strength[cast], minlength=len(first))
        winner = np.sign(balance).astype(np.int64)
        if rule is VoteRule.PAPER:
            winner = np.where(winner == 0, SHOWN_FIRST[order[first]], winner)
        replied = count(np.isin(status, _REPLIED)) > 0
        waits = count(status == _PENDING) > 0
        all_there = np.bincount(group, minlength=len(first)) == members[first]
        decisions: dict[int, dict[Order, Verdict | None]] = {}
        for comparison, place, won, is_read, is_complete in zip(
            votes.comparison[first].tolist(),
            order[first].tolist(),
            winner.tolist(),
            (count(cast) > 0).tolist(),
            (replied & ~waits & all_there).tolist(),
            strict=True,
        ):
            if is_complete:
                orders = decisions.setdefault(comparison, {})
                orders[_ORDERS[place]] = _WINNERS[won] if is_read else None
        return decisions

    def opinions(self, memberships: Memberships) -> dict[int, Opinion]:
        """By comparison, the ballots of its preference set in all orders."""
        votes, _members = self._counted(memberships)
        comparisons, group = np.unique(votes.comparison, return_inverse=True)
        verdict, log_odds = votes.verdict, votes.log_odds

        def count(rows: NDArray[np.bool_]) -> list[int]:
            return list(np.bincount(group[rows], minlength=len(comparisons)).tolist())

        known = ~np.isnan(log_odds)
        odds = np.bincount(group[known], log_odds[known], minlength=len(comparisons))
        return {
            comparison: Opinion(for_a, for_b, ties, unread, total / n if n else None)
            for comparison, for_a, for_b, ties, unread, total, n in zip(
                comparisons.tolist(),
                count(verdict == 1),
                count(verdict == -1),
                count(verdict == 0),
                count(np.isnan(verdict)),
                odds.tolist(),
                count(known),
                strict=True,
            )
        }

    @property
    def verdict(self) -> Floats:
        """1 for A, -1 for B, 0 for a tie, nan where there is none."""
        verdict: Floats = _STRENGTHS[self.code // (len(_ORDERS) * len(_STATUSES))]
        return verdict

    def _at(self, rows: NDArray[Any]) -> Judgments:
        return Judgments(
            self.run[rows],
            self.comparison[rows],
            self.preference[rows],
            self.code[rows],
            self.log_odds[rows],
        )

    def _counted(self, memberships: Memberships) -> tuple[Judgments, Integers]:
        """The judgments that count, and beside each how many preferences vote there."""
        sizes = [len(comparisons) for comparisons, _members in memberships]
        comparisons = np.fromiter(chain.from_iterable(each for each, _ in memberships), np.int64)
        if not len(comparisons):
            return self._at(np.zeros(len(self.run), dtype=np.bool_)), comparisons
        ordered = np.argsort(comparisons)
        place = np.searchsorted(comparisons, self.comparison, sorter=ordered)
        place = ordered[np.minimum(place, len(ordered) - 1)]
        membership = np.repeat(np.arange(len(memberships)), sizes)[place]
        # A preference may vote on some comparisons and not on others: seats tell them apart.
        seats = [
            key * len(memberships) + at for at, (_, own) in enumerate(memberships) for key in own
        ]
        is_seated = np.isin(self.preference * len(memberships) + membership, seats)
        counts = is_seated & (comparisons[place] == self.comparison)
        return self._at(counts), np.array([len(own) for _, own in memberships])[membership[counts]]


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
