"""The satisfaction that a user would state: their own level, moved by what the response is like.

expected = 1 + 4 sigmoid(logit((usual - 1) / 4) + sum of weight x level). `usual` is the user's mean
over the history, a level is a feature's distance from the usual answer in bent spreads, and a
weight is the general one plus what the memory's texts state. Nothing else enters: a person who
edits a text edits the judgment.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from annotation.core.choices import Reason, is_satisfied
from judging.core.calibration import HIGHEST, LOWEST, round_half_up
from judging.core.lexical import memories
from judging.core.lexical.anatomy import read
from judging.core.lexical.features import FEATURES, Feature, Measures, contrast, measure
from judging.core.lexical.vocabulary import name_of, parse
from judging.core.questions import Call, TurnAnswer, TurnQuestion

GENERAL: Final = MappingProxyType(
    {
        Feature.LENGTH: 0.2,
        Feature.STRUCTURE: 0.15,
        Feature.NUMBERS: 0.1,
        Feature.FIT: 0.1,
        Feature.LANGUAGE: 0.3,
        Feature.COMPLETENESS: 0.15,
        Feature.REFUSAL: -0.15,
        Feature.ECHO: -0.15,
        Feature.REPETITION: -0.1,
    }
)
"""What moves most users' scores, in log-odds a bent spread. Round numbers set by hand."""

STATED: Final = 0.1
"""Log-odds of one unit of a stated preference: a rating moves less than a choice between two."""

NO_HISTORY_MEAN: Final = 4.0
"""The level of a user of whom nothing is known."""

USUAL: Final = MappingProxyType(
    {
        Feature.LENGTH: 7.0,
        Feature.STRUCTURE: 3.0,
        Feature.LISTS: 2.5,
        Feature.HEADINGS: 1.0,
        Feature.BOLD: 1.5,
        Feature.STEPS: 1.5,
        Feature.PARAGRAPHS: -5.0,
        Feature.SENTENCE_LENGTH: 3.5,
        Feature.NUMBERS: 2.0,
        Feature.SOURCES: 0.5,
        Feature.OPTIONS: 0.5,
        Feature.WARMTH: 1.0,
        Feature.VARIETY: 0.75,
        Feature.CLOSENESS: 0.3,
        Feature.LANGUAGE: 1.0,
        Feature.COMPLETENESS: 1.0,
    }
)
"""The usual answer where a memory does not describe it; a feature left out is usually absent."""

_TEXTS: Final = (
    "three_vs_four_distinction",
    "four_vs_five_distinction",
    "preferred_response_format",
    "user_specific_requirements",
)
_EDGE: Final = 0.02
_NAMED: Final = 3
_NOTABLE: Final = 0.05


@dataclass(frozen=True, slots=True)
class _Taste:
    """A memory as the scorer reads it."""

    usual_score: float
    usual_answer: Measures
    weights: Mapping[Feature, float]
    complaints: tuple[Reason, ...]


@dataclass(frozen=True, slots=True)
class _Push:
    """How far one feature moves the log-odds, and how far it stands from the usual answer."""

    feature: Feature
    level: float
    value: float


def score_turn(question: TurnQuestion) -> TurnAnswer:
    """An expected score, the nearest whole one, a reason where it is 3 or less, and an account."""
    taste = _read_memory(question.memory_content)
    measures = measure(question.response, question.dialogue)
    levels = contrast(measures, taste.usual_answer)
    pushes = [
        _Push(feature, level, weight * level)
        for feature, level in zip(FEATURES, levels, strict=True)
        if (weight := taste.weights.get(feature))
    ]
    expected = _expected(taste.usual_score, sum(push.value for push in pushes))
    score = round_half_up(expected)
    account = _account(taste.usual_score, expected, pushes, question.language)
    return TurnAnswer(
        score=score,
        reason=None if is_satisfied(score) else _reason(question.response, levels, taste),
        analysis=account,
        expected_score=expected,
        call=Call(raw=account),
    )


def _expected(usual: float, push: float) -> float:
    share = min(1 - _EDGE, max(_EDGE, (usual - LOWEST) / (HIGHEST - LOWEST)))
    odds = math.log(share / (1 - share)) + push
    return LOWEST + (HIGHEST - LOWEST) / (1 + math.exp(-odds))


def _read_memory(content: Mapping[str, object]) -> _Taste:
    texts = list(_texts(content.get("texts")))
    weights = dict(GENERAL)
    for text in texts:
        for feature, weight in parse(text).weights.items():
            weights[feature] = weights.get(feature, 0.0) + STATED * weight
    whole = "\n".join(texts)
    return _Taste(
        usual_score=_mean(content.get("statistics")),
        usual_answer=_usual(memories.usual_answer_in(whole)),
        weights=weights,
        complaints=memories.complaints_in(whole),
    )


def _texts(texts: object) -> Iterator[str]:
    """The texts that may state a preference, a complaint or the usual answer."""
    if not isinstance(texts, Mapping):
        return
    for name in _TEXTS:
        value = texts.get(name, "")
        for item in value if isinstance(value, list) else [value]:
            text = item.get("text", "") if isinstance(item, Mapping) else item
            if isinstance(text, str) and text:
                yield text


def _mean(statistics: object) -> float:
    mean = statistics.get("mean") if isinstance(statistics, Mapping) else None
    return float(mean) if isinstance(mean, int | float) else NO_HISTORY_MEAN


def _usual(answer: memories.UsualAnswer) -> Measures:
    described = {Feature.LENGTH: answer.words, Feature.STRUCTURE: answer.marks}
    known = {name: math.log2(1 + count) for name, count in described.items() if count is not None}
    return tuple(known.get(feature, USUAL.get(feature, 0.0)) for feature in FEATURES)


def _reason(response: str, levels: Measures, taste: _Taste) -> Reason:
    """What is wrong with a response that scores 3 or less.

    A plain fault of the response goes first, then what the user complains of most often (which
    tells more than any property of a response), then what the response leans towards.
    """
    of = dict(zip(FEATURES, levels, strict=True))
    faults = (
        (Reason.UNUSABLE, not read(response).complete or of[Feature.REFUSAL] > 0),
        (Reason.REQUIREMENT_UNMET, of[Feature.LANGUAGE] < 0),
        (Reason.INSUFFICIENT_DIVERSITY, of[Feature.REPETITION] > _LOOPING),
        (Reason.INSUFFICIENT_DETAIL, of[Feature.LENGTH] < _FAR_SHORT),
    )
    leanings = (
        (Reason.REQUIREMENT_UNMET, of[Feature.FIT] < 0),
        (Reason.INSUFFICIENT_DETAIL, of[Feature.LENGTH] < _SHORT),
        (Reason.OTHER, True),
    )
    complaints = tuple((reason, True) for reason in taste.complaints[:1])
    return next(reason for reason, holds in (*faults, *complaints, *leanings) if holds)


_FAR_SHORT: Final = -1.3
_SHORT: Final = -0.5
_LOOPING: Final = 1.0
"""Levels in bent spreads; -1.3 of length is an answer of under a third of the usual length."""


def _account(usual: float, expected: float, pushes: list[_Push], language: str) -> str:
    """One sentence that names what moved the score."""
    chinese = language.startswith("zh")
    notable = sorted(
        (push for push in pushes if abs(push.value) >= _NOTABLE),
        key=lambda push: (-abs(push.value), push.feature),
    )[:_NAMED]
    named = [
        f"{name_of(push.feature, 1 if push.level > 0 else -1, language)} {push.value:+.2f}"
        for push in notable
    ]
    if chinese:
        moved = "、".join(named) or "与通常的回答相近"
        return f"通常 {usual:.1f} 分，预期 {expected:.1f} 分：{moved}。"
    moved = ", ".join(named) or "close to the usual answer"
    return f"Usual score {usual:.1f}, expected {expected:.1f}: {moved}."
