"""What a labelling page shows, and how answers read: no model, no label but the annotator's own.

A pair is shown in one of two orders; an answer names the response that was shown first or second,
and becomes a verdict in the comparison's own coordinates.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from hashlib import blake2b
from random import Random
from typing import Final

from annotation.core.assignment import Progress, SkipReason
from annotation.core.choices import Hallucination, LabelledEnum, Order, Reason, StudyKind, Verdict
from annotation.core.conversations import Dialogue, Speaker
from annotation.core.language import CHINESE, language_of
from annotation.core.refusals import gettext_noop

VERDICT_VALUES: Final = (Verdict.A, Verdict.B, Verdict.TIE)
"""The verdicts in the order of their value numbers; without ties the first two."""

SCORES: Final = (1, 2, 3, 4, 5)
"""The scores in the order of their value numbers."""


class AnswerKind(StrEnum):
    """What annotators gave: verdicts on comparisons, or scores of responses and sessions."""

    VERDICTS = "verdicts"
    SCORES = "scores"


class TargetKind(StrEnum):
    """What an answer is about."""

    COMPARISON = "comparison"
    RESPONSE = "response"
    SESSION = "session"


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """What an answer is about, by the number of its row."""

    kind: TargetKind
    id: int

    @property
    def item(self) -> int:
        """A number that no other target of the same kind of answer has."""
        return 2 * self.id + 1 if self.kind is TargetKind.SESSION else 2 * self.id


def target_of(kind: AnswerKind, item: int) -> Target:
    """The target that an item's number stands for."""
    if kind is AnswerKind.VERDICTS:
        return Target(TargetKind.COMPARISON, item // 2)
    return Target(TargetKind.SESSION if item % 2 else TargetKind.RESPONSE, item // 2)


def written_answer(kind: AnswerKind, value: int) -> Verdict | int:
    """The verdict or score that a value number stands for."""
    return VERDICT_VALUES[value] if kind is AnswerKind.VERDICTS else SCORES[value]


class Answer(LabelledEnum):
    """Which response is better, as shown to the annotator."""

    FIRST = "FIRST", gettext_noop("First")
    TIE = "TIE", gettext_noop("Tie")
    SECOND = "SECOND", gettext_noop("Second")


_AS_SHOWN: Final = {Verdict.A: Answer.FIRST, Verdict.B: Answer.SECOND, Verdict.TIE: Answer.TIE}
_AS_STORED: Final = {answer: verdict for verdict, answer in _AS_SHOWN.items()}


def verdict_of(answer: Answer, order: Order) -> Verdict:
    """The verdict in the comparison's own coordinates, of an answer given under a presentation."""
    verdict = _AS_STORED[answer]
    return verdict.flipped() if order is Order.SWAPPED else verdict


def answer_of(verdict: Verdict, order: Order) -> Answer:
    """The answer on a page with this presentation that a stored verdict stands for."""
    return _AS_SHOWN[verdict.flipped() if order is Order.SWAPPED else verdict]


@dataclass(frozen=True, slots=True)
class PastOrder:
    """How often an annotator was first shown a comparison of these models in this order.

    Attributes:
        model_a: Model of the comparison's response A, "" where unknown.
        model_b: Model of its response B, "" where unknown.
        order: The presentation order.
        count: Number of first presentations, 0 or more.
    """

    model_a: str
    model_b: str
    order: Order
    count: int


def balanced_order(
    model_a: str, model_b: str, past: Iterable[PastOrder], *, random: Random
) -> Order:
    """The presentation order of a comparison that an annotator has not seen before.

    Within a block the side that was shown first less often comes first; at a draw a coin decides,
    so no annotator can tell from one pair how the next is shown. After any number of choices the
    two counts of a block differ by at most one. A block is an unordered pair of two different,
    known models; all other comparisons of the annotator form one block of their own, in which the
    sides are responses A and B.

    Args:
        model_a: Model of response A, "" where unknown.
        model_b: Model of response B, "" where unknown.
        past: The annotator's first presentations so far, skipped ones included, hidden repeats not;
            those of other blocks are ignored.
        random: Decides draws.
    """
    lead = 0  # first presentations of side A minus those of side B
    for seen in past:
        if _block(seen.model_a, seen.model_b) != _block(model_a, model_b):
            continue
        a_first = seen.order is Order.ORIGINAL
        if _block(model_a, model_b) is not None and seen.model_a != model_a:
            a_first = not a_first
        lead += seen.count if a_first else -seen.count
    if lead == 0:
        return random.choice([Order.ORIGINAL, Order.SWAPPED])
    return Order.SWAPPED if lead > 0 else Order.ORIGINAL


def _block(model_a: str, model_b: str) -> frozenset[str] | None:
    """The unordered pair of models, or None where they do not tell the sides apart."""
    if not model_a or not model_b or model_a == model_b:
        return None
    return frozenset((model_a, model_b))


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


class Flag(LabelledEnum):
    """Why an annotator wants somebody to look at an answered pair, or a rated turn, again."""

    UNCLEAR = "UNCLEAR", gettext_noop("The question is unclear")
    HARMFUL = "HARMFUL", gettext_noop("Harmful or private content")
    FAULTY = "FAULTY", gettext_noop("Something is broken")
    OTHER = "OTHER", gettext_noop("Something else, see my comment")


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
class OwnAnswer:
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
    given: OwnAnswer | None

    @property
    def last_exchange(self) -> Dialogue:
        """The end of the conversation before the question, from the user's last message on."""
        spoken = [at for at, each in enumerate(self.dialogue) if each.role is Speaker.USER]
        return self.dialogue[spoken[-1] if spoken else 0 :]

    @property
    def before_last_exchange(self) -> Dialogue:
        """What was said before that."""
        return self.dialogue[: len(self.dialogue) - len(self.last_exchange)]


@dataclass(frozen=True, slots=True)
class Rating:
    """A satisfaction score of one turn; the reason stands exactly at 3 and below."""

    score: int
    reason: Reason | None = None
    hallucination: Hallucination | None = None
    flag: Flag | None = None
    comment: str = ""


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
class ConversationTask:
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
        contact: Whom annotators may ask, in the study's own words; "" where it has none.
        completion: The code or address that they are to give the platform that pays them; "" before
            they are through, and where their invitation has none.
        paid: Whether their invitation has one.
        skips: The skipped items, newest first, that they may still answer and that keep them from
            the code; empty where none do.
        answers_needed: Answers that the code needs.
    """

    rules: Rules
    progress: Progress
    last: FinishedItem | None
    open: bool
    closed: bool = False
    paused: bool = False
    ask: str = ""
    contact: str = ""
    completion: str = ""
    paid: bool = False
    skips: Sequence[int] = ()
    answers_needed: int = 1


Task = PairTask | RatingTask | ConversationTask


def shown_digest(task: PairTask, *, key: bytes) -> str:
    """One short text for all that a pair's page shows of its item and asks of it.

    Equal exactly where the item, its texts, their order and the rules are; where in the study one
    is has no part in it. Whoever lacks the key cannot try item numbers until one fits.
    """
    shown = (
        task.place.item,
        task.rules,
        task.system_prompt,
        task.task_context,
        task.dialogue,
        task.question,
        task.first,
        task.second,
    )
    return blake2b(repr(shown).encode(), key=key, digest_size=32).hexdigest()
