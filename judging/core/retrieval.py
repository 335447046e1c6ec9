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
from judging.core import memory as memories
from judging.core.questions import MemoryQuestion, RatedTurn, TurnQuestion

WINDOW: Final = 5
"""Messages before the response that a judge of one turn sees (seed 003, appendix D.1)."""

PROFILE_FIELDS: Final = (
    "gender",
    "age",
    "background",
    "personality",
    "occupation",
    "daily_interests",
    "travel_habits",
    "dining_preferences",
    "spending_habits",
    "other_aspects",
)
"""The structured profile; other keys of a snapshot are not shown to a judge."""


@dataclass(frozen=True, slots=True)
class UserTurn:
    """One turn of a session as one user rated it; `response` None means unanswered."""

    turn_id: str
    user_message: str
    response: str | None
    score: int | None = None
    reason: Reason | None = None


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
        if any(_is_rated(turn) for turn in session.turns):
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
            turn_id=turn.turn_id,
            scenario=session.scenario,
            task_context=session.task_context,
            user_message=turn.user_message,
            response=turn.response or "",
            score=turn.score,
            reason=turn.reason,
            session_key=session.key,
        )
        for turn in session.turns
        if turn.score is not None and turn.response is not None
    )


def window(turns: Sequence[UserTurn], *, before: int, messages: int = WINDOW) -> Dialogue:
    """The last messages before the response of turn number `before`, its request included.

    An unanswered turn contributes its user message alone.
    """
    dialogue: list[Message] = []
    for turn in turns[:before]:
        dialogue.append(Message(Role.USER, turn.user_message))
        if turn.response is not None:
            dialogue.append(Message(Role.ASSISTANT, turn.response))
    dialogue.append(Message(Role.USER, turns[before].user_message))
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


def _is_rated(turn: UserTurn) -> bool:
    return turn.score is not None and turn.response is not None


def _targets(session: UserSession) -> Iterable[Target]:
    profile = known_profile(session.profile)
    for position, turn in enumerate(session.turns):
        if turn.score is not None and turn.response is not None:
            yield Target(
                turn_id=turn.turn_id,
                session_key=session.key,
                position=position,
                user_message=turn.user_message,
                dialogue=window(session.turns, before=position),
                response=turn.response,
                task_context=session.task_context,
                profile=profile,
            )
