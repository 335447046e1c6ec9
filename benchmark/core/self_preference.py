"""Whether a judge favours models of its own family (protocols A1.8).

On comparisons of which exactly one response is by a model of the judge's family: the judge's win
rate of that response minus the people's on the same comparisons. A family that is simply better
wins with people too, so only what the judge adds is counted. Intervals draw sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval
from benchmark.core.accuracy import Floats, bootstrap_sums, by_unit, session_units
from judging.core.endpoints import family_of


@dataclass(frozen=True, slots=True)
class Rivals:
    """One comparison: who wrote the responses, what a person and a judge said of them.

    One that names no `session` is a session of its own.
    """

    model_a: str
    model_b: str
    human: Verdict
    verdicts: tuple[Verdict | None, ...]
    session: int | None = None


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """The judge's win rate of its own family minus the people's, on `comparisons`.

    Everything is None where no comparison has exactly one response of the family.
    """

    family: str
    value: float | None
    interval: Interval | None
    judge_rate: float | None
    human_rate: float | None
    comparisons: int


def self_preference(
    items: Iterable[Rivals], *, judge: str, seed: int, draws: int = DEFAULT_DRAWS
) -> SelfPreference:
    """The self-preference of a judge, by its name or its model's."""
    family = family_of(judge)
    counts = [(row.session, told) for row in items if (told := _own_points(row, family))]
    if not counts:
        return SelfPreference(family, None, None, None, None, 0)
    sums = by_unit(
        session_units(session for session, _told in counts),
        np.array([told for _session, told in counts], dtype=np.float64),
    )
    judged, verdicts, human, labels = (float(total) for total in sums.sum(axis=0))
    return SelfPreference(
        family=family,
        value=judged / verdicts - human / labels,
        interval=bootstrap_sums(sums, _gap, seed=seed, draws=draws),
        judge_rate=judged / verdicts,
        human_rate=human / labels,
        comparisons=len(counts),
    )


def _own_points(row: Rivals, family: str) -> tuple[float, float, float, float] | None:
    """Points of the family's response and verdicts, the judge's and then the person's.

    None where not exactly one response is of the family, or no verdict could be read.
    """
    own_a, own_b = (
        family != "" and family_of(each) == family for each in (row.model_a, row.model_b)
    )
    read = [each for each in row.verdicts if each is not None]
    if own_a == own_b or not read:
        return None
    own = Verdict.A if own_a else Verdict.B
    return sum(_points(each, own) for each in read), len(read), _points(row.human, own), 1.0


def _points(verdict: Verdict, own: Verdict) -> float:
    return 0.5 if verdict is Verdict.TIE else float(verdict is own)


def _gap(sums: Floats) -> Floats:
    gap: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return gap
