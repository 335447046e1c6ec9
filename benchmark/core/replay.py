"""Scores of answers to fixed prefixes, summed up and compared (protocols.md A2.8 and B 2.2).

Everybody's answers count alike in a macro mean of users, however many there are; `paper_*` does
what the released code does.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean
from typing import Final

from annotation.core.choices import is_satisfied
from annotation.core.intervals import DEFAULT_DRAWS, Interval, bootstrap_mean
from judging.core.calibration import score_counts

PAPER_SEED: Final = 42


class Grouping(StrEnum):
    """What a macro mean gives equal weight; a block is a user in a scenario."""

    USER = "USER"
    SCENARIO = "SCENARIO"
    BLOCK = "BLOCK"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One answer with its score of 1-5; `item` names the prefix, the same for every model."""

    item: str
    user: str
    scenario: str
    score: int

    def group(self, by: Grouping) -> tuple[str, ...]:
        """The group that the answer belongs to."""
        user = () if by is Grouping.SCENARIO else (self.user,)
        scenario = () if by is Grouping.USER else (self.scenario,)
        return (*user, *scenario)


@dataclass(frozen=True, slots=True)
class Summary:
    """One model's answers: their mean, the means of group means, and how many of each score.

    `counts` starts at score 1; `satisfied` is the share of scores of 4 and 5.
    """

    micro: float
    macro: Mapping[Grouping, float]
    groups: Mapping[Grouping, int]
    scenarios: Mapping[str, float]
    satisfied: float
    counts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Paired:
    """How often one of two did better, and by how much on average, over answers or groups."""

    wins: int
    ties: int
    losses: int
    mean_delta: float

    @property
    def n(self) -> int:
        """Answers or groups compared."""
        return self.wins + self.ties + self.losses

    @property
    def decided_win_rate(self) -> float | None:
        """Share of wins among those that are no tie; None where all are (the paper: 0)."""
        decided = self.wins + self.losses
        return self.wins / decided if decided else None


@dataclass(frozen=True, slots=True)
class ModelComparison:
    """Two models on the items that both answered, and how many only one did."""

    micro: Paired
    macro: Mapping[Grouping, Paired]
    only_candidate: int
    only_reference: int


def summarise(answers: Sequence[Replayed]) -> Summary:
    """The figures of one model's answers.

    Raises:
        ValueError: there are none, or a score is not one of 1-5.
    """
    if not answers:
        raise ValueError("there are no answers to sum up")
    counts = score_counts([one.score for one in answers])
    means = {by: _means(answers, by) for by in Grouping}
    return Summary(
        micro=fmean(one.score for one in answers),
        macro={by: fmean(found.values()) for by, found in means.items()},
        groups={by: len(found) for by, found in means.items()},
        scenarios={name: mean for (name,), mean in means[Grouping.SCENARIO].items()},
        satisfied=fmean(is_satisfied(one.score) for one in answers),
        counts=counts,
    )


def user_interval(
    answers: Sequence[Replayed], *, seed: int, draws: int = DEFAULT_DRAWS
) -> Interval | None:
    """The 95 % interval of the user macro mean: the bootstrap over users.

    Args:
        answers: of one model.
        seed: the same seed gives the same interval, in whatever order the answers come.
        draws: resamples of users.

    Returns:
        None for fewer than MIN_UNITS users, over whom percentiles cover too seldom.
    """
    means = _means(answers, Grouping.USER)
    return bootstrap_mean([means[user] for user in sorted(means)], seed=seed, draws=draws)


def paper_user_interval(
    answers: Sequence[Replayed], *, seed: int = PAPER_SEED, draws: int = DEFAULT_DRAWS
) -> Interval:
    """The released code's 95 % interval of the user macro mean: order statistics of its draws.

    Args:
        answers: at least one.
        seed: of Python's generator, as released.
        draws: resamples of users.

    Raises:
        ValueError: there are no answers.
    """
    if not answers:
        raise ValueError("there are no answers to draw from")
    means = _means(answers, Grouping.USER)
    users = sorted(means)
    rng = random.Random(seed)
    drawn = sorted(fmean(means[rng.choice(users)] for _ in users) for _ in range(draws))
    return Interval(drawn[int(0.025 * draws)], drawn[int(0.975 * draws)], draws=draws)


def compare(
    candidate: Sequence[Replayed], reference: Sequence[Replayed], *, margin: float = 0.0
) -> ModelComparison:
    """Win, tie or loss of one model against another, item by item and group mean by group mean.

    Args:
        candidate: one model's answers, one an item.
        reference: the other's.
        margin: a difference of no more than this is a tie.

    Raises:
        ValueError: they share no item, or somebody answered one twice.
    """
    ours, theirs = _by_item(candidate), _by_item(reference)
    common = sorted(ours.keys() & theirs.keys())
    if not common:
        raise ValueError("the two answered nothing in common")
    both = [[side[item] for item in common] for side in (ours, theirs)]
    macro = {}
    for by in Grouping:
        first, second = (_means(side, by) for side in both)
        macro[by] = _paired((first[group] - second[group] for group in first), margin=margin)
    return ModelComparison(
        micro=_paired((ours[item].score - theirs[item].score for item in common), margin=margin),
        macro=macro,
        only_candidate=len(ours) - len(common),
        only_reference=len(theirs) - len(common),
    )


def _by_item(answers: Sequence[Replayed]) -> dict[str, Replayed]:
    found = {one.item: one for one in answers}
    if len(found) < len(answers):
        raise ValueError("an item was answered twice")
    return found


def _means(answers: Iterable[Replayed], by: Grouping) -> dict[tuple[str, ...], float]:
    scores: dict[tuple[str, ...], list[int]] = {}
    for one in answers:
        scores.setdefault(one.group(by), []).append(one.score)
    return {group: fmean(own) for group, own in scores.items()}


def _paired(deltas: Iterable[float], *, margin: float) -> Paired:
    found = list(deltas)
    wins = sum(delta > margin for delta in found)
    losses = sum(delta < -margin for delta in found)
    return Paired(wins, len(found) - wins - losses, losses, fmean(found))
