"""Texts that repeat themselves until they are cut off."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

_LEAST_TIMES: Final = 4
_LEAST_CHARACTERS: Final = 40
"""Of the repetitions together, and a fifth of it of a sentence that stands apart."""
_SENTENCE_END: Final = re.compile(r"[.!?。！？;；\r\n]")


def loops(text: str) -> bool:
    """Whether a text repeats itself: at its end, back to back, or sentence for sentence.

    It does if its end, of 40 characters or more, is one stretch four times in a row (the last one
    may be cut), or if a sentence of 8 characters or more stands in it four times. Only letters
    count: numbers and marks may differ. The work grows with the length of the text alone.
    """
    sentences = Counter(map(_letters, _SENTENCE_END.split(text)))
    least = _LEAST_CHARACTERS // 5
    if any(times >= _LEAST_TIMES and len(one) >= least for one, times in sentences.items()):
        return True
    return _ends_in_a_loop(_letters(text))


def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.casefold()))


def _ends_in_a_loop(text: str) -> bool:
    """By the longest border of every end of the text (Knuth, Morris and Pratt 1977)."""
    backwards = text[::-1]
    borders = [0] * len(backwards)
    border = 0
    for place in range(1, len(backwards)):
        while border and backwards[place] != backwards[border]:
            border = borders[border - 1]
        border += backwards[place] == backwards[border]
        borders[place] = border
        length = place + 1
        if length >= _LEAST_CHARACTERS and length >= _LEAST_TIMES * (length - border):
            return True
    return False
