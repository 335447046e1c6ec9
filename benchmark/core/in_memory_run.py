"""The whole method with the embedded judge on comparisons in memory, over seeded splits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from numpy.typing import NDArray

from annotation.core.choices import Order, Verdict
from annotation.core.intervals import DEFAULT_DRAWS, Interval, Units, percentile_interval
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSettings, split
from benchmark.core.accuracy import Judged, unit_of
from benchmark.core.rivals import RIVALS
from benchmark.core.trust import BASE, PERSONAL, SELECTED, SHUFFLED, STACK, Condition
from judging.core.judge_prompts import PairTexts
from judging.core.lexical.distil import distil
from judging.core.lexical.pairwise import judge_pair
from judging.core.lexical.stack import held_out_by_stack, judge_by_stack, stack_text
from judging.core.matrix import AGGREGATE, ColumnSource
from judging.core.questions import ShownPair
from judging.core.rules import Combine
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

    `preferences` are the texts in use: the selected ones, or "", the base judge's, where those are
    not better by enough on pairs held out. `assessment` is None where nothing could be selected.
    `stand_in` is whose decisions PERSONAL's are; the control's are the same way's from shuffled
    labels. `rivals` are rules that the same dev part taught, by name.
    """

    preferences: tuple[str, ...]
    assessment: Assessment | None
    stand_in: Combine
    judged: Mapping[Condition, tuple[Judged, ...]]
    rivals: Mapping[str, tuple[Judged, ...]]


def rehearse(
    items: Sequence[SplitItem],
    texts: Mapping[int, PairTexts],
    annotator: AnnotatorLabels,
    settings: SplitSettings,
    *,
    name: str,
) -> InMemoryRun:
    """Splits, distils, judges dev, selects with masking, and applies all to the test part.

    Args:
        items: one scenario's comparisons in file order.
        texts: what a judge is shown of each of them.
        annotator: whose labels; only those with a winner are learned from or measured against.
        settings: of the split; its seed also draws the control's labels.
        name: of dataset and scenario; it draws them too.
    """
    labelled = {key for key, verdict in annotator.labels.items() if verdict is not Verdict.TIE}
    parts = split(items, settings, winners=labelled)
    dev = _winners(parts.dev, annotator.labels)
    coins = "\x1f".join((name, annotator.name))
    learned = _Learned.of(dev, texts, seed=settings.seed)
    control = _Learned.of(
        shuffled_winners(dev, seed=settings.seed, name=coins), texts, seed=settings.seed
    )
    test, sessions = _winners(parts.test, annotator.truth), _sessions(items)
    pairs = [texts[key].labelled(winner) for key, winner in dev]
    on_test = _OnTest(test, texts, sessions)
    base = on_test.under(("",))
    ways = {
        Combine.BASE: base,
        Combine.STACK: on_test.stacked(learned.stack),
        Combine.SUBSET: on_test.under(learned.used),
    }
    controls = {
        Combine.BASE: lambda: base,
        Combine.STACK: lambda: on_test.stacked(control.stack),
        Combine.SUBSET: lambda: on_test.under(control.members),
    }
    return InMemoryRun(
        preferences=learned.used,
        assessment=learned.assessment,
        stand_in=learned.stand_in,
        judged={
            BASE: base,
            SELECTED: ways[Combine.SUBSET],
            STACK: ways[Combine.STACK],
            PERSONAL: ways[learned.stand_in],
            SHUFFLED: controls[learned.stand_in](),
        },
        rivals={name: on_test.by(learn(pairs)) for name, learn in RIVALS.items()},
    )


def _sessions(items: Sequence[SplitItem]) -> dict[int, int]:
    """By comparison, its session as a number."""
    numbers = {item.session: place for place, item in enumerate(items)}
    return {item.comparison_id: numbers[item.session] for item in items}


@dataclass(frozen=True, slots=True)
class _Learned:
    """A selected set with the evidence for it, the weighted vote in words, and which stands in."""

    members: tuple[str, ...]
    assessment: Assessment | None
    stack: str
    stand_in: Combine

    @property
    def used(self) -> tuple[str, ...]:
        """The set, or the base judge where it does not exceed that by enough."""
        beats = self.assessment is not None and self.assessment.beats_base
        return self.members if beats else ("",)

    @classmethod
    def of(cls, dev: Winners, texts: Mapping[int, PairTexts], *, seed: int) -> _Learned:
        """The columns are the base judge, a preference a pair, and the aggregate."""
        pairs = [texts[key].labelled(winner) for key, winner in dev]
        language = _language(dev, texts)
        stack = stack_text(pairs, language=language)
        if not dev:
            return cls(("",), None, stack, Combine.BASE)
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
            return cls(("",), None, stack, Combine.BASE)
        chosen = found.stand_in(held_out_by_stack(pairs, language=language))
        members = tuple(columns[place] for place in found.selection.selected[0])
        return cls(members, found, stack, chosen.choice)


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


def _shown(texts: PairTexts) -> ShownPair:
    return ShownPair(texts.dialogue, texts.text_a, texts.text_b)


def _language(dev: Winners, texts: Mapping[int, PairTexts]) -> str:
    languages = Counter(texts[key].language for key, _ in dev)
    return next((language for language, _ in languages.most_common(1)), "en")


@dataclass(frozen=True, slots=True)
class _OnTest:
    """The test part, to be decided in several ways."""

    test: Winners
    texts: Mapping[int, PairTexts]
    sessions: Mapping[int, int]

    def under(self, members: Sequence[str]) -> tuple[Judged, ...]:
        """By the vote of some preferences, an order at a time."""
        return tuple(
            self._judged(
                key,
                truth,
                {
                    order: vote(
                        [MemberVerdict(_verdict(self.texts[key], order, text)) for text in members],
                        order=order,
                    ).winner
                    for order in ORDERS
                },
            )
            for key, truth in self.test
        )

    def stacked(self, stack: str) -> tuple[Judged, ...]:
        """By a weighted vote."""
        return self.by(lambda pair: judge_by_stack(pair, text=stack).verdict)

    def by(self, rule: Callable[[ShownPair], Verdict | None]) -> tuple[Judged, ...]:
        """By a rule that has one verdict for both orders."""
        return tuple(
            self._judged(key, truth, dict.fromkeys(ORDERS, rule(_shown(self.texts[key]))))
            for key, truth in self.test
        )

    def _judged(
        self, key: int, truth: Verdict, decisions: Mapping[Order, Verdict | None]
    ) -> Judged:
        return Judged(key, truth, decisions, session=self.sessions[key])


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
    """Share of decisions that name the human's winner, orders, sessions and splits pooled."""
    return _measured([runs], lambda shares: shares[0], seed=seed, draws=draws)


def seeded_gain(before: Runs, after: Runs, *, seed: int, draws: int = DEFAULT_DRAWS) -> Seeded:
    """How much more often `after` is right, paired: a draw holds the same for both."""
    return _measured([before, after], lambda shares: shares[1] - shares[0], seed=seed, draws=draws)


def _measured(
    sides: Sequence[Runs], figure: Callable[[Floats], Floats], *, seed: int, draws: int
) -> Seeded:
    """The figure of the sides' pooled shares, a row of shares a side."""
    told = {row.key: row for runs in sides for rows in runs for row in rows}
    place = _units(told)
    units = len(set(place.values()))
    tables = np.stack([_stakes(runs, place, units) for runs in sides])
    splits = tables.shape[1]
    if not tables[..., 1].any():
        return Seeded(None, None, splits, 0)
    rng = np.random.default_rng(seed)
    of_splits = rng.multinomial(splits, np.full(splits, 1 / splits), size=draws)
    of_units = rng.multinomial(units, np.full(units, 1 / units), size=draws)

    def shares(splits_drawn: Floats, units_drawn: Floats) -> Floats:
        sums = np.einsum("ds,asux,du->adx", splits_drawn, tables, units_drawn, optimize=True)
        with np.errstate(invalid="ignore"):  # a draw may hold nothing that is scored
            return np.asarray(sums[..., 0] / sums[..., 1])

    once = shares(np.ones((1, splits)), np.ones((1, units)))
    drawn = shares(of_splits.astype(np.float64), of_units.astype(np.float64))
    scored = Units.of(tables[..., 1].sum(axis=(0, 1)))
    return Seeded(
        value=float(figure(once)[0]),
        interval=percentile_interval(figure(drawn), units=scored),
        splits=splits,
        comparisons=len(
            {row.key for runs in sides for rows in runs for row in rows if _counts(row)}
        ),
    )


def _counts(row: Judged) -> bool:
    return row.human is not Verdict.TIE and any(row.decisions.values())


def _units(told: Mapping[int, Judged]) -> dict[int, int]:
    """By comparison, the number of its session, in the order of the comparisons."""
    numbers: dict[int, int] = {}
    units = {key: unit_of(told[key].session, key) for key in sorted(told)}
    return {key: numbers.setdefault(unit, len(numbers)) for key, unit in units.items()}


def _stakes(runs: Runs, place: Mapping[int, int], units: int) -> Floats:
    """Points earned and points at stake (splits, sessions, 2); what nobody read is left out."""
    table = np.zeros((len(runs), units, 2))
    for number, rows in enumerate(runs):
        for row in rows:
            if row.human is Verdict.TIE:
                continue
            for winner in row.decisions.values():
                earned = score(winner, truth=row.human)
                if earned is not None:
                    table[number, place[row.key]] += (earned, 1.0)
    return table
