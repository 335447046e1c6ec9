"""What a labelling page shows: no model name, and no label but the annotator's own."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final

from annotation.core.assignment import Progress, SkipReason
from annotation.core.choices import Hallucination, Reason, StudyKind
from annotation.core.dialogue import Dialogue
from annotation.core.language import CHINESE, language_of
from annotation.core.presentation import Answer

_WORDS: Final = re.compile(
    "[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]|"
    "[^\\W_\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+(?:['’-][^\\W_]+)*"
)


def count_words(text: str) -> int:
    """Number of words, a Chinese or Japanese character counting as one."""
    return len(_WORDS.findall(text))


@dataclass(frozen=True, slots=True)
class Rules:
    """What a study asks of its annotators."""

    slug: str
    name: str
    kind: StudyKind
    allow_tie: bool
    allow_strength: bool
    allow_both_bad: bool
    ask_hallucination: bool
    guidelines: str
    ask_questionnaire: bool = False
    reveal_turns: bool = False


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """An item that the annotator answered, skipped, or had to give back to a manager.

    Attributes:
        item: The study item's number in addresses.
        answered: Whether it is answered.
        answer: The answer as shown, where the item is an answered pair.
        skipped_at: When it was skipped, where it was.
    """

    item: int
    answered: bool = False
    answer: Answer | None = None
    skipped_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Place:
    """Where in a study an annotator is.

    Attributes:
        item: The study item's number in addresses.
        previous: The item finished before it, if any. Its answer is shown while this one waits for
            one, so that a slip of the finger is noticed.
        scenario: Name of the item's scenario.
        answered: Whether the annotator answered the item.
        skipped: Why the annotator skipped the item, if it stands as skipped.
        progress: What is done and left.
        renew_seconds: After how many seconds the open page renews its lease; None where the item is
            finished, so that there is nothing to renew.
    """

    item: int
    previous: FinishedItem | None
    scenario: str
    answered: bool
    skipped: SkipReason | None
    progress: Progress
    renew_seconds: int | None = None

    @property
    def finished(self) -> bool:
        """Whether the item is answered or skipped; an answer still replaces that."""
        return self.answered or self.skipped is not None


@dataclass(frozen=True, slots=True)
class ShownResponse:
    """One response as a page shows it: its text (None: not available), and its own earlier line."""

    text: str | None
    earlier: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """Length in words; in characters where the text is Chinese."""
        return count_words(self.text or "")

    @property
    def is_chinese(self) -> bool:
        """Whether the text is Chinese, so that its length is one of characters."""
        return language_of(self.text or "") == CHINESE


class Flag(StrEnum):
    """Why an annotator wants somebody to look at an answered pair, or a rated turn, again."""

    UNCLEAR = "UNCLEAR"
    HARMFUL = "HARMFUL"
    FAULTY = "FAULTY"
    OTHER = "OTHER"


class InputDevice(StrEnum):
    """With what an answer was chosen."""

    KEYBOARD = "KEYBOARD"
    POINTER = "POINTER"
    TOUCH = "TOUCH"


@dataclass(frozen=True, slots=True)
class Effort:
    """How an answer was given, as far as the page measured it; None where it did not.

    Attributes:
        active_seconds: Time with the page in view and input within the last 30 seconds.
        idle_seconds: The rest of the time the page was open.
        input_device: With what the answer was chosen.
    """

    active_seconds: float | None = None
    idle_seconds: float | None = None
    input_device: InputDevice | None = None


NOT_MEASURED: Final = Effort()


@dataclass(frozen=True, slots=True)
class GivenAnswer:
    """The annotator's own answer to a pair, as shown."""

    answer: Answer
    strength: int | None
    both_bad: bool
    comment: str
    flag: Flag | None = None


@dataclass(frozen=True, slots=True)
class PairTask:
    """Two responses to judge, in presentation order."""

    rules: Rules
    place: Place
    system_prompt: str
    task_context: str
    dialogue: Dialogue
    question: str | None
    first: ShownResponse
    second: ShownResponse
    given: GivenAnswer | None


@dataclass(frozen=True, slots=True)
class Rating:
    """A satisfaction score of one turn; the reason stands exactly at 3 and below."""

    score: int
    reason: Reason | None = None
    hallucination: Hallucination | None = None
    flag: Flag | None = None


@dataclass(frozen=True, slots=True)
class RatedTurn:
    """One turn of a session to rate.

    Attributes:
        number: Place among the session's turns, from 1; names the turn's form fields.
        question: The user's message, None where the assistant speaks twice or first.
        response: The assistant's text, None where there is nothing to rate.
        given: The annotator's own stored rating.
    """

    number: int
    question: str | None
    response: str | None
    given: Rating | None


@dataclass(frozen=True, slots=True)
class RatingTask:
    """A session whose assistant turns are to be rated.

    `questionnaire` holds the annotator's own stored answers about the whole session, by question.
    """

    rules: Rules
    place: Place
    system_prompt: str
    task_context: str
    turns: tuple[RatedTurn, ...]
    questionnaire: Mapping[str, str] = field(default_factory=dict)

    @property
    def ratable(self) -> tuple[RatedTurn, ...]:
        """The turns that have a response."""
        return tuple(turn for turn in self.turns if turn.response is not None)


@dataclass(frozen=True, slots=True)
class TalkTask:
    """A task to talk about with a model, before there is anything to rate.

    Attributes:
        rules: The study.
        place: Where in it one is.
        task_context: The background that the annotator reads first.
        requirements: What the task asks for at least, in its order.
        min_turns: Replies that there must be before the conversation may end.
    """

    rules: Rules
    place: Place
    task_context: str
    requirements: tuple[str, ...]
    min_turns: int


@dataclass(frozen=True, slots=True)
class NothingLeft:
    """There is no item for this annotator now.

    Attributes:
        rules: The study.
        progress: What is done; `left` may be above 0 while others hold what is left.
        last: The item finished last, if any.
        open: Whether the study gives out items at all.
        closed: Whether it is over.
        paused: Whether this annotator is paused in it.
        ask: Whom a paused annotator may ask, by name; "" where nobody is known.
    """

    rules: Rules
    progress: Progress
    last: FinishedItem | None
    open: bool
    closed: bool = False
    paused: bool = False
    ask: str = ""


Task = PairTask | RatingTask | TalkTask
