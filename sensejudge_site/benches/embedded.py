"""How well the embedded judge learns whom it stands in for, from ten labelled pairs in all.

Without a file: the demo's three personas over all its comparisons as one scenario, with one label
in ten turned round; what is right is the persona's rule without noise. `warm_leaning` is the one
who besides leans towards the response shown first, so that one label in five is wrong. With a file
in PandaLM's layout: its annotators, whose own labels are what is right. The whole method, split by
split.

Shares are of decisions on test comparisons, both orders, ties of the annotator left out: without
preferences (base), under the selected set, by the weighted vote (stack), by which of them stands in
(own), and the same way from shuffled labels. Beside them two simple rules that the same dev pairs
teach: the nearest five of them, and a ridge logistic regression. `all` pools those that are named.
Intervals are 95 % bootstraps that draw splits and sessions, crossed; gains are paired. A
selection is doubtful where flipped labels do as well in more than one case of twenty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Final

from annotation.core.choices import Verdict
from annotation.core.formats import pandalm
from annotation.core.participants import rater_username
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSettings
from benchmark.core.in_memory_run import (
    AnnotatorLabels,
    InMemoryRun,
    Seeded,
    rehearse,
    seeded_accuracy,
    seeded_gain,
)
from benchmark.core.rivals import RIVALS
from benchmark.core.trust import BASE, PERSONAL, SELECTED, SHUFFLED, STACK, Condition
from judging.core.judge_prompts import EarlierTurn, PairTexts, pair_texts
from judging.core.rules import Combine
from sensejudge_site.benches import Bench, BenchFigure
from sensejudge_site.demo import SLUG
from sensejudge_site.demo.annotators import PERSONAS, Labeller, Persona, noise_free_choice
from sensejudge_site.demo.sessions import WrittenResponse, WrittenSession, written_sessions
from sensejudge_site.labelled_pairs import read_pandalm

SEEDS: Final = 60
FIRST: Final = 40
"""The first split: none from here on chose anything of the features or the preferences."""
_DRAWN_BY: Final = 42
_VOICES: Final[Mapping[str, Condition]] = {
    "base": BASE,
    "selected": SELECTED,
    "stack": STACK,
    "own": PERSONAL,
    "shuffled": SHUFFLED,
}
_PUBLISHED: Final[Mapping[str, tuple[float, float, float]]] = {
    "concise": (11.5, 86.4, 89.1),
    "structured": (44.4, 81.9, 80.5),
    "warm": (82.4, 85.3, 86.7),
}
"""Base, selected and stack on the default's splits when the base judge's head start was 1."""


def run(*, file: str = "", seeds: int = SEEDS, first: int = FIRST) -> Bench:
    """The figures of every persona, or of every annotator of a file; a minute or two.

    Raises:
        Refused: the file cannot be read.
    """
    splits = range(first, first + seeds)
    rehearsed = dict(_of_file(Path(file), splits) if file else _of_personas(splits))
    published = _PUBLISHED if splits == range(FIRST, FIRST + SEEDS) else {}
    figures = [
        figure
        for name, runs in rehearsed.items()
        for figure in _figures(name, runs, published.get(name, ()))
    ]
    if len(rehearsed) > 1:
        figures += _mean_gain(list(rehearsed.values()))
    return Bench(name="embedded", figures=tuple(figures))


def _mean_gain(rehearsed: Sequence[Sequence[InMemoryRun]]) -> Iterator[BenchFigure]:
    """The gain of what stands in over the base judge, of all annotators on a split together."""
    base, own = (
        [
            [row for run in runs for row in run.judged[voice]]
            for runs in zip(*rehearsed, strict=True)
        ]
        for voice in (BASE, PERSONAL)
    )
    yield from with_ends("all_own_gain_over_base", seeded_gain(base, own, seed=_DRAWN_BY))


def _of_file(path: Path, splits: Iterable[int]) -> Iterator[tuple[str, list[InMemoryRun]]]:
    try:
        pairs = read_pandalm(path)
    except Refused as error:
        raise Refused("bench:input", str(error)) from error
    for name, labels in pairs.labels.items():
        annotator = AnnotatorLabels(rater_username(pandalm.NAME, name), labels, labels)
        yield (
            name,
            [
                rehearse(
                    pairs.items,
                    pairs.texts,
                    annotator,
                    SplitSettings(seed=seed),
                    name="\x1f".join((pandalm.NAME, pandalm.SCENARIO)),
                )
                for seed in splits
            ],
        )


def _of_personas(splits: Iterable[int]) -> Iterator[tuple[str, list[InMemoryRun]]]:
    pairs = list(_demo_pairs())
    items = [
        SplitItem(number, pair.turn, pair.a.text, pair.b.text, pair.session.key, str(number))
        for number, pair in enumerate(pairs)
    ]
    texts = {number: pair.texts() for number, pair in enumerate(pairs)}
    for persona in _personas():
        truth = {
            number: noise_free_choice(persona, pair.a.text, pair.b.text)
            for number, pair in enumerate(pairs)
        }
        yield (
            persona.name,
            [
                rehearse(
                    items,
                    texts,
                    AnnotatorLabels(
                        rater_username(SLUG, persona.name), _labelled(persona, pairs, seed), truth
                    ),
                    SplitSettings(seed=seed),
                    name="\x1f".join((SLUG, "")),
                )
                for seed in splits
            ],
        )


def _personas() -> Iterator[Persona]:
    """Each with label noise alone, then those who also lean towards one place."""
    for persona in PERSONAS:
        yield replace(persona, pull=0.0)
        if persona.pull:
            yield replace(persona, name=f"{persona.name}_leaning")


@dataclass(frozen=True, slots=True)
class _DemoPair:
    """Two responses to the last message of a demo conversation."""

    turn: int
    session: WrittenSession
    a: WrittenResponse
    b: WrittenResponse

    def texts(self) -> PairTexts:
        *earlier, last = self.session.turns
        return pair_texts(
            system_prompt=self.session.system_prompt,
            earlier=[
                EarlierTurn(turn.user_message, reply.text, reply.text, same_reply=True)
                for turn, reply in zip(earlier, self.session.original_line(), strict=False)
            ],
            user_message=last.user_message,
            text_a=self.a.text,
            text_b=self.b.text,
            language=self.session.language,
        )


def _demo_pairs() -> Iterator[_DemoPair]:
    """Every two responses of every conversation, as the demo's labels have them."""
    for turn, session in enumerate(written_sessions()):
        for a, b in combinations(session.turns[-1].responses, 2):
            yield _DemoPair(turn, session, a, b)


def _labelled(persona: Persona, pairs: Sequence[_DemoPair], seed: int) -> dict[int, Verdict]:
    """One pass of the persona over all pairs, with its noise and its pull to the first place."""
    labeller = Labeller(persona, seed=seed)
    return {
        number: labeller.label(
            a=pair.a.text, b=pair.b.text, model_a=pair.a.model, model_b=pair.b.model
        ).verdict
        for number, pair in enumerate(pairs)
    }


def _figures(
    name: str, runs: Sequence[InMemoryRun], published: Sequence[float]
) -> Iterator[BenchFigure]:
    judged = {word: [each.judged[voice] for each in runs] for word, voice in _VOICES.items()}
    judged |= {word: [each.rivals[word] for each in runs] for word in RIVALS}
    selected, own = judged["selected"], judged["own"]
    yield BenchFigure(
        f"{name}_comparisons", seeded_accuracy(selected, seed=_DRAWN_BY, draws=1).comparisons
    )
    settled = dict(zip(judged, published, strict=False))
    for word, rows in judged.items():
        yield from with_ends(
            f"{name}_{word}", seeded_accuracy(rows, seed=_DRAWN_BY), settled.get(word)
        )
    for title, before, after in (
        ("gain_over_base", judged["base"], selected),
        ("stack_gain_over_base", judged["base"], judged["stack"]),
        ("own_gain_over_base", judged["base"], own),
        ("own_gain_over_shuffled", judged["shuffled"], own),
    ):
        yield from with_ends(f"{name}_{title}", seeded_gain(before, after, seed=_DRAWN_BY))
    for way in Combine:
        yield BenchFigure(
            f"{name}_splits_by_{way.value.lower()}", sum(each.stand_in is way for each in runs)
        )
    yield BenchFigure(
        f"{name}_doubtful_selections",
        sum(each.assessment is None or each.assessment.flagged for each in runs),
    )


def with_ends(name: str, found: Seeded, published: float | None = None) -> Iterator[BenchFigure]:
    """In percent; what nothing was measured of is left out."""
    if found.value is not None:
        yield BenchFigure(f"{name}_percent", found.value * 100, published)
    if found.interval is not None:
        yield BenchFigure(f"{name}_low_percent", found.interval.low * 100)
        yield BenchFigure(f"{name}_high_percent", found.interval.high * 100)
