"""Where a judge and a person disagree, the judge's surest verdicts first.

A judge's verdict on a comparison is the vote of all its ballots there: every preference of the set
in every order. It is sure of it by how far the ballots lean to one side, and then by how strong
they are where the judge knows log-odds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from annotation.core.choices import Verdict
from benchmark.core.decisions import StoredJudgment


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
