"""How much adaptive pairing saves: batches that tell most, random ones, and all pairs in order.

Simulated: eight models whose ratings are normal with a standard deviation of two in log-odds, forty
prompts in four scenarios, every verdict drawn once a seed; the ranking aimed at is the true one.
With a file of pairwise votes (MT-Bench's): its comparisons, each with the share of its votes; the
ranking aimed at is the one by all of them, and a seed puts the conversations in an order.

At a tenth, two tenths and three tenths of all comparisons, made in batches of a twentieth, each
plan is held against that ranking:

`variance`: of rating differences in squared log-odds, summed over pairs of models, at the ratings
aimed at; `tau`: Kendall's, of the fitted ratings with the ranking. Means over the seeds.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Final

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.formats.detect import AUTO, open_records
from annotation.core.formats.records import SessionRecord
from annotation.core.pairing import PossiblePair
from annotation.core.refusals import Refused
from annotation.core.splits import rank_of
from benchmark.core.bradley_terry import Floats, VerdictCounts, fit_log_odds
from benchmark.core.pairing import (
    PRIOR,
    adaptive_batch,
    pair_weights,
    rating_covariance,
    summed_variance,
)
from judging.core.formats.detect import ALL_FORMATS
from sensejudge_site.benches import Bench, BenchFigure

SEEDS: Final = 40
_MODELS: Final = 8
_PROMPTS: Final = 40
_SCENARIOS: Final = 4
_SPREAD: Final = 2.0
_STEPS: Final = 20
_LOOKED_AT: Final = (2, 4, 6)  # twentieths of all comparisons

Outcomes = Mapping[PossiblePair, float]
"""Every comparison there is with the share of its verdicts that its first model won."""

Plan = Callable[[Sequence[PossiblePair], int, int, Outcomes], list[PossiblePair]]
"""What is possible, how many, a seed, what came out so far -> the next batch."""


def run(*, file: str = "", seeds: int = SEEDS) -> Bench:
    """The figures of simulated models and, with a file, of its votes.

    Raises:
        Refused: the file cannot be read, or holds no votes on named models.
    """
    figures = [
        BenchFigure("seeds", seeds),
        *_figures("simulated", [_simulated(seed) for seed in range(seeds)]),
    ]
    if file:
        outcomes = _of_file(Path(file))
        aim = _aim(outcomes)
        figures += _figures("votes", [(_reordered(outcomes, seed), aim) for seed in range(seeds)])
    return Bench(name="pairing", figures=tuple(figures))


def _figures(name: str, worlds: Sequence[tuple[Outcomes, Floats]]) -> Iterator[BenchFigure]:
    yield BenchFigure(f"{name}_comparisons", len(worlds[0][0]))
    yield BenchFigure(f"{name}_models", len(worlds[0][1]))
    found: dict[str, list[float]] = defaultdict(list)
    for seed, (outcomes, aim) in enumerate(worlds):
        for plan, batches in _PLANS.items():
            for tenths, variance, tau in _held_against(outcomes, aim, batches, seed):
                found[f"{name}_{tenths}_tenths_{plan}_variance"].append(variance)
                found[f"{name}_{tenths}_tenths_{plan}_tau"].append(tau)
    for figure in sorted(found):
        yield BenchFigure(figure, float(np.mean(found[figure])))


def _held_against(
    outcomes: Outcomes, aim: Floats, plan: Plan, seed: int
) -> Iterator[tuple[int, float, float]]:
    """Tenths of all comparisons, summed variance at the ratings aimed at, tau with them."""
    models = _models(outcomes)
    weights = pair_weights(aim)
    made: dict[PossiblePair, float] = {}
    for step in range(1, max(_LOOKED_AT) + 1):
        possible = [pair for pair in outcomes if pair not in made]
        size = round(step * len(outcomes) / _STEPS) - len(made)
        made |= {pair: outcomes[pair] for pair in plan(possible, size, seed, made)}
        if step in _LOOKED_AT:
            wins = _wins(made, models)
            variance = summed_variance(rating_covariance(wins + wins.T, weights))
            yield step // 2, variance, _tau(fit_log_odds(wins[None], prior=PRIOR)[0], aim)


def _adaptive(
    possible: Sequence[PossiblePair], size: int, seed: int, made: Outcomes
) -> list[PossiblePair]:
    counts = [VerdictCounts(*pair.models, share, 1 - share) for pair, share in made.items()]
    return adaptive_batch(possible, counts, size=size, seed=seed, planned=list(made))


def _random(
    possible: Sequence[PossiblePair], size: int, seed: int, _made: Outcomes
) -> list[PossiblePair]:
    return sorted(possible, key=lambda pair: pair.rank(seed))[:size]


def _in_order(
    possible: Sequence[PossiblePair], size: int, _seed: int, _made: Outcomes
) -> list[PossiblePair]:
    return list(possible[:size])


_PLANS: Final[Mapping[str, Plan]] = {
    "adaptive": _adaptive,
    "random": _random,
    "in_order": _in_order,
}


def _simulated(seed: int) -> tuple[Outcomes, Floats]:
    """Turn by turn all pairs, as an `all` plan makes them, and the true ratings."""
    chance = random.Random(seed)
    ratings = {f"m{number}": chance.gauss(0, _SPREAD) for number in range(_MODELS)}
    outcomes = {}
    for prompt in range(_PROMPTS):
        for models in combinations(ratings, 2):
            wins = 1 / (1 + np.exp(ratings[models[1]] - ratings[models[0]]))
            pair = _pair(prompt, f"p{prompt}", f"s{prompt % _SCENARIOS}", models)
            outcomes[pair] = float(chance.random() < wins)
    return outcomes, np.array(list(ratings.values()))


def _pair(turn: int, session: str, scenario: str, models: tuple[str, str]) -> PossiblePair:
    return PossiblePair(turn, session, 0, scenario, models, 0, 0, " | ".join(models), None)


def _of_file(path: Path) -> Outcomes:
    votes: dict[PossiblePair, list[float]] = defaultdict(list)
    for row in open_records(path, AUTO, ALL_FORMATS)[1]:
        if isinstance(row.record, SessionRecord) and not row.faults:
            for pair, share in _votes(row.record):
                votes[pair].append(share)
    if not votes:
        raise Refused("bench:input", f"{path.name} holds no votes on named models")
    return {pair: float(np.mean(shares)) for pair, shares in votes.items()}


def _reordered(outcomes: Outcomes, seed: int) -> Outcomes:
    """The same with the conversations in another order; a file's own would be a single draw."""
    return dict(sorted(outcomes.items(), key=lambda one: rank_of(str(seed), one[0].session)))


def _votes(session: SessionRecord) -> Iterator[tuple[PossiblePair, float]]:
    """Each vote with the share of the model whose name comes first: 1, 0 or a half."""
    for place, turn in enumerate(session.turns):
        names = {response.key: response.model for response in turn.responses}
        for comparison in turn.comparisons:
            a, b = names[comparison.a], names[comparison.b]
            pair = _pair(place, session.key, session.scenario, (min(a, b), max(a, b)))
            won = Verdict.A if a < b else Verdict.B
            for label in comparison.labels:
                if a and b and a != b:
                    share = 0.5 if label.verdict is Verdict.TIE else float(label.verdict is won)
                    yield pair, share


def _aim(outcomes: Outcomes) -> Floats:
    """The ratings by everything there is."""
    wins = _wins(outcomes, _models(outcomes))
    ratings: Floats = fit_log_odds(wins[None], prior=PRIOR)[0]
    return ratings


def _models(outcomes: Outcomes) -> list[str]:
    return sorted({model for pair in outcomes for model in pair.models})


def _wins(outcomes: Outcomes, models: Sequence[str]) -> Floats:
    number = {model: place for place, model in enumerate(models)}
    wins = np.zeros((len(models), len(models)))
    for pair, share in outcomes.items():
        one, other = (number[model] for model in pair.models)
        wins[one, other] += share
        wins[other, one] += 1 - share
    return wins


def _tau(ratings: Floats, aim: Floats) -> float:
    """Kendall's tau-a; pairs that are not told apart count as neither."""
    one, other = np.triu_indices(len(aim), 1)
    agreed = np.sign(ratings[one] - ratings[other]) * np.sign(aim[one] - aim[other])
    return float(agreed.mean())
