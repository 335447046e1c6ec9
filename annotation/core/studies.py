"""What the pages of studies show: a list, one study's progress, its items."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from annotation.core.assignment import Progress
from annotation.core.choices import StudyKind
from annotation.core.labelling import Rules


@dataclass(frozen=True, slots=True)
class MyStudy:
    """One of an annotator's studies, with how far they are; `dataset` is its short name."""

    rules: Rules
    dataset: str
    open: bool
    progress: Progress


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

    @property
    def wanted(self) -> int:
        """Answers the study is to have in the end."""
        return self.items * self.overlap


@dataclass(frozen=True, slots=True)
class AnnotatorRow:
    """How far one annotator of a study is."""

    name: str
    progress: Progress
    active: int
    last_answer: datetime | None


@dataclass(frozen=True, slots=True)
class ItemRow:
    """One item of a study: how many answered, hold or skipped it.

    Either `comparison` or `session` is the number of what is asked about.
    """

    item: int
    comparison: int | None
    session: int | None
    position: int
    kind: str
    key: str
    scenario: str
    done: int
    active: int
    skipped: int


@dataclass(frozen=True, slots=True)
class StudyPage:
    """All that a manager sees of a study, but its items."""

    row: StudyRow
    rules: Rules
    lease_minutes: int
    annotators: tuple[AnnotatorRow, ...]


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """What a new study is to be.

    Attributes:
        name: Shown name; the short name is made from it.
        kind: Pairs or sessions.
        dataset: Short name of the dataset.
        scenarios: Names of the scenarios whose items come in; all of them when empty.
        annotators: User names.
        overlap: Annotators wanted for each item, 1 or more.
        allow_tie: Whether a tie is an answer.
        allow_strength: Whether it is asked how much better.
        ask_hallucination: Whether invented facts are asked about, turn by turn.
        guidelines: What annotators read first, in Markdown.
        ask_questionnaire: Whether four questions about the whole session follow its ratings.
        allow_both_bad: Whether a pair may be marked as both bad.
        lease_minutes: How long an item stays with somebody whose page is closed.
        seed: Decides the order of the items.
        gold_rate: Share of the items that are gold, 0-0.5.
        repeat_rate: Share of the items that come again, hidden, 0-0.5.
        pause_gold_below: Pause an annotator below this share of gold items right; None: never.
        pause_repeats_below: The same for repeats answered alike.
        pause_after: Answers to gold items, or to repeats, before the rule counts.
        consent: What annotators agree to before they begin, in Markdown; empty: nothing.
        ask_profile: Whether annotators fill in their profile first.
        min_turns: Turns before a conversation may end.
    """

    name: str
    kind: StudyKind
    dataset: str
    scenarios: tuple[str, ...]
    annotators: tuple[str, ...]
    overlap: int
    allow_tie: bool
    allow_strength: bool
    ask_hallucination: bool
    guidelines: str
    ask_questionnaire: bool = False
    allow_both_bad: bool = False
    lease_minutes: int = 15
    seed: int = 42
    gold_rate: float = 0.0
    repeat_rate: float = 0.0
    pause_gold_below: float | None = None
    pause_repeats_below: float | None = None
    pause_after: int = 5
    consent: str = ""
    ask_profile: bool = False
    min_turns: int = 1
