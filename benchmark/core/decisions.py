"""What a preference set decided on each comparison, from stored judgments by column.

A page reads tens of thousands of judgments, of which columns are made once: to count them there
costs a fraction of what an object each does.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import JudgmentStatus, Order, Verdict
from judging.core.runs import ORDERS
from judging.core.verdicts import ROUNDING, verdict_of_log_odds
from judging.core.votes import VoteRule

Decisions = Mapping[Order, Verdict | None]
"""The judge's winner on one comparison by presentation order, in the comparison's coordinates.

An order is missing where it was not judged, and None where nothing readable was answered. Of a
judge that is read by l* both orders carry the one verdict; what it leaned to in each is told apart.
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
Panels = Sequence[tuple[Collection[int], Sequence[Collection[int]]]]
"""Comparisons, and the sets of preferences whose decisions are averaged on them."""
Shares = Floats
"""By order (as in Order) the shares of some sets that decided for A, B, a tie, nothing readable.

They sum to 1 where the comparison was judged in that order, else to 0.
"""
EXCHANGED: Final = [1, 0, 2, 3]
"""The places of the shares of A, B, a tie and nothing once A and B are exchanged."""

_ALL_ORDERS: Final = tuple(Order)
_STATUSES: Final = tuple(JudgmentStatus)
_STRENGTHS: Final = np.array([1.0, -1.0, 0.0, np.nan])  # of A, B, a tie, and no verdict
# A judgment is read as one number, the sum of three codes: fewer cells, and none is a text.
ORDER_CODES: Final = {order: place for place, order in enumerate(_ALL_ORDERS)}
STATUS_CODES: Final = {status: place * len(_ALL_ORDERS) for place, status in enumerate(_STATUSES)}
VERDICT_CODES: Final = {
    verdict: place * len(_ALL_ORDERS) * len(_STATUSES)
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
    """A judge's ballots on one comparison; `log_odds` is their mean, in favour of A.

    `by_log_odds` says that the ballots are members' l*: then their mean decides, not a majority.
    """

    for_a: int
    for_b: int
    ties: int
    unread: int
    log_odds: float | None
    by_log_odds: bool = False

    def flipped(self) -> Opinion:
        """Returns the verdict with A and B exchanged."""
        odds = None if self.log_odds is None else -self.log_odds
        return replace(self, for_a=self.for_b, for_b=self.for_a, log_odds=odds)

    @property
    def ballots(self) -> int:
        """Those that could be read."""
        return self.for_a + self.for_b + self.ties

    @property
    def verdict(self) -> Verdict | None:
        """The majority, a tie where it is even, None without a ballot."""
        if not self.ballots:
            return None
        if self.by_log_odds:
            return verdict_of_log_odds(self.log_odds or 0.0)
        if self.for_a == self.for_b:
            return Verdict.TIE
        return Verdict.A if self.for_a > self.for_b else Verdict.B

    @property
    def confidence(self) -> float:
        """0..1: how far the ballots lean to one side; 1 where all name one response.

        Of l* it is P(A) - P(B), without its sign.
        """
        if self.by_log_odds:
            return math.tanh(abs(self.log_odds or 0.0) / 2)
        return abs(self.for_a - self.for_b) / self.ballots if self.ballots else 0.0

    @property
    def winning(self) -> int | None:
        """The ballots for the winner; None where nobody won."""
        return {Verdict.A: self.for_a, Verdict.B: self.for_b}.get(self.verdict or Verdict.TIE)

    @property
    def winner_chance(self) -> float | None:
        """0..1: P(winner) by the mean log-odds, else the winner's share of the ballots.

        None where nobody won. It is below a half where log-odds contradict the majority.
        """
        won = self.winning
        if won is None:
            return None
        if self.log_odds is None:
            return won / self.ballots
        in_favour = self.log_odds if self.verdict is Verdict.A else -self.log_odds
        return (1 + math.tanh(in_favour / 2)) / 2

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
        _CODES[each[order]] if order in each else ABSENT
        for each in decisions
        for order in _ALL_ORDERS
    ]
    return np.array(cells, dtype=np.int8).reshape(-1, len(_ALL_ORDERS))


def shares_of(won: Winners) -> Shares:
    """The shares of one set on some comparisons: it alone decided."""
    return np.asarray(won[..., None] == [1, -1, 0, UNREAD], dtype=np.float64)


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
        order = votes.code % len(_ALL_ORDERS)
        cells = votes.comparison * len(_ALL_ORDERS) + order
        _cells, first, group = np.unique(cells, return_index=True, return_inverse=True)

        def count(rows: NDArray[np.bool_]) -> Integers:
            return np.bincount(group[rows], minlength=len(first))

        verdict, status = votes.verdict, votes.code // len(_ALL_ORDERS) % len(_STATUSES)
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
                orders[_ALL_ORDERS[place]] = _WINNERS[won] if is_read else None
        return decisions

    def decisions_by_log_odds(self, memberships: Memberships) -> Mapping[int, Decisions]:
        """By comparison, the one verdict of its preference set by l*, in both orders alike.

        As by judging.core.votes.mean_log_odds: a member without log-odds in both orders is left
        out, and where none is left nothing could be read. A comparison is left out while a member
        has yet to answer, and where all calls on it failed.
        """
        votes, members = self._counted(memberships)
        _members, first, group = np.unique(votes.comparison, return_index=True, return_inverse=True)
        status = votes.code // len(_ALL_ORDERS) % len(_STATUSES)

        def count(rows: NDArray[np.bool_]) -> Integers:
            return np.bincount(group[rows], minlength=len(first))

        replied = count(np.isin(status, _REPLIED)) > 0
        waits = count(status == _PENDING) > 0
        all_there = np.bincount(group, minlength=len(first)) == 2 * members[first]
        comparison, log_odds = _averages(votes)
        own = np.searchsorted(votes.comparison[first], comparison)
        balance = np.bincount(own, log_odds, minlength=len(first))
        counted = np.bincount(own, minlength=len(first))
        mean = balance / np.maximum(counted, 1)
        winner = np.where(np.abs(mean) < ROUNDING, 0, np.sign(mean)).astype(np.int64)
        return {
            comparison: dict.fromkeys(ORDERS, _WINNERS[won] if is_read else None)
            for comparison, won, is_read, is_complete in zip(
                votes.comparison[first].tolist(),
                winner.tolist(),
                (counted > 0).tolist(),
                (replied & ~waits & all_there).tolist(),
                strict=True,
            )
            if is_complete
        }

    def shown_signs(self, memberships: Memberships) -> Mapping[int, Decisions]:
        """By comparison and order, the sign of the members' mean log-odds.

        Of a judge that is read by l*: its position bias and its consistency are read from it.
        """
        return self.decisions(memberships, rule=VoteRule.SOFT)

    def shares(
        self, panels: Panels, *, rule: VoteRule = VoteRule.DEFAULT, by_log_odds: bool = False
    ) -> dict[int, Shares]:
        """By comparison, what several sets decided in each order, averaged over them.

        Each set votes as in `decisions`, or by the mean of its members' l*. An order is left out
        while any member of any set has yet to answer in it, and where all its calls failed.

        Args:
            panels: comparisons with their sets; no comparison is in two.
            rule: PAPER gives an even split to the response shown first.
            by_log_odds: the run is read by l*.
        """
        found: dict[int, Shares] = {}
        for comparisons, sets in panels:
            members = sorted({key for each in sets for key in each})
            if members and len(comparisons):
                seats = np.array([[key in each for each in sets] for key in members], dtype=float)
                found |= self._shares(comparisons, members, seats, rule, by_log_odds=by_log_odds)
        return found

    def _shares(
        self,
        comparisons: Collection[int],
        members: Sequence[int],
        seats: Floats,
        rule: VoteRule,
        *,
        by_log_odds: bool,
    ) -> dict[int, Shares]:
        """Of one panel; `seats` (members, sets) says who votes in which set."""
        own = self._at(
            np.isin(self.comparison, np.fromiter(comparisons, np.int64))
            & np.isin(self.preference, members)
        )
        keys, row = np.unique(own.comparison, return_inverse=True)
        order, column = own.code % len(_ALL_ORDERS), np.searchsorted(members, own.preference)
        shape = (len(keys), len(_ALL_ORDERS), len(members))
        strength, status = np.full(shape, np.nan), np.full(shape, -1)
        status[row, order, column] = own.code // len(_ALL_ORDERS) % len(_STATUSES)
        of_odds = by_log_odds or rule is VoteRule.SOFT
        strength[row, order, column] = own.log_odds if of_odds else own.verdict
        if by_log_odds:  # one verdict for both orders: a member without one of them has none
            strength[:, : len(ORDERS)] = strength[:, : len(ORDERS)].mean(axis=1, keepdims=True)
        there = np.isin(status, _REPLIED).any(axis=2) & ~(status < 0).any(axis=2)
        there &= ~(status == _PENDING).any(axis=2)
        if by_log_odds:
            there[:, : len(ORDERS)] = there[:, : len(ORDERS)].all(axis=1, keepdims=True)
        heard = (~np.isnan(strength)).astype(float) @ seats
        balance = np.nan_to_num(strength) @ seats
        if by_log_odds:
            balance = balance / np.maximum(heard, 1)
            balance[np.abs(balance) < ROUNDING] = 0
        won = np.sign(balance)
        if rule is VoteRule.PAPER:
            won = np.where(won == 0, SHOWN_FIRST[None, :, None], won)
        read = heard > 0
        kinds = [(won == side) & read for side in (1, -1, 0)] + [~read]
        shares = np.stack([kind.mean(axis=2) for kind in kinds], axis=-1) * there[..., None]
        return dict(zip(keys.tolist(), shares, strict=True))

    def opinions_by_log_odds(self, memberships: Memberships) -> dict[int, Opinion]:
        """By comparison, the l* of its preference set's members."""
        votes, members = self._counted(memberships)
        comparison, log_odds = _averages(votes)
        found: dict[int, list[float]] = {}
        for key, one in zip(comparison.tolist(), log_odds.tolist(), strict=True):
            found.setdefault(key, []).append(one)
        asked = dict(zip(votes.comparison.tolist(), members.tolist(), strict=True))
        opinions = {}
        for key, seats in asked.items():
            own = found.get(key, [])
            said = [verdict_of_log_odds(one) for one in own]
            opinions[key] = Opinion(
                said.count(Verdict.A),
                said.count(Verdict.B),
                said.count(Verdict.TIE),
                unread=seats - len(own),
                log_odds=sum(own) / len(own) if own else None,
                by_log_odds=True,
            )
        return opinions

    def opinions(
        self, memberships: Memberships, *, rule: VoteRule = VoteRule.DEFAULT
    ) -> dict[int, Opinion]:
        """By comparison, the ballots of its preference set in all orders.

        By PAPER all ballots of an order that they split evenly count for the response shown first.
        """
        votes, _members = self._counted(memberships)
        comparisons, group = np.unique(votes.comparison, return_inverse=True)
        verdict, log_odds = votes.verdict, votes.log_odds
        if rule is VoteRule.PAPER:
            order = votes.code % len(_ALL_ORDERS)
            cells = group * len(_ALL_ORDERS) + order
            balance = np.bincount(cells, weights=np.nan_to_num(verdict))[cells]
            is_even = (balance == 0) & ~np.isnan(verdict)
            verdict = np.where(is_even, SHOWN_FIRST[order], verdict)

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
        verdict: Floats = _STRENGTHS[self.code // (len(_ALL_ORDERS) * len(_STATUSES))]
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


def _averages(votes: Judgments) -> tuple[Integers, Floats]:
    """The l* of each preference on each comparison where it has one: comparisons and l*."""
    known = ~np.isnan(votes.log_odds) & (votes.code % len(_ALL_ORDERS) < len(ORDERS))
    comparison, preference = votes.comparison[known], votes.preference[known]
    keys = comparison * (1 + preference.max(initial=0)) + preference
    _keys, first, group, count = np.unique(
        keys, return_index=True, return_inverse=True, return_counts=True
    )
    mean = np.bincount(group, votes.log_odds[known], minlength=len(first)) / len(ORDERS)
    whole = count == len(ORDERS)
    return comparison[first][whole], mean[whole]


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
