"""What overlap one leaves to learn from, and how far a judge then stands in for its annotator.

Four simulated annotators share 400 pairs in four scenarios; each pair is labelled by one of them,
one label in ten turned round. The responses of a pair are put together from paragraphs of the
demo's answers to one request. A split over all comparisons, labelled or not, leaves each annotator
those that they happened to label (`dev_before`); one among the conversations that they labelled
gives its ten wherever there are twenty with a winner (`dev_after`).

Shares are of decisions on the 300 pairs that the annotator did not label, in both orders, against
the choice that their rule makes without noise; ties of that choice are left out. `base` is without
preferences, `stand_in` what stands in. Intervals are 95 % bootstraps that draw studies and
pairs, crossed; the gain is paired.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Final, NamedTuple

from annotation.core.choices import Verdict
from annotation.core.splits import SplitItem, SplitSettings, split
from benchmark.core.accuracy import Judged
from benchmark.core.in_memory_run import (
    AnnotatorLabels,
    rehearse,
    seeded_accuracy,
    seeded_gain,
)
from benchmark.core.trust import BASE, PERSONAL, Condition
from judging.core.judge_prompts import PairTexts, pair_texts
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.benches.embedded import with_ends
from sensejudge_site.demo.annotators import PERSONAS, Labeller, Persona, noise_free_choice
from sensejudge_site.demo.sessions import WrittenSession, written_sessions

SEEDS: Final = 5
SCENARIOS: Final = ("QA", "Writing", "Role", "Translation")
PAIRS_A_SCENARIO: Final = 100
_DRAWN_BY: Final = 42
_MOST_PARAGRAPHS: Final = 5

DETAILED: Final = Persona(
    name="detailed",
    rule="Wants the whole story. The longer answer wins, more so where it has examples.",
    utility=lambda text: text.length + 0.3 * text.vividness,
    indifference=0.1,
)
ANNOTATORS: Final = (*(replace(persona, pull=0.0) for persona in PERSONAS), DETAILED)


class _Pair(NamedTuple):
    """A comparison of its own conversation, with what a judge is shown of it."""

    item: SplitItem
    texts: PairTexts


class _Study(NamedTuple):
    """One annotator in one study: dev pairs by scenario before and after, decisions by voice."""

    before: Sequence[int]
    after: Sequence[int]
    judged: Mapping[Condition, Sequence[Judged]]


def run(*, seeds: int = SEEDS) -> Bench:
    """The figures of every annotator over some studies; seconds."""
    scenarios = [tuple(_pairs(name, place)) for place, name in enumerate(SCENARIOS)]
    studies = {
        persona.name: [_study(place, persona, scenarios, seed) for seed in range(seeds)]
        for place, persona in enumerate(ANNOTATORS)
    }
    return Bench(name="overlap", figures=tuple(_figures(studies, scenarios)))


def _pairs(scenario: str, place: int) -> Iterator[_Pair]:
    sessions = [session for session in written_sessions() if session.topic == scenario]
    for number in range(PAIRS_A_SCENARIO):
        draw = random.Random(f"{_DRAWN_BY}/{scenario}/{number}")
        session = sessions[number % len(sessions)]
        a, b = _composed(session, draw), _composed(session, draw)
        key = f"{scenario}-{number}"
        texts = pair_texts(
            system_prompt=session.system_prompt,
            earlier=(),
            user_message=session.turns[-1].user_message,
            text_a=a,
            text_b=b,
            language=session.language,
        )
        at = place * PAIRS_A_SCENARIO + number
        yield _Pair(SplitItem(at, at, a, b, key, key), texts)


def _composed(session: WrittenSession, draw: random.Random) -> str:
    """Some paragraphs of all answers to a request, in their order."""
    responses = session.turns[-1].responses
    paragraphs = [part for each in responses for part in each.text.split("\n\n")]
    count = draw.randint(1, min(_MOST_PARAGRAPHS, len(paragraphs)))
    return "\n\n".join(paragraphs[at] for at in sorted(draw.sample(range(len(paragraphs)), count)))


def _study(place: int, persona: Persona, scenarios: Sequence[Sequence[_Pair]], seed: int) -> _Study:
    """An annotator's share of a study, what it leaves to learn from, and their judge elsewhere."""
    labeller = Labeller(persona, seed=seed)
    before, after = [], []
    judged: dict[Condition, list[Judged]] = defaultdict(list)
    for name, pairs in zip(SCENARIOS, scenarios, strict=True):
        dealt = random.Random(f"{seed}/{name}").sample(range(len(pairs)), len(pairs))
        own = {pairs[at].item.comparison_id for at in dealt[place :: len(ANNOTATORS)]}
        labels = {
            item.comparison_id: labeller.label(
                a=texts.text_a, b=texts.text_b, model_a="a", model_b="b"
            ).verdict
            for item, texts in pairs
            if item.comparison_id in own
        }
        truth = {
            item.comparison_id: noise_free_choice(persona, texts.text_a, texts.text_b)
            for item, texts in pairs
            if item.comparison_id not in own
        }
        items, settings = [item for item, _texts in pairs], SplitSettings()
        winners = {key for key, verdict in labels.items() if verdict is not Verdict.TIE}
        everything = {item.comparison_id for item in items}
        before.append(len(winners.intersection(split(items, settings, winners=everything).dev)))
        after.append(len(split(items, settings, winners=winners).dev))
        annotator = AnnotatorLabels(persona.name, labels, truth)
        shown = {item.comparison_id: texts for item, texts in pairs}
        found = rehearse(items, shown, annotator, settings, name=name)
        for voice in (BASE, PERSONAL):
            # Every pair is a conversation of its own, in whatever scenario.
            judged[voice] += [replace(row, session=None) for row in found.judged[voice]]
    return _Study(before, after, judged)


def _figures(
    studies: Mapping[str, Sequence[_Study]], scenarios: Sequence[Sequence[_Pair]]
) -> Iterator[BenchFigure]:
    every = [study for each in studies.values() for study in each]
    yield BenchFigure("pairs", sum(map(len, scenarios)))
    yield BenchFigure("annotators", len(studies))
    yield BenchFigure("studies", len(every) // len(studies))
    for word, counts in (
        ("before", list(chain.from_iterable(study.before for study in every))),
        ("after", list(chain.from_iterable(study.after for study in every))),
    ):
        yield BenchFigure(f"dev_{word}_fewest", min(counts))
        yield BenchFigure(f"dev_{word}_mean", sum(counts) / len(counts))
        yield BenchFigure(f"dev_{word}_most", max(counts))
    for name, own in studies.items():
        base, judge = ([study.judged[voice] for study in own] for voice in (BASE, PERSONAL))
        found = seeded_accuracy(judge, seed=_DRAWN_BY)
        yield BenchFigure(f"{name}_comparisons", found.comparisons)
        yield from with_ends(f"{name}_base", seeded_accuracy(base, seed=_DRAWN_BY))
        yield from with_ends(f"{name}_stand_in", found)
        yield from with_ends(f"{name}_gain", seeded_gain(base, judge, seed=_DRAWN_BY))
