"""Which model a participant talks with: even over participants and tasks, and not to be guessed.

The turn-level study gave every conversation one model. Its comparisons are only fair where each
participant meets each model about equally often, and each task does too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random
from typing import Final

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import gettext_noop, register


def choose_model(
    candidates: Sequence[int],
    *,
    by_participant: Mapping[int, int],
    by_task: Mapping[int, int],
    in_study: Mapping[int, int],
    random: Random,
) -> int:
    """The model for a conversation that begins.

    It is the one that this participant had least often in the study, of several the one that this
    task had least often, then the one least used in the whole study; a draw is decided at random.
    So, while the candidates stay the same, a participant's counts differ by at most one.

    Args:
        candidates: The models by number, without repeats.
        by_participant: Conversations of this participant, by model.
        by_task: Conversations about this task, by model.
        in_study: All conversations of the study, by model.
        random: Decides draws.

    Raises:
        ValueError: there is no candidate.
    """
    if not candidates:
        raise ValueError("no model to choose from")

    def used(model: int) -> tuple[int, int, int]:
        counts = (by_participant, by_task, in_study)
        return (counts[0].get(model, 0), counts[1].get(model, 0), counts[2].get(model, 0))

    least = min(used(model) for model in candidates)
    return random.choice(sorted(model for model in candidates if used(model) == least))


LATER: Final = gettext_noop("The assistant could not be reached. Try again.")
NEVER: Final = gettext_noop(
    "The assistant cannot answer at the moment. Please contact a study manager."
)

TALK_TEXTS: Final[dict[str, str]] = {
    "llm:unavailable": LATER,
    "llm:malformed": LATER,
    "llm:timeout": gettext_noop("The assistant did not answer in time. Try again."),
    "llm:rate-limited": gettext_noop("The assistant is busy. Wait a minute, then try again."),
    "llm:no-answer": gettext_noop(
        "The assistant's reply was empty. Try again, or edit your message."
    ),
    "llm:bad-request": gettext_noop(
        "The assistant could not process this message; the conversation may be too long. Edit "
        "the message, or end the conversation."
    ),
    "conversation:stopped": gettext_noop("You stopped the reply before it began."),
    "conversation:crashed": gettext_noop("Something went wrong on this site. Try again."),
    "conversation:no-model": gettext_noop(
        "This study has no assistant yet. Please contact a study manager."
    ),
    "conversation:reply-pending": gettext_noop(
        "The assistant is still replying to your last message. Your new message is kept below; "
        "send it once the reply has arrived."
    ),
    "conversation:unanswered": gettext_noop(
        "Your last message has no reply yet. Retry or edit it first; your new message is kept "
        "below."
    ),
    "conversation:incomplete": gettext_noop("The request was incomplete. Try again."),
    "conversation:nothing-to-retry": gettext_noop("There is no message to retry."),
    "conversation:too-early": gettext_noop(
        "You cannot end the conversation yet. It needs more replies, or some requirements are "
        "not met."
    ),
    "conversation:ended": gettext_noop("This conversation has ended."),
    "conversation:message": gettext_noop("Enter a message of at most 20,000 characters."),
}


register({code: text for code, text in TALK_TEXTS.items() if code.startswith("conversation:")})


def talk_text(code: str) -> str:
    """The sentence for a code, untranslated; one for all that a participant cannot mend."""
    return TALK_TEXTS.get(code, NEVER)


MAX_MESSAGE_CHARACTERS: Final = 20_000


class ReplyState(StrEnum):
    """Where the reply to a message stands."""

    WAITING = "WAITING"  # nobody writes it yet
    WRITING = "WRITING"
    DONE = "DONE"
    STOPPED = "STOPPED"  # the participant broke it off; what had come is the reply
    FAILED = "FAILED"


PENDING: Final = frozenset({ReplyState.WAITING, ReplyState.WRITING})
ANSWERED: Final = frozenset({ReplyState.DONE, ReplyState.STOPPED})


class Ending(StrEnum):
    """Why a participant ended a conversation."""

    SATISFIED = "SATISFIED"
    NO_FURTHER = "NO_FURTHER"  # going on would not help


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A participant's message with its reply; no model is named.

    Attributes:
        id: Its number in addresses.
        submission: The page's id of the message, so that a browser knows what has arrived.
        text: What the participant wrote.
        state: Where the reply stands.
        reply: The reply, or what of it has come.
        error: Code of what went wrong, "" where nothing did.
        queued: Whether the reply has been waiting for its turn for a while.
        poll_ms: After how many milliseconds a page asks for more of a pending reply.
    """

    id: int
    submission: str
    text: str
    state: ReplyState
    reply: str
    error: str = ""
    queued: bool = False
    poll_ms: int = 250

    @property
    def pending(self) -> bool:
        """Whether a reply is on its way."""
        return self.state in PENDING

    @property
    def answered(self) -> bool:
        """Whether there is a reply to rate."""
        return self.state in ANSWERED


@dataclass(frozen=True, slots=True)
class Requirement:
    """One thing that the task asks for at least, and whether the participant ticked it."""

    number: int
    text: str
    met: bool


@dataclass(frozen=True, slots=True)
class LiveConversation:
    """A conversation under way.

    Attributes:
        messages: In order.
        requirements: What the task states, in its order.
        min_turns: Replies that there must be before it may end.
        unsent: A message that the server kept for the participant to send again.
    """

    messages: tuple[LiveMessage, ...]
    requirements: tuple[Requirement, ...]
    min_turns: int
    unsent: str = ""

    @property
    def replies(self) -> int:
        """Replies so far."""
        return sum(message.answered for message in self.messages)

    @property
    def last(self) -> LiveMessage | None:
        """The latest message."""
        return self.messages[-1] if self.messages else None

    @property
    def pending(self) -> bool:
        """Whether a reply is on its way."""
        return self.last is not None and self.last.pending

    @property
    def failed(self) -> bool:
        """Whether the latest message got no reply."""
        return self.last is not None and self.last.state is ReplyState.FAILED

    @property
    def met(self) -> int:
        """Requirements ticked."""
        return sum(requirement.met for requirement in self.requirements)

    @property
    def replies_missing(self) -> int:
        """Replies still needed before it may end."""
        return max(0, max(1, self.min_turns) - self.replies)

    def may_end(self, ending: Ending) -> bool:
        """Whether it may end so: enough replies, none on its way; satisfied: every requirement met.

        Who finds that going on would not help need not have got what the task asks for.
        """
        if self.pending or self.replies_missing:
            return False
        return ending is Ending.NO_FURTHER or self.met == len(self.requirements)

    @property
    def may_end_satisfied(self) -> bool:
        """Whether the participant may say that they have what they wanted."""
        return self.may_end(Ending.SATISFIED)

    @property
    def may_give_up(self) -> bool:
        """Whether the participant may say that going on would not help."""
        return self.may_end(Ending.NO_FURTHER)


def poll_ms(seconds: float, *, begun: bool, under_way: int = 0) -> int:
    """After how many milliseconds a page asks again for a reply that was asked for so long ago.

    Often at first, since most models begin within two seconds and a person waits for the first
    word; four times a second while words come; then ever less often, so that a slow model does not
    burden the site. Where many replies are under way in this process, pages ask for all of them no
    more than fifty times a second.
    """
    usual = 250 if begun else 120 if seconds < 2 else 400 if seconds < 20 else 1000
    return max(usual, 20 * under_way)


def messages_for_model(
    system_prompt: str, earlier: Sequence[tuple[str | None, str | None]], text: str
) -> tuple[Message, ...]:
    """What the model is sent: the system prompt, the conversation so far, and the new message.

    Messages that got no reply are put before the next one, and replies that nobody asked for after
    the one before, since many models insist on turns.

    Args:
        system_prompt: "" for none.
        earlier: Message and reply, None where there is none, in order.
        text: The new message.
    """
    messages = [Message(Speaker.SYSTEM, system_prompt)] if system_prompt.strip() else []
    unanswered: list[str] = []
    for asked, reply in earlier:
        unanswered += [] if asked is None else [asked]
        if reply is None:
            continue
        if unanswered:
            messages.append(Message(Speaker.USER, "\n\n".join(unanswered)))
            unanswered = []
        elif messages and messages[-1].role is Speaker.ASSISTANT:
            reply = f"{messages.pop().text}\n\n{reply}"  # noqa: PLW2901 - one reply of two
        messages.append(Message(Speaker.ASSISTANT, reply))
    return (*messages, Message(Speaker.USER, "\n\n".join([*unanswered, text])))
