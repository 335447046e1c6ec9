"""The comparisons that tell most of a ranking: greedy batches for a Bradley-Terry fit.

A comparison of models a and b with win chance p adds p(1 - p) u u' to the Fisher information of the
natural log-odds ratings, u being +1 at a and -1 at b. The covariance C of the ratings is the
inverse of that information plus a weak prior, so it is defined from no verdict at all. What is to
become small is the summed variance of all rating differences,

    V = sum over pairs i < j of Var(rating i - rating j) = K tr C - 1'C1    (K models),

and one more comparison of weight w takes away, by Sherman and Morrison's update of C,

    (K |Cu|^2 - (1'Cu)^2) w / (1 + w u'Cu).

The chances are those of the ratings so far: what a verdict will be is not known, and the
information does not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Final

import numpy as np

from annotation.core.assignment import draw_evenly
from annotation.core.pairing import PossiblePair
from annotation.core.splits import rank_of
from benchmark.core.bradley_terry import PRIOR, VerdictCounts, fit_log_odds
from benchmark.core.rank_sets import Floats, Integers

BATCHES: Final = 10
"""A batch is one of so many, unless its size is chosen."""


def usual_batch(possible: int) -> int:
    """Comparisons of a batch where nobody chose: a tenth of all that can be made, at least one."""
    return max(1, -(-possible // BATCHES))


def pair_weights(log_odds: Floats) -> Floats:
    """Models x models: p(1 - p), the information of one comparison, for ratings in log-odds."""
    chances = 1 / (1 + np.exp(log_odds[None, :] - log_odds[:, None]))
    weights: Floats = chances * (1 - chances)
    return weights


def rating_covariance(games: Floats, weights: Floats, *, prior: float = PRIOR) -> Floats:
    """Covariance of the ratings, models x models, in natural log-odds squared.

    Args:
        games: models x models, symmetric, zero on the diagonal: comparisons of each two models.
        weights: the information of one comparison of each two models.
        prior: precision of each rating without a comparison; above 0.
    """
    laplacian: Floats = -games * weights
    np.fill_diagonal(laplacian, 0.0)
    np.fill_diagonal(laplacian, prior - laplacian.sum(axis=1))
    return np.asarray(np.linalg.inv(laplacian), dtype=np.float64)


def summed_variance(covariance: Floats) -> float:
    """Var(rating i - rating j) summed over all pairs of models."""
    return float(len(covariance) * np.trace(covariance) - covariance.sum())


def variance_drops(covariance: Floats, weights: Floats) -> Floats:
    """Models x models: how much of the summed variance one more comparison takes away."""
    spread = np.diag(covariance)
    difference = spread[:, None] + spread[None, :] - 2 * covariance  # u'Cu
    squares = covariance @ covariance
    own = np.diag(squares)
    norms = own[:, None] + own[None, :] - 2 * squares  # |Cu|^2
    sums = covariance.sum(axis=1)
    totals = sums[:, None] - sums[None, :]  # 1'Cu
    drops: Floats = weights * (len(covariance) * norms - totals**2) / (1 + weights * difference)
    return drops


def after_one_more(covariance: Floats, weights: Floats, one: int, other: int) -> Floats:
    """The covariance once models `one` and `other` are compared once more (Sherman-Morrison)."""
    moved = covariance[:, one] - covariance[:, other]
    weight = weights[one, other]
    within = 1 + weight * (moved[one] - moved[other])
    return np.asarray(covariance - np.outer(moved, moved) * (weight / within))


def most_telling(
    covariance: Floats,
    weights: Floats,
    room: Integers,
    size: int,
    *,
    order: Floats,
    pulse: Callable[[], None] = lambda: None,
) -> list[tuple[int, int]]:
    """The pairs of models of a batch, one by one, each the one of largest drop given those before.

    Args:
        covariance: of the ratings before the batch.
        weights: the information of one comparison of each two models.
        room: models x models, read above the diagonal: comparisons that can still be made.
        size: of the batch; it is smaller where there is less room.
        order: models x models: of equal drops the smallest comes first.
        pulse: called for each pair.
    """
    left = np.triu(room, 1)
    chosen: list[tuple[int, int]] = []
    while len(chosen) < size and left.any():
        pulse()
        drops = np.where(left > 0, variance_drops(covariance, weights), -np.inf)
        # Rounding must not decide between pairs that are alike.
        best = np.flatnonzero(drops.ravel() >= drops.max() * (1 - 1e-9))
        place = int(best[np.argmin(order.ravel()[best])])
        one, other = divmod(place, len(covariance))
        chosen.append((one, other))
        left[one, other] -= 1
        covariance = after_one_more(covariance, weights, one, other)
    return chosen


def adaptive_batch(
    possible: Sequence[PossiblePair],
    outcomes: Iterable[VerdictCounts],
    *,
    size: int,
    seed: int,
    planned: Sequence[PossiblePair] = (),
    waiting: Collection[PossiblePair] = (),
    pulse: Callable[[], None] = lambda: None,
) -> list[PossiblePair]:
    """The next batch of comparisons, in the order in which they were chosen.

    Within a pair of models turns are taken by seeded rank, balanced over scenarios.

    Args:
        possible: what can still be made and has no verdict.
        outcomes: the verdicts so far; a comparison counts once, whoever judged it how often, and
            models that are in no possible or planned comparison count for nothing.
        size: of the batch, 1 or more.
        seed: decides between what is equally telling.
        planned: what is in the plan already, for the balance over scenarios.
        waiting: what of it has no verdict yet: its information is counted as if it had.
        pulse: called for each comparison that is chosen.
    """
    models = sorted({model for pair in (*possible, *planned) for model in pair.models})
    if len(models) < 2:
        return []
    number = {model: place for place, model in enumerate(models)}
    wins = _wins(outcomes, number)
    log_odds = fit_log_odds(wins[None], prior=PRIOR)[0]
    games = wins + wins.T + _symmetric(_counts(waiting, number))
    weights = pair_weights(log_odds)
    pairs = most_telling(
        rating_covariance(games, weights),
        weights,
        _counts(possible, number),
        size,
        order=_seeded_order(models, seed),
        pulse=pulse,
    )
    return _on_turns(possible, [(models[a], models[b]) for a, b in pairs], planned, seed)


def _wins(outcomes: Iterable[VerdictCounts], number: dict[str, int]) -> Floats:
    wins = np.zeros((len(number), len(number)))
    for outcome in outcomes:
        one, other = number.get(outcome.model_a), number.get(outcome.model_b)
        verdicts = outcome.wins_a + outcome.wins_b
        if one is not None and other is not None and one != other and verdicts > 0:
            wins[one, other] += outcome.wins_a / verdicts
            wins[other, one] += outcome.wins_b / verdicts
    return wins


def _counts(pairs: Iterable[PossiblePair], number: dict[str, int]) -> Integers:
    """Models x models above the diagonal, as names are in order in a pair and in `number`."""
    counts = np.zeros((len(number), len(number)), dtype=np.int64)
    for pair in pairs:
        counts[number[pair.models[0]], number[pair.models[1]]] += 1
    return counts


def _symmetric(counts: Integers) -> Floats:
    return (counts + counts.T).astype(np.float64)


def _seeded_order(models: Sequence[str], seed: int) -> Floats:
    return np.array(
        [[float(rank_of(str(seed), one, other)[0]) for other in models] for one in models]
    )


def _on_turns(
    possible: Sequence[PossiblePair],
    pairs: Sequence[tuple[str, str]],
    planned: Sequence[PossiblePair],
    seed: int,
) -> list[PossiblePair]:
    """Possible comparisons for pairs of models that may come several times."""
    of_pair: dict[tuple[str, str], list[PossiblePair]] = {pair: [] for pair in pairs}
    for each in possible:
        if each.models in of_pair:
            of_pair[each.models].append(each)
    drawn = {}
    for pair, own in of_pair.items():
        ranked = sorted(own, key=lambda each: each.rank(seed))
        drawn[pair] = iter(
            draw_evenly(
                [(each, (each.scenario,)) for each in ranked],
                pairs.count(pair),
                drawn=[(each.scenario,) for each in planned if each.models == pair],
            )
        )
    return [next(drawn[pair]) for pair in pairs]
