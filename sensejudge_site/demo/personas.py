"""The three simulated annotators who compare responses, each by a rule in words and in numbers."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from annotation.core.choices import Order, Verdict
from sensejudge_site.demo.measures import Measures, measure

NOISE: Final = 0.1
"""The share of verdicts that name the other response."""


@dataclass(frozen=True, slots=True)
class Persona:
    """An annotator with a known rule.

    `rule` says in words what `utility` computes. Of two responses the one of higher utility wins;
    a difference below `indifference` is a tie. `pull` is added to the response shown first.
    """

    name: str
    rule: str
    utility: Callable[[Measures], float]
    indifference: float
    pull: float = 0.0


CONCISE: Final = Persona(
    name="concise",
    rule=(
        "Wants few words. The shorter answer wins; where lengths are close, the one whose first "
        "sentence is shorter, because it starts with the result."
    ),
    utility=lambda text: -text.length - 0.3 * text.opening,
    indifference=0.1,
)
STRUCTURED: Final = Persona(
    name="structured",
    rule=(
        "Wants to see the order of an answer. More headings, lists, steps and tables win; among "
        "plain texts, the one in more paragraphs and the soberer one."
    ),
    utility=lambda text: text.order - 0.3 * text.warmth,
    indifference=0.1,
)
WARM: Final = Persona(
    name="warm",
    rule=(
        "Wants to be talked to. A friendly tone wins, then examples and pictures, then length. "
        "Leans towards the answer that is shown first when two are close."
    ),
    utility=lambda text: 0.8 * text.warmth + 0.7 * text.vividness + 0.4 * text.length,
    indifference=0.1,
    pull=0.6,
)
PERSONAS: Final = (CONCISE, STRUCTURED, WARM)


def noise_free_choice(persona: Persona, a: str, b: str) -> Verdict:
    """What the persona's rule says of two texts, without noise or position."""
    return _decided(persona, persona.utility(measure(a)) - persona.utility(measure(b)))


def _decided(persona: Persona, difference: float) -> Verdict:
    if abs(difference) < persona.indifference:
        return Verdict.TIE
    return Verdict.A if difference > 0 else Verdict.B


@dataclass(frozen=True, slots=True)
class GivenVerdict:
    """A simulated verdict in the comparison's coordinates, with what was shown first."""

    verdict: Verdict
    shown_order: Order


class Labeller:
    """One persona at work: keeps the balance of what is shown first, and errs now and then."""

    def __init__(self, persona: Persona, *, seed: int) -> None:
        self._persona = persona
        self._random = random.Random(f"{seed}/{persona.name}")
        self._shown_first: Counter[tuple[str, str]] = Counter()

    def label(self, *, a: str, b: str, model_a: str, model_b: str) -> GivenVerdict:
        """A verdict on two texts, shown in the balanced order of protocols A2b."""
        order = self._order(model_a, model_b)
        pull = self._persona.pull if order is Order.ORIGINAL else -self._persona.pull
        difference = self._persona.utility(measure(a)) - self._persona.utility(measure(b))
        verdict = _decided(self._persona, difference + pull)
        errs = self._random.random() < NOISE
        return GivenVerdict(verdict.flipped() if errs else verdict, order)

    def _order(self, model_a: str, model_b: str) -> Order:
        """The order in which the model that was first less often comes first."""
        lead = self._shown_first[model_a, model_b] - self._shown_first[model_b, model_a]
        a_first = self._random.random() < 0.5 if lead == 0 else lead < 0
        self._shown_first[(model_a, model_b) if a_first else (model_b, model_a)] += 1
        return Order.ORIGINAL if a_first else Order.SWAPPED
