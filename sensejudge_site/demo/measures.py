"""What the demo's rules speak of, counted from a text alone.

These are small and plain on purpose, and owe nothing to the embedded judge's features: a judge
that recovers a persona has found the rule, not its own ruler.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import log2
from typing import Final

_WORD: Final = re.compile(r"[^\W_\u4e00-\u9fff]+(?:['’][^\W_]+)?")
_CJK: Final = re.compile(r"[\u4e00-\u9fff]")
_CJK_PER_WORD: Final = 1.5
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|\*|$)|[。！？]|\n")
_MARKED_LINE: Final = re.compile(r"\s*(?:#{1,6}\s|[-*]\s|\d{1,2}[.)]\s|\|(?!\s*-))")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_FRIENDLY: Final = re.compile(
    r"[!！]|\b(?:lovely|happy to|enjoy|love|fun|hope|friend\w*|smile|let's|laugh)\b"
    r"|希望|祝您|祝你|放心|一起|咱们|随时|喜欢|开心|呢|哦|啦|哈",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\b(?:for example|for instance|imagine|picture|think of it)\b"
    r"|比如|例如|好比|打个比方|想象|举个例子|就像",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Measures:
    """Counts of one text; `words` and `opening_words` take three Chinese characters as two words.

    `marks` counts heading, list, step and table lines; `opening_words` the first sentence.
    """

    words: float
    opening_words: float
    marks: int
    paragraphs: int
    friendly: int
    examples: int

    @property
    def length(self) -> float:
        """log2(1 + words): twice as long is one more."""
        return log2(1 + self.words)

    @property
    def opening(self) -> float:
        """log2(1 + words of the first sentence)."""
        return log2(1 + self.opening_words)

    @property
    def order(self) -> float:
        """How visibly the text is ordered: log2(1 + marks), and half of log2(1 + paragraphs)."""
        return log2(1 + self.marks) + log2(1 + self.paragraphs) / 2

    @property
    def warmth(self) -> float:
        """log2(1 + exclamation marks and friendly words)."""
        return log2(1 + self.friendly)

    @property
    def vividness(self) -> float:
        """log2(1 + words that announce an example or a picture)."""
        return log2(1 + self.examples)


@lru_cache(maxsize=1024)
def measure(text: str) -> Measures:
    """The counts of a text; code blocks count as length alone."""
    prose = _FENCE.sub("", text).strip()
    opening = next((part for part in _SENTENCE_END.split(prose) if _words(part)), "")
    return Measures(
        words=_words(text),
        opening_words=_words(opening),
        marks=sum(bool(_MARKED_LINE.match(line)) for line in prose.splitlines()),
        paragraphs=len(re.split(r"\n\s*\n", prose)) if prose else 0,
        friendly=len(_FRIENDLY.findall(prose)),
        examples=len(_EXAMPLE.findall(prose)),
    )


def _words(text: str) -> float:
    return len(_WORD.findall(text)) + len(_CJK.findall(text)) / _CJK_PER_WORD
