"""The whole method with the embedded judge on comparisons in memory, over seeded splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, percentile_interval
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSettings, split
from benchmark.core.accuracy import Judged
from benchmark.core.trust import BASE, SELECTED, SHUFFLED, Condition
from judging.core.judge_prompts import PairTexts
from judging.core.lexical.distil import distil
from judging.core.lexical.pairwise import judge_pair
from judging.core.matrix import AGGREGATE, ColumnSource
from judging.core.questions import ShownPair
from judging.core.runs import ORDERS
from judging.core.selection import Assessment, assess
from judging.core.votes import MemberVerdict, correctness_matrix, score, shuffled_winners, vote

Labels = Mapping[int, Verdict]
"""Verdicts by comparison id, ties included."""
Winners = Sequence[tuple[int, Verdict]]


@dataclass(frozen=True, slots=True)
class AnnotatorLabels:
    """Whose labels are learned, and what they are measured against.

    `name` is the user's (`<dataset>:<name>`): it draws the coins of the shuffled control. `truth`
    is known for simulated annotators alone; for people it is their own labels.
    """

    name: str
    labels: Labels
    truth: Labels


@dataclass(frozen=True, slots=True)
class InMemoryRun:
    """What was selected on one dev part, and every decision on the test part, by voice.

    `preferences` are the selected texts, "" the base judge's; `assessment` is None where nothing
    could be selected, which leaves the base judge alone.
    """

    preferences: tuple[str, ...]
    assessment: Assessment | None
    judged: Mapping[Condition, tuple[Judged, ...]]


def rehearse(
    items: Sequence[SplitItem],
    texts: Mapping[int, PairTexts],
    annotator: AnnotatorLabels,
    settings: SplitSettings,
) -> InMemoryRun:
    """Splits, distils, judges dev, selects with masking, and applies the set to the test part.

    Args:
        items: one scenario's comparisons in file order.
        texts: what a judge is shown of each of them.
        annotator: whose labels; only those with a winner are learned from or measured against.
        settings: of the split; its seed also draws the control's coins.
    """
    parts = split(items, settings)
    dev = _winners(parts.dev, annotator.labels)
    coins = "\x1f".join((settings.dataset, settings.scenario, annotator.name))
    learned = _Learned.of(dev, texts, seed=settings.seed)
    control = _Learned.of(
        shuffled_winners(dev, seed=settings.seed, name=coins), texts, seed=settings.seed
    )
    sets = {BASE: ("",), SELECTED: learned.members, SHUFFLED: control.members}
    test = _winners(parts.test, annotator.truth)
    return InMemoryRun(
        preferences=learned.members,
        assessment=learned.assessment,
        judged={voice: tuple(_applied(test, texts, members)) for voice, members in sets.items()},
    )


@dataclass(frozen=True, slots=True)
class _Learned:
    """A selected set, with the evidence for it."""

    members: tuple[str, ...]
    assessment: Assessment | None

    @classmethod
    def of(cls, dev: Winners, texts: Mapping[int, PairTexts], *, seed: int) -> _Learned:
        """The columns are the base judge, a preference a pair, and the aggregate."""
        if not dev:
            return cls(("",), None)
        pairs = [texts[key].labelled(winner) for key, winner in dev]
        languages = Counter(texts[key].language for key, _ in dev)
        language = languages.most_common(1)[0][0]
        columns = [
            "",
            *(distil([pair], language=language) for pair in pairs),
            distil(pairs, language=language),
        ]
        sources: list[ColumnSource] = [None, *range(len(dev)), AGGREGATE]
        matrix = correctness_matrix(
            winners=dev,
            columns=list(enumerate(sources)),
            verdicts={
                (key, place, order): _verdict(texts[key], order, text)
                for key, _ in dev
                for place, text in enumerate(columns)
                for order in ORDERS
            },
        )
        try:
            found = assess(matrix, seed=seed)
        except Refused:  # every pair is a tie under every column
            return cls(("",), None)
        return cls(tuple(columns[place] for place in found.selection.selected[0]), found)


def _winners(keys: Sequence[int], labels: Labels) -> Winners:
    given = [(key, labels[key]) for key in keys if key in labels]
    return tuple((key, verdict) for key, verdict in given if verdict is not Verdict.TIE)


def _verdict(texts: PairTexts, order: Order, preference: str) -> Verdict:
    """The judge's verdict in the comparison's own coordinates."""
    swapped = order is Order.SWAPPED
    first, second = (texts.text_b, texts.text_a) if swapped else (texts.text_a, texts.text_b)
    said = judge_pair(ShownPair(texts.dialogue, first, second), preference=preference)
    verdict = cast("Verdict", said.verdict)  # the embedded judge always has one
    return verdict.flipped() if swapped else verdict


def _applied(
    test: Winners, texts: Mapping[int, PairTexts], members: Sequence[str]
) -> Iterator[Judged]:
    for key, truth in test:
        decisions = {
            order: vote(
                [MemberVerdict(_verdict(texts[key], order, text)) for text in members], order=order
            ).winner
            for order in ORDERS
        }
        yield Judged(key, truth, decisions)


Floats = NDArray[np.float64]
Runs = Sequence[Sequence[Judged]]
"""One sequence of judged comparisons a split; keys tell comparisons apart across splits."""


@dataclass(frozen=True, slots=True)
class Seeded:
    """A share or a difference of shares over splits; None where nothing is scored."""

    value: float | None
    interval: Interval | None
    splits: int
    comparisons: int


def seeded_accuracy(runs: Runs, *, seed: int, draws: int = DEFAULT_DRAWS) -> Seeded:
    """Share of decisions that name the human's winner, orders, comparisons and splits pooled."""
    return _measured([runs], lambda shares: shares[0], seed=seed, draws=draws)


def seeded_gain(before: Runs, after: Runs, *, seed: int, draws: int = DEFAULT_DRAWS) -> Seeded:
    """How much more often `after` is right, paired: a draw holds the same for both."""
    return _measured([before, after], lambda shares: shares[1] - shares[0], seed=seed, draws=draws)


def _measured(
    sides: Sequence[Runs], figure: Callable[[Floats], Floats], *, seed: int, draws: int
) -> Seeded:
    """The figure of the sides' pooled shares, a row of shares a side."""
    keys = sorted({row.key for runs in sides for rows in runs for row in rows})
    place = {key: number for number, key in enumerate(keys)}
    tables = np.stack([_stakes(runs, place) for runs in sides])
    splits = tables.shape[1]
    if not tables[..., 1].any():
        return Seeded(None, None, splits, 0)
    rng = np.random.default_rng(seed)
    of_splits = rng.multinomial(splits, np.full(splits, 1 / splits), size=draws)
    of_keys = rng.multinomial(len(keys), np.full(len(keys), 1 / len(keys)), size=draws)

    def shares(splits_drawn: Floats, keys_drawn: Floats) -> Floats:
        sums = np.einsum("ds,ascx,dc->adx", splits_drawn, tables, keys_drawn, optimize=True)
        with np.errstate(invalid="ignore"):  # a draw may hold nothing that is scored
            return np.asarray(sums[..., 0] / sums[..., 1])

    once = shares(np.ones((1, splits)), np.ones((1, len(keys))))
    drawn = shares(of_splits.astype(np.float64), of_keys.astype(np.float64))
    return Seeded(
        value=float(figure(once)[0]),
        interval=percentile_interval(figure(drawn)),
        splits=splits,
        comparisons=int(tables[..., 1].any(axis=(0, 1)).sum()),
    )


def _stakes(runs: Runs, place: dict[int, int]) -> Floats:
    """Points earned and points at stake (splits, comparisons, 2); what nobody read is left out."""
    table = np.zeros((len(runs), len(place), 2))
    for number, rows in enumerate(runs):
        for row in rows:
            if row.human is Verdict.TIE:
                continue
            for winner in row.decisions.values():
                earned = score(winner, truth=row.human)
                if earned is not None:
                    table[number, place[row.key]] += (earned, 1.0)
    return table
