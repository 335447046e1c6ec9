"""A preference set with everything that it was selected on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.models import Preference, PreferenceKind, PreferenceSet
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
class MatrixRow:
    """A dev comparison with its cells in column order.

    A cell is right with the chosen response shown first, right with it shown second (1, 0, or None
    without a verdict), and whether the column was distilled from this very comparison.
    """

    comparison: int
    key: str
    cells: Sequence[tuple[int | None, int | None, bool]]


@dataclass(frozen=True, slots=True)
class TraceRow:
    """The best subset of one size: its columns, right row-orders (halves for even splits), share.

    `taken` marks the one that was selected.
    """

    size: int
    columns: tuple[int, ...]
    metric: float
    accuracy: float
    taken: bool


@dataclass(frozen=True, slots=True)
class NullBar:
    """How many label flips reached an accuracy, and whether the real labels do no better."""

    accuracy: float
    flips: int
    reached: bool


@dataclass(frozen=True, slots=True)
class SetPage:
    """A preference set with the texts, the matrix and the evidence that it was selected on."""

    chosen: PreferenceSet
    columns: Sequence[Column]
    rows: Sequence[MatrixRow]
    others: Sequence[PreferenceSet]
    trace: Sequence[TraceRow]
    null: Sequence[NullBar]


def set_page(set_id: int, *, only: int | None = None) -> SetPage:
    """One preference set; for an annotator (`only`) one of their own, selected on nothing withheld.

    Raises:
        Refused: there is none that the reader may see.
    """
    chosen = (
        PreferenceSet.objects.select_related("run", "dataset", "scenario", "annotator")
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
            MatrixRow(
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
            .order_by("pk"),
            withheld,
        ),
        trace=_trace(chosen.selection),
        null=_null(chosen),
    )


def _trace(selection: dict[str, Any]) -> list[TraceRow]:
    """None where the selection was stored without it."""
    taken = selection.get("selected", [])[:1]
    return [
        TraceRow(size, tuple(columns), metric, metric / selection["denominator"], columns in taken)
        for size, columns, metric in selection.get("trace", ())
    ]


def _null(chosen: PreferenceSet) -> list[NullBar]:
    dev = chosen.dev_accuracy or 0.0
    return [
        NullBar(accuracy, flips, accuracy >= dev - 1e-6)
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
    names = dict(Comparison.objects.filter(pk__in=rows).values_list("pk", "key"))
    return [(key, names.get(key, str(key))) for key in rows]
