"""What the pages of studies show: a list, one study's progress, its items."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from annotation.core.assignment import Progress, lease_end
from annotation.core.choices import StudyKind
from annotation.core.hidden_items import Rates
from annotation.core.labelling import Rules
from annotation.core.participants import natural_key
from annotation.core.quality import FAST_SHARE, BrokenRule
from annotation.core.study_items import EVERYTHING, ItemChoice
from annotation.core.study_progress import AnnotatorStatus, Facts, TimeLeft, is_active


class HeldPhase(StrEnum):
    """Where an item stands that is with somebody."""

    RUNNING = "RUNNING"
    LAPSED = "LAPSED"
    RESERVED = "RESERVED"


def held_phase(*, until: datetime, now: datetime, lease_minutes: int) -> HeldPhase:
    """Where an item stands whose lease ends then.

    No page can hold an item for longer than a lease: a longer one was made by a manager, and lasts
    until the annotator opens the item.
    """
    if until <= now:
        return HeldPhase.LAPSED
    return HeldPhase.RESERVED if until > lease_end(now, lease_minutes) else HeldPhase.RUNNING


@dataclass(frozen=True, slots=True)
class MyStudy:
    """One of an annotator's studies, with how far they are; `dataset` is its short name.

    `answers_needed` are the answers that the code needs.

    `open` says whether it gives them items; `closed` that it is over; `paused` that they are paused
    in it and it is not over; `withheld` that what they answered there is kept from them until the
    study is closed. `contact` is whom they may ask; `completion` the code or address that they are
    shown in the end; `paid` that their invitation has one; `skips` the skipped items, newest first,
    that keep them from it.
    """

    rules: Rules
    dataset: str
    open: bool
    progress: Progress
    closed: bool = False
    paused: bool = False
    withheld: bool = False
    contact: str = ""
    completion: str = ""
    paid: bool = False
    skips: Sequence[int] = ()
    answers_needed: int = 1


@dataclass(frozen=True, slots=True)
class StudyRow:
    """One study in a manager's list.

    Attributes:
        slug: Short name, in addresses.
        name: Shown name.
        kind: What is asked.
        status: One of the stored words of `StudyStatus`.
        dataset: The dataset's shown name.
        simulated: Whether the dataset's labels were given by no person.
        annotators: How many people are in it.
        items: How many comparisons or sessions it holds.
        overlap: Annotators wanted for each item.
        done: Answers given, of `wanted`.
        created: When it was made.
    """

    slug: str
    name: str
    kind: StudyKind
    status: str
    dataset: str
    simulated: bool
    annotators: int
    items: int
    overlap: int
    done: int
    created: datetime

    @property
    def wanted(self) -> int:
        """Answers the study is to have in the end."""
        return self.items * self.overlap

    @property
    def share(self) -> float:
        """Answers given of those wanted, 0-1; 0 of a study without items."""
        return self.done / self.wanted if self.wanted else 0.0


class StudySort(StrEnum):
    """The orders of a list of studies."""

    NEWEST = "newest"
    NAME = "name"
    PROGRESS = "progress"
    ANNOTATORS = "annotators"


def sorted_studies(rows: Iterable[StudyRow], sort: StudySort) -> list[StudyRow]:
    """The studies in an order; of equals the newer first."""
    newest = sorted(rows, key=lambda row: row.created, reverse=True)
    if sort is StudySort.NAME:
        return sorted(newest, key=lambda row: natural_key(row.name.casefold()))
    if sort is StudySort.PROGRESS:
        return sorted(newest, key=lambda row: -row.share)
    if sort is StudySort.ANNOTATORS:
        return sorted(newest, key=lambda row: -row.annotators)
    return newest


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """How far one annotator of a study is, and what they are doing.

    `slow_after` is when an item at hand takes long for them, in seconds; `broken` are the rules of
    the study that they break; `paid` says that a completion code waits for them.
    """

    id: int
    username: str
    name: str
    facts: Facts
    standing: AnnotatorStatus
    paused_at: datetime | None
    pause_reason: str
    slow_after: float
    broken: tuple[BrokenRule, ...] = ()
    paid: bool = False

    @property
    def needs_attention(self) -> bool:
        """Whether somebody should have a look at them."""
        return self.standing.is_stuck or bool(self.broken)


@dataclass(frozen=True, slots=True)
class HeldRow:
    """An item that is with somebody: since when, and until when its lease runs.

    `phase` tells a lease that runs from one that ran out and from an item that a manager gave to
    somebody who has not opened it.
    """

    claim: int
    item: int
    position: int
    key: str
    annotator: int
    name: str
    since: datetime
    until: datetime
    phase: HeldPhase


@dataclass(frozen=True, slots=True)
class StudyPage:
    """What a manager sees of a study whatever happens in it: its rules and counts.

    `dataset` is its dataset's short name, `quiz` the number of questions before the first item.
    """

    row: StudyRow
    rules: Rules
    limits: Limits
    dataset: str
    guidelines_version: int
    quiz: int


@dataclass(frozen=True, slots=True)
class Limits:
    """The rules of a study that annotators do not see; `StudyPlan` says what they mean."""

    lease_minutes: int
    seed: int
    gold_rate: float
    repeat_rate: float
    pause_gold_below: float | None
    pause_repeats_below: float | None
    pause_after: int
    fast_share: float | None
    fast_seconds: float | None
    completion_answers: int
    ask_profile: bool
    min_turns: int
    consent: str
    contact: str


@dataclass(frozen=True, slots=True)
class StudyLive:
    """How a study goes at this moment.

    Attributes:
        row: Its counts.
        annotators: Everybody who is in it, and whoever was and answered something.
        held: Items that are with somebody, the oldest first, at most `HELD_SHOWN`.
        held_count: How many there are.
        last_hour: Answers of the last hour.
        seconds: Median active time of an answer among the latest; None where none was measured.
        estimate: How long the rest takes if all go on as they do.
        completion_answers: Answers that somebody needs for the completion code.
    """

    row: StudyRow
    annotators: tuple[AnnotatorRow, ...]
    held: tuple[HeldRow, ...]
    held_count: int
    last_hour: int
    seconds: float | None
    estimate: TimeLeft
    completion_answers: int = 1

    @property
    def members(self) -> tuple[AnnotatorRow, ...]:
        """Who is in it."""
        return tuple(each for each in self.annotators if each.facts.member)

    @property
    def unfinished(self) -> int:
        """How many of them have items left."""
        return sum(each.facts.left > 0 for each in self.members)

    @property
    def is_paid(self) -> bool:
        """Whether a completion code waits for anybody."""
        return any(each.paid for each in self.members)

    @property
    def codes(self) -> int:
        """How many would see their completion code if the study were closed now."""
        return sum(
            each.paid and not each.facts.paused and each.facts.done >= self.completion_answers
            for each in self.members
        )

    @property
    def repeats(self) -> int:
        """Answers to hidden repeats: they stand besides those that the study wants."""
        return max(sum(each.facts.done for each in self.annotators) - self.row.done, 0)

    @property
    def missing(self) -> int:
        """Answers that the study still wants."""
        return max(self.row.wanted - self.row.done, 0)

    @property
    def stuck(self) -> tuple[AnnotatorRow, ...]:
        """Whom somebody should have a look at."""
        return tuple(each for each in self.annotators if each.needs_attention)

    @property
    def active(self) -> int:
        """How many answered within the hour or have an item open."""
        return sum(is_active(each.facts) for each in self.annotators)

    @property
    def able(self) -> int:
        """How many could be given an item: in the study, and not paused."""
        return sum(each.facts.member and not each.facts.paused for each in self.annotators)

    @property
    def paused(self) -> tuple[AnnotatorRow, ...]:
        """Whom somebody could let go on."""
        return tuple(each for each in self.annotators if each.facts.member and each.facts.paused)

    @property
    def used_up(self) -> bool:
        """Whether answers are missing that nobody who could be given items can still give."""
        able = [each.facts for each in self.annotators if each.facts.member]
        able = [facts for facts in able if not facts.paused]
        return self.missing > 0 and bool(able) and not any(facts.left for facts in able)

    @property
    def out_of_reach(self) -> bool:
        """Whether fewer people than an item wants annotators can be given one."""
        return self.able < self.row.overlap and self.missing > 0


@dataclass(frozen=True, slots=True)
class PlannedCounts:
    """What a study would hold.

    Attributes:
        targets: Pairs or sessions that are asked about.
        available: Those that could be: more, where a sample is drawn.
        left_out: Pairs whose texts are not available, or sessions without a response.
        gold_known: Those among the targets with an answer held to be right.
        gold: Gold items among them.
        repeats: Hidden repeats besides.
        annotators: People who are in from the beginning.
        overlap: Annotators wanted for each item.
        rates: The wanted shares of gold items and repeats.
        gap: The least number of items between a first and its repeat; 0 where none are repeated.
    """

    targets: int
    available: int
    left_out: int
    gold_known: int
    gold: int
    repeats: int
    annotators: int
    overlap: int
    rates: Rates
    gap: int

    @property
    def repeats_wanted(self) -> int:
        """Repeats that the rate asks for."""
        return self.rates.repeats_among(self.targets)

    @property
    def gold_wanted(self) -> int:
        """Gold items that the rate asks for."""
        return self.rates.gold_among(self.targets, self.repeats)

    @property
    def repeats_after(self) -> int:
        """The number of items before the first repeat."""
        return 2 * self.gap

    @property
    def wanted(self) -> int:
        """Answers the study is to have in the end, to repeats not counted."""
        return self.targets * self.overlap

    @property
    def each(self) -> float | None:
        """Answers for each annotator where all give the same number; None without annotators.

        Nobody answers an item twice, so it is never more than there are items.
        """
        return min(self.wanted / self.annotators, self.targets) if self.annotators else None

    @property
    def too_few(self) -> bool:
        """Whether people are missing, as things stand, to answer each item often enough."""
        return self.annotators < self.overlap


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a new study is to be.

    Attributes:
        name: Shown name; the short name is made from it.
        kind: Pairs or sessions.
        dataset: Short name of the dataset.
        annotators: User names.
        overlap: Annotators wanted for each item, 1 or more.
        allow_tie: Whether a tie is an answer.
        allow_strength: Whether it is asked how much better.
        ask_hallucination: Whether invented facts are asked about, turn by turn.
        guidelines: What annotators read first, in Markdown.
        ask_questionnaire: Whether four questions about the whole session follow its ratings.
        reveal_turns: Whether a turn is shown only once the one before it is rated.
        allow_both_bad: Whether a pair may be marked as both bad.
        lease_minutes: How long an item stays with somebody whose page is closed.
        seed: Decides where gold items and hidden repeats stand.
        gold_rate: Share of the items that are gold, 0-0.5.
        repeat_rate: Share of the items that come again, hidden, 0-0.5.
        pause_gold_below: Pause an annotator below this share of gold items right; None: never.
        pause_repeats_below: The same for repeats answered alike.
        pause_after: Answers to gold items, to repeats, or with a time, before a rule counts.
        fast_share: An annotator with more answers than this share too fast needs attention; None:
            nobody does.
        fast_seconds: Below so many seconds an answer is too fast; None: the usual for the kind.
        completion_answers: Answers that an annotator needs for the completion code.
        consent: What annotators agree to before they begin, in Markdown; empty: nothing.
        contact: Whom annotators ask, as they read it.
        ask_profile: Whether annotators fill in their profile first.
        min_turns: Turns before a conversation may end.
        items: Which of the dataset's pairs or sessions come in.
    """

    name: str
    kind: StudyKind
    dataset: str
    annotators: tuple[str, ...]
    overlap: int
    allow_tie: bool
    allow_strength: bool
    ask_hallucination: bool
    guidelines: str
    ask_questionnaire: bool = False
    reveal_turns: bool = False
    allow_both_bad: bool = False
    lease_minutes: int = 15
    seed: int = 42
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    pause_gold_below: float | None = None
    pause_repeats_below: float | None = None
    pause_after: int = 5
    fast_share: float | None = FAST_SHARE
    fast_seconds: float | None = None
    completion_answers: int = 1
    consent: str = ""
    contact: str = ""
    ask_profile: bool = False
    min_turns: int = 1
    items: ItemChoice = EVERYTHING


class ClaimFilter(StrEnum):
    """Which claims of a study are listed."""

    ALL = ""
    HELD = "held"
    LAPSED = "lapsed"
    DONE = "done"
    LAST_HOUR = "last-hour"
    SKIPPED = "skipped"
    RELEASED = "released"


@dataclass(frozen=True, slots=True)
class ClaimRow:
    """Somebody's part in an item.

    Attributes:
        claim: Number of the claim.
        item: Number of the study item.
        position: Its place in the study, from 1.
        key: Key of what is asked about.
        annotator: Whose it is, by number.
        name: Their shown name.
        member: Whether they are in the study now.
        state: One of the stored words of `ClaimState`.
        phase: Where it stands, while it waits for an answer.
        taken_back: Whether a manager took it back.
        since: When it was given out.
        until: When its lease ends, or ended.
        finished: When it was answered or skipped.
        reason: Why it was skipped, one of the words of `SkipReason`; "" otherwise.
    """

    claim: int
    item: int
    position: int
    key: str
    annotator: int
    name: str
    member: bool
    state: str
    phase: HeldPhase | None
    taken_back: bool
    since: datetime
    until: datetime
    finished: datetime | None
    reason: str


@dataclass(frozen=True, slots=True)
class SkippedItem:
    """An item that was skipped: how often, and why; reasons with their counts, most first."""

    item: int
    position: int
    key: str
    times: int
    reasons: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class FlagRow:
    """An answered pair, or a turn of a session, that an annotator wants somebody to look at."""

    item: int | None
    comparison: int | None
    session: int | None
    turn: int | None
    key: str
    annotator: int
    name: str
    flag: str
    comment: str
    given: datetime
