"""Selecting the preferences that judge like the annotator, and storing the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from django.db import transaction

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from judging.core.matrix import AGGREGATE, ColumnSource, Matrix
from judging.core.rules import PairwiseSettings, settings_from_config
from judging.core.runs import StageName, Winners, distil_plans
from judging.core.selection import Assessment, assess
from judging.core.selection_rules import SelectionSettings
from judging.core.votes import VerdictKey, correctness_matrix
from judging.models import Control, JudgeRun, Preference, PreferenceKind, PreferenceSet
from judging.queries.preferences import run_columns
from judging.queries.runs import judgment_rows
from judging.services.distillation import empty_preference
from judging.services.heartbeats import Pulse
from judging.services.stages import ComputingStage

NO_LABELS: Final = "selection:no-labels"
"""No dev comparison of the scenario has a winner."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One scenario under one control; the base judge is the first column."""

    scenario_id: int
    control: Control
    winners: Winners
    columns: tuple[tuple[int, ColumnSource], ...]


def select_preferences(run: JudgeRun) -> None:
    """Stores the set of every scenario of a run, and the shuffled control's beside it.

    Where nothing can be selected (no dev label, or no verdict at all) the set is the base judge
    alone, with the code of the reason. Signs of life are given meanwhile.

    Raises:
        SupersededError: somebody else has the run now.
    """
    pulse = Pulse(run)
    settings = settings_from_config(run.config)
    verdicts = _verdicts(run)
    for group in _groups(run):
        _store(run, group, verdicts, settings, pulse)


def _verdicts(run: JudgeRun) -> dict[VerdictKey, Verdict]:
    rows = judgment_rows(run.pk).filter(status=JudgmentStatus.DONE)
    return {
        (comparison, preference, Order(order)): Verdict(verdict)
        for comparison, preference, order, verdict in rows.values_list(
            "comparison_id", "preference_id", "order", "verdict"
        )
        if verdict is not None
    }


def _groups(run: JudgeRun) -> Iterator[_Group]:
    plans = run_columns(run, base=empty_preference().pk)
    ids = {key for plan in plans for key in plan.preferences}
    preferences = Preference.objects.select_related("root").in_bulk(ids)
    by_scenario = {plan.scenario_id: plan for plan in distil_plans(run.config)}
    for plan in plans:
        scenario = by_scenario[plan.scenario_id]
        winners = scenario.winners if plan.control == Control.NONE else scenario.shuffled
        rows = {comparison: row for row, (comparison, _) in enumerate(winners)}
        columns = tuple((key, _source(preferences[key], rows)) for key in plan.preferences)
        yield _Group(plan.scenario_id, Control(plan.control), winners, columns)


def _source(preference: Preference, rows: Mapping[int, int]) -> ColumnSource:
    """What a column knows of the dev part: an edit knows what its first version knew."""
    if preference.origin == PreferenceKind.AGGREGATE:
        return AGGREGATE
    source = preference.source_comparison_id
    return None if source is None else rows[source]


def _store(
    run: JudgeRun,
    group: _Group,
    verdicts: Mapping[VerdictKey, Verdict],
    settings: PairwiseSettings,
    pulse: Pulse,
) -> None:
    matrix = correctness_matrix(winners=group.winners, columns=group.columns, verdicts=verdicts)
    columns = [preference for preference, _ in group.columns]
    fields: dict[str, Any] = {
        "dataset_id": run.dataset_id,
        "columns": columns,
        "rows": [comparison for comparison, _ in group.winners],
        "matrix": _matrix_json(matrix),
    }
    chosen: tuple[int, ...] = (0,)
    try:
        found = _assess(matrix, settings, pulse)
        chosen = found.selection.selected[0]
        fields |= _evidence(found)
    except Refused as error:
        code = error.code if group.winners else NO_LABELS
        fields |= {
            "selection": {"selected": [list(chosen)], "strategy": "none", "error_code": code},
            "dev_accuracy": None,
            "leave_one_out": None,
            "null_p95": None,
            "p_value": None,
        }
    with transaction.atomic():
        stored, _ = PreferenceSet.objects.update_or_create(
            run=run,
            scenario_id=group.scenario_id,
            annotator_id=run.annotator_id,
            control=group.control,
            defaults=fields,
        )
        stored.members.set([columns[column] for column in chosen])


def _assess(matrix: Matrix, settings: PairwiseSettings, pulse: Pulse) -> Assessment:
    rules = SelectionSettings(aggregate_eligible=settings.aggregate_eligible)
    return assess(matrix, rules, seed=settings.seed, between=pulse)


def _matrix_json(matrix: Matrix) -> dict[str, Any]:
    """As a matrix file, so that `manage.py select_preferences` reads what is stored."""
    return {
        "matrix_original": [list(row) for row in matrix.original],
        "matrix_swapped": [list(row) for row in matrix.swapped],
        "difference_penalty": False,
        "column_source": list(matrix.sources),
    }


def _evidence(found: Assessment) -> dict[str, Any]:
    selection, null = found.selection, found.null
    return {
        "selection": {
            "selected": [list(subset) for subset in selection.selected],
            "metric": selection.metric,
            "denominator": selection.denominator,
            "strategy": selection.strategy.value,
            "mode": selection.settings.mode.value,
            "aggregate_eligible": selection.settings.aggregate_eligible,
            "flips": null.flips,
            "exact": null.exact,
            "seed": null.seed,
            "flagged": found.flagged,
            "trace": [[step.size, list(step.subset), step.metric] for step in found.trace],
            "null": [list(one) for one in null.counts],
        },
        "dev_accuracy": selection.accuracy,
        "leave_one_out": found.leave_one_out,
        "null_p95": null.p95,
        "p_value": null.p_value,
    }


SELECT_STAGE: Final = ComputingStage(name=StageName.SELECT, compute=select_preferences)
