"""What a request asks for in so many words: length, form, language, a number of things."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from judging.core.lexical import lexicon
from judging.core.lexical.anatomy import Anatomy, mentions, read
from judging.core.lexical.lexicon import Cue, Words

BRIEF_UNITS: Final = 80.0
DETAILED_UNITS: Final = 120.0
"""Words below which an answer counts as brief, and above which as detailed."""


@dataclass(frozen=True, slots=True)
class Request:
    """A user message as the features see it.

    `script` is the one an answer should be in: "" when the message asks for a translation or
    carries no letters. `asked` are the demands it states, `count` the number of things asked for.
    """

    anatomy: Anatomy
    script: str
    asked: frozenset[str]
    count: int | None

    def fit(self, answer: Anatomy) -> float:
        """Demands that the answer meets minus demands that it misses."""
        return float(sum(1 if met else -1 for met in self._checks(answer)))

    def _checks(self, answer: Anatomy) -> Iterator[bool]:
        for demand in sorted(self.asked):
            yield _meets(demand, answer)
        if self.count is not None and answer.items:
            yield answer.items == self.count


_DEMANDS: Final[dict[str, Words]] = {
    "brief": lexicon.BRIEF,
    "code": lexicon.CODED,
    "detail": lexicon.DETAILED,
    "example": lexicon.EXEMPLIFIED,
    "list": lexicon.LISTED,
    "table": lexicon.TABLED,
}
_COUNTED: Final = re.compile(
    r"\b(two|three|four|five|six|seven|eight|nine|ten|[2-9]|1\d|20)\s+"
    r"(?:\w+\s+){0,2}(?:ideas|tips|ways|examples|reasons|steps|questions|points|items|suggestions|"
    r"sentences|names|titles|queries|options|recipes|books|movies)\b"
    r"|([二两三四五六七八九十]|[2-9]|1\d|20)\s*[个条种点款本部项道]"
)
_NUMERALS: Final[dict[str, int]] = {
    **dict(
        zip(
            ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"],
            range(2, 11),
            strict=True,
        )
    ),
    **dict(zip("二三四五六七八九十", range(2, 11), strict=True)),
    "两": 2,
}


@lru_cache(maxsize=512)
def as_request(message: str) -> Request:
    """A user message read as a request."""
    anatomy = read(message)
    translation = mentions(message, lexicon.TRANSLATED)
    return Request(
        anatomy=anatomy,
        script="" if translation else anatomy.script,
        asked=frozenset(name for name, words in _DEMANDS.items() if mentions(message, words)),
        count=_count(message.lower()),
    )


def _count(message: str) -> int | None:
    found = _COUNTED.search(message)
    if found is None:
        return None
    numeral = found.group(1) or found.group(2)
    return _NUMERALS.get(numeral) or int(numeral)


def _meets(demand: str, answer: Anatomy) -> bool:
    match demand:
        case "brief":
            return answer.units <= BRIEF_UNITS
        case "detail":
            return answer.units >= DETAILED_UNITS
        case "code":
            return answer.code_lines > 0
        case "example":
            return answer.cues[Cue.EXAMPLE] > 0 or answer.code_lines > 0
        case "list":
            return answer.items > 1
        case _:
            return answer.table_rows > 1
