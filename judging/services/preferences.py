"""Distilling preferences, a row a column, and selecting the set of them that judges best."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

from django.db import transaction

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from judging.core.judge_prompts import PairTexts
from judging.core.matrix import AGGREGATE, ColumnSource, Matrix
from judging.core.questions import DistilAnswer, LabelledPair
from judging.core.rules import PairwiseSettings
from judging.core.runs import StageName, Winners
from judging.core.selection import Assessment, assess
from judging.core.selection_search import SelectionSettings
from judging.core.votes import VerdictKey, correctness_matrix
from judging.judges.protocol import Judge
from judging.models import Control, JudgeRun, Preference, PreferenceKind, PreferenceSet
from judging.queries.comparisons import texts_of
from judging.queries.configurations import distil_plans, pairwise_settings
from judging.queries.preferences import run_columns
from judging.queries.runs import judgment_rows, preference_rows
from judging.services.batches import AskingStage, ComputingStage, IdRange, call_ids, raw_to_keep
from judging.services.heartbeats import Pulse

NO_PAIRS: Final = "preference:no-pairs"
"""The texts that the preference should be distilled from are not available."""

_Sources = list[tuple[int, Verdict]]


def empty_preference() -> Preference:
    """The base judge's preference: one row for the whole database."""
    return Preference.objects.get_or_create(
        kind=PreferenceKind.EMPTY, defaults={"text": "", "status": JudgmentStatus.DONE}
    )[0]


@dataclass(frozen=True, slots=True)
class DistilQuestion:
    """One preference to distil, from one pair or from several."""

    row_id: int
    pairs: tuple[LabelledPair, ...]
    language: str


@dataclass(frozen=True, slots=True)
class DistilledAnswer:
    """What the distiller wrote for one row."""

    row_id: int
    answer: DistilAnswer


def load_questions(run: JudgeRun, ids: IdRange) -> list[DistilQuestion]:
    """The pending preferences of a range, with the pairs behind them."""
    rows = list(
        preference_rows(run.pk)
        .filter(status=JudgmentStatus.PENDING, pk__gte=ids.first, pk__lte=ids.last)
        .order_by("pk")
    )
    sources = _sources(run, rows)
    texts = texts_of({comparison_id for some in sources.values() for comparison_id, _ in some})
    return [
        DistilQuestion(row.pk, labelled_pairs(sources[row.pk], texts), row.language) for row in rows
    ]


def _sources(run: JudgeRun, rows: Sequence[Preference]) -> dict[int, _Sources]:
    """By preference, the comparisons and verdicts it is distilled from, in column order."""
    aggregated: dict[tuple[int | None, str], _Sources] = defaultdict(list)
    if any(row.kind == PreferenceKind.AGGREGATE for row in rows):
        for pair in preference_rows(run.pk).filter(kind=PreferenceKind.PAIR).order_by("position"):
            aggregated[pair.scenario_id, pair.control].append(_source(pair))
    return {
        row.pk: (
            [_source(row)]
            if row.kind == PreferenceKind.PAIR
            else aggregated[row.scenario_id, row.control]
        )
        for row in rows
    }


def _source(pair: Preference) -> tuple[int, Verdict]:
    # A constraint lets no preference of this kind be without its source.
    return cast("int", pair.source_comparison_id), Verdict(cast("str", pair.source_verdict))


def labelled_pairs(
    sources: Iterable[tuple[int, Verdict]], texts: Mapping[int, PairTexts]
) -> tuple[LabelledPair, ...]:
    """What a distiller is shown of some labels; those without texts are left out."""
    return tuple(
        texts[comparison_id].labelled(winner)
        for comparison_id, winner in sources
        if comparison_id in texts
    )


def written_in(winners: Winners, texts: Mapping[int, PairTexts]) -> str:
    """The language most of the dev comparisons are in: preferences are written in it."""
    languages = Counter(texts[one].language for one, _ in winners if one in texts)
    return languages.most_common(1)[0][0]


async def ask_distiller(judge: Judge, question: DistilQuestion) -> DistilledAnswer:
    """Asks for one preference."""
    if not question.pairs:
        return DistilledAnswer(question.row_id, DistilAnswer(None, error_code=NO_PAIRS))
    answer = await judge.distil(question.pairs, language=question.language)
    return DistilledAnswer(question.row_id, answer)


def store_preferences(run: JudgeRun, answers: Iterable[DistilledAnswer]) -> None:
    """Writes texts over pending preferences alone; a failed one is a column without verdicts."""
    answers = list(answers)
    calls = call_ids(one.answer.call for one in answers)
    for one in answers:
        answer = one.answer
        answered = answer.text is not None
        call_id = calls.get(answer.call.call_key or "")
        Preference.objects.filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=JudgmentStatus.DONE if answered else JudgmentStatus.FAILED,
            text=answer.text,
            judge=run.judge,
            call_id=call_id,
            raw=raw_to_keep(answer.call, answered=answered, call_id=call_id),
            error_code=answer.error_code or "",
        )


DISTIL_STAGE: Final = AskingStage(
    name=StageName.DISTIL,
    rows=preference_rows,
    load=load_questions,
    ask=ask_distiller,
    store=store_preferences,
)


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
    settings = pairwise_settings(run.config)
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
        columns = tuple((key, _column_source(preferences[key], rows)) for key in plan.preferences)
        yield _Group(plan.scenario_id, Control(plan.control), winners, columns)


def _column_source(preference: Preference, rows: Mapping[int, int]) -> ColumnSource:
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
