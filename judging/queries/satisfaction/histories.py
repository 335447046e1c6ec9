"""The histories that memories were written from, beside what is rated now."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from annotation.core.choices import JudgmentStatus
from annotation.queries.withheld import own_labels
from judging.core.memory_history import HistoryChange, history_change, history_of_evidence
from judging.core.satisfaction_settings import satisfaction_settings
from judging.core.satisfaction_variants import Level
from judging.models import UserMemory
from judging.queries.satisfaction.blocks import rated

Scores = dict[int, dict[int, dict[str, int]]]
"""User to scenario to turn (or session) id to score."""

_FIELDS: Final = {
    Level.TURN: ("annotator_id", "response__turn__session__scenario_id", "response_id", "score"),
    Level.SESSION: ("annotator_id", "session__scenario_id", "session_id", "score"),
}


def level_of(memory: UserMemory) -> Level:
    """What the history of a memory consists of; its run comes with it."""
    return satisfaction_settings(memory.run.config).level


def changes_since(
    memories: Sequence[UserMemory], *, only: int | None = None
) -> dict[int, HistoryChange]:
    """By memory, what its user rated in other scenarios since it was written.

    Ratings of the scenario it judges are not looked at. Memories that are not written, and those
    of which nothing changed, are left out. One query a dataset and level, none for nothing; the
    memories come with their runs. To an annotator (`only`) their withheld ratings do not count.
    """
    written = [memory for memory in memories if memory.status == JudgmentStatus.DONE]
    users: dict[tuple[int, Level], set[int]] = {}
    for memory in written:
        users.setdefault((memory.run.dataset_id, level_of(memory)), set()).add(memory.user_id)
    scores = {key: rated_scores(key[0], own, level=key[1], only=only) for key, own in users.items()}
    changes = {}
    for memory in written:
        own = scores[memory.run.dataset_id, level_of(memory)].get(memory.user_id, {})
        now = {
            turn: score
            for scenario, turns in own.items()
            if scenario != memory.target_scenario_id
            for turn, score in turns.items()
        }
        change = history_change(history_of_evidence(memory.evidence), now)
        if change is not None:
            changes[memory.pk] = change
    return changes


def rated_scores(
    dataset_id: int, user_ids: Collection[int], *, level: Level, only: int | None = None
) -> Scores:
    """What some users said first of each response, or session, without any text.

    To an annotator (`only`) those of their own that are not withheld.
    """
    found: Scores = {}
    labels = rated(dataset_id=dataset_id, user_ids=user_ids, level=level)
    rows = (
        (labels if only is None else own_labels(labels, only))
        .order_by("-created_at", "-id")  # of several answers the first stays
        .values_list(*_FIELDS[level])
    )
    for user, scenario, target, score in rows:
        found.setdefault(user, {}).setdefault(scenario, {})[str(target)] = score
    return found
