"""How much adaptive pairing saves: batches that tell most, random ones, and all pairs in order.

Simulated: eight models whose ratings are normal with a standard deviation of two in log-odds, forty
prompts in four scenarios, every verdict drawn once a seed; the ranking aimed at is the true one.
With a file of pairwise votes (MT-Bench's): its comparisons, each with the share of its votes; the
ranking aimed at is the one by all of them, and a seed puts the conversations in an order.

At a tenth, two tenths, three tenths and a third of all comparisons, made in batches of a twentieth,
each plan is held against that ranking:

`variance`: of rating differences in squared log-odds, summed over pairs of models, at the ratings
aimed at; `tau`: Kendall's, of the fitted ratings with the ranking. Means over the seeds.

`reached_percent`: of the seeds, where the plan orders all pairs of models alike that the fit to all
comparisons tells apart, by two standard errors of their difference; `settled_percent`: of such
pairs, those in that order. Closer models have no order to reach: another sample turns them round.
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
from benchmark.core.bradley_terry import PRIOR, VerdictCounts, fit_log_odds
from benchmark.core.pairing import adaptive_batch, pair_weights, rating_covariance, summed_variance
from benchmark.core.rank_sets import Floats
from judging.core.formats.detect import ALL_FORMATS
from sensejudge_site.benches import Bench, BenchFigure

SEEDS: Final = 40
_MODELS: Final = 8
_PROMPTS: Final = 40
_SCENARIOS: Final = 4
_SPREAD: Final = 2.0
_STEPS: Final = 20
_LOOKED_AT: Final = {2: "1_tenths", 4: "2_tenths", 6: "3_tenths", _STEPS / 3: "third"}
"""By twentieths of all comparisons."""
_APART: Final = 2.0

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
            for share, measured in _held_against(outcomes, aim, batches, seed):
                for word, value in measured.items():
                    found[f"{name}_{share}_{plan}_{word}"].append(value)
    for figure in sorted(found):
        yield BenchFigure(figure, float(np.mean(found[figure])))


def _held_against(
    outcomes: Outcomes, aim: Floats, plan: Plan, seed: int
) -> Iterator[tuple[str, dict[str, float]]]:
    """At each share of all comparisons, how far the plan has come."""
    models = _models(outcomes)
    weights = pair_weights(aim)
    order = _settled(_wins(outcomes, models))
    made: dict[PossiblePair, float] = {}
    for step in (*range(1, 7), _STEPS / 3):
        possible = [pair for pair in outcomes if pair not in made]
        size = round(step * len(outcomes) / _STEPS) - len(made)
        made |= {pair: outcomes[pair] for pair in plan(possible, size, seed, made)}
        if step in _LOOKED_AT:
            wins = _wins(made, models)
            ratings = fit_log_odds(wins[None], prior=PRIOR)[0]
            kept = np.sign(ratings[:, None] - ratings[None, :])[order != 0] == order[order != 0]
            yield (
                _LOOKED_AT[step],
                {
                    "variance": summed_variance(rating_covariance(wins + wins.T, weights)),
                    "tau": _tau(ratings, aim),
                    "settled_percent": 100 * float(kept.mean()) if kept.size else 100.0,
                    "reached_percent": 100 * float(kept.all()),
                },
            )


def _settled(wins: Floats) -> Floats:
    """Models x models: 1 where all comparisons put the first surely above the second, -1 below."""
    ratings = fit_log_odds(wins[None], prior=PRIOR)[0]
    spread = rating_covariance(wins + wins.T, pair_weights(ratings))
    own = np.diag(spread)
    errors = np.sqrt(own[:, None] + own[None, :] - 2 * spread)
    gap = ratings[:, None] - ratings[None, :]
    order: Floats = np.sign(gap) * (np.abs(gap) > _APART * errors)
    return order


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
