"""Which of two responses is better: a mild general prior, overruled by a stated preference.

log-odds = sum over features of weight x contrast. A weight is the preference's where the text
speaks about that feature, else the prior's: all of it beside a preference that goes along with the
prior, little beside one that goes against it, since what most people want is then no guide.
Swapping the responses negates every term and so the sum, exactly: this judge has no
position bias by construction.
"""

from __future__ import annotations

from functools import lru_cache
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Verdict
from judging.core.lexical.features import FEATURES, Feature, Measures, contrast, measure
from judging.core.lexical.vocabulary import parse
from judging.core.questions import Call, PairAnswer, ShownPair

PRIOR: Final = MappingProxyType(
    {
        Feature.LENGTH: 0.7,
        Feature.COMPLETENESS: 1.2,
        Feature.REPETITION: -0.7,
        Feature.ECHO: -0.7,
        Feature.LANGUAGE: 1.2,
        Feature.REFUSAL: -0.7,
        Feature.FIT: 0.45,
        Feature.CLOSENESS: 0.45,
        Feature.EXAMPLES: 0.3,
        Feature.REASONS: 0.3,
    }
)
"""What most people want of most answers, in log-odds a bent spread: whole, in their language, to
the point, not repeated, and rather more than less of it. Round numbers set by hand."""

AGAINST_IT: Final = 0.3
"""What remains of the prior beside a preference that goes against it: it breaks near-ties."""

_NAMED: Final = 3


def judge_pair(pair: ShownPair, *, preference: str) -> PairAnswer:
    """A verdict as shown with its log-odds; responses that measure alike are a tie.

    Args:
        pair: the comparison as shown.
        preference: a text of the vocabulary, "" for the base judge.
    """
    terms = _terms(compare(pair), preference)
    score = sum(value for _, value in terms)
    verdict = Verdict.TIE if score == 0 else Verdict.A if score > 0 else Verdict.B
    return PairAnswer(verdict=verdict, log_odds=score, call=Call(raw=_account(terms, score)))


def compare(pair: ShownPair) -> Measures:
    """The contrast of the first response to the second, in the order of FEATURES."""
    return contrast(measure(pair.first, pair.dialogue), measure(pair.second, pair.dialogue))


def weights_of(preference: str) -> NDArray[np.float64]:
    """By feature, in the order of FEATURES, what counts under a preference."""
    weights = np.zeros(len(FEATURES))
    for place, weight in _weights(preference):
        weights[place] = weight
    return weights


def _terms(contrasts: Measures, preference: str) -> list[tuple[int, float]]:
    return [(place, weight * contrasts[place]) for place, weight in _weights(preference)]


@lru_cache(maxsize=512)
def _weights(preference: str) -> tuple[tuple[int, float], ...]:
    """The places in FEATURES that count under a preference, with their weights."""
    stated = parse(preference).weights
    against = any(weight * PRIOR.get(feature, 0.0) < 0 for feature, weight in stated.items())
    share = AGAINST_IT if against else 1.0
    return tuple(
        (place, stated.get(feature, share * PRIOR.get(feature, 0.0)))
        for place, feature in enumerate(FEATURES)
        if feature in stated or feature in PRIOR
    )


def _account(terms: list[tuple[int, float]], score: float) -> str:
    """What decided, in one line for the page that shows a judgment."""
    largest = sorted(terms, key=lambda term: (-abs(term[1]), term[0]))[:_NAMED]
    named = ", ".join(f"{FEATURES[place]} {value:+.2f}" for place, value in largest if value)
    return f"{named or 'no difference'}: log-odds {score:+.2f}"
