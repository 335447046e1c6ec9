"""Labelled blocks and labelled turns: what is learned from, or shown as examples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from annotation.core.choices import Reason
from annotation.core.language import language_of
from annotation.models import SatisfactionLabel
from judging.core.questions import HistoryTurn
from judging.core.satisfaction_corpus import Example
from judging.core.satisfaction_variants import Level
from judging.queries.satisfaction.blocks import gold_ratings, rated, stored_blocks


def examples(*, dataset_id: int, level: Level = Level.TURN) -> tuple[Example, ...]:
    """The blocks of a dataset with what their users said first of each target. Six queries."""
    said = gold_ratings(dataset_id=dataset_id, level=level)
    found = []
    for stored in stored_blocks(dataset_id=dataset_id, level=level):
        own = [said[stored.user_id, int(target.turn_id)] for target in stored.block.targets]
        found.append(
            Example(
                block=stored.block,
                scores=tuple(score for score, _ in own),
                reasons=tuple(reason for _, reason in own),
            )
        )
    return tuple(found)


def raters(*, dataset_id: int) -> tuple[int, ...]:
    """The ids of those who rated a response of a dataset, ascending."""
    rows = rated(dataset_id=dataset_id).order_by("annotator_id")
    return tuple(rows.values_list("annotator_id", flat=True).distinct())


@dataclass(frozen=True, slots=True)
class FirstRating:
    """One user's first rating of a response."""

    id: int
    user_id: int
    score: int
    language: str


def first_labels(*, dataset_id: int, user_ids: Collection[int]) -> tuple[FirstRating, ...]:
    """First ratings of some users by user name, session and turn: an order that no row id shapes.

    One query.
    """
    rows = (
        rated(dataset_id=dataset_id, user_ids=user_ids)
        .order_by(
            "annotator__username",
            "response__turn__session__key",
            "response__turn__position",
            "response__position",
            "created_at",
            "id",
        )
        .values_list(
            "id",
            "annotator_id",
            "response_id",
            "score",
            "response__turn__session__language",
            "response__turn__user_message",
        )
    )
    found: dict[tuple[int, int | None], FirstRating] = {}
    for key, user_id, response_id, score, language, message in rows:
        row = FirstRating(key, user_id, score, language or language_of(message or ""))
        found.setdefault((user_id, response_id), row)
    return tuple(found.values())


def turns_of_labels(ids: Collection[int]) -> dict[int, HistoryTurn]:
    """Rated turns by the id of their label; what was taken back, or lost its text, is left out."""
    rows = SatisfactionLabel.objects.filter(pk__in=ids, response__text__isnull=False).values_list(
        "pk",
        "response_id",
        "response__turn__session__scenario__name",
        "response__turn__session__task_context",
        "response__turn__user_message",
        "response__text",
        "score",
        "reason",
        "response__turn__session__key",
    )
    return {
        key: HistoryTurn(
            turn_id=str(response_id),
            scenario=scenario,
            task_context=task,
            user_message=message or "",
            response=text or "",
            score=score,
            reason=Reason(reason) if reason else None,
            session_key=session,
        )
        for key, response_id, scenario, task, message, text, score, reason, session in rows
    }
