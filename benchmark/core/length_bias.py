"""Whether the longer response wins, and by how much length moves a verdict (protocols A1.8).

Length is counted in characters. Three figures, each for people and for judges alike:

- P(longer wins) among verdicts with a winner on responses of different length. That the longer wins
  is no fault where it is better, so a judge's share is read beside the people's;
- the slope of a logistic regression without intercept: log-odds of winning for a response twice as
  long, log2((1 + a) / (1 + b)) being the predictor, so that swapping A and B changes nothing;
- for a judge, which way its errors lean: P(names the longer | the person chose the shorter) minus
  P(names the shorter | the person chose the longer). Zero where length has no part in them.

Verdicts on one comparison depend on each other, and comparisons of one session share texts:
sessions are the units of intervals; that of the slope is a Wald interval clustered by them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from annotation.core.choices import Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, Units, student_quantile
from benchmark.core.accuracy import (
    Floats,
    Integers,
    bootstrap_sums,
    by_unit,
    session_units,
    share_interval,
)

_HALVINGS: Final = 100
"""Of the interval in which the slope lies; more than double precision can tell apart."""


@dataclass(frozen=True, slots=True)
class Sized:
    """One comparison: how long its responses are, what a person said, what a judge said.

    `verdicts` holds None for replies that could not be read; for a person it is what they said.
    One that names no `session` is a session of its own.
    """

    length_a: int
    length_b: int
    verdicts: tuple[Verdict | None, ...]
    human: Verdict = Verdict.TIE
    session: int | None = None

    @property
    def longer(self) -> Verdict:
        """The longer response, TIE where both are equally long."""
        if self.length_a == self.length_b:
            return Verdict.TIE
        return Verdict.A if self.length_a > self.length_b else Verdict.B

    @property
    def won(self) -> list[Verdict]:
        """The verdicts with a winner."""
        return [each for each in self.verdicts if each is Verdict.A or each is Verdict.B]


@dataclass(frozen=True, slots=True)
class Slope:
    """Log-odds of winning for twice the length.

    `value` is None without verdicts, and where `unbounded`: the longer always, or never, wins.
    """

    value: float | None
    interval: Interval | None
    unbounded: bool


@dataclass(frozen=True, slots=True)
class LengthBias:
    """P(longer wins) over `verdicts` with a winner on `comparisons`, `longer` of them."""

    value: float | None
    interval: Interval | None
    longer: int
    verdicts: int
    comparisons: int
    slope: Slope


@dataclass(frozen=True, slots=True)
class LengthErrors:
    """Which way a judge's errors lean; `value` is the difference of the two shares.

    `to_longer` of `on_shorter` verdicts name the longer where the person chose the shorter,
    `to_shorter` of `on_longer` the other way round; a tie of the judge is one half of each.
    """

    value: float | None
    interval: Interval | None
    to_longer: float
    on_shorter: int
    to_shorter: float
    on_longer: int


def length_bias(items: Iterable[Sized]) -> LengthBias:
    """The length bias of whoever gave the verdicts."""
    rows = [row for row in items if row.longer is not Verdict.TIE]
    named = [row for row in rows if row.won]
    counts = [(row.won.count(row.longer), len(row.won)) for row in named]
    sums = np.array(counts, dtype=np.float64).reshape(-1, 2)
    by_session = by_unit(_units(named), sums)
    longer, verdicts = (int(total) for total in sums.sum(axis=0))
    return LengthBias(
        value=longer / verdicts if verdicts else None,
        interval=share_interval(by_session),
        longer=longer,
        verdicts=verdicts,
        comparisons=len(named),
        slope=_slope(named),
    )


def length_errors(items: Iterable[Sized], *, seed: int, draws: int = DEFAULT_DRAWS) -> LengthErrors:
    """Which way the errors lean, on comparisons of different length with a human winner."""
    rows = [
        row for row in items if Verdict.TIE not in {row.longer, row.human} and any(row.verdicts)
    ]
    sums = np.array([_errors(row) for row in rows], dtype=np.float64).reshape(-1, 4)
    total = sums.sum(axis=0)
    defined = bool(total[1] and total[3])
    by_session = by_unit(_units(rows), sums)
    return LengthErrors(
        value=float(_lean(total[None])[0]) if defined else None,
        interval=bootstrap_sums(by_session, _lean, seed=seed, draws=draws) if defined else None,
        to_longer=float(total[0]),
        on_shorter=int(total[1]),
        to_shorter=float(total[2]),
        on_longer=int(total[3]),
    )


def _errors(row: Sized) -> tuple[float, float, float, float]:
    """Errors and verdicts: where the person chose the shorter, then where they chose the longer."""
    read = [each for each in row.verdicts if each is not None]
    wrong = sum(0.5 if each is Verdict.TIE else float(each is not row.human) for each in read)
    if row.human is row.longer:
        return 0.0, 0.0, wrong, len(read)
    return wrong, len(read), 0.0, 0.0


def _lean(sums: Floats) -> Floats:
    """The difference of the two shares, nan in a draw that lacks either."""
    shares = np.full((len(sums), 2), np.nan)
    np.divide(sums[:, [0, 2]], sums[:, [1, 3]], out=shares, where=sums[:, [1, 3]] > 0)
    lean: Floats = shares[:, 0] - shares[:, 1]
    return lean


def _units(rows: Iterable[Sized]) -> Integers:
    return session_units(row.session for row in rows)


def _slope(rows: Sequence[Sized]) -> Slope:
    won = [(row.won.count(Verdict.A), row.won.count(Verdict.B)) for row in rows]
    lengths = np.array([(row.length_a, row.length_b) for row in rows], dtype=np.float64)
    fit = slope_fit(doublings(*lengths.reshape(-1, 2).T), *np.array(won, int).reshape(-1, 2).T)
    if fit is None:
        return Slope(None, None, unbounded=False)
    if fit.value is None:
        return Slope(None, None, unbounded=True)
    influence = by_unit(_units(rows), fit.influence[:, None])[:, 0]
    held = by_unit(_units(rows), fit.held[:, None])[:, 0]
    return Slope(fit.value, wald(fit.value, influence, held), unbounded=False)


@dataclass(frozen=True, slots=True)
class SlopeFit:
    """The slope with each row's part in its error; `value` is None where it is unbounded.

    `held` is how much of what is known of the slope each row holds: 1 in all.
    """

    value: float | None
    influence: Floats
    held: Floats


def wald(value: float, influence: Floats, held: Floats) -> Interval | None:
    """The interval of an estimate from the parts of independent units in its error.

    The square of each part counts 1 / (1 - what the unit holds) times, for a unit pulls the
    estimate towards itself (CR2, Bell and McCaffrey 2002), and Student's quantile has a degree of
    freedom less than there are effective units. None where those are too few.

    Args:
        value: the estimate.
        influence: of each unit, its part in the error.
        held: of each unit, how much of the estimate it holds: 1 in all.
    """
    units = Units.of(held)
    if units.few:
        return None
    spread = float((influence**2 / (1 - held)).sum())
    half = student_quantile(units.effective - 1) * sqrt(spread)
    return Interval(value - half, value + half)


def doublings(length_a: Floats, length_b: Floats) -> Floats:
    """How often B's length must be doubled to be A's: the predictor of the slope."""
    found: Floats = np.log2((1 + length_a) / (1 + length_b))
    return found


def slope_fit(x: Floats, wins_a: Integers, wins_b: Integers) -> SlopeFit | None:
    """The slope of the verdicts on some comparisons; None without a verdict to tell by.

    Args:
        x: `doublings` of each comparison, none of them 0.
        wins_a: of each comparison, the verdicts that name A.
        wins_b: those that name B.
    """
    n = wins_a + wins_b
    if not n.any():
        return None
    to_longer, to_shorter = np.where(x > 0, wins_a, wins_b), np.where(x > 0, wins_b, wins_a)
    if not to_longer.any() or not to_shorter.any():
        return SlopeFit(None, np.zeros(len(x)), np.zeros(len(x)))
    value = _root(x, wins_a, n)
    chance = _logistic(value * x)
    curvature = x * x * n * chance * (1 - chance)
    total = float(curvature.sum())
    return SlopeFit(value, x * (wins_a - n * chance) / total, curvature / total)


def _root(x: Floats, won: Integers, n: Integers) -> float:
    """Where the score of the likelihood is zero; it falls, and has both signs."""

    def score(slope: float) -> float:
        return float((x * (won - n * _logistic(slope * x))).sum())

    low, high = -1.0, 1.0
    while score(low) < 0:
        low *= 2
    while score(high) > 0:
        high *= 2
    for _halving in range(_HALVINGS):
        middle = (low + high) / 2
        if not low < middle < high:  # nothing lies between them
            break
        if score(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _logistic(values: Floats) -> Floats:
    """1 / (1 + e^-v), without overflow for large values of either sign."""
    chance: Floats = 0.5 * (1 + np.tanh(values / 2))
    return chance
