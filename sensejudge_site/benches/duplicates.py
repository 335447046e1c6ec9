"""How long the search for duplicates takes beside comparing every dialogue with every other one.

The texts are drawn: 40 to 160 words by Zipf's law of 50,000, every tenth a copy of an earlier one
with one word in thirty changed. Of 2,000 all pairs are compared, and what differs is counted; at
the large sizes 200 texts are compared with all others, and the time of all is that times their
number over twice 200.
"""

from __future__ import annotations

import random
import time
from itertools import accumulate
from typing import Final

from benchmark.core.duplicates import NEAR_PERCENT, find_duplicates, folded, word_grams
from sensejudge_site.benches import Bench, BenchFigure

SIZES: Final = (10_000, 100_000)
CHECKED: Final = 2_000
_PART: Final = 200
_VOCABULARY: Final = 50_000
_COPIES: Final = 0.1
_CHANGED: Final = 1 / 30


def run(*, items: int | None = None) -> Bench:
    """Seconds at 10,000 and 100,000 dialogues, or at one chosen number; a minute or two."""
    sizes = SIZES if items is None else (items,)
    texts = _texts(max(*sizes, CHECKED))
    figures = [
        BenchFigure(f"pairs_missed_or_wrong_of_{CHECKED}", _differences(texts[:CHECKED])),
    ]
    for size in sizes:
        start = time.perf_counter()
        found = find_duplicates(texts[:size])
        figures.append(BenchFigure(f"search_{size}_s", time.perf_counter() - start))
        figures.append(BenchFigure(f"duplicates_{size}", len(found)))
        figures.append(BenchFigure(f"brute_force_{size}_extrapolated_s", _brute_s(texts[:size])))
    return Bench(name="duplicates", figures=tuple(figures))


def _texts(count: int) -> list[str]:
    draw = random.Random(1)
    weights = list(accumulate(1 / (rank + 3) for rank in range(_VOCABULARY)))
    words = [f"w{number}" for number in range(_VOCABULARY)]
    texts: list[str] = []
    for _ in range(count):
        if texts and draw.random() < _COPIES:
            copied = draw.choice(texts).split()
            text = [draw.choice(words) if draw.random() < _CHANGED else each for each in copied]
        else:
            text = draw.choices(words, cum_weights=weights, k=draw.randint(40, 160))
        texts.append(" ".join(text))
    return texts


def _differences(texts: list[str]) -> int:
    """Texts of which comparing all pairs says something else than the search."""
    sets = [frozenset(word_grams(folded(text))) for text in texts]
    kept: list[int] = []
    repeated = set()
    for place, own in enumerate(sets):
        if any(_is_near(own, sets[other]) for other in kept):
            repeated.add(place)
        else:
            kept.append(place)
    return len(repeated ^ set(find_duplicates(texts)))


def _is_near(one: frozenset[object], other: frozenset[object]) -> bool:
    common = len(one & other)
    return 100 * common >= NEAR_PERCENT * (len(one) + len(other) - common)


def _brute_s(texts: list[str]) -> float:
    part = [frozenset(word_grams(folded(text))) for text in texts[:_PART]]
    start = time.perf_counter()
    for text in texts:  # sets of all of them at once would not fit
        own = frozenset(word_grams(folded(text)))
        for other in part:
            _is_near(own, other)
    return (time.perf_counter() - start) * len(texts) / (2 * _PART)
