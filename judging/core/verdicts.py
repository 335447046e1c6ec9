"""Reading a verdict out of a judge's reply: three rules, each in one place.

Verdicts here are AS SHOWN: A is the response that stood first in the prompt.
`STRICT` is the project's rule, `PAPER` the parser released with seed 001 (kept for its
numbers, oddities included), `LOGPROB` reads one letter's log-probabilities.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import LabelledEnum, Verdict
from annotation.core.refusals import gettext_noop
from judging.core.quotes import blank_objects, blank_quotes
from judging.core.tokens import letter_of

UNPARSEABLE: Final = "verdict:unparseable"
"""The error code of a reply that carries no verdict."""


class VerdictRule(LabelledEnum):
    """How a reply is read."""

    STRICT = "STRICT", gettext_noop("strict: stated verdict only")
    PAPER = "PAPER", gettext_noop("as in the paper's code")
    LOGPROB = "LOGPROB", gettext_noop("by the probabilities of the letters")


_PHRASE: Final = re.compile(r"\bthe\s++final\s++decision\s++is(?![^\W_])|最终决定是", re.IGNORECASE)
_MARKS: Final = r"[\s:：*_~`\"'“”‘’«»「」『』()\[\]{}<>（）【】〔〕《》［］｛｝]*+"
_NAMED: Final = re.compile(
    _MARKS + r"(?:response\s++|(?:回应|回复|回答)\s*+)([ABＡＢ])(?![A-Za-z0-9_])", re.IGNORECASE
)
_SENTENCE_END: Final = re.compile(r"[.!?。！？\r\n]")
_OTHER_RESPONSE: Final = re.compile(
    r"(?:(?i:response)|回应|回复|回答)\s*+([A-ZＡ-Ｚ])(?![A-Za-z0-9_])"
)
_LONE_LETTER: Final = re.compile(r"(?<![A-Za-z0-9_])([ABＡＢ])(?![A-Za-z0-9_])")
_WIDE: Final = {ord("Ａ"): "A", ord("Ｂ"): "B"}


def parse_strict(text: str) -> Verdict | None:
    """The verdict of the last "The final decision is", or None (protocols A1.4).

    After the phrase only white space, colons, emphasis, quotes, brackets and backticks may
    stand before "Response A" (or 回应, 回复, 回答), and the rest of that sentence may name no
    other letter. Nothing earlier is consulted: a judge that changed its mind and stopped
    half-way has not decided. What it only quotes is no verdict (see `blank_quotes`).
    """
    text = blank_objects(blank_quotes(text), stated=_PHRASE)
    phrases = list(_PHRASE.finditer(text))
    if not phrases:
        return None
    named = _NAMED.match(text, phrases[-1].end())
    if named is None:
        return None
    letter = _letter(named.group(1))
    rest = _SENTENCE_END.split(text[named.end() :], maxsplit=1)[0]
    if named.group(1).islower():
        rest = rest.upper()  # "response b or a": the writer's letters are small ones
    others = _OTHER_RESPONSE.findall(rest) + _LONE_LETTER.findall(rest)
    if any(_letter(other) != letter for other in others):
        return None
    return Verdict(letter)


def _letter(character: str) -> str:
    return character.upper().translate(_WIDE)


# The released patterns with possessive repeats: what they match is the same, in linear time.
_OPTIONAL_BOLD: Final = r"\s*+(?:\*\*\s*+)?+"
_PAPER_RULES: Final = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"The\s*+final\s*+decision\s*+is" + _OPTIONAL_BOLD + r"(?:Response\s*+)?+([AB])",
        r"final\s*+decision\s*+[:：]?+" + _OPTIONAL_BOLD + r"(?:Response\s*+)?+([AB])",
        r"最终(?:决定|决策|选择|答案|回答)(?:是|为|：|:)?+"
        + _OPTIONAL_BOLD
        + r"(?:(?:回应|回复|响应|回答|Response)\s*+)?+([ABＡＢ])",
    )
)


def parse_paper(text: str) -> Verdict | None:
    """What the parser released with seed 001 reads (protocols B 2.1), for its numbers only.

    Three patterns run over the text and over the text without white space; the hit that starts
    last wins, offsets of the two texts mixed. So "The final decision is a tie" gives A.
    """
    hits: list[tuple[int, str]] = []
    compact = "".join(text.split())
    for rule in _PAPER_RULES:
        for variant in (text, compact):
            hits.extend(
                (found.start(), _letter(found.group(1))) for found in rule.finditer(variant)
            )
    if not hits:
        return None
    last_start = max(start for start, _ in hits)
    return Verdict([letter for start, letter in hits if start == last_start][-1])


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One of the most likely first tokens of a reply, with its natural log-probability."""

    token: str
    logprob: float


def letter_log_odds(top: Sequence[TokenLogprob]) -> float | None:
    """Log P(A)/P(B) as shown, from the top log-probabilities of one token (protocols A1.4).

    Tokens that are A or B but for marks and quotes are summed by letter; small letters count where
    there are no capitals, since "a" is a word. A missing letter takes the lowest log-probability
    returned. None where neither letter is among them. Entries that are not finite carry no
    information and are left out.
    """
    finite = [entry for entry in top if math.isfinite(entry.logprob)]
    told = [(letter_of(entry.token), entry.logprob) for entry in finite]
    for pair in ("AB", "ab"):
        values = [[logprob for letter, logprob in told if letter == wanted] for wanted in pair]
        if any(values):
            lowest = min(entry.logprob for entry in finite)
            first, second = (_log_sum(each) if each else lowest for each in values)
            return first - second
    return None


def _log_sum(values: Sequence[float]) -> float:
    peak = max(values)
    return peak + math.log(sum(math.exp(value - peak) for value in values))


ROUNDING: Final = 1e-9
"""Log-odds nearer to zero than this are zero: so much is left where sums of them cancel."""


def verdict_of_log_odds(log_odds: float) -> Verdict:
    """A above zero, B below, a tie at zero."""
    if abs(log_odds) < ROUNDING:
        return Verdict.TIE
    return Verdict.A if log_odds > 0 else Verdict.B


def swap_average(*, original: float, swapped: float) -> float:
    """l* = (l_original - l_swapped) / 2 in the comparison's own coordinates.

    Both arguments are log P(A)/P(B) AS SHOWN; a constant leaning to the first place cancels. Of
    log-odds that are in the comparison's own coordinates, as they are stored, l* is the mean.
    """
    return (original - swapped) / 2
