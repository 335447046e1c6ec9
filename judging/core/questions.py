"""What a judge is asked and what it answers, without a word about who answers.

A judge never sees a model name, an annotator name or a row id. Texts are as stored; a judge
that writes prompts neutralises them itself. `turn_id`s are opaque strings that a statement cites.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from annotation.core.choices import Reason, Verdict
from annotation.core.conversations import Dialogue
from judging.core.categories import SortedDialogue
from judging.core.rules import GenerationContext, Level, Variant

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class LabelledPair:
    """A comparison with a winner, as the distiller sees it (seed 001, section 3.2)."""

    dialogue: Dialogue
    chosen: str
    rejected: str


@dataclass(frozen=True, slots=True)
class ShownPair:
    """A comparison in one presentation order; `first` is what the judge sees as Response A.

    `turns` counts the user's messages, those inside the responses' own lines included; `reference`
    is a reference answer, "" where there is none or none is wanted. `following` are messages that
    the user wrote after the dialogue, inside the responses' own lines.
    """

    dialogue: Dialogue
    first: str
    second: str
    turns: int = 1
    reference: str = ""
    following: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """Where an answer came from: the raw reply and, for an endpoint, the stored call's key."""

    raw: str = ""
    call_key: str | None = None


@dataclass(frozen=True, slots=True)
class Outcome(Generic[T]):
    """What was read of a reply, or the code of why nothing was (exactly one of the two).

    `unparseable` tells a reply that could not be read from a call that failed. `call.raw` is the
    reply as it was read, or what the endpoint said of a call that failed.
    """

    value: T | None
    error_code: str | None = None
    unparseable: bool = False
    call: Call = field(default_factory=Call)


@dataclass(frozen=True, slots=True)
class PairAnswer:
    """A verdict AS SHOWN (A = the first shown), or an error code (exactly one of the two).

    `log_odds` is log P(A)/P(B) as shown where the judge knows it. `unparseable` tells a
    reply that carried no verdict from a call that failed.
    """

    verdict: Verdict | None
    log_odds: float | None = None
    error_code: str | None = None
    unparseable: bool = False
    call: Call = field(default_factory=Call)


class GenerationQuestion(NamedTuple):
    """A turn for a model to answer.

    `turns` are user messages with the replies that the conversation went on from, None where there
    is none; the last one is answered. `memory` is what the `context` shows of the user, "" for
    PREFIX. `sample` numbers repetitions.
    """

    system: str
    turns: tuple[tuple[str | None, str | None], ...]
    language: str
    context: GenerationContext = GenerationContext.PREFIX
    memory: str = ""
    sample: int = 0


class SortQuestion(NamedTuple):
    """A dialogue whose last message is the request that a benchmark may take."""

    dialogue: Dialogue
    language: str


class SortAnswer(NamedTuple):
    """Where a dialogue belongs, or an error code (exactly one of the two)."""

    found: SortedDialogue | None
    error_code: str | None = None
    unparseable: bool = False
    call: Call = Call()


@dataclass(frozen=True, slots=True)
class GradeQuestion:
    """One response to grade by itself, after the conversation that led to it."""

    dialogue: Dialogue
    response: str
    language: str
    turns: int = 1
    reference: str = ""


@dataclass(frozen=True, slots=True)
class HistoryTurn:
    """One labelled turn of a user's history.

    `dialogue` is the whole conversation where a session was rated; then `user_message` and
    `response` are everything that each side said.
    """

    turn_id: str
    scenario: str
    task_context: str
    user_message: str
    response: str
    score: int
    reason: Reason | None
    session_key: str = ""
    dialogue: Dialogue = ()


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """The labelled history behind a user memory; never the target scenario (seed 003, 3.2)."""

    history: tuple[HistoryTurn, ...]
    target_scenario: str
    language: str
    profile: dict[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rubrics:
    """What training users were satisfied and dissatisfied with, a sentence each."""

    satisfied: tuple[str, ...]
    dissatisfied: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TurnQuestion:
    """One response to score: at most the last 5 messages before it (seed 003, 3.3).

    At SESSION level the conversation as a whole is scored: `dialogue` is all of it before the last
    response. `memory` is the rendered user memory (core.memory.render) or "" where there is none;
    `memory_content` is the same memory as data (statistics and texts). `nearest` are labelled turns
    of the same user in other scenarios, `examples` and `rubrics` come from training users.
    """

    dialogue: Dialogue
    response: str
    task_context: str
    profile: dict[str, object]
    memory: str
    memory_content: dict[str, object]
    language: str
    variant: Variant = Variant.CHECKLIST
    level: Level = Level.TURN
    scenario: str = ""
    nearest: tuple[HistoryTurn, ...] = ()
    examples: tuple[HistoryTurn, ...] = ()
    rubrics: Rubrics | None = None


@dataclass(frozen=True, slots=True)
class InductionQuestion:
    """What rubrics are induced from: one rated turn, or reasons found before (seed 003, H.5).

    Exactly one of `turn` and `reasons` is given; at most `most` sentences are wanted.
    """

    satisfied: bool
    language: str
    most: int
    turn: HistoryTurn | None = None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnAnswer:
    """A score of 1-5 with reason (None when satisfied), or an error code; never a default score.

    `expected_score` is sum(k p_k) where the judge knows probabilities.
    """

    score: int | None
    reason: Reason | None = None
    analysis: str = ""
    expected_score: float | None = None
    error_code: str | None = None
    unparseable: bool = False
    call: Call = field(default_factory=Call)
