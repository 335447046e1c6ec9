"""Blocks: what may be known about a user when the turns of one scenario are scored.

A block is one user and one target scenario (seed 003, section 4.1). Its history is the user's
labelled turns in OTHER scenarios; its targets carry no label at all, so none can reach a memory,
a statistic or a question. Labels of the targets are read elsewhere, for metrics alone.
At SESSION level whole conversations stand in the place of turns (appendix F): ids are those of
sessions, and the last response stands for the response.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from annotation.core.choices import Reason
from annotation.core.conversations import Dialogue, Message, Speaker
from annotation.core.formats.records import PROFILE_FIELDS
from judging.core import memory as memories
from judging.core.questions import HistoryTurn, MemoryQuestion, Rubrics, TurnQuestion
from judging.core.rules import Level, Variant

WINDOW: Final = 5
"""Messages before the response that a judge of one turn sees (seed 003, appendix D.1)."""


@dataclass(frozen=True, slots=True)
class HistoryRating:
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
    ratings: tuple[HistoryRating, ...] = ()


@dataclass(frozen=True, slots=True)
class UserSession:
    """One conversation with the labels of one user; `rating` is of the whole of it."""

    user: str
    scenario: str
    key: str
    task_context: str
    turns: tuple[UserTurn, ...]
    profile: Mapping[str, object] = field(default_factory=dict)
    rating: HistoryRating | None = None


@dataclass(frozen=True, slots=True)
class ScoringTarget:
    """A turn to score: everything a judge may see of it, and nothing that a rater said.

    `earlier` are the turns of its own line before it, request and response; None where those that
    the user rated stand for them, which are targets themselves.
    """

    turn_id: str
    session_key: str
    position: int
    user_message: str
    dialogue: Dialogue
    response: str
    task_context: str
    profile: dict[str, object]
    earlier: tuple[tuple[str, str], ...] | None = None


@dataclass(frozen=True, slots=True)
class Block:
    """One user, one target scenario: the targets and the labelled history elsewhere."""

    user: str
    scenario: str
    targets: tuple[ScoringTarget, ...]
    history: tuple[HistoryTurn, ...]
    level: Level = Level.TURN


def build_blocks(
    sessions: Sequence[UserSession], *, level: Level = Level.TURN
) -> tuple[Block, ...]:
    """One block for each user and scenario with a label of the level, in order of appearance.

    Targets are what the user labelled. A block without history is built as well: its scores stay
    uncalibrated, with the reason stored.
    """
    by_user: dict[str, dict[str, list[UserSession]]] = {}
    for session in sessions:
        if rated_turns(session, level=level):
            by_user.setdefault(session.user, {}).setdefault(session.scenario, []).append(session)
    targets = _targets if level is Level.TURN else _whole
    return tuple(
        Block(
            user=user,
            scenario=scenario,
            targets=tuple(target for session in own for target in targets(session)),
            history=history_of(scenarios, target_scenario=scenario, level=level),
            level=level,
        )
        for user, scenarios in by_user.items()
        for scenario, own in scenarios.items()
    )


def history_of(
    scenarios: Mapping[str, Iterable[UserSession]],
    *,
    target_scenario: str,
    level: Level = Level.TURN,
) -> tuple[HistoryTurn, ...]:
    """What one user labelled outside the target scenario, in the order given."""
    return tuple(
        turn
        for scenario, sessions in scenarios.items()
        if scenario != target_scenario
        for session in sessions
        for turn in rated_turns(session, level=level)
    )


def rated_turns(session: UserSession, *, level: Level = Level.TURN) -> tuple[HistoryTurn, ...]:
    """The labelled turns of a session, or the labelled session, as a memory reads them."""
    if level is Level.SESSION:
        return () if session.rating is None else (_rated_session(session, session.rating),)
    return tuple(
        _rated(session, rating, turn.user_message or "", rating.response)
        for turn in session.turns
        for rating in turn.ratings
    )


def _rated_session(session: UserSession, rating: HistoryRating) -> HistoryTurn:
    said = conversation(session.turns)
    user, assistant = (
        "\n".join(message.text for message in said if message.role is role)
        for role in (Speaker.USER, Speaker.ASSISTANT)
    )
    return replace(_rated(session, rating, user, assistant), dialogue=said)


def _rated(
    session: UserSession, rating: HistoryRating, user_message: str, response: str
) -> HistoryTurn:
    return HistoryTurn(
        turn_id=rating.turn_id,
        scenario=session.scenario,
        task_context=session.task_context,
        user_message=user_message,
        response=response,
        score=rating.score,
        reason=rating.reason,
        session_key=session.key,
    )


def conversation(turns: Sequence[UserTurn]) -> Dialogue:
    """Everything that was said, in order; a turn contributes what it has."""
    dialogue: list[Message] = []
    for turn in turns:
        if turn.user_message is not None:
            dialogue.append(Message(Speaker.USER, turn.user_message))
        if turn.response is not None:
            dialogue.append(Message(Speaker.ASSISTANT, turn.response))
    return tuple(dialogue)


def window(turns: Sequence[UserTurn], *, before: int, messages: int = WINDOW) -> Dialogue:
    """The last messages before the response of turn number `before`, its request included.

    A turn contributes what it has: an unanswered one its user message alone.
    """
    request = UserTurn(turns[before].user_message, None)
    return conversation((*turns[:before], request))[-messages:]


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


def turn_question(
    target: ScoringTarget,
    *,
    memory: memories.Memory | None,
    language: str,
    variant: Variant = Variant.CHECKLIST,
    level: Level = Level.TURN,
    scenario: str = "",
    nearest: tuple[HistoryTurn, ...] = (),
    examples: tuple[HistoryTurn, ...] = (),
    rubrics: Rubrics | None = None,
) -> TurnQuestion:
    """What a judge reads to score one turn, or session; see `TurnQuestion`."""
    return TurnQuestion(
        dialogue=target.dialogue,
        response=target.response,
        task_context=target.task_context,
        profile=target.profile,
        memory="" if memory is None else memories.render(memory, language),
        memory_content={} if memory is None else memories.content(memory),
        language=language,
        variant=variant,
        level=level,
        scenario=scenario,
        nearest=nearest,
        examples=examples,
        rubrics=rubrics,
    )


def _targets(session: UserSession) -> Iterable[ScoringTarget]:
    for position, turn in enumerate(session.turns):
        for rating in turn.ratings:
            yield _response_target(session, rating.turn_id, position, rating.response)


def response_target(
    session: UserSession,
    *,
    turn_id: str,
    position: int,
    response: str,
    line: Mapping[int, str | None],
) -> ScoringTarget:
    """Any response of a session as a target, rated or not, original or not.

    Args:
        session: where it is; no label of it is read.
        turn_id: what the target is known by.
        position: the place of its turn among the session's turns, from 0.
        response: its text.
        line: the responses that it continues by the place of their turn; at other places the
            conversation went on from the original one.
    """
    turns = tuple(
        UserTurn(turn.user_message, line.get(place, turn.response))
        for place, turn in enumerate(session.turns)
    )
    earlier = tuple(
        (turn.user_message or "", turn.response)
        for turn in turns[:position]
        if turn.response is not None
    )
    target = _response_target(replace(session, turns=turns), turn_id, position, response)
    return replace(target, earlier=earlier)


def session_target(session: UserSession, *, turn_id: str) -> ScoringTarget:
    """A session as a target: its last response, and everything said before it."""
    said = conversation(session.turns)
    ends = bool(said) and said[-1].role is Speaker.ASSISTANT
    return ScoringTarget(
        turn_id=turn_id,
        session_key=session.key,
        position=max(0, len(session.turns) - 1),
        user_message="\n".join(each.text for each in said if each.role is Speaker.USER),
        dialogue=said[:-1] if ends else said,
        response=said[-1].text if ends else "",
        task_context=session.task_context,
        profile=known_profile(session.profile),
    )


def _whole(session: UserSession) -> Iterable[ScoringTarget]:
    for rated in rated_turns(session, level=Level.SESSION):
        yield session_target(session, turn_id=rated.turn_id)


def _response_target(
    session: UserSession, turn_id: str, position: int, response: str
) -> ScoringTarget:
    return ScoringTarget(
        turn_id=turn_id,
        session_key=session.key,
        position=position,
        user_message=session.turns[position].user_message or "",
        dialogue=window(session.turns, before=position),
        response=response,
        task_context=session.task_context,
        profile=known_profile(session.profile),
    )
