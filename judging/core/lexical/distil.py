"""Preference texts from labelled pairs.

One pair: the differences that move a ridge estimate most, away from what most people want. A weight
moves by its prior variance times the difference, so that large differences in what people really
decide by are named first. Against what most people want a pair speaks only where the general judge
was sure of the other response, and then by as much as goes beyond the prior: a slightly shorter
answer was not chosen for being short, and one label in ten is an error. Several pairs: a ridge
logistic estimate over all of them, whose prior is the general judge's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from judging.core.lexical.features import FEATURES, Feature, Measures
from judging.core.lexical.pairwise import AGAINST_IT, PRIOR, compare
from judging.core.lexical.vocabulary import ParsedSentence, Strength, speakable, write
from judging.core.questions import LabelledPair, ShownPair

Floats = npt.NDArray[np.float64]

SALIENCE: Final = MappingProxyType(
    {
        Feature.LENGTH: 1.5,
        Feature.STRUCTURE: 1.0,
        Feature.LISTS: 0.6,
        Feature.HEADINGS: 0.6,
        Feature.BOLD: 0.5,
        Feature.TABLES: 0.8,
        Feature.STEPS: 0.7,
        Feature.PARAGRAPHS: 0.3,
        Feature.SENTENCE_LENGTH: 0.3,
        Feature.CODE: 1.0,
        Feature.EXAMPLES: 0.9,
        Feature.NUMBERS: 0.8,
        Feature.SOURCES: 0.9,
        Feature.REASONS: 0.7,
        Feature.OPTIONS: 0.6,
        Feature.CAUTIONS: 0.6,
        Feature.SUMMARY: 0.4,
        Feature.DIRECTNESS: 0.8,
        Feature.QUESTIONS: 0.6,
        Feature.WARMTH: 1.0,
        Feature.EMOJI: 0.8,
        Feature.FORMALITY: 0.9,
        Feature.HEDGES: 0.5,
        Feature.VARIETY: 0.2,
        Feature.CLOSENESS: 0.5,
        Feature.FIT: 0.5,
        Feature.LANGUAGE: 0.7,
        Feature.ECHO: 0.4,
        Feature.REPETITION: 0.5,
        Feature.REFUSAL: 0.6,
        Feature.COMPLETENESS: 0.5,
    }
)
"""How often people decide by a property, judged by hand: the prior spread of its weight."""

_FAMILIES: Final = (
    (
        Feature.STRUCTURE,
        Feature.LISTS,
        Feature.HEADINGS,
        Feature.BOLD,
        Feature.TABLES,
        Feature.STEPS,
    ),
    (Feature.WARMTH, Feature.EMOJI, Feature.FORMALITY, Feature.DIRECTNESS),
    (Feature.NUMBERS, Feature.SOURCES),
    (Feature.PARAGRAPHS, Feature.SENTENCE_LENGTH),
)
_FAMILY_OF: Final = {
    feature: number for number, family in enumerate(_FAMILIES) for feature in family
}
"""Properties that mostly go together: a text names the most telling of a family."""


@dataclass(frozen=True, slots=True)
class _Scale:
    """How many statements a text has at most, and from which value on each strength is said."""

    most: int
    slight: float
    plain: float
    strong: float


_SINGLE: Final = _Scale(most=2, slight=0.4, plain=0.8, strong=1.2)
_AGGREGATE: Final = _Scale(most=6, slight=0.2, plain=0.35, strong=0.7)
_TIGHTNESS: Final = 0.5
_SURE: Final = 0.75
"""Log-odds from which on the general judge is sure: it gives the chosen response a third at most.

This, the scale of a single pair and what of the prior stays beside a preference were chosen on
simulated annotators of other tastes than the demo's, over other draws than `bench embedded` makes.
"""


def distil(pairs: Sequence[LabelledPair], *, language: str) -> str:
    """The preference that one pair, or several together, give away.

    Pairs without a difference that the vocabulary can name give its sentence for that.
    """
    contrasts = [compare(ShownPair(pair.dialogue, pair.chosen, pair.rejected)) for pair in pairs]
    if len(contrasts) == 1:
        return write(_statements(_telling(contrasts[0]), _SINGLE), language)
    return write(_statements(_shares(contrasts), _AGGREGATE), language)


def _telling(contrasts: Measures) -> dict[Feature, float]:
    """How far one pair moves each weight beyond the general prior."""
    pairs = list(zip(FEATURES, contrasts, strict=True))
    general = sum(PRIOR.get(feature, 0.0) * value for feature, value in pairs)
    surprising = general <= -_SURE
    return {feature: _moved(feature, value, surprising=surprising) for feature, value in pairs}


def _moved(feature: Feature, contrast: float, *, surprising: bool) -> float:
    """Prior variance times contrast; against the prior nothing, or what is left after the prior."""
    moved, prior = SALIENCE[feature] ** 2 * contrast, PRIOR.get(feature, 0.0)
    if moved * prior >= 0:
        return moved
    beyond = abs(moved) - abs(prior) if surprising else 0.0
    return math.copysign(max(0.0, beyond), moved)


def _shares(contrasts: Sequence[Measures]) -> dict[Feature, float]:
    """The estimated weights of several pairs as shares (-1 to 1) of the largest."""
    if not contrasts:
        return {}
    weights = estimate(np.array(contrasts))
    shares = weights / np.abs(weights).max()  # never all zero: the prior is not
    return dict(zip(FEATURES, shares.tolist(), strict=True))


def _statements(values: Mapping[Feature, float], scale: _Scale) -> list[ParsedSentence]:
    """The most telling values as statements, one a family, the most telling first."""
    found: list[ParsedSentence] = []
    families: set[int] = set()
    for feature in sorted(values, key=lambda name: (-abs(values[name]), FEATURES.index(name))):
        value, family = values[feature], _FAMILY_OF.get(feature)
        sign = 1 if value > 0 else -1
        if abs(value) < scale.slight or len(found) == scale.most:
            break
        if family in families or not speakable(feature, sign):
            continue
        if family is not None:
            families.add(family)
        found.append(ParsedSentence(feature, sign, _strength(abs(value), scale)))
    return found


def _strength(size: float, scale: _Scale) -> Strength:
    if size >= scale.strong:
        return Strength.STRONG
    return Strength.PLAIN if size >= scale.plain else Strength.SLIGHT


def estimate(contrasts: Floats, *, spread: float = _TIGHTNESS) -> Floats:
    """Weights that make the chosen responses likely: logistic, with a normal prior.

    Maximum a posteriori by Newton's method on sum log sigmoid(x w) - sum (w - m)^2 / 2 s^2, with
    m what remains of the general prior beside a preference against it, and s the spread times the
    salience: with one half, ten pairs move a weight that many of them agree on, and no other.

    Args:
        contrasts: pairs by features, the chosen response's contrast to the rejected one.
        spread: above 0.
    """
    mean = AGAINST_IT * np.array([PRIOR.get(feature, 0.0) for feature in FEATURES])
    precision = 1.0 / np.array([spread * SALIENCE[feature] for feature in FEATURES]) ** 2
    weights = mean.copy()
    size, steps = np.inf, 0
    while steps < _STEPS and size > _CLOSE:
        likely = 1.0 / (1.0 + np.exp(-contrasts @ weights))
        slope = contrasts.T @ (1.0 - likely) - precision * (weights - mean)
        curvature = (contrasts.T * (likely * (1.0 - likely))) @ contrasts + np.diag(precision)
        step = np.linalg.solve(curvature, slope)
        weights, steps = weights + step, steps + 1
        size = float(np.abs(step).max())
    return weights


_STEPS: Final = 15  # Newton's method on a strongly convex loss: three times what it needs
_CLOSE: Final = 1e-9  # the next step would be about its square
