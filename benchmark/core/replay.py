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
from typing import Final, NamedTuple

import numpy as np

from annotation.core.choices import LabelledEnum, is_satisfied
from annotation.core.intervals import (
    DEFAULT_DRAWS,
    FloatArray,
    Interval,
    Units,
    bootstrap,
    bootstrap_mean,
    clustered_wilson,
)
from annotation.core.refusals import gettext_noop
from annotation.core.significance import sign_flip_p
from judging.core.calibration import (
    Calibrated,
    Calibration,
    calibrate,
    paper_reference_cdf,
    score_counts,
)

PAPER_SEED: Final = 42


class ReplayScale(LabelledEnum):
    """Which of an answer's scores a figure is of.

    CALIBRATED is the one that is reported, PAPER the same as the released code has it.
    """

    CALIBRATED = "CALIBRATED", gettext_noop("calibrated by the originals (reference CDF)")
    RAW = "RAW", gettext_noop("as the evaluator scored them")
    PAPER = "PAPER", gettext_noop("calibrated as the paper's code does")


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
        None for too few users, over whom percentiles cover too seldom.
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
    ours, theirs = _common(candidate, reference)
    macro = {}
    for by in Grouping:
        first, second = _means(ours, by), _means(theirs, by)
        macro[by] = _paired((first[group] - second[group] for group in first), margin=margin)
    deltas = [one.score - other.score for one, other in zip(ours, theirs, strict=True)]
    return ModelComparison(
        micro=_paired(deltas, margin=margin),
        macro=macro,
        only_candidate=len(candidate) - len(ours),
        only_reference=len(reference) - len(theirs),
    )


def _common(
    candidate: Sequence[Replayed], reference: Sequence[Replayed]
) -> tuple[list[Replayed], list[Replayed]]:
    """The answers of both to the items that both answered."""
    ours, theirs = _by_item(candidate), _by_item(reference)
    common = sorted(ours.keys() & theirs.keys())
    if not common:
        raise ValueError("the two answered nothing in common")
    return [ours[item] for item in common], [theirs[item] for item in common]


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


class Difference(NamedTuple):
    """How much better one did than the other, by the mean of users' mean differences.

    `interval` and `p` (sign flips over users) are None for too few users.
    """

    value: float
    interval: Interval | None
    p: float | None


def difference(
    candidate: Sequence[Replayed],
    reference: Sequence[Replayed],
    *,
    seed: int,
    draws: int = DEFAULT_DRAWS,
) -> Difference:
    """The user macro mean of the differences on the items that both answered.

    Args:
        candidate: one model's answers, one an item.
        reference: the other's.
        seed: of the bootstrap and of the sign flips, both over users.
        draws: resamples of users.

    Raises:
        ValueError: they share no item, or somebody answered one twice.
    """
    ours, theirs = _common(candidate, reference)
    first, second = _means(ours, Grouping.USER), _means(theirs, Grouping.USER)
    deltas = [first[user] - second[user] for user in sorted(first)]
    interval = bootstrap_mean(deltas, seed=seed, draws=draws)
    p = None if Units.alike(len(deltas)).few else sign_flip_p(deltas, seed=seed)
    return Difference(fmean(deltas), interval, p)


MACROS: Final = ("user", "micro", "scenario", "block")


def intervals(
    answers: Sequence[Replayed], *, seed: int, draws: int = DEFAULT_DRAWS
) -> dict[str, Interval | None]:
    """The 95 % intervals of one model's means, by MACROS, and of its `satisfied` share.

    All draw users, with all that they answered; None for too few of them.
    """
    users = [one.user for one in answers]
    blocks = _means(answers, Grouping.BLOCK)
    hits: dict[str, list[bool]] = {}
    for one in answers:
        hits.setdefault(one.user, []).append(is_satisfied(one.score))
    scores = [float(one.score) for one in answers]
    return {
        "user": user_interval(answers, seed=seed, draws=draws),
        "micro": bootstrap_mean(scores, seed=seed, clusters=users, draws=draws),
        "scenario": _scenario_interval(answers, seed=seed, draws=draws),
        "block": bootstrap_mean(
            list(blocks.values()), seed=seed, clusters=[user for user, _name in blocks], draws=draws
        ),
        "satisfied": clustered_wilson(
            np.array([float(sum(own)) for own in hits.values()]),
            np.array([float(len(own)) for own in hits.values()]),
        ),
    }


def _scenario_interval(answers: Sequence[Replayed], *, seed: int, draws: int) -> Interval | None:
    """A draw that lacks a scenario leaves its mean undefined."""
    users = {name: at for at, name in enumerate(sorted({one.user for one in answers}))}
    scenarios = {name: at for at, name in enumerate(sorted({one.scenario for one in answers}))}
    sums, sizes = np.zeros((2, len(users), len(scenarios)))
    for one in answers:
        place = users[one.user], scenarios[one.scenario]
        sums[place] += one.score
        sizes[place] += 1

    def macro(weights: FloatArray) -> FloatArray:
        counts = weights @ sizes
        means = np.divide(
            weights @ sums, counts, out=np.full_like(counts, np.nan), where=counts > 0
        )
        found: FloatArray = means.mean(axis=1)
        return found

    return bootstrap(macro, units=len(users), seed=seed, draws=draws)


class ScoredAnswer(NamedTuple):
    """What the evaluator said of one answer of a block: the whole score, and the unrounded one.

    `key` is what the paper's code sorts ties by: the item, with its place as a number in words.
    """

    key: str
    score: int
    expected: float | None = None

    @property
    def rank(self) -> float:
        """What it is ranked by: the unrounded score where the evaluator gives one."""
        return float(self.score) if self.expected is None else self.expected


def on_scale(
    scale: ReplayScale,
    answers: Sequence[ScoredAnswer],
    *,
    originals: Sequence[ScoredAnswer],
    history: Sequence[int],
) -> tuple[Calibrated, ...]:
    """The scores of one model's answers in a block on the user's own scale (protocols A2.4).

    Args:
        scale: which.
        answers: of one model.
        originals: every original response of the block, scored by the same evaluator.
        history: counts of the user's scores 1-5 in other scenarios, lowest first.

    Returns:
        One a score, in order; PAPER falls back to the raw score where the other does, though it
        never looks at unrounded scores.
    """
    found = calibrate(
        [one.rank for one in answers],
        method=Calibration.RAW if scale is ReplayScale.RAW else Calibration.REFERENCE_CDF,
        history=history,
        reference=[one.rank for one in originals],
    )
    if scale is ReplayScale.RAW or any(one.fallback for one in found):
        return tuple(
            Calibrated(one.score, each.fallback) for one, each in zip(answers, found, strict=True)
        )
    if scale is ReplayScale.PAPER:
        paper = paper_reference_cdf(
            [(one.key, one.score) for one in answers],
            reference=[(one.key, one.score) for one in originals],
            history=history,
        )
        return tuple(Calibrated(score) for score in paper)
    return found
