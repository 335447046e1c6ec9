"""Which dialogues say what an earlier one said: exact and near duplicates (protocols A5).

A text is the set of its 5-grams of words; a Chinese, Japanese or Korean character is a word, and so
is an operator (+ - = and their like), but no other punctuation. Two are near duplicates where the
sets' Jaccard similarity is .8 or more. The search is exact, no sketch: of each set's words, rarest
first, two sets so alike share one among the first fifth (prefix filtering: Bayardo, Ma and Srikant,
WWW 2007), so that only texts which meet there are compared at all. No pair is missed, but for
collisions of 64-bit hashes.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, count
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

GRAM_WORDS: Final = 5
NEAR_PERCENT: Final = 80
"""A Jaccard similarity from which on two texts are near duplicates, in percent."""

_WIDE: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_OPERATORS: Final = "|".join(f"{re.escape(each)}+" for each in "+-*/=<>^%#&|")
_MATHS: Final = "\u00ac\u00b1\u00d7\u00f7\u2190-\u22ff\u27c0-\u27ef\u2980-\u2aff"
_WORD: Final = re.compile(rf"[{_WIDE}]|[^\W_{_WIDE}]+|{_OPERATORS}|[{_MATHS}]")
"""A run of one operator is one word, so that a ruled line is no repetition."""
_PULSE_EVERY: Final = 1000


class Duplicate(NamedTuple):
    """That a text repeats an earlier one, which is kept.

    `of` is the place of that one, `similarity` the Jaccard similarity from .8 to 1; `exact` where
    they differ at most in case, width and white space.
    """

    of: int
    similarity: float
    exact: bool


def folded(text: str) -> str:
    """The text with case, width and white space made alike."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def word_grams(text: str) -> list[tuple[str, ...]]:
    """The word 5-grams of a folded text in order; one shorter tuple where it has fewer words.

    A text without any word is its own only gram.
    """
    words = _WORD.findall(text) or [text]
    last = max(1, len(words) - GRAM_WORDS + 1)
    return [tuple(words[start : start + GRAM_WORDS]) for start in range(last)]


def find_duplicates(
    texts: Sequence[str],
    *,
    percent: int = NEAR_PERCENT,
    pulse: Callable[[], object] = lambda: None,
) -> dict[int, Duplicate]:
    """The texts that repeat one before them which is no duplicate itself, by their places.

    Of several such the most similar is named, of equals the first; a copy of a near duplicate
    repeats what that one repeats. No two texts that are left
    are near duplicates of each other.

    Args:
        texts: in the order in which they are kept.
        percent: the least similarity, 1-100.
        pulse: called every thousand texts.
    """
    first: dict[str, int] = {}
    found: dict[int, Duplicate] = {}
    for place, text in enumerate(texts):
        if (earlier := first.setdefault(folded(text), place)) != place:
            found[place] = Duplicate(earlier, 1.0, exact=True)
    places = list(first.values())
    near = dict(_near(list(first), percent, pulse))
    for at, (of, similarity) in near.items():
        found[places[at]] = Duplicate(places[of], similarity, exact=False)
    # An exact copy of a text that is a near duplicate repeats what that one repeats.
    moved = {
        place: found[each.of]._replace(exact=False)
        for place, each in found.items()
        if each.exact and each.of in found
    }
    return dict(sorted((found | moved).items()))


def _near(
    texts: Sequence[str], percent: int, pulse: Callable[[], object]
) -> Iterator[tuple[int, tuple[int, float]]]:
    """By place, the earlier kept text that a text is most like, and how much."""
    ranks, alone = _ranked(texts, pulse)
    kept: dict[int, list[int]] = defaultdict(list)
    for place, own in enumerate(ranks):
        if place % _PULSE_EVERY == 0:
            pulse()
        size = len(own)
        prefix = own[: size - -(-percent * size // 100) + 1]
        shared = prefix[prefix >= alone].tolist()
        nearby = {other for rank in shared for other in kept.get(rank, ())}
        best: tuple[int, float] | None = None
        grams_here = frozenset(own.tolist()) if nearby else frozenset()
        for other in sorted(nearby):
            theirs = ranks[other]
            common = len(grams_here.intersection(theirs.tolist()))
            union = size + len(theirs) - common
            if 100 * common >= percent * union and (best is None or common / union > best[1]):
                best = (other, common / union)
        if best is not None:
            yield place, best
            continue
        for rank in shared:
            kept[rank].append(place)


def _ranked(
    texts: Sequence[str], pulse: Callable[[], object]
) -> tuple[list[NDArray[np.int64]], int]:
    """Each text's grams as ascending ranks, the rarest gram of all texts 0.

    Also how many grams are in one text alone: ranks below that are shared by nobody.
    """
    numbers: defaultdict[str | None, int] = defaultdict(count().__next__)
    sets: list[NDArray[np.uint64]] = []
    for start in range(0, len(texts), _PULSE_EVERY):
        pulse()
        sets += _gram_sets(texts[start : start + _PULSE_EVERY], numbers)
    if not sets:
        return [], 0
    sizes = [len(one) for one in sets]
    _values, inverse, counts = np.unique(
        np.concatenate(sets), return_inverse=True, return_counts=True
    )
    order = np.empty(len(counts), np.int64)
    order[np.argsort(counts, kind="stable")] = np.arange(len(counts))
    parts = np.split(order[inverse.ravel()], np.cumsum(sizes)[:-1])
    return [np.sort(part) for part in parts], int((counts == 1).sum())


def _gram_sets(
    texts: Sequence[str], numbers: defaultdict[str | None, int]
) -> Iterator[NDArray[np.uint64]]:
    """The distinct grams of each text as 64 bits; `numbers` gives each word its number.

    All texts are hashed in one go; what begins in one and ends in the next is left out.
    """
    found: list[list[str | None]] = [[*(_WORD.findall(text) or [text])] for text in texts]
    for words in found:  # a shorter tuple has no word in the rest
        words.extend([None] * (GRAM_WORDS - len(words)))
    sizes = [len(words) for words in found]
    ids = np.fromiter(map(numbers.__getitem__, chain.from_iterable(found)), np.uint64, sum(sizes))
    grams = len(ids) - GRAM_WORDS + 1
    mixed = np.zeros(grams, np.uint64)
    for place in range(GRAM_WORDS):  # of each word in order, then splitmix64's last steps
        mixed = (mixed ^ ids[place : place + grams]) * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed ^= mixed >> np.uint64(27)
    for end, size in zip(accumulate(sizes), sizes, strict=True):
        yield np.unique(mixed[end - size : end - GRAM_WORDS + 1])
