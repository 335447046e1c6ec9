"""People who answer alike, and users who rate: the figures of Agreement and of Satisfaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.agreement import Coefficient
from annotation.core.agreement_report import (
    SCORE_SCALE,
    Answers,
    AnswerScale,
    agreement_report,
    verdict_scale,
)
from annotation.core.choices import is_satisfied
from benchmark.core.metrics import MetricName, evaluate, scored
from benchmark.core.model_satisfaction import AnswerOfModel, by_model, differences
from benchmark.core.satisfaction_chances import chance_figures, likely_reasons
from benchmark.core.satisfaction_evaluation import GoldBlock
from benchmark.core.satisfaction_groups import gains, reason_figures
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_decisions import REASONS
from sensejudge_site.benches.coverage.sampling import (
    Floats,
    Found,
    Integers,
    Random,
    latent,
    members,
)

_MOST: Final = 4
_RATERS: Final = 3
_ANSWERED: Final = 0.9
_SEED: Final = 1
_LEVELS: Final = 5


def agreement_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """Sessions of one to four items that three people answer, all of them the first of each.

    Of the others one answer in ten is missing.
    """
    found: dict[str, Found] = {}
    for word, scale in (("verdicts", verdict_scale(ties=True)), ("scores", SCORE_SCALE)):
        report = agreement_report(_answers(rng, units, scale), scale, seed=_SEED, draws=draws)
        told = report.overall
        found[f"{word}: all the same"] = (told.same_share, told.same_interval)
        for each in (*told.coefficients, *report.overlaps[0].coefficients):
            among = "two people" if each in report.overlaps[0].coefficients else "everybody"
            found[f"{word}: {each.measure.value.lower()}, {among}"] = _of(each)
    return found


def _answers(rng: Random, units: int, scale: AnswerScale) -> Answers:
    """Each person's answer is the item's own value, or, where the item is hard, one near it."""
    session = members(rng, units, most=_MOST)
    items = len(session)
    own = latent(rng, session)
    item = np.repeat(np.arange(items), _RATERS)
    seen = 0.75 * own[item] + 0.4375**0.5 * rng.standard_normal(len(item))
    marks = np.linspace(-1.0, 1.0, scale.categories - 1)
    value = np.searchsorted(marks, seen)
    first = np.isin(item, np.unique(session, return_index=True)[1])
    kept = first | (rng.random(len(item)) < _ANSWERED)
    rater = np.tile(np.arange(_RATERS), items)
    columns = (item, rater, value, item * 0, item * 0, session[item])
    return Answers(*(column[kept] for column in columns))


def _of(each: Coefficient) -> Found:
    return each.value, each.interval


_MOST_TURNS: Final = 12
_GAINED: Final = (MetricName.PEARSON, MetricName.QWK, MetricName.F1_DSAT, MetricName.MAE)


def satisfaction_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """Users of one to twelve rated turns, and two evaluators, of which the first knows more.

    Each user's turns lie in up to two, three or four scenarios.
    """
    user = members(rng, units, most=_MOST_TURNS)
    scale = latent(rng, user)
    gold = _scores(scale)
    known = 0.6 * scale + 0.8 * latent(rng, user)
    better, worse = _scores(known), _scores(0.3 * scale + 0.91**0.5 * latent(rng, user))
    seed = _SEED if draws > 1 else None
    blocks = scenarios(rng.spawn(1)[0], user)
    data = scored(gold.tolist(), better.tolist(), user.tolist(), blocks.tolist())
    found: dict[str, Found] = {}
    for name in MetricName:
        metric = evaluate(data, name, seed=seed, draws=draws)
        found[name.value] = (metric.value, metric.interval)
    stated = rng.integers(len(REASONS), size=len(user))
    named = np.where(latent(rng, user) < 0, stated, (stated + 1) % len(REASONS))
    chances = 1 / (1 + np.exp(2 * known + 1))
    turns = _blocks(user, gold, stated)
    first = _predictions(user, better, named, chances)
    second = _predictions(user, worse, named, chances)
    for name, each in gains(turns, first, second, seed=_SEED, draws=draws).items():
        if name in _GAINED:
            found[f"gain in {name.value}"] = (each.value, each.interval)
    low = np.full(len(user), 2)
    dissatisfied, reasons = _blocks(user, low, stated), _predictions(user, low, named, chances)
    told = reason_figures(dissatisfied, reasons)
    found["reasons named right"] = (None, None) if told is None else (told.share, told.interval)
    likely = likely_reasons(dissatisfied, reasons, seed=_SEED, draws=draws)
    if likely is not None:
        found["likeliest reason right"] = (likely.accuracy.value, likely.accuracy.interval)
    brier = chance_figures(turns, first, seed=_SEED, draws=draws)
    if brier is not None:
        found["Brier score"] = (brier.brier.value, brier.brier.interval)
    return found


def model_figures(rng: Random, units: int, _draws: int) -> Mapping[str, Found]:
    """Users who rate two to thirteen turns: first of model a, then of b, then of either.

    Of a third and a fourth model each is rated by every second user alone.
    """
    user = members(rng, units, most=_MOST_TURNS)
    user = np.sort(np.concatenate([user, np.arange(units)]))
    first = np.flatnonzero(np.diff(user, prepend=-1))
    model = rng.integers(2, size=len(user))
    model[first], model[first + 1] = 0, 1
    own = latent(rng, user)
    answers = [
        *_answers_of(user, np.array(["a", "b"])[model], _scores(own - 0.2 * model)),
        *_answers_of(user, np.array(["c", "d"])[user % 2], _scores(own)),
    ]
    found: dict[str, Found] = {}
    for row in by_model(answers, stated=True):
        if row.model == "a":
            found["mean score"] = (row.mean.value, row.mean.interval)
            found["dissatisfied share"] = (row.dissatisfied.value, row.dissatisfied.interval)
    for lows in (False, True):
        figure = "dissatisfied" if lows else "mean"
        for each in differences(answers, stated=True, lows=lows):
            told = {frozenset("ab"): "same users", frozenset("cd"): "other users"}
            among = told.get(frozenset((each.first, each.second)))
            if among is not None:
                kept = each if each.first in "ac" else each.turned
                found[f"difference of {figure}, {among}"] = (kept.value, kept.interval)
    return found


def _answers_of(user: Integers, model: NDArray[np.str_], scores: Integers) -> list[AnswerOfModel]:
    return [
        AnswerOfModel(one, place, one, str(name), "", score)
        for place, (one, name, score) in enumerate(
            zip(user.tolist(), model.tolist(), scores.tolist(), strict=True)
        )
    ]


def scenarios(rng: Random, user: Integers) -> Integers:
    """A number a turn, of its user and one of their scenarios, of which there are two to four."""
    several = rng.integers(2, _MOST + 1, size=int(user[-1]) + 1)
    of_turn: Integers = user * _MOST + rng.integers(several[user])
    return of_turn


def _scores(values: Floats) -> Integers:
    """1 to 5, a fifth below 4 but more often high, as users rate."""
    return np.searchsorted(np.array([-2.0, -1.4, -0.6, 0.5]), values) + 1


def _blocks(user: Integers, gold: Integers, stated: Integers) -> list[GoldBlock]:
    return [
        GoldBlock(
            user=number,
            scenario="",
            keys=tuple(str(place) for place in own),
            gold=tuple(gold[own].tolist()),
            history=(0,) * _LEVELS,
            reasons=tuple(
                None if is_satisfied(score) else REASONS[reason]
                for score, reason in zip(gold[own].tolist(), stated[own].tolist(), strict=True)
            ),
        )
        for number, own in enumerate(_of_each(user))
    ]


def _predictions(
    user: Integers, scores: Integers, named: Integers, chances: Floats
) -> list[list[Prediction]]:
    return [
        [
            Prediction(
                score=score,
                expected=float(score),
                reason=None if is_satisfied(score) else REASONS[reason],
                dissatisfied=chance,
                reason_chances=tuple(float(at == reason) for at in range(len(REASONS))),
            )
            for score, reason, chance in zip(
                scores[own].tolist(), named[own].tolist(), chances[own].tolist(), strict=True
            )
        ]
        for own in _of_each(user)
    ]


def _of_each(user: Integers) -> list[Integers]:
    """The places of each user's turns."""
    return np.split(np.arange(len(user)), np.flatnonzero(np.diff(user)) + 1)
