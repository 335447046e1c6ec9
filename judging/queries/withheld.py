"""Which of what a judge made rests on something that is withheld from its reader.

`withheld` are numbers of comparisons, as `annotation.queries.withheld` has them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from django.db.models import QuerySet

from annotation.models import Response, Session
from annotation.queries.withheld import (
    withheld_comparisons,
    withheld_responses,
    withheld_sessions,
)
from judging.core.memory import history_of_evidence
from judging.core.rules import Level
from judging.models import Preference, PreferenceKind, PreferenceSet, UserMemory
from judging.queries.configurations import distil_plans
from judging.queries.satisfaction.labels import level_of


def withheld_numbers(only: int | None) -> frozenset[int]:
    """The comparisons that are withheld from the reader; no query where none can be."""
    if only is None:
        return frozenset()
    return frozenset(withheld_comparisons(only).values_list("pk", flat=True))


def is_withheld(preference: Preference, withheld: Collection[int]) -> bool:
    """Whether a preference, of any version, was learned from a withheld comparison.

    What a person added was learned from none. The preference comes with its root and its run.
    """
    first = preference.first
    source, is_held_out = first.source_comparison_id, first.kind == PreferenceKind.HELD_OUT
    if source is not None and not is_held_out:
        return source in withheld
    of_all = (PreferenceKind.AGGREGATE, PreferenceKind.STACK, PreferenceKind.HELD_OUT)
    if not withheld or first.kind not in of_all or preference.run is None:
        return False
    return any(
        comparison in withheld and comparison != source
        for plan in distil_plans(preference.run.config)
        if plan.scenario_id == preference.scenario_id
        for comparison, _winner in plan.winners
    )


def readable_sets(
    sets: Iterable[PreferenceSet], withheld: Collection[int]
) -> tuple[PreferenceSet, ...]:
    """The sets that were selected on nothing withheld: a matrix has a judge's every verdict."""
    return tuple(each for each in sets if not any(row in withheld for row in each.rows))


def readable_memories(memories: Iterable[UserMemory], only: int | None) -> tuple[UserMemory, ...]:
    """The memories that were written from nothing withheld. A query a level; none for None."""
    if only is None:
        return tuple(memories)
    rows = tuple(memories)
    withheld: dict[Level, frozenset[str]] = {}
    for level in {level_of(row) for row in rows}:
        targets: QuerySet[Response] | QuerySet[Session] = (
            withheld_responses(only) if level is Level.TURN else withheld_sessions(only)
        )
        withheld[level] = frozenset(str(key) for key in targets.values_list("pk", flat=True))
    return tuple(
        row for row in rows if withheld[level_of(row)].isdisjoint(history_of_evidence(row.evidence))
    )
