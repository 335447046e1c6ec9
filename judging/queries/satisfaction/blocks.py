"""Blocks from stored labels: who rated what, in which scenario, with which history."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from django.db.models import Exists, OuterRef, QuerySet

from annotation.core.choices import Reason
from annotation.core.formats.records import PROFILE_FIELDS
from annotation.core.language import language_of
from annotation.models import AnnotatorProfile, Response, SatisfactionLabel, Session, Turn
from judging.core.retrieval import (
    Block,
    HistoryRating,
    UserSession,
    UserTurn,
    build_blocks,
)
from judging.core.rules import Level

_SESSION: Final = {Level.TURN: "response__turn__session_id", Level.SESSION: "session_id"}
_TARGET: Final = {Level.TURN: "response_id", Level.SESSION: "session_id"}


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block with the ids of its rows.

    A target's turn id is the id of the response as text, or of the session where those are rated.
    """

    user_id: int
    scenario_id: int
    language: str
    block: Block


class SessionColumns(NamedTuple):
    """The columns of a session that blocks are made of."""

    id: int
    key: str
    scenario_id: int
    scenario: str
    task_context: str
    language: str
    original_user_id: int | None
    snapshot: dict[str, Any]


def stored_blocks(
    *,
    dataset_id: int,
    user_ids: Collection[int] | None = None,
    target: tuple[int, int] | None = None,
    level: Level = Level.TURN,
) -> tuple[StoredBlock, ...]:
    """The blocks of a dataset, by user and then by scenario in their stored order.

    Every user's first answer to a response, or a session, counts; hidden repeats do not.

    Args:
        dataset_id: whose sessions.
        user_ids: only these users' blocks; None for all.
        target: one block alone, (user id, scenario id).
        level: what was rated.

    Returns:
        Blocks with at least one rating. Costs five queries.
    """
    if target is not None:
        user_ids = [target[0]]
    sessions = rated_sessions(dataset_id=dataset_id, user_ids=user_ids, level=level)
    by_key = {row.key: row for row, _session in sessions}
    blocks = build_blocks([session for _row, session in sessions], level=level)
    stored = (_stored(block, by_key) for block in blocks)
    return tuple(
        item for item in stored if target is None or (item.user_id, item.scenario_id) == target
    )


def rated_sessions(
    *, dataset_id: int, user_ids: Collection[int] | None, level: Level
) -> list[tuple[SessionColumns, UserSession]]:
    """Every session with what one user rated of it, by user and then in stored order.

    Arguments as for `stored_blocks`. Five queries.
    """
    labels = rated(dataset_id=dataset_id, user_ids=user_ids, level=level)
    ratings = _ratings(labels) if level is Level.TURN else {}
    wholes = _whole_ratings(labels) if level is Level.SESSION else {}
    if not ratings and not wholes:
        return []
    users = sorted({*ratings, *(user_id for user_id, _ in wholes)})
    ids = labels.values(_SESSION[level])
    sessions = session_rows(Session.objects.filter(pk__in=ids))
    turns = turns_of(ids)
    profiles = profiles_of(users)
    return [
        (
            row,
            UserSession(
                user=str(user_id),
                scenario=row.scenario,
                key=row.key,
                task_context=row.task_context,
                turns=tuple(
                    UserTurn(message, response, tuple(own.get(turn_id, ())))
                    for turn_id, message, response in turns.get(row.id, ())
                ),
                profile=_profile(row, user_id, profiles),
                rating=wholes.get((user_id, row.id)),
            ),
        )
        for user_id in users
        for row in sessions
        if (own := ratings.get(user_id, {}).get(row.id, {})) or (user_id, row.id) in wholes
    ]


def rated(
    *,
    dataset_id: int,
    user_ids: Collection[int] | None = None,
    level: Level = Level.TURN,
) -> QuerySet[SatisfactionLabel]:
    """Labels of responses, or of sessions, whose text is available, without hidden repeats."""
    labels = SatisfactionLabel.objects.filter(repeat_index=0)
    if level is Level.TURN:
        labels = labels.filter(
            response__turn__session__dataset_id=dataset_id, response__text__isnull=False
        )
    else:
        said = Response.objects.filter(
            turn__session=OuterRef("session"), original=True, text__isnull=False
        )
        labels = labels.filter(Exists(said), session__dataset_id=dataset_id)
    return labels if user_ids is None else labels.filter(annotator_id__in=user_ids)


def gold_ratings(
    *, dataset_id: int, level: Level = Level.TURN
) -> dict[tuple[int, int], tuple[int, Reason | None]]:
    """User and response (or session) to the score and reason given first; for metrics alone."""
    found: dict[tuple[int, int], tuple[int, Reason | None]] = {}
    rows = rated(dataset_id=dataset_id, level=level).order_by("created_at", "id")
    fields = ("annotator_id", _TARGET[level], "score", "reason")
    for user_id, target_id, score, reason in rows.values_list(*fields):
        found.setdefault((user_id, target_id), (score, Reason(reason) if reason else None))
    return found


def ratings_digest(
    *,
    dataset_id: int,
    user_ids: Collection[int] | None = None,
    level: Level = Level.TURN,
) -> str:
    """SHA-256 of who rated what how, hexadecimal: equal digests mean equal blocks and gold."""
    target = _TARGET[level]
    rows = (
        rated(dataset_id=dataset_id, user_ids=user_ids, level=level)
        .order_by("annotator_id", target, "created_at", "id")
        .values_list("annotator_id", target, "score", "reason")
    )
    digest = hashlib.sha256()
    for row in rows.iterator():
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _stored(block: Block, sessions: dict[str, SessionColumns]) -> StoredBlock:
    first = sessions[block.targets[0].session_key]
    return StoredBlock(
        user_id=int(block.user),
        scenario_id=first.scenario_id,
        language=first.language or language_of(block.targets[0].user_message),
        block=block,
    )


def _ratings(
    labels: QuerySet[SatisfactionLabel],
) -> dict[int, dict[int, dict[int, list[HistoryRating]]]]:
    """User, session and turn to the ratings of that turn's responses in their order."""
    found: dict[int, dict[int, dict[int, list[HistoryRating]]]] = {}
    seen: set[tuple[int, int]] = set()
    rows = labels.order_by("response__position", "response_id", "created_at", "id").values_list(
        "annotator_id",
        "response__turn__session_id",
        "response__turn_id",
        "response_id",
        "response__text",
        "score",
        "reason",
    )
    for user_id, session_id, turn_id, response_id, text, score, reason in rows.iterator():
        if (user_id, response_id) in seen:
            continue
        seen.add((user_id, response_id))
        rating = HistoryRating(
            str(response_id), text or "", score, Reason(reason) if reason else None
        )
        found.setdefault(user_id, {}).setdefault(session_id, {}).setdefault(turn_id, []).append(
            rating
        )
    return found


def _whole_ratings(labels: QuerySet[SatisfactionLabel]) -> dict[tuple[int, int], HistoryRating]:
    """User and session to what the user said first of the whole of it."""
    found: dict[tuple[int, int], HistoryRating] = {}
    rows = labels.order_by("created_at", "id").values_list(
        "annotator_id", "session_id", "score", "reason"
    )
    for user_id, session_id, score, reason in rows.iterator():
        if session_id is not None:
            rating = HistoryRating(str(session_id), "", score, Reason(reason) if reason else None)
            found.setdefault((user_id, session_id), rating)
    return found


def session_rows(sessions: QuerySet[Session]) -> list[SessionColumns]:
    """Sessions in stored order: by scenario, then as in their file. One query."""
    rows = sessions.order_by("scenario__position", "scenario_id", "position", "id").values_list(
        "id",
        "key",
        "scenario_id",
        "scenario__name",
        "task_context",
        "language",
        "original_user_id",
        "profile_snapshot",
    )
    return [SessionColumns(*row) for row in rows]


def turns_of(sessions: Any) -> dict[int, list[tuple[int, str | None, str | None]]]:
    """Session to its turns: id, user message, and the response the conversation went on from.

    Args:
        sessions: their ids, or a query that gives them. Two queries.
    """
    originals = dict(
        Response.objects.filter(turn__session_id__in=sessions, original=True).values_list(
            "turn_id", "text"
        )
    )
    found: dict[int, list[tuple[int, str | None, str | None]]] = {}
    rows = (
        Turn.objects.filter(session_id__in=sessions)
        .order_by("session_id", "position")
        .values_list("id", "session_id", "user_message")
    )
    for turn_id, session_id, message in rows:
        found.setdefault(session_id, []).append((turn_id, message, originals.get(turn_id)))
    return found


def profiles_of(user_ids: Iterable[int]) -> dict[int, dict[str, object]]:
    """The present profile of users who have one. One query."""
    rows = AnnotatorProfile.objects.filter(user_id__in=list(user_ids)).values(
        "user_id", *PROFILE_FIELDS
    )
    return {row.pop("user_id"): row for row in rows}


def _profile(
    row: SessionColumns, user_id: int, profiles: dict[int, dict[str, object]]
) -> dict[str, object]:
    """The profile as it was in the session, if the user held it; otherwise the current one."""
    own = row.original_user_id in (None, user_id)
    return row.snapshot if own and row.snapshot else profiles.get(user_id, {})
