"""Calibration: raw scores of one block mapped to a user's own scale (seed 003, section 3.4).

A block is one user's turns in one target scenario. Only the user's scores in OTHER scenarios and
the block's raw scores enter; equal raw scores give equal results and nothing depends on ids or
order. Ranks are compared in integers: with floats an exact quantile is missed now and then.
The `paper_*` functions do what the released code does, ties by id and banker's rounding included.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from math import floor
from typing import Final

from annotation.core.choices import LabelledEnum
from annotation.core.refusals import gettext_noop

LOWEST: Final = 1
HIGHEST: Final = 5
LEVELS: Final = 5
MIN_HISTORY: Final = 5
"""With fewer labelled turns a user's distribution says too little: the raw score stands."""


class Calibration(LabelledEnum):
    """How raw scores become calibrated ones."""

    RAW = "RAW", gettext_noop("none")
    MEAN_SHIFT = "MEAN_SHIFT", gettext_noop("mean shift")
    CDF = "CDF", gettext_noop("match to the user's distribution (CDF)")
    REFERENCE_CDF = "REFERENCE_CDF", gettext_noop("from reference scores (CDF)")


class Fallback(LabelledEnum):
    """Why a calibrated score is the raw one."""

    NO_HISTORY = "NO_HISTORY", gettext_noop("raw score: no history in other scenarios")
    SHORT_HISTORY = "SHORT_HISTORY", gettext_noop("raw score: fewer than five turns of history")
    NO_REFERENCE = (
        "NO_REFERENCE",
        gettext_noop("raw score: no original responses in the block to compare with"),
    )


@dataclass(frozen=True, slots=True)
class Calibrated:
    """One calibrated score, 1-5; `fallback` says why it is only the raw score."""

    score: int
    fallback: Fallback | None = None


def round_half_up(value: float | Fraction) -> int:
    """The nearest integer, halves up, clipped to 1-5 (2.5 gives 3, 0.2 gives 1)."""
    return _clip(floor(Fraction(value) + Fraction(1, 2)))


def score_counts(scores: Sequence[int]) -> tuple[int, ...]:
    """How often each score of 1-5 occurs, lowest first.

    Raises:
        ValueError: a score lies outside 1-5.
    """
    counts = [0] * LEVELS
    for score in scores:
        if not LOWEST <= score <= HIGHEST:
            raise ValueError(f"{score} is not a score of {LOWEST}-{HIGHEST}")
        counts[score - LOWEST] += 1
    return tuple(counts)


def calibrate(
    raw: Sequence[float],
    *,
    method: Calibration,
    history: Sequence[int],
    reference: Sequence[float] = (),
) -> tuple[Calibrated, ...]:
    """Calibrate the raw scores of one block.

    Args:
        raw: raw or expected scores of the block, 1-5; what could not be scored is left out.
        method: which map.
        history: counts of the user's scores 1-5 in other scenarios, lowest first.
        reference: for REFERENCE_CDF, raw scores of the block's ORIGINAL responses.

    Returns:
        One result a raw score, in order.
    """
    if method is Calibration.RAW:
        return tuple(Calibrated(round_half_up(score)) for score in raw)
    fallback = _fallback(method, history=history, reference=reference)
    if fallback is not None:
        return tuple(Calibrated(round_half_up(score), fallback) for score in raw)
    if method is Calibration.MEAN_SHIFT:
        return tuple(Calibrated(score) for score in mean_shift(raw, history=history))
    among = raw if method is Calibration.CDF else reference
    return tuple(Calibrated(score) for score in cdf(raw, among=among, history=history))


def mean_shift(raw: Sequence[float], *, history: Sequence[int]) -> tuple[int, ...]:
    """clip(round_half_up(raw + history mean - block mean), 1, 5) (seed 003, equation 7).

    `history` holds at least one score; the arithmetic is exact.
    """
    if not raw:
        return ()
    exact = [Fraction(score) for score in raw]
    shift = history_mean(history) - sum(exact, Fraction(0)) / len(exact)
    return tuple(round_half_up(score + shift) for score in exact)


def cdf(raw: Sequence[float], *, among: Sequence[float], history: Sequence[int]) -> tuple[int, ...]:
    """Map quantiles among some raw scores to the inverse distribution of the history.

    With L scores of `among` below a raw score and E equal to it, q = (L + E/2)/n; the result is
    the smallest s whose cumulative history share reaches q, that is 2 n c_s >= (2 L + E) N.
    Among the block itself this is CDF calibration (seed 003, equation 8, ties shared); among the
    block's original responses it is reference CDF, where q is kept within [1/2n, 1 - 1/2n].
    Within the block itself q never leaves that range.
    """
    ordered = sorted(among)
    n = len(ordered)
    cumulative = tuple(accumulate(history))
    results: list[int] = []
    for score in raw:
        doubled = bisect_left(ordered, score) + bisect_right(ordered, score)  # 2 L + E
        doubled = min(max(doubled, 1), 2 * n - 1)
        target = doubled * cumulative[-1]
        results.append(LOWEST + bisect_left([2 * n * c for c in cumulative], target))
    return tuple(results)


def cdf_expected(raw: Sequence[float], *, history: Sequence[int]) -> tuple[float, ...]:
    """CDF calibration of a block without rounding: the mean over all quantiles that a score spans.

    Raw scores that tie share the quantiles from L/n to (L + E)/n; the result is the mean of the
    history's inverse distribution between the two, exact until the last division.
    """
    ordered = sorted(raw)
    n, total = len(ordered), sum(history)
    bounds = [0, *accumulate(history)]
    results: list[float] = []
    for score in raw:
        start, end = bisect_left(ordered, score), bisect_right(ordered, score)
        weights = (
            max(0, min(end * total, n * high) - max(start * total, n * low))
            for low, high in pairwise(bounds)
        )
        weighted = sum(level * weight for level, weight in enumerate(weights, start=LOWEST))
        results.append(weighted / ((end - start) * total))
    return tuple(results)


def history_mean(history: Sequence[int]) -> Fraction:
    """The exact mean of score counts, lowest first; at least one score."""
    total = sum(score * count for score, count in enumerate(history, start=LOWEST))
    return Fraction(total, sum(history))


def paper_clip_round(value: float) -> int:
    """Banker's rounding, then clip, as the released reference calibration does (2.5 gives 2)."""
    return _clip(round(value))


def paper_inverse_cdf(history: Sequence[int], *, quantile: float) -> int:
    """The score at place floor(q n), from zero, of the sorted history, as released baselines do.

    Where q n is whole this is one place after the smallest score whose share reaches q: of 1, 3, 4,
    5 at q = 1/4 it is 3, not 1.

    Args:
        history: counts of the scores 1-5, lowest first, at least one.
        quantile: 0 to 1.
    """
    total = sum(history)
    place = min(floor(quantile * total), total - 1)
    return LOWEST + bisect_right(tuple(accumulate(history)), place)


def paper_reference_cdf(
    target: Sequence[tuple[str, float]],
    *,
    reference: Sequence[tuple[str, float]],
    history: Sequence[int],
) -> tuple[int, ...]:
    """Reference CDF of the released code: pairs (sample id, raw score) of one block.

    Originals and candidates are ranked in one pool by score, then id as a string, then "ref"
    before "target", so equal raw scores can part and candidates influence one another.
    """
    pool = sorted(
        [(score, name, "ref", -1) for name, score in reference]
        + [(score, name, "target", at) for at, (name, score) in enumerate(target)]
    )
    cumulative = tuple(accumulate(history))
    results = [0] * len(target)
    for rank, (_, _, _, at) in enumerate(pool):
        if at >= 0:
            goal = (2 * rank + 1) * cumulative[-1]
            results[at] = LOWEST + bisect_left([2 * len(pool) * c for c in cumulative], goal)
    return tuple(results)


def paper_reference_mean_shift(
    target: Sequence[float], *, reference: Sequence[float], mean: float
) -> tuple[int, ...]:
    """Shift by the memory's mean minus the originals' raw mean, with banker's rounding."""
    delta = mean - sum(reference) / len(reference)
    return tuple(paper_clip_round(score + delta) for score in target)


def paper_reference_transfer(target: Sequence[int], *, means: dict[int, float]) -> tuple[int, ...]:
    """Mean calibrated score of each raw score; a raw score not seen takes the nearest, lower first.

    Args:
        target: raw scores.
        means: raw score of the originals to the mean of their calibrated scores.
    """
    return tuple(
        paper_clip_round(means[min(means, key=lambda seen: (abs(seen - score), seen))])
        for score in target
    )


def _fallback(
    method: Calibration, *, history: Sequence[int], reference: Sequence[float]
) -> Fallback | None:
    turns = sum(history)
    if turns == 0:
        return Fallback.NO_HISTORY
    if turns < MIN_HISTORY:
        return Fallback.SHORT_HISTORY
    if method is Calibration.REFERENCE_CDF and not reference:
        return Fallback.NO_REFERENCE
    return None


def _clip(score: int) -> int:
    return min(max(score, LOWEST), HIGHEST)
