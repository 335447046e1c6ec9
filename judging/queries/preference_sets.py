"""A preference set with everything that it was selected on."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import F, Q

from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.core.lexical.stack import told_ways
from judging.core.rules import Combine
from judging.core.selection_search import TraceStep
from judging.core.stack import ToldWay
from judging.core.stand_in import STANDS_IN, StandInChoice
from judging.models import Control, JudgeRun, Preference, PreferenceKind, PreferenceSet, RunKind
from judging.queries.withheld import readable_sets, withheld_numbers


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a selection: a preference, whether it was selected, and its correct cells.

    `eligible` is False where the run's rules kept it from being selected, however good.
    """

    preference: Preference
    selected: bool
    eligible: bool
    correct: int
    answered: int


@dataclass(frozen=True, slots=True)
class SetPage:
    """A preference set with the texts, the matrix and the evidence that it was selected on.

    `rows` are dev comparisons, number and name, with their cells in column order. A cell is right
    with the chosen response shown first, right with it shown second (1, 0, or None without a
    verdict), and whether the column was distilled from this very comparison. `trace` has the best
    subset of each size with its accuracy, and whether it was the one selected. `null` says how many
    label flips reached an accuracy, and whether the real labels do no better. `edited` says that a
    person edited the set after its test verdicts were there to see.
    """

    chosen: PreferenceSet
    columns: Sequence[Column]
    rows: Sequence[tuple[int, str, Sequence[tuple[int | None, int | None, bool]]]]
    others: Sequence[PreferenceSet]
    trace: Sequence[tuple[TraceStep, float, bool]]
    null: Sequence[tuple[float, int, bool]]
    edited: bool

    @property
    def stand_in(self) -> StandInChoice | None:
        """What stands in beside this set, and why; None of a control."""
        return stand_in_of(self.chosen) if self.chosen.control == Control.NONE else None

    @property
    def ways(self) -> list[ToldWay]:
        """The ways of its weighted vote; none where a person wrote another text in its place."""
        return [] if self.chosen.stack is None else told_ways(self.chosen.stack.text or "")


def stand_in_of(chosen: PreferenceSet) -> StandInChoice:
    """What stands in for the annotator where a set was selected, and what it was chosen by.

    Sets of an earlier time, and those that are selected as the paper's code does, say no reason.
    """
    stored = chosen.selection.get(STANDS_IN)
    if stored is not None:
        return StandInChoice.read(stored)
    used = Combine.SUBSET if chosen.is_used else Combine.BASE
    return StandInChoice(used if chosen.stack_id is None else Combine.STACK)


def set_page(set_id: int, *, only: int | None = None) -> SetPage:
    """One preference set; for an annotator (`only`) one of their own, selected on nothing withheld.

    Raises:
        Refused: there is none that the reader may see.
    """
    chosen = (
        PreferenceSet.objects.select_related("run", "dataset", "scenario", "annotator", "stack")
        .filter(pk=set_id)
        .first()
    )
    if chosen is None or (only is not None and chosen.annotator_id != only):
        raise Refused("run:unknown")
    withheld = withheld_numbers(only)
    if not readable_sets([chosen], withheld):
        raise Refused("run:unknown")
    selected = {member.pk for member in chosen.members.all()}
    preferences = Preference.objects.select_related("root").in_bulk(chosen.columns)
    sources = {key: each.source_comparison_id for key, each in preferences.items()}
    original, swapped = _matrix(chosen)
    barred = set() if chosen.run.config.get("aggregate_eligible") else {PreferenceKind.AGGREGATE}
    return SetPage(
        chosen=chosen,
        columns=[
            _column(
                preferences[key],
                place,
                (*original, *swapped),
                selected=key in selected,
                eligible=preferences[key].origin not in barred,
            )
            for place, key in enumerate(chosen.columns)
            if key in preferences
        ],
        rows=[
            (
                key,
                name,
                list(
                    zip(
                        original[place],
                        swapped[place],
                        [key == sources.get(column) for column in chosen.columns],
                        strict=True,
                    )
                ),
            )
            for place, (key, name) in enumerate(_keys(chosen.rows))
        ],
        others=readable_sets(
            PreferenceSet.objects.filter(
                run=chosen.run_id, annotator=chosen.annotator_id, scenario=chosen.scenario_id
            )
            .exclude(pk=chosen.pk)
            .order_by("control", "draw"),
            withheld,
        ),
        trace=_trace(chosen.selection),
        null=_null(chosen),
        edited=(
            chosen.run.parent_id is not None and chosen.pk in edited_after_verdicts({chosen.run_id})
        ),
    )


def edited_after_verdicts(distillations: Collection[int | None]) -> dict[int, int]:
    """The sets of some distillations that were edited when their test verdicts were there to see.

    That is: a run had begun to judge the annotator's test comparisons under an earlier version of
    the set before somebody edited, added or switched one of its preferences. Three queries.

    Returns:
        By set, its distillation.
    """
    sets = PreferenceSet.objects.filter(
        run__in=distillations, run__parent__isnull=False, control=Control.NONE
    )
    rows = list(sets.values_list("pk", "run", "run__parent", "scenario", "run__created_at"))
    if not rows:
        return {}  # what no run judged again was never edited
    roots = {root for _key, _run, root, _scenario, _made in rows}
    tests = (
        JudgeRun.objects.filter(
            Q(parent__in=roots) | Q(parent__parent__in=roots),
            kind=RunKind.TEST,
            started_at__isnull=False,
            annotator=F("parent__annotator"),
        )
        .exclude(config__sets_of=None)
        .order_by("-started_at")
        .values_list("parent", "parent__parent", "started_at")
    )
    # The earliest comes last.
    seen = {parent if parent in roots else before: began for parent, before, began in tests}
    edits = Preference.objects.filter(run__in=roots, kind=PreferenceKind.EDITED)
    told = list(edits.values_list("run", "scenario", "created_at"))
    return {
        key: run
        for key, run, root, scenario, made in rows
        if (began := seen.get(root)) is not None
        and any(
            (root, scenario) == (edited_in, where) and began < at <= made
            for edited_in, where, at in told
        )
    }


def runs_edited_late(parents: Mapping[int, int | None]) -> frozenset[int]:
    """Those of some runs that applied sets edited after their test verdicts were there to see.

    At most three queries.

    Args:
        parents: by run, the distillation whose sets it applied; None where it applied none.
    """
    edited = set(edited_after_verdicts({key for key in parents.values() if key}).values())
    return frozenset(run for run, parent in parents.items() if parent in edited)


def _trace(selection: dict[str, Any]) -> list[tuple[TraceStep, float, bool]]:
    """None where the selection was stored without it."""
    taken = selection.get("selected", [])[:1]
    return [
        (
            TraceStep(size, tuple(columns), metric),
            metric / selection["denominator"],
            columns in taken,
        )
        for size, columns, metric in selection.get("trace", ())
    ]


def _null(chosen: PreferenceSet) -> list[tuple[float, int, bool]]:
    dev = chosen.dev_accuracy or 0.0
    return [
        (accuracy, flips, accuracy >= dev - 1e-6)
        for accuracy, flips in chosen.selection.get("null", ())
    ]


def _matrix(chosen: PreferenceSet) -> tuple[list[list[int | None]], list[list[int | None]]]:
    stored: dict[str, Any] = chosen.matrix
    return stored.get("matrix_original", []), stored.get("matrix_swapped", [])


def _column(
    preference: Preference,
    place: int,
    rows: Sequence[Sequence[int | None]],
    *,
    selected: bool,
    eligible: bool,
) -> Column:
    cells = [row[place] for row in rows if row[place] is not None]
    return Column(preference, selected, eligible, sum(cell or 0 for cell in cells), len(cells))


def _keys(rows: Sequence[int]) -> list[tuple[int, str]]:
    known = Comparison.objects.filter(pk__in=rows).select_related("turn").in_bulk()
    return [(key, known[key].name if key in known else str(key)) for key in rows]
