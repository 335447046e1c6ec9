"""What the pages find in coin flips, where there is nothing to find."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from annotation.core.agreement_report import Answers, agreement_report, finding_of, verdict_scale
from annotation.core.choices import Order, Verdict
from benchmark.core.bradley_terry import VerdictCounts
from benchmark.core.ranking import bradley_terry
from benchmark.core.trust import BASE, SELECTED, JudgedComparison, trust_figures
from sensejudge_site.benches.coverage.sampling import Random

_SIDES: Final = (Verdict.A, Verdict.B)
_SEED: Final = 1


def _trust(rng: Random, units: int) -> str:
    """A judge and an annotator, both by coin, in sessions of one comparison."""

    def flip() -> Verdict:
        return _SIDES[rng.integers(2)]

    cases = [
        JudgedComparison(
            key,
            "",
            flip(),
            {voice: {order: flip() for order in _ORDERS} for voice in (BASE, SELECTED)},
        )
        for key in range(units)
    ]
    return trust_figures(cases, (), seed=_SEED).finding.value


_ORDERS: Final = (Order.ORIGINAL, Order.SWAPPED)


def _agreement(rng: Random, units: int) -> str:
    """Two people who choose by coin, in sessions of one item."""
    item = np.repeat(np.arange(units), 2)
    value = rng.integers(2, size=2 * units)
    answers = Answers(item, np.tile([0, 1], units), value, item * 0, item * 0, item)
    scale = verdict_scale(ties=False)
    return finding_of(agreement_report(answers, scale, seed=_SEED).overall.leading).value


def _leaderboard(rng: Random, units: int) -> str:
    """Two models between whom a coin decides: whether one is said to be first, and no other."""
    won = rng.integers(2, size=units).tolist()
    best = bradley_terry((VerdictCounts("a", "b", one, 1 - one) for one in won), seed=_SEED).models[
        0
    ]
    if best.rank_high is None:
        return "NO_INTERVAL"
    return "ONE_FIRST" if best.rank_high == 1 else "ANY_FIRST"


FINDINGS: Final[dict[str, Callable[[Random, int], str]]] = {
    "trust": _trust,
    "agreement": _agreement,
    "leaderboard": _leaderboard,
}
"""By page, what it finds in a sample of so many units."""
