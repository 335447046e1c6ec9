"""Models beside one another by a majority: the SenseJudge paper's section 4.2.2 and its Figure 4.

Everybody who speaks on a comparison (an annotator, or a judge in an annotator's stead, in either
order) has a vote; the majority is its one verdict, an even split a tie. Of each two models the
share of the comparisons that either won is shown, ties apart, with the interval of the first one's
win rate over sessions.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.intervals import Interval, clustered_wilson

_POINTS: Final = {Verdict.A: 1.0, Verdict.TIE: 0.5, Verdict.B: 0.0}

MajorityVerdict = tuple[str, str, Verdict, int]
"""Model A, model B, what most said, and the session."""


class PairOfModels(NamedTuple):
    """Two models, of which `left` won more of all its comparisons, and how theirs went."""

    left: str
    right: str
    wins: int
    ties: int
    losses: int
    interval: Interval | None

    @property
    def n(self) -> int:
        """Comparisons."""
        return self.wins + self.ties + self.losses

    @property
    def share(self) -> float:
        """The left model's win rate, a tie one half."""
        return (self.wins + self.ties / 2) / self.n


def majority(
    votes: Iterable[tuple[int, str, str, Verdict, int]],
) -> list[MajorityVerdict]:
    """One verdict a comparison.

    Args:
        votes: the comparison, its models A and B, a verdict, and the session.
    """
    sums: dict[tuple[int, str, str, int], int] = defaultdict(int)
    worth = {Verdict.A: 1, Verdict.B: -1, Verdict.TIE: 0}
    for comparison, one, other, verdict, session in votes:
        sums[comparison, one, other, session] += worth[verdict]
    return [
        (one, other, Verdict.A if sum_ > 0 else Verdict.B if sum_ < 0 else Verdict.TIE, session)
        for (_comparison, one, other, session), sum_ in sums.items()
    ]


def pairs_of_models(
    verdicts: Iterable[MajorityVerdict], *, anchor: str = ""
) -> tuple[PairOfModels, ...]:
    """Every two models that were compared, the better ones first; with an anchor, its pairs alone.

    Left is the model with the higher win rate over all; against an anchor it is the other one.
    """
    rows = [row for row in verdicts if row[0] != row[1]]
    won: dict[str, list[float]] = defaultdict(list)
    for one, other, verdict, _session in rows:
        won[one].append(_POINTS[verdict])
        won[other].append(1 - _POINTS[verdict])
    rates = {model: float(np.mean(points)) for model, points in won.items()}
    order = sorted(rates, key=lambda model: (model == anchor, -rates[model], model))
    place = {model: at for at, model in enumerate(order)}
    pairs: dict[tuple[int, int], list[tuple[Verdict, int]]] = defaultdict(list)
    for one, other, verdict, session in rows:
        if not anchor or anchor in (one, other):
            first, second = place[one], place[other]
            told = verdict if first < second else verdict.flipped()
            pairs[min(first, second), max(first, second)].append((told, session))
    return tuple(
        _pair(order[left], order[right], told) for (left, right), told in sorted(pairs.items())
    )


def _pair(left: str, right: str, told: list[tuple[Verdict, int]]) -> PairOfModels:
    said = [verdict for verdict, _session in told]
    wins, ties = said.count(Verdict.A), said.count(Verdict.TIE)
    _keys, session = np.unique([session for _verdict, session in told], return_inverse=True)
    points = np.bincount(session, weights=[_POINTS[verdict] for verdict in said])
    trials = np.bincount(session).astype(np.float64)
    interval = clustered_wilson(points.astype(np.float64), trials)
    return PairOfModels(left, right, wins, ties, len(told) - wins - ties, interval)
