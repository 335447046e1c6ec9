"""Targets that a judge scores and people label in part: corrected figures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from benchmark.core.corrected import SHARE, JudgedRows, MeanEstimate, corrected
from sensejudge_site.benches.coverage.sampling import (
    Floats,
    Found,
    Integers,
    Random,
    latent,
    members,
)

LABELLED: Final = (50, 100, 200)
"""How many labels a sample has."""
_TIMES: Final = 10  # as many targets as labels
_MOST: Final = 4
_MOST_TURNS: Final = 12
_WEAK: Final = 0.41
_GOOD: Final = 0.71
_BIAS: Final = 0.4
"""By how many standard deviations the judge thinks better of the model than people do."""
_MARKS: Final = np.array([-0.7, -0.3])
Said = tuple[Floats, Floats]
"""Of each target, by the judge and by people."""
_SCORE_MARKS: Final = np.array([-2.0, -1.4, -0.6, 0.5])


def corrected_figures(rng: Random, labelled: int, _draws: int) -> Mapping[str, Found]:
    """So many labels, at random among ten times as many targets with a judge's biased score.

    A model that wins two thirds, by a judge whose scores correlate with people's by about .27 and
    .5, as GPT-4's do on MT-Bench; the same where comparisons come in sessions of one to four, and
    where targets are labelled with probabilities by what the judge says; and scores of users of one
    to twelve turns, their mean and the share of dissatisfied ones.
    """
    alone = np.arange(_TIMES * labelled)
    session = members(rng, _TIMES * labelled // 2, most=_MOST)
    user = members(rng, _TIMES * labelled // 6, most=_MOST_TURNS)
    weak, good, together, rated = (
        _said(rng, unit, share)
        for unit, share in ((alone, _WEAK), (alone, _GOOD), (session, _GOOD), (user, _GOOD))
    )
    scored = _scores(rated)
    shares = {
        "win rate, weak judge": (_wins(weak), alone),
        "win rate, good judge": (_wins(good), alone),
        "win rate, sessions": (_wins(together), session),
        "dissatisfied share": (_low(scored), user),
    }
    found = {name: _figure(rng, labelled, said, unit) for name, (said, unit) in shares.items()}
    found["mean score"] = _figure(rng, labelled, scored, user, bounds=(0.0, 4.0))
    score, label = _wins(good)
    chances = np.where(score == 1, 0.5, 2.0)
    chances *= labelled / chances.sum()
    known = np.where(rng.random(len(label)) < chances, label, np.nan)
    drawn = corrected(JudgedRows(score, known, alone, chances), is_random=False)
    found["win rate, by probabilities"] = _of(drawn.corrected)
    return found


def _figure(
    rng: Random,
    labelled: int,
    said: Said,
    unit: Integers,
    bounds: tuple[float, float] = SHARE,
) -> Found:
    score, label = said
    known = np.full(len(label), np.nan)
    drawn = rng.permutation(len(label))[:labelled]
    known[drawn] = label[drawn]
    return _of(corrected(JudgedRows(score, known, unit), is_random=True, bounds=bounds).corrected)


def _of(found: MeanEstimate | None) -> Found:
    return (None, None) if found is None else (found.value, found.interval)


def _said(rng: Random, unit: Integers, share: float) -> Said:
    """What judge and people think of each target, alike by `share`; the judge thinks better."""
    people = latent(rng, unit)
    judge = share * people + (1 - share**2) ** 0.5 * rng.standard_normal(len(unit)) + _BIAS
    return judge, people


def _wins(said: Said) -> Said:
    judge, people = (np.searchsorted(_MARKS, each) / 2 for each in said)
    return judge, people


def _scores(said: Said) -> Said:
    """0 to 4; below 3 is dissatisfied, as below 4 of 1 to 5."""
    judge, people = (np.searchsorted(_SCORE_MARKS, each).astype(float) for each in said)
    return judge, people


def _low(scores: Said) -> Said:
    judge, people = ((each < 3).astype(float) for each in scores)
    return judge, people
