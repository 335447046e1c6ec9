"""Preference texts: sentences of a fixed vocabulary to weights, and weights to sentences.

"Strongly prefers short answers. Dislikes emoji." reads as two weights, and nothing but the
weights read from the text takes part in a judgment. A person may edit, reorder or join
sentences; what is not understood changes nothing and is reported.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from types import MappingProxyType
from typing import Final, TypeVar

from judging.core.lexical.features import Feature
from judging.core.lexical.phrases import POLES, Pole

NOTHING_EN: Final = "No clear preference."
NOTHING_ZH: Final = "没有明显偏好。"


class Strength(Enum):
    """How strongly a sentence speaks; the value is the weight, in log-odds a bent spread."""

    SLIGHT = 0.5
    PLAIN = 1.0
    STRONG = 2.0


@dataclass(frozen=True, slots=True)
class ParsedSentence:
    """One sentence of a preference: a direction (+1 or -1) of a feature, and how strongly."""

    feature: Feature
    sign: int
    strength: Strength


@dataclass(frozen=True, slots=True)
class ParsedPreference:
    """A parsed text: a weight for each feature it speaks about, and what was not understood."""

    weights: Mapping[Feature, float]
    unknown: tuple[str, ...] = ()


def speakable(feature: Feature, sign: int) -> bool:
    """Whether the vocabulary has a sentence for this direction."""
    return (feature, sign) in _BY_DIRECTION


def name_of(feature: Feature, sign: int, language: str) -> str:
    """What a direction is called, by its feature's stable name where it has no phrase."""
    pole = _BY_DIRECTION.get((feature, sign))
    if pole is None:
        return f"{feature}{'+' if sign > 0 else '-'}"
    return pole.zh[0] if language.startswith("zh") else pole.en[0]


def write(statements: Iterable[ParsedSentence], language: str) -> str:
    """The statements as one text, in their order.

    Args:
        statements: directions that are `speakable`.
        language: "zh" or a code that starts with it gives Chinese, everything else English.

    Without a statement the text says that there is no clear preference; it reads as no weight.
    """
    statements = tuple(statements)
    chinese = language.startswith("zh")
    if not statements:
        return NOTHING_ZH if chinese else NOTHING_EN
    if chinese:
        return "".join(
            f"{_WRITTEN_ZH[item.strength]}偏好{_pole(item).zh[0]}。" for item in statements
        )
    return " ".join(
        f"{_WRITTEN_EN[item.strength]} {_pole(item).en[0]}.".capitalize() for item in statements
    )


@lru_cache(maxsize=1_024)
def parse(text: str) -> ParsedPreference:
    """The weights that a text states; several sentences on one feature add up, within +-2."""
    weights: dict[Feature, float] = {}
    unknown: list[str] = []
    for sentence in _sentences(text):
        found, rest = _understand(sentence)
        unknown.extend(rest)
        for feature, weight in found:
            total = weights.get(feature, 0.0) + weight
            weights[feature] = max(-_MOST, min(_MOST, total))
    return ParsedPreference(MappingProxyType(weights), tuple(unknown))


_Value = TypeVar("_Value")
_NOTHING: Final = frozenset({NOTHING_EN.lower().rstrip("."), NOTHING_ZH.rstrip("。")})
_MOST: Final = Strength.STRONG.value
_WRITTEN_EN: Final = {
    Strength.SLIGHT: "slightly prefers",
    Strength.PLAIN: "prefers",
    Strength.STRONG: "strongly prefers",
}
_WRITTEN_ZH: Final = {Strength.SLIGHT: "略微", Strength.PLAIN: "", Strength.STRONG: "强烈"}
_STRENGTHS: Final = {
    **dict.fromkeys(("strongly", "clearly", "really", "very much", "always"), Strength.STRONG),
    **dict.fromkeys(("强烈", "非常", "特别", "十分", "总是"), Strength.STRONG),
    **dict.fromkeys(("slightly", "somewhat", "mildly", "rather", "a little"), Strength.SLIGHT),
    **dict.fromkeys(("略微", "稍微", "有点", "比较", "略"), Strength.SLIGHT),
}
_VERBS: Final = {
    **dict.fromkeys(("prefers", "prefer", "likes", "like", "values", "wants", "favours"), 1),
    **dict.fromkeys(("does not like", "doesn't like", "does not want", "does not prefer"), -1),
    **dict.fromkeys(("dislikes", "dislike", "avoids", "avoid", "hates"), -1),
    **dict.fromkeys(("偏好", "喜欢", "偏爱", "希望", "想要"), 1),
    **dict.fromkeys(("不喜欢", "不偏好", "不希望", "不想要", "讨厌", "避免"), -1),
}
_SUBJECTS: Final = (
    "the user",
    "the annotator",
    "this annotator",
    "this user",
    "该用户",
    "用户",
    "标注者",
    "he",
    "she",
    "they",
    "it",
    "also",
    "and",
    "也",
    "并",
    "且",
)
_BY_DIRECTION: Final = {(pole.feature, pole.sign): pole for pole in POLES}
_BY_PHRASE: Final = {phrase: pole for pole in POLES for phrase in (*pole.en, *pole.zh)}
_BOUNDARY: Final = re.compile(r"[.;!\n。；！]")
_BULLET: Final = re.compile(r"^(?:[-*•]|\d{1,3}[)、])\s*")
_JOINT: Final = re.compile(r",? and |, |、|，|和|以及")


def _pole(statement: ParsedSentence) -> Pole:
    return _BY_DIRECTION[statement.feature, statement.sign]


def _sentences(text: str) -> Iterator[str]:
    for part in _BOUNDARY.split(text.replace("’", "'")):
        sentence = _BULLET.sub("", " ".join(part.split()))
        if sentence and not sentence.isdecimal():
            yield sentence


def _understand(sentence: str) -> tuple[list[tuple[Feature, float]], list[str]]:
    """What a sentence says, and the parts of it that are not in the vocabulary."""
    rest = _without(sentence.lower(), _SUBJECTS)
    if rest in _NOTHING:
        return [], []
    strength, rest = _leading(rest, _STRENGTHS)
    verb, rest = _leading(rest, _VERBS)
    if verb is None:
        return [], [sentence]
    if strength is None:
        strength, rest = _leading(rest, _STRENGTHS)
    weight = verb * (strength or Strength.PLAIN).value
    poles, unknown = _objects(rest)
    if not poles:
        return [], [sentence]
    return [(pole.feature, pole.sign * weight) for pole in poles], unknown


def _objects(phrase: str) -> tuple[list[Pole], list[str]]:
    if pole := _BY_PHRASE.get(phrase):
        return [pole], []
    parts = [part.strip() for part in _JOINT.split(phrase) if part.strip()]
    poles = [_BY_PHRASE[part] for part in parts if part in _BY_PHRASE]
    return poles, [part for part in parts if part not in _BY_PHRASE]


def _leading(text: str, table: Mapping[str, _Value]) -> tuple[_Value | None, str]:
    """The longest entry of the table that the text begins with, and the text after it."""
    for entry in sorted(table, key=len, reverse=True):
        if _begins(text, entry):
            return table[entry], text[len(entry) :].strip()
    return None, text


def _without(text: str, prefixes: Iterable[str]) -> str:
    for prefix in sorted(prefixes, key=len, reverse=True):
        if _begins(text, prefix):
            return _without(text[len(prefix) :].strip(), prefixes)
    return text


def _begins(text: str, entry: str) -> bool:
    """Whether the text begins with the entry, an English one as a whole word."""
    if not text.startswith(entry):
        return False
    after = text[len(entry) : len(entry) + 1]
    return not entry.isascii() or not (after.isalnum() or after == "-")
