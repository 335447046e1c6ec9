"""The measurable properties of a response, each with its unit and its usual spread.

A feature is a number computed from the response and the dialogue before it. What a judge uses is
never the number itself but the difference between two responses of one turn, in units of
`spread`: the difference that two responses of one turn usually show, a property of the feature
and not of any data set (rounded from instruction-following pairs in English and rated
conversations in Chinese).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import Final

from annotation.core.conversations import Dialogue, Speaker
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
    r"\b(two|three|four|five|six|seven|eight|nine|ten|[2-9]|1\d|20)\s++"
    r"(?:\w++\s++){0,2}(?:ideas|tips|ways|examples|reasons|steps|questions|points|items|suggestions|"
    r"sentences|names|titles|queries|options|recipes|books|movies)\b"
    r"|([二两三四五六七八九十]|[2-9]|1\d|20)\s*+[个条种点款本部项道]"
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


class Feature(StrEnum):
    """The features; the value is the stable name."""

    LENGTH = "length"
    STRUCTURE = "structure"
    LISTS = "lists"
    HEADINGS = "headings"
    BOLD = "bold"
    TABLES = "tables"
    STEPS = "steps"
    PARAGRAPHS = "paragraphs"
    SENTENCE_LENGTH = "sentence_length"
    CODE = "code"
    EXAMPLES = "examples"
    NUMBERS = "numbers"
    SOURCES = "sources"
    REASONS = "reasons"
    OPTIONS = "options"
    CAUTIONS = "cautions"
    SUMMARY = "summary"
    DIRECTNESS = "directness"
    QUESTIONS = "questions"
    WARMTH = "warmth"
    EMOJI = "emoji"
    FORMALITY = "formality"
    HEDGES = "hedges"
    VARIETY = "variety"
    CLOSENESS = "closeness"
    FIT = "fit"
    LANGUAGE = "language"
    ECHO = "echo"
    REPETITION = "repetition"
    REFUSAL = "refusal"
    COMPLETENESS = "completeness"


FEATURES: Final = tuple(Feature)
Measures = tuple[float, ...]
"""One value for each of FEATURES, in that order."""


@dataclass(frozen=True, slots=True)
class _Trait:
    """How a feature is measured, and the usual difference between two responses of one turn."""

    spread: float
    measure: Callable[[Anatomy, Request], float]


def _log(count: float) -> float:
    """log2(1 + count): doubling a count counts the same wherever it starts."""
    return math.log2(1.0 + count)


def _cue(cue: Cue) -> Callable[[Anatomy, Request], float]:
    return lambda text, _: _log(text.cues[cue])


def _structure(text: Anatomy, _: Request) -> float:
    """log2(1 + headings, list items, bold spans and table rows)."""
    return _log(text.headings + text.items + text.bold + text.table_rows)


def _warmth(text: Anatomy, _: Request) -> float:
    """log2(1 + friendly phrases, exclamation marks and emoji)."""
    return _log(text.cues[Cue.WARM] + text.exclamations + text.emoji)


def _formality(text: Anatomy, _: Request) -> float:
    """log2(1 + formal words) - log2(1 + colloquial words, exclamation marks and emoji)."""
    colloquial = text.cues[Cue.INFORMAL] + text.exclamations + text.emoji
    return _log(text.cues[Cue.FORMAL]) - _log(colloquial)


def _echo(text: Anatomy, request: Request) -> float:
    """Share (0-1) of the response's shingles that are copied from the request."""
    if not text.shingles:
        return 0.0
    return len(text.shingles & request.anatomy.shingles) / len(text.shingles)


def _closeness(text: Anatomy, request: Request) -> float:
    """Share (0-1) of the request's content terms that the response takes up."""
    if not request.anatomy.terms:
        return 0.0
    return len(text.terms & request.anatomy.terms) / len(request.anatomy.terms)


def _language(text: Anatomy, request: Request) -> float:
    """1 where the response is in the request's script, or no language can be told; else 0."""
    return float(not request.script or not text.script or text.script == request.script)


_TRAITS: Final[dict[Feature, _Trait]] = {
    # log2(1 + words without repeats), a CJK character counting as 0.6 words
    Feature.LENGTH: _Trait(1.0, lambda text, _: _log(text.units * text.distinct)),
    Feature.STRUCTURE: _Trait(1.5, _structure),
    # log2(1 + list items)
    Feature.LISTS: _Trait(1.5, lambda text, _: _log(text.items)),
    # log2(1 + heading lines)
    Feature.HEADINGS: _Trait(1.0, lambda text, _: _log(text.headings)),
    # log2(1 + bold spans)
    Feature.BOLD: _Trait(1.5, lambda text, _: _log(text.bold)),
    # log2(1 + table rows)
    Feature.TABLES: _Trait(1.0, lambda text, _: _log(text.table_rows)),
    # log2(1 + numbered items and step words)
    Feature.STEPS: _Trait(1.2, lambda text, _: _log(text.numbered + text.cues[Cue.STEP])),
    # log2(words a paragraph), negated: more paragraphs for the same text is higher
    Feature.PARAGRAPHS: _Trait(1.0, lambda text, _: -_log(text.units / max(1, text.paragraphs))),
    # log2(words a sentence)
    Feature.SENTENCE_LENGTH: _Trait(0.7, lambda text, _: _log(text.units / max(1, text.sentences))),
    # log2(1 + lines of code)
    Feature.CODE: _Trait(1.5, lambda text, _: _log(text.code_lines)),
    # log2(1 + words that announce an example)
    Feature.EXAMPLES: _Trait(0.8, _cue(Cue.EXAMPLE)),
    # log2(1 + numbers outside list markers and code)
    Feature.NUMBERS: _Trait(1.2, lambda text, _: _log(text.numbers)),
    # log2(1 + words for evidence, and links)
    Feature.SOURCES: _Trait(0.8, lambda text, _: _log(text.cues[Cue.SOURCE] + text.links)),
    # log2(1 + words that give a reason)
    Feature.REASONS: _Trait(0.8, _cue(Cue.REASON)),
    # log2(1 + words that offer an alternative)
    Feature.OPTIONS: _Trait(0.8, _cue(Cue.OPTION)),
    # log2(1 + words that warn)
    Feature.CAUTIONS: _Trait(0.8, _cue(Cue.CAUTION)),
    # log2(1 + words that sum up)
    Feature.SUMMARY: _Trait(0.6, _cue(Cue.SUMMARY)),
    # +1 opens with the result, -1 with a formula, else 0
    Feature.DIRECTNESS: _Trait(0.8, lambda text, _: float(text.opens_with)),
    # log2(1 + question marks)
    Feature.QUESTIONS: _Trait(0.8, lambda text, _: _log(text.questions)),
    Feature.WARMTH: _Trait(1.0, _warmth),
    # log2(1 + emoji)
    Feature.EMOJI: _Trait(1.0, lambda text, _: _log(text.emoji)),
    Feature.FORMALITY: _Trait(1.2, _formality),
    # log2(1 + words of doubt)
    Feature.HEDGES: _Trait(0.8, _cue(Cue.HEDGE)),
    # share (0-1) of distinct tokens among the first hundred
    Feature.VARIETY: _Trait(0.15, lambda text, _: text.variety),
    Feature.CLOSENESS: _Trait(0.25, _closeness),
    # explicit demands met minus demands missed (see request.fit)
    Feature.FIT: _Trait(1.0, lambda text, request: request.fit(text)),
    Feature.LANGUAGE: _Trait(0.5, _language),
    Feature.ECHO: _Trait(0.25, _echo),
    # share (0-1) of four-token shingles that are repeats
    Feature.REPETITION: _Trait(0.15, lambda text, _: 1.0 - text.distinct),
    # log2(1 + apologies and refusals)
    Feature.REFUSAL: _Trait(1.0, _cue(Cue.REFUSAL)),
    # 1 where the text ends, 0 where it breaks off or is empty
    Feature.COMPLETENESS: _Trait(0.5, lambda text, _: float(text.complete)),
}

_MEASURES: Final = tuple(_TRAITS[feature].measure for feature in FEATURES)
SPREADS: Final = tuple(_TRAITS[feature].spread for feature in FEATURES)
"""The usual difference between two responses of one turn, in the order of FEATURES."""
_LIMIT: Final = 2.0


def measure(response: str, dialogue: Dialogue) -> Measures:
    """The features of a response to the last user message of a dialogue.

    Args:
        response: the text as stored; the empty text is a response.
        dialogue: oldest first, without the response.
    """
    return _measure(response, last_request(dialogue))


def last_request(dialogue: Dialogue) -> str:
    """The last user message, "" where the dialogue has none."""
    return next((item.text for item in reversed(dialogue) if item.role is Speaker.USER), "")


@lru_cache(maxsize=2_048)
def _measure(response: str, request: str) -> Measures:
    anatomy, asked = read(response), as_request(request)
    return tuple(measured(anatomy, asked) for measured in _MEASURES)


@lru_cache(maxsize=2_048)  # a pair is judged under many preferences
def contrast(first: Measures, second: Measures) -> Measures:
    """What sets the first response apart: differences in spreads, bent towards +-2.

    Swapping the arguments negates every value exactly. A difference of one spread gives 0.89,
    of four 1.79: no single property decides however large it is.
    """
    return tuple(
        _bent((one - two) / spread) for one, two, spread in zip(first, second, SPREADS, strict=True)
    )


def _bent(difference: float) -> float:
    return difference / math.sqrt(1.0 + (difference / _LIMIT) ** 2)
