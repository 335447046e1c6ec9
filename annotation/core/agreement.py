"""How often raters agree, and how much of that is more than chance.

An undefined figure is a stated reason, never a number: kappa does not exist where chance alone
already explains everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from annotation.core.choices import Verdict


@dataclass(frozen=True, slots=True)
class PercentAgreement:
    """How many of n paired ratings are the same."""

    agreed: int
    n: int

    @property
    def share(self) -> float | None:
        """Agreed / n in 0..1; None where nothing was rated by both."""
        return self.agreed / self.n if self.n else None


class Undefined(StrEnum):
    """Why a kappa has no value."""

    NO_ITEMS = "NO_ITEMS"
    ONE_CATEGORY = "ONE_CATEGORY"


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa of two raters; exactly one of `value` and `undefined` is set."""

    value: float | None
    undefined: Undefined | None
    observed: PercentAgreement


def percent_agreement(pairs: Iterable[tuple[Hashable, Hashable]]) -> PercentAgreement:
    """Share of items that two raters gave the same category."""
    ratings = list(pairs)
    return PercentAgreement(sum(one == other for one, other in ratings), len(ratings))


def cohens_kappa(pairs: Iterable[tuple[Hashable, Hashable]]) -> Kappa:
    """Cohen's unweighted kappa: (observed - expected) / (1 - expected), in -1..1.

    `expected` is the agreement of two independent raters with these two category distributions.
    It is computed in integers, so that "both used one category only" is exact.
    """
    ratings = list(pairs)
    observed = percent_agreement(ratings)
    if not ratings:
        return Kappa(None, Undefined.NO_ITEMS, observed)
    first = Counter(one for one, _ in ratings)
    second = Counter(other for _, other in ratings)
    squared = observed.n**2
    expected = sum(count * second[category] for category, count in first.items())
    if expected == squared:
        return Kappa(None, Undefined.ONE_CATEGORY, observed)
    value = (observed.agreed * observed.n - expected) / (squared - expected)
    return Kappa(value, None, observed)


def agreement_between(
    items: Iterable[tuple[Sequence[Verdict], Sequence[Verdict]]], *, ties: bool
) -> PercentAgreement:
    """Agreement of two groups of raters: every vote of one group against every of the other.

    Each item holds the verdicts of both groups on one comparison (seed 004, agreement). With
    `ties` a tie agrees with a tie; without, pairs of votes in which either is a tie are left out.
    """
    return percent_agreement(
        (one, other)
        for first, second in items
        for one in first
        for other in second
        if ties or Verdict.TIE not in (one, other)
    )


def agreement_within(items: Iterable[Sequence[Verdict]], *, ties: bool) -> PercentAgreement:
    """Agreement within one group: every unordered pair of votes on the same comparison."""
    return percent_agreement(
        (one, other)
        for verdicts in items
        for one, other in combinations(verdicts, 2)
        if ties or Verdict.TIE not in (one, other)
    )
