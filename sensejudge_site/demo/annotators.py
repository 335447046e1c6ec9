"""The simulated annotators, each by a rule in words and in numbers: three compare, others rate."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from annotation.core.choices import Hallucination, Order, Reason, Verdict, is_satisfied
from annotation.core.labelling import Rating
from sensejudge_site.demo.sessions import Flaw, Measures, WrittenResponse, measure

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
class SimulatedVerdict:
    """A simulated verdict in the comparison's coordinates, with what was shown first."""

    verdict: Verdict
    shown_order: Order


class Labeller:
    """One persona at work: keeps the balance of what is shown first, and errs now and then."""

    def __init__(self, persona: Persona, *, seed: int) -> None:
        self._persona = persona
        self._random = random.Random(f"{seed}/{persona.name}")
        self._shown_first: Counter[tuple[str, str]] = Counter()

    def label(self, *, a: str, b: str, model_a: str, model_b: str) -> SimulatedVerdict:
        """A verdict on two texts, shown in the balanced order of protocols A2b."""
        order = self._order(model_a, model_b)
        pull = self._persona.pull if order is Order.ORIGINAL else -self._persona.pull
        difference = self._persona.utility(measure(a)) - self._persona.utility(measure(b))
        verdict = _decided(self._persona, difference + pull)
        errs = self._random.random() < NOISE
        return SimulatedVerdict(verdict.flipped() if errs else verdict, order)

    def _order(self, model_a: str, model_b: str) -> Order:
        """The order in which the model that was first less often comes first."""
        lead = self._shown_first[model_a, model_b] - self._shown_first[model_b, model_a]
        a_first = self._random.random() < 0.5 if lead == 0 else lead < 0
        self._shown_first[(model_a, model_b) if a_first else (model_b, model_a)] += 1
        return Order.ORIGINAL if a_first else Order.SWAPPED


_SPREAD_OF_NOISE: Final = 0.45

_TASTES: Final = ("length", "order", "warmth", "vividness")

_REASON_OF_FLAW: Final = MappingProxyType(
    {
        Flaw.THIN: Reason.INSUFFICIENT_DETAIL,
        Flaw.SAMEY: Reason.INSUFFICIENT_DIVERSITY,
        Flaw.CONSTRAINT: Reason.REQUIREMENT_UNMET,
        Flaw.WRONG_LANGUAGE: Reason.REQUIREMENT_UNMET,
        Flaw.TRUNCATED: Reason.UNUSABLE,
        Flaw.UNUSABLE: Reason.UNUSABLE,
        Flaw.INVENTED: Reason.OTHER,
        Flaw.OTHER: Reason.OTHER,
    }
)
_REASON_OF_LACK: Final = MappingProxyType(
    {
        "length": Reason.INSUFFICIENT_DETAIL,
        "order": Reason.UNUSABLE,
        "warmth": Reason.OTHER,
        "vividness": Reason.INSUFFICIENT_DIVERSITY,
    }
)


@dataclass(frozen=True, slots=True)
class SimulatedRater:
    """A user who rates turns.

    A score is `base`, plus `tastes` times how far the response stands above or below the study's
    mean in each measure, minus `severity` where the response has a flaw, plus noise; rounded and
    kept within 1-5. `profile` has the structured fields of seed 003.
    """

    name: str
    base: float
    severity: float
    tastes: Mapping[str, float]
    scenarios: tuple[str, ...]
    profile: Mapping[str, object]


LENIENT: Final = SimulatedRater(
    name="rater-lenient",
    base=4.5,
    severity=1.6,
    tastes={"length": 0.35, "warmth": 0.1},
    scenarios=("QA", "Writing", "Role", "Translation"),
    profile={
        "gender": "female",
        "age": "50-59",
        "background": "Primary school teacher, reads English and Chinese.",
        "personality": ["patient", "curious"],
        "occupation": "teacher",
        "daily_interests": ["gardening", "choir"],
        "travel_habits": ["by train, twice a year"],
        "dining_preferences": ["home cooking"],
        "spending_habits": ["plans ahead"],
        "other_aspects": ["likes to read an answer to the end"],
    },
)
STRICT: Final = SimulatedRater(
    name="rater-strict",
    base=3.5,
    severity=1.8,
    tastes={"length": -0.45, "order": 0.3},
    scenarios=("Math", "Logic", "Code", "NLU"),
    profile={
        "gender": "male",
        "age": "30-39",
        "background": "Software engineer, reads English and Chinese.",
        "personality": ["precise", "impatient"],
        "occupation": "engineer",
        "daily_interests": ["chess", "cycling"],
        "travel_habits": ["short trips, light luggage"],
        "dining_preferences": ["quick lunches"],
        "spending_habits": ["compares prices"],
        "other_aspects": ["wants the result in the first line"],
    },
)
ORDERLY: Final = SimulatedRater(
    name="rater-orderly",
    base=3.9,
    severity=1.5,
    tastes={"order": 0.55, "warmth": -0.15},
    scenarios=("Math", "NLU", "QA", "Writing"),
    profile={
        "gender": "female",
        "age": "40-49",
        "background": "Project manager in a hospital, reads English and Chinese.",
        "personality": ["organised", "calm"],
        "occupation": "project manager",
        "daily_interests": ["hiking", "calligraphy"],
        "travel_habits": ["with an itinerary"],
        "dining_preferences": ["vegetarian"],
        "spending_habits": ["keeps a household book"],
        "other_aspects": ["copies answers into checklists"],
    },
)
CHATTY: Final = SimulatedRater(
    name="rater-chatty",
    base=3.7,
    severity=1.4,
    tastes={"warmth": 0.45, "vividness": 0.4, "length": 0.2},
    scenarios=("Logic", "Code", "Role", "Translation"),
    profile={
        "gender": "male",
        "age": "18-29",
        "background": "Student of linguistics, reads English and Chinese.",
        "personality": ["sociable", "playful"],
        "occupation": "student",
        "daily_interests": ["board games", "podcasts"],
        "travel_habits": ["hostels, with friends"],
        "dining_preferences": ["street food"],
        "spending_habits": ["spontaneous"],
        "other_aspects": ["remembers things by examples"],
    },
)
RATERS: Final = (LENIENT, STRICT, ORDERLY, CHATTY)


def raters_of(topic: str) -> tuple[SimulatedRater, ...]:
    """The raters who rate a topic, in the order of RATERS."""
    return tuple(rater for rater in RATERS if topic in rater.scenarios)


class Scorer:
    """One rater at work; `line` is every response of the original lines, whose mean is usual."""

    def __init__(
        self, rater: SimulatedRater, line: Sequence[WrittenResponse], *, seed: int
    ) -> None:
        self._rater = rater
        self._random = random.Random(f"{seed}/{rater.name}")
        measured = [measure(response.text) for response in line]
        self._usual = {taste: _mean(measured, taste) for taste in _TASTES}

    def rate(self, response: WrittenResponse) -> Rating:
        """A score with its reason and the answer to the question about invented facts."""
        gains = self._gains(measure(response.text))
        fault = self._rater.severity if response.flaw else 0.0
        noise = self._random.gauss(0.0, _SPREAD_OF_NOISE)
        latent = self._rater.base + sum(gains.values()) - fault + noise
        score = min(5, max(1, round(latent)))
        return Rating(score, self._reason(score, response.flaw, gains), self._facts(response))

    def _gains(self, text: Measures) -> dict[str, float]:
        return {
            taste: weight * (getattr(text, taste) - self._usual[taste])
            for taste, weight in self._rater.tastes.items()
        }

    def _reason(self, score: int, flaw: Flaw | None, gains: Mapping[str, float]) -> Reason | None:
        """The flaw's reason, else that of the taste which was met least."""
        if is_satisfied(score):
            return None
        if flaw is not None:
            return _REASON_OF_FLAW[flaw]
        lack = min(gains, key=gains.__getitem__)
        too_long = lack == "length" and self._rater.tastes[lack] < 0
        return Reason.OTHER if too_long else _REASON_OF_LACK[lack]

    def _facts(self, response: WrittenResponse) -> Hallucination:
        """Invented facts are seen nine times in ten; one sound response in thirty raises doubt."""
        chance = self._random.random()
        if response.flaw is Flaw.INVENTED:
            return Hallucination.YES if chance < 0.9 else Hallucination.NO
        return Hallucination.UNSURE if chance < 1 / 30 else Hallucination.NO


def _mean(measured: Sequence[Measures], taste: str) -> float:
    return sum(float(getattr(each, taste)) for each in measured) / len(measured)
