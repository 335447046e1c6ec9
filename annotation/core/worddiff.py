"""Where two responses differ, word by word; a Chinese or Japanese character counts as a word."""

from __future__ import annotations

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Final

LONGEST_CHARS: Final = 40_000
"""Together, the two texts may be this long; beyond, comparing would keep a reader waiting."""

_CJK: Final = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# A word takes the space after it along: fewer tokens, and spaces are no matches of their own.
_TOKENS: Final = re.compile(f"[{_CJK}]|[^\\W{_CJK}]+\\s*|\\s+|[^\\w\\s]")


@dataclass(frozen=True, slots=True)
class Piece:
    """A run of text that stands in both responses, or in this one alone."""

    text: str
    differs: bool


def word_diff(first: str, second: str) -> tuple[list[Piece], list[Piece]] | None:
    """Both texts in pieces, in order; joined, the pieces of a side are its text.

    The longest common runs are found greedily (Ratcliff and Obershelp, `difflib`); words that make
    up over 1 % of a long text start none, which keeps the time near linear in its length.

    Returns:
        The pieces of each side, or None where the texts are too long to compare.
    """
    if len(first) + len(second) > LONGEST_CHARS:
        return None
    tokens = _TOKENS.findall(first), _TOKENS.findall(second)
    words = [[token.rstrip() or " " for token in side] for side in tokens]
    sides: tuple[list[Piece], list[Piece]] = ([], [])
    for tag, *ends in SequenceMatcher(a=words[0], b=words[1]).get_opcodes():
        for side, (start, end) in enumerate((ends[:2], ends[2:])):
            if start < end:
                sides[side].append(Piece("".join(tokens[side][start:end]), tag != "equal"))
    return sides
