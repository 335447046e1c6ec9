"""Blocks: what may be known about a user when the turns of one scenario are scored.

A block is one user and one target scenario (seed 003, section 4.1). Its history is the user's
labelled turns in OTHER scenarios; its targets carry no label at all, so none can reach a memory,
a statistic or a question. Labels of the targets are read elsewhere, for metrics alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from annotation.core.choices import Reason
from annotation.core.dialogue import Dialogue, Message, Role
from annotation.core.formats.records import PROFILE_FIELDS
from judging.core import memory as memories
from judging.core.questions import MemoryQuestion, RatedTurn, TurnQuestion

WINDOW: Final = 5
"""Messages before the response that a judge of one turn sees (seed 003, appendix D.1)."""


@dataclass(frozen=True, slots=True)
class Rating:
    """One response of a turn that the user rated; `turn_id` is what a statement cites."""

    turn_id: str
    response: str
    score: int
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One turn of a session and what one user rated of it.

    `response` is the one that the conversation went on from, None where the turn is unanswered;
    `user_message` is None where an assistant message follows another one.
    """

    user_message: str | None
    response: str | None
    ratings: tuple[Rating, ...] = ()


@dataclass(frozen=True, slots=True)
class UserSession:
    """One conversation with the labels of one user."""

    user: str
    scenario: str
    key: str
    task_context: str
    turns: tuple[UserTurn, ...]
    profile: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Target:
    """A turn to score: everything a judge may see of it, and nothing that a rater said."""

    turn_id: str
    session_key: str
    position: int
    user_message: str
    dialogue: Dialogue
    response: str
    task_context: str
    profile: dict[str, object]


@dataclass(frozen=True, slots=True)
class Block:
    """One user, one target scenario: the targets and the labelled history elsewhere."""

    user: str
    scenario: str
    targets: tuple[Target, ...]
    history: tuple[RatedTurn, ...]


def build_blocks(sessions: Sequence[UserSession]) -> tuple[Block, ...]:
    """One block for each user and scenario with a labelled turn, in order of first appearance.

    Targets are the turns that the user labelled. A block without history is built as well: its
    scores stay uncalibrated, with the reason stored.
    """
    by_user: dict[str, dict[str, list[UserSession]]] = {}
    for session in sessions:
        if any(turn.ratings for turn in session.turns):
            by_user.setdefault(session.user, {}).setdefault(session.scenario, []).append(session)
    return tuple(
        Block(
            user=user,
            scenario=scenario,
            targets=tuple(target for session in own for target in _targets(session)),
            history=history_of(scenarios, target_scenario=scenario),
        )
        for user, scenarios in by_user.items()
        for scenario, own in scenarios.items()
    )


def history_of(
    scenarios: Mapping[str, Iterable[UserSession]], *, target_scenario: str
) -> tuple[RatedTurn, ...]:
    """The labelled turns of one user outside the target scenario, in the order given."""
    return tuple(
        turn
        for scenario, sessions in scenarios.items()
        if scenario != target_scenario
        for session in sessions
        for turn in rated_turns(session)
    )


def rated_turns(session: UserSession) -> tuple[RatedTurn, ...]:
    """The labelled turns of a session, as a memory reads them."""
    return tuple(
        RatedTurn(
            turn_id=rating.turn_id,
            scenario=session.scenario,
            task_context=session.task_context,
            user_message=turn.user_message or "",
            response=rating.response,
            score=rating.score,
            reason=rating.reason,
            session_key=session.key,
        )
        for turn in session.turns
        for rating in turn.ratings
    )


def window(turns: Sequence[UserTurn], *, before: int, messages: int = WINDOW) -> Dialogue:
    """The last messages before the response of turn number `before`, its request included.

    A turn contributes what it has: an unanswered one its user message alone.
    """
    dialogue: list[Message] = []
    for place, turn in enumerate(turns[: before + 1]):
        if turn.user_message is not None:
            dialogue.append(Message(Role.USER, turn.user_message))
        if turn.response is not None and place < before:
            dialogue.append(Message(Role.ASSISTANT, turn.response))
    return tuple(dialogue[-messages:])


def known_profile(profile: Mapping[str, object]) -> dict[str, object]:
    """The structured fields of a profile that hold something, in a fixed order."""
    return {
        name: profile[name] for name in PROFILE_FIELDS if profile.get(name) not in (None, "", [])
    }


def memory_question(block: Block, *, language: str) -> MemoryQuestion:
    """What a judge reads to write the memory of a block."""
    profile = block.targets[0].profile if block.targets else {}
    return MemoryQuestion(
        history=block.history,
        target_scenario=block.scenario,
        language=language,
        profile=profile,
    )


def turn_question(target: Target, *, memory: memories.Memory | None, language: str) -> TurnQuestion:
    """What a judge reads to score one turn; without memory it is the no-memory judge."""
    return TurnQuestion(
        dialogue=target.dialogue,
        response=target.response,
        task_context=target.task_context,
        profile=target.profile,
        memory="" if memory is None else memories.render(memory, language),
        memory_content={} if memory is None else memories.content(memory),
        language=language,
    )


def _targets(session: UserSession) -> Iterable[Target]:
    profile = known_profile(session.profile)
    for position, turn in enumerate(session.turns):
        for rating in turn.ratings:
            yield Target(
                turn_id=rating.turn_id,
                session_key=session.key,
                position=position,
                user_message=turn.user_message or "",
                dialogue=window(session.turns, before=position),
                response=rating.response,
                task_context=session.task_context,
                profile=profile,
            )
