"""What is counted on a comparison for the figures of benchmark.core.before_after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Order, Verdict
from benchmark.core.accuracy import Decisions
from benchmark.core.bias import shown_side
from benchmark.core.leanings import ResponsePair
from benchmark.core.resampling import Floats
from benchmark.core.self_preference import Rivals, own_points


@dataclass(frozen=True, slots=True)
class DecidedComparison:
    """One comparison as somebody decided it."""

    comparison: int
    annotator: int
    human: Verdict
    decisions: Decisions


Counts = Callable[[DecidedComparison], tuple[float, ...] | None]
"""What a figure counts on one comparison; None where it says nothing of it."""


@dataclass(frozen=True, slots=True)
class BiasFigure:
    """How a figure is counted and computed; `n_at` is the column whose sum it rests on.

    `trials` says that a comparison counts as one trial with the first column's success.
    """

    counts: Counts
    statistic: Callable[[Floats], Floats]
    n_at: int
    trials: bool = False


def _sides(said: DecidedComparison) -> list[int | None]:
    return [
        shown_side(winner, order) for order, winner in said.decisions.items() if winner is not None
    ]


def _position_counts(said: DecidedComparison) -> tuple[float, ...] | None:
    sides = _sides(said)
    first, second = sides.count(1), sides.count(-1)
    return (first, first + second) if first + second else None


def gap(said: Iterable[DecidedComparison]) -> int:
    """The paper's |#first - #second|, in verdicts."""
    sides = [side for one in said for side in _sides(one)]
    return abs(sides.count(1) - sides.count(-1))


def _consistency_counts(said: DecidedComparison) -> tuple[float, ...] | None:
    one, other = said.decisions.get(Order.ORIGINAL), said.decisions.get(Order.SWAPPED)
    if one is None or other is None:
        return None
    return float(one is other and one is not Verdict.TIE), 1.0


def _longer_counts(pairs: Mapping[int, ResponsePair]) -> Counts:
    def counts(said: DecidedComparison) -> tuple[float, ...] | None:
        lengths = lengths_of(pairs.get(said.comparison))
        won = winners(tuple(said.decisions.values()))
        if lengths is None or not won:
            return None
        longer = Verdict.A if lengths[0] > lengths[1] else Verdict.B
        return won.count(longer), len(won)

    return counts


def _own_counts(pairs: Mapping[int, ResponsePair], family: str) -> Counts:
    def counts(said: DecidedComparison) -> tuple[float, ...] | None:
        pair = pairs.get(said.comparison)
        if pair is None:
            return None
        verdicts = tuple(said.decisions.values())
        points = own_points(Rivals(pair.model_a, pair.model_b, said.human, verdicts), family)
        return None if points is None else (*points, 1.0)

    return counts


def lengths_of(pair: ResponsePair | None) -> tuple[int, int] | None:
    """Both lengths where they are known and differ."""
    if pair is None or pair.length_a is None or pair.length_b is None:
        return None
    return None if pair.length_a == pair.length_b else (pair.length_a, pair.length_b)


def winners(verdicts: Iterable[Verdict | None]) -> list[Verdict]:
    """The verdicts with a winner."""
    return [each for each in verdicts if each is Verdict.A or each is Verdict.B]


def _share(sums: Floats) -> Floats:
    share: Floats = sums[:, 0] / sums[:, 1]
    return share


def _beyond_half(sums: Floats) -> Floats:
    return _share(sums) - 0.5


def _advantage(sums: Floats) -> Floats:
    gap: Floats = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return gap


POSITION: Final = BiasFigure(_position_counts, _beyond_half, 1)
POSITION_OF_PEOPLE: Final = BiasFigure(_position_counts, _beyond_half, 1, trials=True)
CONSISTENCY: Final = BiasFigure(_consistency_counts, _share, 1, trials=True)


def longer_figure(pairs: Mapping[int, ResponsePair]) -> BiasFigure:
    """P(longer wins)."""
    return BiasFigure(_longer_counts(pairs), _share, 1)


def own_figure(pairs: Mapping[int, ResponsePair], family: str) -> BiasFigure:
    """The win rate of a family's responses minus the people's."""
    return BiasFigure(_own_counts(pairs, family), _advantage, 4)
