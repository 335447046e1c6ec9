"""Memories written anew once their users rated more, or otherwise, in other scenarios.

Each becomes the next version of its block in the run that wrote it; what was judged with the
version before keeps that one. The history is read when the judge is asked, from every scenario
but the one that the memory judges.
"""

from __future__ import annotations

from collections.abc import Iterable

from django.db import IntegrityError, transaction
from django.db.models import Max

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from judging.models import JudgeRun, UserMemory
from judging.queries.satisfaction.labels import changes_since
from judging.queries.satisfaction.memories import newest
from judging.services.run_control import reopen


def plan_updates(run_id: int, *, memory_id: int | None = None) -> int:
    """Write the next version of each outdated memory of a finished run, PENDING, and reopen it.

    Args:
        run_id: whose memories; the caller dispatches it.
        memory_id: only this one, a newest version.

    Returns:
        How many memories are to be written.

    Raises:
        Refused: none is outdated; the run is under way.
    """
    written = newest(UserMemory.objects.filter(run=run_id, status=JudgmentStatus.DONE))
    if memory_id is not None:
        written = written.filter(pk=memory_id)
    try:
        with transaction.atomic():
            outdated = _outdated(written.select_related("run").order_by("pk"))
            if not outdated:
                raise Refused("memory:up-to-date")
            run = reopen(run_id)
            numbers = _last_versions(run)
            UserMemory.objects.bulk_create(
                UserMemory(
                    run=run,
                    user_id=memory.user_id,
                    target_scenario_id=memory.target_scenario_id,
                    version=numbers[memory.user_id, memory.target_scenario_id] + 1,
                    previous=memory,
                    judge=run.written_by,
                    language=memory.language,
                )
                for memory in outdated
            )
    except IntegrityError as error:  # somebody edited one at the same moment
        raise Refused("memory:up-to-date") from error
    return len(outdated)


def _outdated(memories: Iterable[UserMemory]) -> list[UserMemory]:
    """Those whose history is another one now, and not empty: from nothing nothing is written."""
    rows = list(memories)
    changes = changes_since(rows)
    return [row for row in rows if row.pk in changes and not changes[row.pk].is_emptied]


def _last_versions(run: JudgeRun) -> dict[tuple[int, int], int]:
    rows = UserMemory.objects.filter(run=run).values_list("user_id", "target_scenario_id")
    return {
        (user, scenario): last
        for user, scenario, last in rows.annotate(last=Max("version")).order_by()
    }
