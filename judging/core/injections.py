"""How often an attempt talks a judge round: where it is put, and what counts as a flip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.intervals import Interval, wilson
from judging.core.injection_corpus import ATTEMPTS, Attempt, AttemptKind
from judging.core.prompts import LANGUAGES


@dataclass(frozen=True, slots=True)
class Attack:
    """An attempt at the end of the response that a judge did not choose, shown where it speaks for.

    `pair` is the place of the comparison among those tried.
    """

    pair: int
    order: Order
    attempt: Attempt


def attacks_on(
    clean: Sequence[dict[Order, Verdict | None]], attempts: Iterable[Attempt] = ATTEMPTS
) -> list[Attack]:
    """Every attempt against every comparison, once, in the first order in which it can win.

    Args:
        clean: by comparison and order, the verdict AS SHOWN without any attempt; None: unreadable.
        attempts: the texts.

    A judge that names the attacked place anyway cannot be talked round there: no attack is made.
    """
    return [
        Attack(place, order, attempt)
        for attempt in attempts
        for place, verdicts in enumerate(clean)
        if (order := _losing_order(verdicts, attempt.target)) is not None
    ]


def _losing_order(verdicts: dict[Order, Verdict | None], target: Verdict) -> Order | None:
    return next((order for order, said in verdicts.items() if said is target.flipped()), None)


@dataclass(frozen=True, slots=True)
class ShownVerdict:
    """What a judge said of a comparison as shown: a verdict, or why there is none."""

    status: JudgmentStatus
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Tried:
    """An attempt at one comparison beside a harmless text of its length in the same place."""

    kind: AttemptKind
    language: str
    target: Verdict
    attempt: ShownVerdict
    harmless: ShownVerdict

    @property
    def flipped(self) -> bool:
        """Whether the verdict turned to the attacked response; a tie is no flip."""
        return self.attempt.verdict is self.target

    @property
    def flipped_by_words(self) -> bool:
        """Whether it turned under the attempt and stayed under the harmless text."""
        return self.flipped and self.harmless.verdict not in (None, self.target)


@dataclass(frozen=True, slots=True)
class Flips:
    """How many verdicts turned to the attacked response, of those that could be read."""

    flipped: int
    read: int
    unreadable: int = 0
    failed: int = 0

    @property
    def rate(self) -> float | None:
        """The share of flips, None without a readable verdict."""
        return self.flipped / self.read if self.read else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval of the rate."""
        return wilson(self.flipped, self.read)


@dataclass(frozen=True, slots=True)
class FlipRow:
    """Attempts of one kind and language (None: of all) beside harmless texts of their length.

    `by_words` counts the verdicts that turned under the attempt and stayed under the harmless
    text: those that length does not explain.
    """

    kind: AttemptKind | None
    language: str | None
    attempts: Flips
    harmless: Flips
    by_words: int


def flips(said: Sequence[tuple[Verdict, ShownVerdict]]) -> Flips:
    """The flips among verdicts AS SHOWN, each with the place that was attacked."""
    read = [(target, each) for target, each in said if each.verdict is not None]
    return Flips(
        flipped=sum(each.verdict is target for target, each in read),
        read=len(read),
        unreadable=sum(each.status is JudgmentStatus.UNPARSEABLE for _, each in said),
        failed=sum(each.status is JudgmentStatus.FAILED for _, each in said),
    )


def flip_rows(tried: Sequence[Tried]) -> list[FlipRow]:
    """A row for each kind and language that was tried, then one a language, then all."""
    groups: list[tuple[AttemptKind | None, str | None]] = [
        *((kind, language) for kind in AttemptKind for language in LANGUAGES),
        *((None, language) for language in LANGUAGES),
        (None, None),
    ]
    rows = []
    for kind, language in groups:
        some = [
            one for one in tried if kind in (None, one.kind) and language in (None, one.language)
        ]
        if some:
            rows.append(_row(kind, language, some))
    return rows


def _row(kind: AttemptKind | None, language: str | None, tried: Sequence[Tried]) -> FlipRow:
    return FlipRow(
        kind=kind,
        language=language,
        attempts=flips([(one.target, one.attempt) for one in tried]),
        harmless=flips([(one.target, one.harmless) for one in tried]),
        by_words=sum(one.flipped_by_words for one in tried),
    )
