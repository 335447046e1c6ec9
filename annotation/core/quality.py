"""How carefully annotators answer a study: gold items, hidden repeats, position, time.

A figure is a share: of the answers it is about, so many hit. The same rows stand behind the figure,
its page of rows and the rule that pauses an annotator, so they can never tell different stories.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, TypeVar

from annotation.core.choices import LabelledEnum, Order, Verdict
from annotation.core.intervals import Interval, independent_share
from annotation.core.labelling import Answer, answer_of
from annotation.core.refusals import gettext_noop

Item = TypeVar("Item", bound=Hashable)
Said = TypeVar("Said")

PRECEDENCE: Final = ("MANAGER", "ADJUDICATION", "DATASET")
"""Sources of gold answers: a manager's own word holds, then a decision on what annotators disagreed
about, then what the dataset came with."""


def holding(answers: Iterable[tuple[Item, str, Said]]) -> dict[Item, Said]:
    """The answer that holds for each item, of (item, source, answer)."""
    ranked = sorted(answers, key=lambda each: -PRECEDENCE.index(each[1]))
    return {item: said for item, _source, said in ranked}


NEAR: Final = 1
"""Two scores of 1-5 no further apart than this are near."""

FAST_PAIR_SECONDS: Final = 3.0
"""Nobody reads two responses in that time; a pair answered in less counts as too fast."""

FAST_REPLY_SECONDS: Final = 1.0
"""The same for the rating of one reply, read while the conversation is."""


FAST_SHARE: Final = 0.25
"""Largest share of fast answers, 0..1, that needs no attention if the study sets none."""


class QualityMeasure(LabelledEnum):
    """What is counted; hits are named in brackets."""

    GOLD = "gold", gettext_noop("Gold items")  # gold items (right; of scores, at most 1 off)
    GOLD_EXACT = (
        "gold-exact",
        gettext_noop("Gold items, exact score"),
    )  # gold scores (the very score)
    REPEATS = (
        "repeats",
        gettext_noop("Hidden repeats"),
    )  # hidden repeats (answered alike; of scores, at most 1 off)
    REPEATS_EXACT = (
        "repeats-exact",
        gettext_noop("Hidden repeats, exact score"),
    )  # repeated scores (the very score)
    POSITION = (
        "position",
        gettext_noop("Position of the winner"),
    )  # first answers with a winner and a known order (the first shown won)
    FAST = (
        "fast",
        gettext_noop("Answer times"),
    )  # answers whose time was measured (faster than anybody reads)
    FLAGS = "flags", gettext_noop("Reported problems")  # answers (flagged)
    ANSWERS = "answers", gettext_noop("First answers")  # first answers (all of them)


class UndefinedFigure(LabelledEnum):
    """Why a figure has no value."""

    NO_GOLD = "NO_GOLD", gettext_noop("no answers yet")
    NO_REPEATS = "NO_REPEATS", gettext_noop("no answers yet")
    NO_WINNER = "NO_WINNER", gettext_noop("no answers with a known winner")
    NOT_MEASURED = "NOT_MEASURED", gettext_noop("not measured")
    NO_ANSWERS = "NO_ANSWERS", gettext_noop("no answers yet")


_REASONS: Final = {
    QualityMeasure.GOLD: UndefinedFigure.NO_GOLD,
    QualityMeasure.GOLD_EXACT: UndefinedFigure.NO_GOLD,
    QualityMeasure.REPEATS: UndefinedFigure.NO_REPEATS,
    QualityMeasure.REPEATS_EXACT: UndefinedFigure.NO_REPEATS,
    QualityMeasure.POSITION: UndefinedFigure.NO_WINNER,
    QualityMeasure.FAST: UndefinedFigure.NOT_MEASURED,
    QualityMeasure.FLAGS: UndefinedFigure.NO_ANSWERS,
    QualityMeasure.ANSWERS: UndefinedFigure.NO_ANSWERS,
}

_REPEATED: Final = {QualityMeasure.REPEATS, QualityMeasure.REPEATS_EXACT}


@dataclass(frozen=True, slots=True)
class Answered:
    """One stored answer.

    Attributes:
        label: The label's number.
        annotator: Who gave it.
        target: Number of the comparison or the response.
        value: The verdict in the comparison's own coordinates, or the score.
        repeat: 0 for the first answer, n for the n-th hidden repeat.
        shown: The presentation order of a pair, where known.
        seconds: Active time, where measured.
        flagged: Whether the annotator flagged it.
    """

    label: int
    annotator: int
    target: int
    value: Verdict | int
    repeat: int = 0
    shown: Order | None = None
    seconds: float | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True)
class Measured:
    """An answer that counts for a figure.

    `hit` tells whether it is one; `against` is the gold answer or the first one, where it is
    compared with one.
    """

    answer: Answered
    hit: bool
    against: Verdict | int | None = None


@dataclass(frozen=True, slots=True)
class HitShare:
    """Hits of so many answers, with Wilson's interval (of ten or more); or why there is no share.

    `chance` is the share to be expected by chance, where that has a meaning; of several annotators
    the mean of their own, by how much each answered.
    """

    hits: int
    answers: int
    interval: Interval | None
    undefined: UndefinedFigure | None
    chance: float | None = None

    @property
    def value(self) -> float | None:
        """The share of 0-1; None where nothing was answered."""
        return self.hits / self.answers if self.answers else None

    @property
    def bias(self) -> float | None:
        """How far the share is from one half: of POSITION the position bias."""
        return None if self.value is None else self.value - 0.5

    @property
    def bias_interval(self) -> Interval | None:
        """The interval of `bias`."""
        if self.interval is None:
            return None
        return Interval(self.interval.low - 0.5, self.interval.high - 0.5, self.interval.level)


@dataclass(frozen=True, slots=True)
class Quality:
    """The figures of one annotator, or of all together.

    Attributes:
        shares: By figure; the exact ones only of scores, POSITION only of verdicts.
        seconds: Median active seconds of an answer; None where none was measured.
        measured: Answers whose time was measured.
    """

    shares: Mapping[QualityMeasure, HitShare]
    seconds: float | None
    measured: int

    def share(self, figure: QualityMeasure) -> HitShare:
        """One of the figures."""
        return self.shares[figure]


@dataclass(frozen=True, slots=True)
class Yardstick:
    """What answers are measured by: gold answers by target, and from which time on one is slow."""

    gold: Mapping[int, Verdict | int]
    fast_seconds: float


def figures_of(*, verdicts: bool) -> tuple[QualityMeasure, ...]:
    """The figures of a study of verdicts, or of one of scores."""
    leave_out = (
        {QualityMeasure.GOLD_EXACT, QualityMeasure.REPEATS_EXACT}
        if verdicts
        else {QualityMeasure.POSITION}
    )
    return tuple(figure for figure in QualityMeasure if figure not in leave_out)


def measured(
    answers: Iterable[Answered], figure: QualityMeasure, yardstick: Yardstick
) -> list[Measured]:
    """The answers that count for a figure, in the order given.

    A repeat counts where its annotator's first answer is among the answers.
    """
    given = list(answers)
    if figure in {QualityMeasure.GOLD, QualityMeasure.GOLD_EXACT}:
        return [
            Measured(each, _alike(each.value, said, figure), said)
            for each in given
            if not each.repeat and (said := yardstick.gold.get(each.target)) is not None
        ]
    if figure in _REPEATED:
        firsts = {(each.annotator, each.target): each.value for each in given if not each.repeat}
        return [
            Measured(each, _alike(each.value, said, figure), said)
            for each in given
            if each.repeat and (said := firsts.get((each.annotator, each.target))) is not None
        ]
    if figure is QualityMeasure.POSITION:
        return _by_position(given)
    if figure is QualityMeasure.FAST:
        return [
            Measured(each, each.seconds < yardstick.fast_seconds)
            for each in given
            if each.seconds is not None
        ]
    if figure is QualityMeasure.FLAGS:
        return [Measured(each, each.flagged) for each in given]
    return [Measured(each, hit=True) for each in given if not each.repeat]


def is_right(value: Verdict | int, gold: Verdict | int) -> bool:
    """Whether an answer counts as right by a gold answer: the same verdict, or a score near it."""
    return _alike(value, gold, QualityMeasure.GOLD)


def _alike(value: Verdict | int, said: Verdict | int, figure: QualityMeasure) -> bool:
    """Whether two answers are the same; of scores, near is enough where the figure is not exact."""
    if isinstance(value, Verdict) or isinstance(said, Verdict):
        return value == said
    near = 0 if figure in {QualityMeasure.GOLD_EXACT, QualityMeasure.REPEATS_EXACT} else NEAR
    return abs(value - said) <= near


def _by_position(answers: Iterable[Answered]) -> list[Measured]:
    found = []
    for each in answers:
        if each.repeat or each.shown is None or not isinstance(each.value, Verdict):
            continue
        shown = answer_of(each.value, each.shown)
        if shown is not Answer.TIE:
            found.append(Measured(each, shown is Answer.FIRST))
    return found


def quality_of(answers: Sequence[Answered], yardstick: Yardstick, *, verdicts: bool) -> Quality:
    """The figures of these answers, of one annotator or of several together."""
    return qualities(answers, yardstick, verdicts=verdicts)[0]


def qualities(
    answers: Sequence[Answered], yardstick: Yardstick, *, verdicts: bool
) -> tuple[Quality, dict[int, Quality]]:
    """The figures of everybody together, and of each annotator who answered."""
    own: dict[int, list[Answered]] = {}
    for each in answers:
        own.setdefault(each.annotator, []).append(each)
    shares: dict[int, dict[QualityMeasure, HitShare]] = {annotator: {} for annotator in own}
    pooled: dict[QualityMeasure, HitShare] = {}
    said = {
        annotator: Counter(each.value for each in given if not each.repeat)
        for annotator, given in own.items()
    }
    for figure in figures_of(verdicts=verdicts):
        counts: Counter[int] = Counter()
        hits: Counter[int] = Counter()
        for row in measured(answers, figure, yardstick):
            counts[row.answer.annotator] += 1
            hits[row.answer.annotator] += row.hit
        for annotator, found in shares.items():
            n = counts[annotator]
            chance = chance_alike(said[annotator], figure) if n and figure in _REPEATED else None
            found[figure] = _share(hits[annotator], n, figure, chance)
        expected = _expected(found[figure] for found in shares.values())
        pooled[figure] = _share(hits.total(), counts.total(), figure, expected)
    return (
        _quality(pooled, answers),
        {annotator: _quality(found, own[annotator]) for annotator, found in shares.items()},
    )


def _quality(shares: Mapping[QualityMeasure, HitShare], answers: Iterable[Answered]) -> Quality:
    seconds = [each.seconds for each in answers if each.seconds is not None]
    return Quality(shares, median(seconds) if seconds else None, len(seconds))


def _share(hits: int, answers: int, figure: QualityMeasure, chance: float | None) -> HitShare:
    return HitShare(
        hits=hits,
        answers=answers,
        interval=independent_share(hits, answers),
        undefined=None if answers else _REASONS[figure],
        chance=chance,
    )


def _expected(shares: Iterable[HitShare]) -> float | None:
    """The share of all answers that chance alone would give: each annotator's own for each.

    Two people who always say the same, but not the same as each other, are as consistent as chance.
    """
    own = [(share.chance, share.answers) for share in shares if share.chance is not None]
    if not own:
        return None
    first = own[0][0]  # from which the others differ: equal chances stay as they are, to the bit
    answers = sum(number for _, number in own)
    return first + sum((chance - first) * number for chance, number in own) / answers


def chance_alike(firsts: Mapping[Verdict | int, int], figure: QualityMeasure) -> float:
    """How often two answers are alike that are drawn, one apart from the other, from first answers.

    An annotator who answers without looking, but as often in each way as they do, is as consistent
    as that.

    Args:
        firsts: How often each answer was given; not empty.
        figure: Which says what is alike.
    """
    pairs = sum(
        one * other
        for value, one in firsts.items()
        for said, other in firsts.items()
        if _alike(value, said, figure)
    )
    return pairs / sum(firsts.values()) ** 2


@dataclass(frozen=True, slots=True)
class PauseRule:
    """An annotator is paused below this share of hits, once there are so many answers."""

    below: float
    after: int

    def is_broken(self, rows: Sequence[Measured]) -> bool:
        """Whether these answers are enough, and too few of them hit."""
        return len(rows) >= self.after and sum(row.hit for row in rows) / len(rows) < self.below


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule of a study that an annotator breaks.

    Attributes:
        measure: GOLD or REPEATS, whose share of hits is too low, or FAST, whose share is too high.
        hits: So many of the `answers` that it is about hit.
        limit: The share of the rule.
    """

    measure: QualityMeasure
    hits: int
    answers: int
    limit: float

    @property
    def value(self) -> float:
        """The share of hits."""
        return self.hits / self.answers


def broken_rules(
    counts: Mapping[QualityMeasure, tuple[int, int]],
    limits: Mapping[QualityMeasure, float | None],
    *,
    after: int,
) -> tuple[BrokenRule, ...]:
    """Returns the rules that an annotator breaks.

    Args:
        counts: Hits and answers, by measure.
        limits: The rules of the study; None for a rule that is off.
        after: Answers before a rule counts.
    """
    found = []
    for measure, limit in limits.items():
        hits, answers = counts.get(measure, (0, 0))
        if limit is None or answers < after:
            continue
        broken = BrokenRule(measure, hits, answers, limit)
        is_high = measure is QualityMeasure.FAST
        if broken.value > limit if is_high else broken.value < limit:
            found.append(broken)
    return tuple(found)
