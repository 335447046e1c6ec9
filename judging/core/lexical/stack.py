"""Several ways to judge as one: no maximum over subsets, and the base judge always a member.

Protocols A1.6, "Stack". The ways are the base judge, the preference distilled from all pairs, and
two estimates of continuous weights, the second less bound to what most people want. Each is tried
on every pair by what it learns from the others; the better it foretells them, the more it weighs.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import Final

import numpy as np

from judging.core.lexical.distil import Floats, distil, estimate
from judging.core.lexical.features import FEATURES, Feature
from judging.core.lexical.pairwise import compare, weights_of
from judging.core.questions import Call, LabelledPair, PairAnswer, ShownPair
from judging.core.rules import StackWay
from judging.core.stack import (
    FEWEST_PAIRS,
    HEADERS,
    WAYS,
    ToldWay,
    held_out_shares,
    log_odds_of_score,
    stack_score,
    stack_weights,
    verdict_of_score,
)

SPREADS: Final = (0.5, 0.8)
"""How far an estimate's weights may move, in units of how often people decide by a property."""


@dataclass(frozen=True, slots=True)
class WeightedWays:
    """What each way weighs (they sum to 1), and its feature weights, ways by features."""

    weights: Floats
    features: Floats

    def score(self, contrasts: Floats) -> float:
        """-1/2 to 1/2: above 0 the first response is better, of a pair in either order."""
        return stack_score(self.weights, self.features @ contrasts)


_Way = Callable[[Sequence[LabelledPair], Floats], Floats]
"""Feature weights from pairs and their contrasts."""


def _ways(language: str) -> tuple[_Way, ...]:
    def base(_pairs: Sequence[LabelledPair], _contrasts: Floats) -> Floats:
        return weights_of("")

    def aggregate(pairs: Sequence[LabelledPair], _contrasts: Floats) -> Floats:
        return weights_of(distil(pairs, language=language))

    def estimates(spread: float) -> _Way:
        return lambda _pairs, contrasts: estimate(contrasts, spread=spread)

    return (base, aggregate, *map(estimates, SPREADS))


def learned_stack(pairs: Sequence[LabelledPair], *, language: str) -> WeightedWays:
    """The stack that labelled pairs give; of fewer than two the base judge alone.

    A way c learned without pair i gives it the log-odds z_ic, above 0 where the chosen response
    wins; c weighs softmax(sum_i log sigmoid(z_ic)), the base judge with 2 more.
    """
    if len(pairs) < FEWEST_PAIRS:
        return WeightedWays(np.ones(1), np.array([weights_of("")]))
    some = _Pairs.of(pairs, language)
    return WeightedWays(stack_weights(some.log_odds()), some.learned(range(len(pairs))))


def held_out_by_stack(pairs: Sequence[LabelledPair], *, language: str) -> tuple[float, ...]:
    """How right the stack is about each pair that it is learned without: 1, 0, of a tie 1/2.

    Its weights without pair i come from what the ways, learned without i and j, give each j.
    """
    some = _Pairs.of(pairs, language)
    return held_out_shares(some.log_odds(), some.without_two())


@dataclass(frozen=True, slots=True)
class _Pairs:
    """Labelled pairs with their contrasts, chosen to rejected."""

    pairs: Sequence[LabelledPair]
    contrasts: Floats
    ways: tuple[_Way, ...]

    @classmethod
    def of(cls, pairs: Sequence[LabelledPair], language: str) -> _Pairs:
        shown = [ShownPair(pair.dialogue, pair.chosen, pair.rejected) for pair in pairs]
        contrasts = np.array([compare(pair) for pair in shown]).reshape(-1, len(FEATURES))
        return cls(pairs, contrasts, _ways(language))

    def learned(self, places: Sequence[int]) -> Floats:
        """The ways' feature weights (ways, features) from the pairs at some places."""
        some = [self.pairs[place] for place in places]
        return np.array([way(some, self.contrasts[list(places)]) for way in self.ways])

    def without(self, *out: int) -> Floats:
        """The same from all pairs but some."""
        return self.learned([place for place in range(len(self.pairs)) if place not in out])

    def log_odds(self) -> Floats:
        """Of each pair (pairs, ways) by what the ways learn from the others."""
        found = [self.without(place) @ contrasts for place, contrasts in enumerate(self.contrasts)]
        return np.array(found).reshape(-1, len(self.ways))

    def without_two(self) -> Floats:
        """At [i, j] of pair j (pairs, pairs, ways) by what the ways learn without i and j."""
        count = len(self.pairs)
        found = np.zeros((count, count, len(self.ways)))
        for one, two in combinations(range(count), 2):
            features = self.without(one, two)
            found[one, two] = features @ self.contrasts[two]
            found[two, one] = features @ self.contrasts[one]
        return found


HEADER_EN: Final = "A weighted vote of several ways to judge:"
HEADER_ZH: Final = "多种判断方式的加权投票："
_BASE_EN: Final = "the base judge"
_BASE_ZH: Final = "基础评判"
_WEIGHTS_EN: Final = "weights: "
_WEIGHTS_ZH: Final = "权重："
_LEAST_NAMED: Final = 0.05
"""Smaller feature weights are left out of a text, and so do not count."""


def is_stack(text: str) -> bool:
    """Whether a preference's text is a stack's, as `stack_text` writes it."""
    return text.startswith((HEADER_EN, HEADER_ZH)) and read_stack(text) is not None


def stack_text(pairs: Sequence[LabelledPair], *, language: str) -> str:
    """The stack of some pairs in words: a line a way, with what it weighs.

    The text is what judges: `read_stack` reads its rounded numbers back.
    """
    stack = learned_stack(pairs, language=language)
    chinese = language.startswith("zh")
    base, weights = (_BASE_ZH, _WEIGHTS_ZH) if chinese else (_BASE_EN, _WEIGHTS_EN)
    said = [base, distil(pairs, language=language) if len(pairs) >= FEWEST_PAIRS else ""]
    lines = [HEADER_ZH if chinese else HEADER_EN]
    for place, (weight, features) in enumerate(zip(stack.weights, stack.features, strict=True)):
        way = said[place] if place < len(said) else weights + _named(features)
        lines.append(f"{weight:.3f} {way}")
    return "\n".join(lines)


def _named(features: Floats) -> str:
    """The feature weights that count, the largest first."""
    order = sorted(range(len(FEATURES)), key=lambda place: (-abs(features[place]), place))
    return ", ".join(
        f"{FEATURES[place]} {features[place]:+.2f}"
        for place in order
        if abs(features[place]) >= _LEAST_NAMED
    )


@lru_cache(maxsize=128)
def read_stack(text: str) -> WeightedWays | None:
    """The stack of a text that `stack_text` wrote; None where a line is not as it writes them."""
    shares, features = [], []
    for line in text.splitlines()[1:]:
        found = _LINE.fullmatch(line)
        way = None if found is None else _read_way(found[2])
        if found is None or way is None:
            return None
        shares.append(float(found[1]))
        features.append(way)
    if not sum(shares):
        return None
    return WeightedWays(np.array(shares) / sum(shares), np.array(features))


_LINE: Final = re.compile(r"([01]\.\d{3}) (.*)")
_WEIGHT: Final = re.compile(r"(?<![\w-])([\w-]++) ([+-]\d++\.\d\d)")


def _read_way(way: str) -> Floats | None:
    for opening in (_WEIGHTS_EN, _WEIGHTS_ZH):
        if way.startswith(opening):
            return _read_weights(way.removeprefix(opening))
    return weights_of("" if way in (_BASE_EN, _BASE_ZH) else way)


def _read_weights(named: str) -> Floats | None:
    weights = np.zeros(len(FEATURES))
    for item in filter(None, named.split(", ")):
        found = _WEIGHT.fullmatch(item)
        if found is None or found[1] not in FEATURES:
            return None
        weights[FEATURES.index(Feature(found[1]))] = float(found[2])
    return weights


def told_ways(text: str) -> list[ToldWay]:
    """The ways of a stack's text, `stack_text`'s or `ways_text`'s; none of any other text."""
    header, *lines = text.splitlines() or [""]
    if header in HEADERS.values():
        percent = [_PERCENT.fullmatch(line) for line in lines]
        return [_way_told(found) for found in percent if found]
    return [_told(line) for line in lines] if is_stack(text) else []


_WORDS: Final = "|".join(word for words in WAYS.values() for word in words.values())
_PERCENT: Final = re.compile(rf"(\d+\.\d) ({_WORDS})(?:: (.*))?")


def _way_told(found: re.Match[str]) -> ToldWay:
    way = next(key for words in WAYS.values() for key, word in words.items() if word == found[2])
    return ToldWay(float(found[1]) / 100, way, found[3] or "")


def _told(line: str) -> ToldWay:
    share, _space, way = line.partition(" ")
    weight = float(share)
    if way in (_BASE_EN, _BASE_ZH):
        return ToldWay(weight, StackWay.BASE)
    for opening in (_WEIGHTS_EN, _WEIGHTS_ZH):
        if way.startswith(opening):
            named = _WEIGHT.findall(way.removeprefix(opening))
            return ToldWay(weight, None, measures=tuple((name, float(n)) for name, n in named))
    return ToldWay(weight, StackWay.AGGREGATE, way)


def judge_by_stack(pair: ShownPair, *, text: str) -> PairAnswer:
    """A verdict as shown; its log-odds are those of the weighted vote.

    Args:
        pair: the comparison as shown.
        text: it `is_stack`.
    """
    stack = read_stack(text)
    assert stack is not None  # noqa: S101 - the caller knows
    contrasts = np.array(compare(pair))
    score = stack.score(contrasts)
    log_odds = log_odds_of_score(score)
    ways = ", ".join(
        f"{share:.2f} x {value:+.2f}"
        for share, value in zip(stack.weights, stack.features @ contrasts, strict=True)
    )
    return PairAnswer(
        verdict=verdict_of_score(score),
        log_odds=log_odds,
        call=Call(raw=f"{ways}: log-odds {log_odds:+.2f}"),
    )
