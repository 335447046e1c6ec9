"""Judges and people who compare responses: the figures of Trust."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import NormalDist
from typing import Final, Protocol

import numpy as np

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import Interval
from benchmark.core.accuracy import JudgedColumns, accuracy, gain
from benchmark.core.bias import consistency, human_position_bias, judge_position_bias
from benchmark.core.decisions import ABSENT, Winners
from benchmark.core.length_bias import Sized, length_bias, length_errors
from benchmark.core.personal import human_agreement
from benchmark.core.self_preference import Rivals, self_preference
from benchmark.core.trust import HumanLabel
from sensejudge_site.benches.coverage.sampling import (
    Floats,
    Found,
    Integers,
    Random,
    latent,
    members,
)

_MOST: Final = 4
_BASE: Final = 0.65
_OWN: Final = 0.75
_OTHER: Final = 0.8
_FIRST: Final = 0.25
"""How much the judge leans to the first shown, in standard deviations of what it goes by."""
_SAME_COMPARISON: Final = 0.5
"""Of what is a comparison's own, the part that both orders share."""
_SEED: Final = 1
_FAMILY: Final = "gpt-4"
_CONSISTENT: Final = 0.95


def trust_figures(rng: Random, units: int, draws: int) -> Mapping[str, Found]:
    """Sessions of one to four comparisons, each judged in both orders without and with preferences.

    A judge is right on 65 and 75 % of them, 20 % of the variance of the session, and leans to the
    first shown; people prefer the longer response in 60 %, and agree with one another on 80 %.
    Another judge says the same in both orders of 95 %, and names the first shown in the others.
    """
    session = members(rng, units, most=_MOST)
    n = len(session)
    ease = latent(rng, session)
    human = rng.choice(np.array([1, -1], dtype=np.int8), size=n)
    base, own = (_decided(rng, ease, human, share) for share in (_BASE, _OWN))
    key = np.arange(n)
    columns = [JudgedColumns(key=key, session=session, human=human, won=won) for won in (base, own)]
    before, after = columns
    told = [_shown(row) for row in own]
    said = [_verdict(each) for each in human]
    longer = human * np.where(rng.random(n) < 0.6, 1, -1)
    length = rng.integers(20, 200, size=n)
    sized = [
        Sized(*((2 * at, at) if side > 0 else (at, 2 * at)), verdicts, one, unit)
        for at, side, verdicts, one, unit in zip(
            length.tolist(), longer.tolist(), told, said, session.tolist(), strict=True
        )
    ]
    people = [
        Sized(row.length_a, row.length_b, (row.human,), row.human, row.session) for row in sized
    ]
    family = rng.random(n) < 0.5
    rivals = [
        Rivals(*((_FAMILY, "llama-3") if is_a else ("llama-3", _FAMILY)), one, verdicts, unit)
        for is_a, one, verdicts, unit in zip(
            family.tolist(), said, told, session.tolist(), strict=True
        )
    ]
    order = [Order.ORIGINAL if each else Order.SWAPPED for each in rng.random(n) < 0.5]
    agreeing = latent(rng, session) < NormalDist().inv_cdf(_OTHER)
    others = [one if same else one.flipped() for one, same in zip(said, agreeing, strict=True)]
    fair = rng.spawn(1)[0].random(n) < _CONSISTENT
    same = np.where(fair[:, None], human[:, None], np.array([1, -1, ABSENT], dtype=np.int8))
    bias, alike = judge_position_bias(own, sessions=session), consistency(own, sessions=session)
    lengths, of_people = length_bias(sized), length_bias(people)
    leaning = length_errors(sized, seed=_SEED, draws=draws)
    kin = self_preference(rivals, judge=_FAMILY, seed=_SEED, draws=draws)
    gained = gain(before, after, seed=_SEED, draws=draws)
    shared = human_agreement(_labels(said, order, session), [_labels(others, order, session)])
    position = human_position_bias(zip(said, order, session, strict=True))
    return {
        "accuracy, base judge": _of(accuracy(before)),
        "accuracy, with preferences": _of(accuracy(after)),
        "gain": _of(gained),
        "position bias, judge": _of(bias),
        "position bias, consistent judge": _of(judge_position_bias(same, sessions=session)),
        "position bias, people": _of(position),
        "consistency": _of(alike),
        "longer wins, judge": _of(lengths),
        "longer wins, people": _of(of_people),
        "length slope, judge": _of(lengths.slope),
        "length slope, people": _of(of_people.slope),
        "errors lean to the longer": _of(leaning),
        "self-preference": _of(kin),
        "people's agreement": _of(shared),
    }


def _decided(rng: Random, ease: Floats, human: Winners, share: float) -> Winners:
    """What a judge decided in the three orders; right where what is hard stays below a mark."""
    mark = NormalDist().inv_cdf(share)
    of_comparison = rng.standard_normal(len(ease))
    found = np.full((len(ease), 3), ABSENT, dtype=np.int8)
    for place, first in enumerate((1, -1)):
        noise = rng.standard_normal(len(ease))
        own = _SAME_COMPARISON**0.5 * of_comparison + (1 - _SAME_COMPARISON) ** 0.5 * noise
        hard = 0.7 * ease + 0.51**0.5 * own
        leaning = np.where(human == first, _FIRST, -_FIRST)
        found[:, place] = np.where(hard < mark + leaning, human, -human)
    return found


def _verdict(code: int) -> Verdict:
    return Verdict.A if code > 0 else Verdict.B


def _shown(row: Winners) -> tuple[Verdict, ...]:
    return _verdict(row[0]), _verdict(row[1])


def _labels(said: list[Verdict], order: list[Order], session: Integers) -> list[HumanLabel]:
    return [
        HumanLabel(key, "", verdict, shown, unit)
        for key, (verdict, shown, unit) in enumerate(
            zip(said, order, session.tolist(), strict=True)
        )
    ]


class _Figure(Protocol):
    @property
    def value(self) -> float | None: ...
    @property
    def interval(self) -> Interval | None: ...


def _of(figure: _Figure) -> Found:
    return figure.value, figure.interval
