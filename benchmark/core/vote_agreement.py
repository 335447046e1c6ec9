"""How often a judge agrees with people, beside how often people agree with each other.

Protocols A3: the probability that two different judges, drawn at random, agree on a question. Every
pair of votes on one comparison counts once: the judge's one verdict with each person's, and each
two people's. Where the judge was asked in both orders it wins only where both agree, else it is a
tie. With ties is setup S1 of Zheng et al. (2023), section 4.2; in S2 pairs in which either vote is
a tie are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.intervals import Interval, ends
from benchmark.core.accuracy import by_unit, session_units, share_interval
from benchmark.core.decisions import Decisions


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes on one comparison of the turn `turn`; `judge` is None where it said nothing.

    One that names no `session` is a session of its own; `models` are those of its responses, ""
    where nobody recorded one.
    """

    turn: int
    judge: Verdict | None
    people: tuple[Verdict, ...]
    session: int | None = None
    scenario: str = ""
    models: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Fraction:
    """`agree` of `pairs` pairs of votes are equal; the interval draws sessions."""

    agree: int
    pairs: int
    comparisons: int
    interval: Interval | None

    @property
    def value(self) -> float | None:
        """The share that agrees."""
        return self.agree / self.pairs if self.pairs else None


@dataclass(frozen=True, slots=True)
class VoteAgreement:
    """Judge with people, and people with people, on one turn, or on all where it is None."""

    turn: int | None
    ties: bool
    judge: Fraction
    people: Fraction

    def record(self) -> dict[str, object]:
        """A flat row, as files and scripts have it; shares are 0..1."""
        return {
            "turn": self.turn,
            "ties": self.ties,
            **_flat("judge", self.judge),
            **_flat("people", self.people),
        }


class GapAgreement(NamedTuple):
    """Agreement on two models, ties left out; `gap` is by how much `first` wins more, 0..1."""

    first: str
    second: str
    gap: float
    votes: VoteAgreement


class AgreementTables(NamedTuple):
    """The agreement by turn, by scenario and by two models."""

    turns: tuple[VoteAgreement, ...] = ()
    scenarios: tuple[tuple[str, VoteAgreement], ...] = ()
    gaps: tuple[GapAgreement, ...] = ()

    def records(self) -> dict[str, list[dict[str, object]]]:
        """Flat rows by what they are about, as files and scripts have them."""
        told = {
            "turn": [row.record() for row in self.turns],
            "scenario": [{"scenario": name, **row.record()} for name, row in self.scenarios],
            "gap": [
                {"first": row.first, "second": row.second, "gap": row.gap, **row.votes.record()}
                for row in self.gaps
            ],
        }
        for name in ("scenario", "gap"):
            for record in told[name]:
                del record["turn"]
        return told


def conservative(decisions: Decisions) -> Verdict | None:
    """One verdict of a judge: a win where all its orders agree, else a tie.

    None where nothing was decided, or a reply could not be read.
    """
    given = set(decisions.values())
    if not given or None in given:
        return None
    return given.pop() if len(given) == 1 else Verdict.TIE


def vote_agreement(
    votes: Iterable[Votes],
) -> tuple[VoteAgreement, ...]:
    """The agreement on each turn, with ties and without, in the order of the turns."""
    rows = list(votes)
    return tuple(
        _agreement(turn, [row for row in rows if row.turn == turn], ties=ties)
        for turn in sorted({row.turn for row in rows})
        for ties in (True, False)
    )


def scenario_agreement(votes: Iterable[Votes]) -> tuple[tuple[str, VoteAgreement], ...]:
    """The agreement in each scenario over all turns, with ties and without, as they first come."""
    groups: dict[str, list[Votes]] = {}
    for row in votes:
        groups.setdefault(row.scenario, []).append(row)
    return tuple(
        (name, _agreement(None, rows, ties=ties))
        for name, rows in groups.items()
        for ties in (True, False)
    )


def gap_agreement(
    votes: Iterable[Votes], win_rates: Mapping[str, float]
) -> tuple[GapAgreement, ...]:
    """The agreement on each two models over all turns, the smallest gap first (their Figure 2).

    Ties are left out (setup S2). A pair on which nobody can agree is left out: there is no one
    comparison of it with two votes that both name a winner.

    Args:
        votes: those on two responses of one model, or of an unknown one, do not count.
        win_rates: 0..1 of every model that is compared.
    """
    groups: dict[tuple[str, str], list[Votes]] = {}
    for row in votes:
        first, second = sorted(row.models, key=lambda model: (-win_rates.get(model, 0.0), model))
        if first != second and first in win_rates and second in win_rates:
            groups.setdefault((first, second), []).append(row)
    found = (
        GapAgreement(*pair, win_rates[pair[0]] - win_rates[pair[1]], told)
        for pair, rows in groups.items()
        if (told := _agreement(None, rows, ties=False)).judge.pairs or told.people.pairs
    )
    return tuple(sorted(found, key=lambda row: (row.gap, row.first, row.second)))


def _agreement(turn: int | None, rows: Sequence[Votes], *, ties: bool) -> VoteAgreement:
    with_judge = (
        (row.session, [(row.judge, person) for person in row.people])
        for row in rows
        if row.judge is not None
    )
    of_people = ((row.session, list(combinations(row.people, 2))) for row in rows)
    return VoteAgreement(
        turn=turn,
        ties=ties,
        judge=_fraction(with_judge, ties=ties),
        people=_fraction(of_people, ties=ties),
    )


def _fraction(
    pairs: Iterable[tuple[int | None, Sequence[tuple[Verdict, Verdict]]]],
    *,
    ties: bool,
) -> Fraction:
    """Equal pairs of all pairs, one group of pairs a comparison, with its session."""
    kept = (
        (session, [pair for pair in group if ties or Verdict.TIE not in pair])
        for session, group in pairs
    )
    counts = [
        (session, sum(one is two for one, two in group), len(group))
        for session, group in kept
        if group
    ]
    sums = np.array([told for _session, *told in counts], dtype=np.float64).reshape(-1, 2)
    by_session = by_unit(session_units(session for session, *_told in counts), sums)
    return Fraction(
        agree=int(sums[:, 0].sum()),
        pairs=int(sums[:, 1].sum()),
        comparisons=len(sums),
        interval=share_interval(by_session),
    )


def _flat(name: str, fraction: Fraction) -> dict[str, object]:
    interval = fraction.interval
    return {
        f"{name}_agree": fraction.agree,
        f"{name}_pairs": fraction.pairs,
        f"{name}_share": fraction.value,
        **ends(interval, f"{name}_"),
    }
