"""Blocks from stored labels: who rated what, in which scenario, with which history."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet

from annotation.core.choices import Reason
from annotation.core.formats.records import PROFILE_FIELDS
from annotation.core.language import language_of
from annotation.models import AnnotatorProfile, Response, SatisfactionLabel, Session, Turn
from judging.core.retrieval import (
    Block,
    Rating,
    UserSession,
    UserTurn,
    build_blocks,
)


@dataclass(frozen=True, slots=True)
class StoredBlock:
    """A block with the ids of its rows; a target's turn id is the response's id as text."""

    user_id: int
    scenario_id: int
    language: str
    block: Block


@dataclass(frozen=True, slots=True)
class _SessionRow:
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
) -> tuple[StoredBlock, ...]:
    """The blocks of a dataset, by user and then by scenario in their stored order.

    Every user's first answer to a response counts; hidden repeats do not.

    Args:
        dataset_id: whose sessions.
        user_ids: only these users' blocks; None for all.
        target: one block alone, (user id, scenario id).

    Returns:
        Blocks with at least one rated response. Costs five queries.
    """
    if target is not None:
        user_ids = [target[0]]
    labels = rated(dataset_id=dataset_id, user_ids=user_ids)
    ratings = _ratings(labels)
    if not ratings:
        return ()
    sessions = _sessions(labels)
    turns = _turns(labels)
    profiles = _profiles(ratings)
    by_key = {row.key: row for row in sessions}
    blocks = build_blocks(
        [
            UserSession(
                user=str(user_id),
                scenario=row.scenario,
                key=row.key,
                task_context=row.task_context,
                turns=tuple(
                    UserTurn(message, response, tuple(own[row.id].get(turn_id, ())))
                    for turn_id, message, response in turns[row.id]
                ),
                profile=_profile(row, user_id, profiles),
            )
            for user_id, own in sorted(ratings.items())
            for row in sessions
            if row.id in own
        ]
    )
    stored = (_stored(block, by_key) for block in blocks)
    return tuple(
        item for item in stored if target is None or (item.user_id, item.scenario_id) == target
    )


def rated(
    *, dataset_id: int, user_ids: Collection[int] | None = None
) -> QuerySet[SatisfactionLabel]:
    """Labels of responses whose text is available, without hidden repeats."""
    labels = SatisfactionLabel.objects.filter(
        response__turn__session__dataset_id=dataset_id,
        response__text__isnull=False,
        repeat_index=0,
    )
    return labels if user_ids is None else labels.filter(annotator_id__in=user_ids)


def gold_ratings(*, dataset_id: int) -> dict[tuple[int, int], tuple[int, Reason | None]]:
    """User and response to the score and reason that the user gave first; for metrics alone."""
    found: dict[tuple[int, int], tuple[int, Reason | None]] = {}
    rows = rated(dataset_id=dataset_id).order_by("created_at", "id")
    fields = ("annotator_id", "response_id", "score", "reason")
    for user_id, response_id, score, reason in rows.values_list(*fields):
        if response_id is not None:
            found.setdefault((user_id, response_id), (score, Reason(reason) if reason else None))
    return found


def ratings_digest(*, dataset_id: int, user_ids: Collection[int] | None = None) -> str:
    """SHA-256 of who rated what how, hexadecimal: equal digests mean equal blocks and gold."""
    rows = (
        rated(dataset_id=dataset_id, user_ids=user_ids)
        .order_by("annotator_id", "response_id", "created_at", "id")
        .values_list("annotator_id", "response_id", "score", "reason")
    )
    digest = hashlib.sha256()
    for row in rows.iterator():
        digest.update(repr(row).encode())
    return digest.hexdigest()


def _stored(block: Block, sessions: dict[str, _SessionRow]) -> StoredBlock:
    first = sessions[block.targets[0].session_key]
    return StoredBlock(
        user_id=int(block.user),
        scenario_id=first.scenario_id,
        language=first.language or language_of(block.targets[0].user_message),
        block=block,
    )


def _ratings(labels: QuerySet[SatisfactionLabel]) -> dict[int, dict[int, dict[int, list[Rating]]]]:
    """User, session and turn to the ratings of that turn's responses in their order."""
    found: dict[int, dict[int, dict[int, list[Rating]]]] = {}
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
        rating = Rating(str(response_id), text or "", score, Reason(reason) if reason else None)
        found.setdefault(user_id, {}).setdefault(session_id, {}).setdefault(turn_id, []).append(
            rating
        )
    return found


def _sessions(labels: QuerySet[SatisfactionLabel]) -> list[_SessionRow]:
    rows = (
        Session.objects.filter(pk__in=labels.values("response__turn__session_id"))
        .order_by("scenario__position", "scenario_id", "position", "id")
        .values_list(
            "id",
            "key",
            "scenario_id",
            "scenario__name",
            "task_context",
            "language",
            "original_user_id",
            "profile_snapshot",
        )
    )
    return [_SessionRow(*row) for row in rows]


def _turns(
    labels: QuerySet[SatisfactionLabel],
) -> dict[int, list[tuple[int, str | None, str | None]]]:
    """Session to its turns: id, user message, and the response the conversation went on from."""
    session_ids = labels.values("response__turn__session_id")
    originals = dict(
        Response.objects.filter(turn__session_id__in=session_ids, original=True).values_list(
            "turn_id", "text"
        )
    )
    found: dict[int, list[tuple[int, str | None, str | None]]] = {}
    rows = (
        Turn.objects.filter(session_id__in=session_ids)
        .order_by("session_id", "position")
        .values_list("id", "session_id", "user_message")
    )
    for turn_id, session_id, message in rows:
        found.setdefault(session_id, []).append((turn_id, message, originals.get(turn_id)))
    return found


def _profiles(user_ids: Iterable[int]) -> dict[int, dict[str, object]]:
    rows = AnnotatorProfile.objects.filter(user_id__in=list(user_ids)).values(
        "user_id", *PROFILE_FIELDS
    )
    return {row.pop("user_id"): row for row in rows}


def _profile(
    row: _SessionRow, user_id: int, profiles: dict[int, dict[str, object]]
) -> dict[str, object]:
    """The profile as it was in the session, if the user held it; otherwise the current one."""
    own = row.original_user_id in (None, user_id)
    return row.snapshot if own and row.snapshot else profiles.get(user_id, {})
