"""Whether a judge favours models of its own family (protocols A1.8).

On comparisons of which exactly one response is by a model of the judge's family: the judge's win
rate of that response minus the people's on the same comparisons. A family that is simply better
wins with people too, so only what the judge adds is counted. Intervals draw sessions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval
from benchmark.core.accuracy import Bools, Floats, Integers, bootstrap_sums, by_unit, session_units
from benchmark.core.decisions import Winners, codes, is_read, winners
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
    rows = list(items)
    told, counts = own_counts(
        np.array([own_side(row.model_a, row.model_b, family) for row in rows], dtype=np.int64),
        codes(row.human for row in rows),
        winners(dict(zip(Order, row.verdicts, strict=False)) for row in rows),
    )
    if not told.any():
        return SelfPreference(family, None, None, None, None, 0)
    sums = by_unit(session_units(row.session for row in rows)[told], counts[told])
    judged, verdicts, human, labels = (float(total) for total in sums.sum(axis=0))
    return SelfPreference(
        family=family,
        value=judged / verdicts - human / labels,
        interval=bootstrap_sums(sums, _gap, seed=seed, draws=draws),
        judge_rate=judged / verdicts,
        human_rate=human / labels,
        comparisons=int(told.sum()),
    )


def own_side(model_a: str, model_b: str, family: str) -> int:
    """1 where A alone is by a model of the family, -1 where B alone is, else 0."""
    own_a, own_b = (family != "" and family_of(each) == family for each in (model_a, model_b))
    return own_a - own_b


def own_counts(ours: Integers, human: Winners, won: Winners) -> tuple[Bools, Floats]:
    """By comparison, whether it counts, and points and verdicts, the judge's and then the person's.

    Args:
        ours: `own_side` of each.
        human: what the person said.
        won: what the judge said; a comparison counts where any of it could be read.
    """
    read = is_read(won).sum(axis=1)
    judged, labelled = (
        (said == ours[:, None]) + 0.5 * (said == 0) for said in (won, human[:, None])
    )
    columns = (judged.sum(axis=1), read, labelled.sum(axis=1), np.ones(len(ours)))
    return (ours != 0) & (read > 0), np.column_stack(columns)


def _gap(sums: Floats) -> Floats:
    gap: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return gap
