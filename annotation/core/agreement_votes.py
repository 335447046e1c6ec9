"""Agreement as MT-Bench counts it: every vote against every other vote on the same comparison."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
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


def percent_agreement(pairs: Iterable[tuple[Hashable, Hashable]]) -> PercentAgreement:
    """Share of items that two raters gave the same category."""
    ratings = list(pairs)
    return PercentAgreement(sum(one == other for one, other in ratings), len(ratings))


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
