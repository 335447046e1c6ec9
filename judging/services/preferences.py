"""Distilling preferences, a row a column, and selecting the set of them that judges best."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np
from django.db import transaction
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.core.judge_prompts import PairTexts
from judging.core.lexical.stack import stack_text
from judging.core.matrix import AGGREGATE, ColumnSource, Matrix
from judging.core.questions import LabelledPair, Outcome
from judging.core.rules import Combine, PairwiseSettings, SelectionMode, StackWay
from judging.core.runs import COLUMNS, StageName, WeightedWay, Winners
from judging.core.selection import Assessment, FlipNull, assess, held_out_subsets, select
from judging.core.selection_search import SelectionSettings
from judging.core.stack import stack_weights, way_log_odds, ways_text
from judging.core.votes import (
    MemberVerdict,
    VerdictKey,
    correctness_matrix,
    log_odds_matrix,
)
from judging.judges.lexical import NAME as LEXICAL
from judging.judges.protocol import Judge
from judging.models import Control, JudgeRun, Judgment, Preference, PreferenceKind, PreferenceSet
from judging.queries.comparisons import texts_of
from judging.queries.configurations import (
    cross_fits,
    decides_by_log_odds,
    distil_plans,
    pairwise_settings,
)
from judging.queries.preferences import run_columns
from judging.queries.runs import judgment_rows, preference_rows
from judging.services.batches import (
    AskingStage,
    ComputingStage,
    IdRange,
    RowAnswer,
    call_ids,
    raw_to_keep,
)
from judging.services.heartbeats import Pulse

NO_PAIRS: Final = "preference:no-pairs"
"""The texts that the preference should be distilled from are not available."""

_Sources = Sequence[tuple[int, Verdict]]


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
    plans = {plan.scenario_id: plan for plan in distil_plans(run.config)}

    def labels(row: Preference) -> Sequence[tuple[int, Verdict]]:
        if row.kind == PreferenceKind.PAIR:
            return [_source(row)]
        plan = plans[row.scenario_id]
        if row.kind == PreferenceKind.HELD_OUT:
            return [label for label in plan.winners if label[0] != row.source_comparison_id]
        return plan.winners if row.control == Control.NONE else plan.draws[row.draw]

    return {row.pk: labels(row) for row in rows}


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


async def ask_distiller(judge: Judge, question: DistilQuestion) -> RowAnswer[Outcome[str]]:
    """Asks for one preference."""
    if not question.pairs:
        return RowAnswer(question.row_id, Outcome(None, error_code=NO_PAIRS))
    answer = await judge.distil(question.pairs, language=question.language)
    return RowAnswer(question.row_id, answer)


def store_preferences(run: JudgeRun, answers: Iterable[RowAnswer[Outcome[str]]]) -> None:
    """Writes texts over pending preferences alone; a failed one is a column without verdicts."""
    answers = list(answers)
    calls = call_ids(one.answer.call for one in answers)
    for one in answers:
        answer = one.answer
        answered = answer.value is not None
        call_id = calls.get(answer.call.call_key or "")
        Preference.objects.filter(pk=one.row_id, status=JudgmentStatus.PENDING).update(
            status=JudgmentStatus.DONE if answered else JudgmentStatus.FAILED,
            text=answer.value,
            judge=run.written_by,
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


WAYS: Final = "ways"
"""In a stored selection: what the weighted vote of a judge that is asked by prompts counts."""
NO_LABELS: Final = "selection:no-labels"
"""No dev comparison of the scenario has a winner."""


@dataclass(frozen=True, slots=True)
class _Group:
    """One scenario, or all as one, under one control; the base judge is the first column."""

    scenario_id: int | None
    control: Control
    winners: Winners
    columns: tuple[tuple[int, ColumnSource], ...]
    draw: int = 0


def select_preferences(run: JudgeRun) -> None:
    """Stores the set of every scenario of a run, and the shuffled control's beside it.

    Where nothing can be selected (no dev label, or no verdict at all) the set is the base judge
    alone, with the code of the reason. Signs of life are given meanwhile.

    Raises:
        SupersededError: somebody else has the run now.
    """
    pulse = Pulse(run)
    settings = pairwise_settings(run.config)
    make_matrix = _matrix_maker(run)
    groups = list(_groups(run))
    judged = {comparison for group in groups for comparison, _ in group.winners}
    told_in = dict(Comparison.objects.filter(pk__in=judged).values_list("pk", "turn__session_id"))
    for group in groups:
        _store(run, group, make_matrix(group), settings, pulse, told_in)


def _matrix_maker(run: JudgeRun) -> Callable[[_Group], Matrix]:
    """Makes the matrix of a group from what the run answered."""
    rows = judgment_rows(run.pk).filter(status=JudgmentStatus.DONE)
    if decides_by_log_odds(run.config, judge=run.judge):
        odds = {
            (comparison, preference, Order(order)): log_odds
            for comparison, preference, order, log_odds in rows.values_list(
                "comparison_id", "preference_id", "order", "log_odds"
            )
            if log_odds is not None
        }
        return lambda group: log_odds_matrix(
            winners=group.winners, columns=group.columns, log_odds=odds
        )
    verdicts = _verdicts(rows)
    return lambda group: correctness_matrix(
        winners=group.winners, columns=group.columns, verdicts=verdicts
    )


def _verdicts(rows: QuerySet[Judgment]) -> dict[VerdictKey, Verdict]:
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
        winners = scenario.winners if plan.control == Control.NONE else scenario.draws[plan.draw]
        rows = {comparison: row for row, (comparison, _) in enumerate(winners)}
        columns = tuple((key, _column_source(preferences[key], rows)) for key in plan.preferences)
        yield _Group(plan.scenario_id, Control(plan.control), winners, columns, plan.draw)


def _column_source(preference: Preference, rows: Mapping[int, int]) -> ColumnSource:
    """What a column knows of the dev part: an edit knows what its first version knew."""
    if preference.origin == PreferenceKind.AGGREGATE:
        return AGGREGATE
    source = preference.source_comparison_id
    return None if source is None else rows[source]


def _store(
    run: JudgeRun,
    group: _Group,
    matrix: Matrix,
    settings: PairwiseSettings,
    pulse: Pulse,
    told_in: Mapping[int, int],
) -> None:
    """Store a group's set; `told_in` has the session of each comparison."""
    columns = [preference for preference, _ in group.columns]
    fields: dict[str, Any] = {
        "dataset_id": run.dataset_id,
        "columns": columns,
        "rows": [comparison for comparison, _ in group.winners],
        "matrix": _matrix_json(matrix, difference_penalty=settings.difference_penalty),
    }
    chosen: tuple[int, ...] = (0,)
    ways: Sequence[WeightedWay] = ()
    try:
        found = _assess(matrix, settings, pulse, has_null=not group.draw)
        # Of subsets that are tied, in paper mode alone, all are judged under.
        chosen = tuple(sorted({column for each in found.selection.selected for column in each}))
        sessions = [told_in[comparison] for comparison, _ in group.winners]
        fields |= _evidence(found, settings, sessions)
        if group.control == Control.NONE and _cross_fits(run):
            ways, log_odds = _weighed(run, group, matrix, settings)
            fields["selection"] |= {WAYS: [list(way) for way in ways], "log_odds": log_odds}
    except Refused as error:
        code = error.code if group.winners else NO_LABELS
        fields |= {
            "selection": {"selected": [list(chosen)], "strategy": "none", "error_code": code},
            "dev_accuracy": None,
            "leave_one_out": None,
            "base_accuracy": None,
            "p_over_base": None,
            "is_used": False,
            "null_p95": None,
            "p_value": None,
        }
    whose: dict[str, Any] = {
        "run": run,
        "scenario_id": group.scenario_id,
        "annotator_id": run.annotator_id,
        "control": group.control,
        "draw": group.draw,
    }
    with transaction.atomic():
        # Whoever edited preferences means them to decide.
        is_stacked = _is_stacked(group, settings) and COLUMNS not in run.config
        if run.judge != LEXICAL:
            is_stacked = bool(ways)
        fields["stack"] = _stack(run, group, whose, ways) if is_stacked else None
        stored, _ = PreferenceSet.objects.update_or_create(**whose, defaults=fields)
        stored.members.set([columns[column] for column in chosen])


def _is_stacked(group: _Group, settings: PairwiseSettings) -> bool:
    is_real = group.control == Control.NONE and bool(group.winners)
    return is_real and settings.combine is Combine.STACK


def _cross_fits(run: JudgeRun) -> bool:
    return cross_fits(run.config, judge=run.judge) and COLUMNS not in run.config


def _weighed(
    run: JudgeRun, group: _Group, matrix: Matrix, settings: PairwiseSettings
) -> tuple[list[WeightedWay], list[list[float] | None]]:
    """The ways to judge with their weights, and by pair what each foretold without it.

    Log-odds are above 0 where the chosen response wins. Pairs on which every call of a way failed
    have no say and None.
    """
    ids = [preference for preference, _ in group.columns]
    held_out = dict(
        preference_rows(run.pk)
        .filter(kind=PreferenceKind.HELD_OUT, scenario=group.scenario_id)
        .values_list("source_comparison_id", "pk")
    )
    said: dict[tuple[int, int], dict[Order, MemberVerdict]] = defaultdict(dict)
    replied = set()
    rows = judgment_rows(run.pk).filter(
        status__in=(JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE)
    )
    for comparison, preference, order, verdict, log_odds in rows.values_list(
        "comparison_id", "preference_id", "order", "verdict", "log_odds"
    ):
        replied.add((comparison, preference))
        if verdict is not None:
            said[comparison, preference][Order(order)] = MemberVerdict(Verdict(verdict), log_odds)
    by_log_odds = decides_by_log_odds(run.config, judge=run.judge)
    rules = SelectionSettings(aggregate_eligible=settings.aggregate_eligible)
    subsets = held_out_subsets(matrix, rules)
    foretold: list[list[float] | None] = []
    for (comparison, winner), subset in zip(group.winners, subsets, strict=True):
        ways = [
            ids[:1],
            [held_out[comparison]] if comparison in held_out else [],
            [ids[column] for column in subset],
        ]
        if not all(replied.intersection((comparison, key) for key in own) for own in ways):
            foretold.append(None)
            continue
        toward_a = [
            way_log_odds(
                [said.get((comparison, key), {}) for key in members], by_log_odds=by_log_odds
            )
            for members in ways
        ]
        foretold.append([one if winner is Verdict.A else -one for one in toward_a])
    heard = [each for each in foretold if each is not None]
    weights = stack_weights(np.array(heard).reshape(-1, len(StackWay)))
    selected = select(matrix, rules).selected[0]
    aggregate = [key for key, source in group.columns if source == AGGREGATE]
    members = [ids[:1], aggregate, [ids[column] for column in selected]]
    found = [
        WeightedWay(way, float(weight), tuple(own))
        for way, weight, own in zip(StackWay, weights, members, strict=True)
    ]
    return found, foretold


def _stack(
    run: JudgeRun, group: _Group, whose: Mapping[str, Any], ways: Sequence[WeightedWay]
) -> Preference:
    """The weighted vote that the scenario's labels give, in words."""
    texts = texts_of([comparison for comparison, _ in group.winners])
    language = written_in(group.winners, texts)
    if ways:
        own = Preference.objects.in_bulk({key for way in ways for key in way.members})
        told = [(way.way, way.weight, [own[key].text or "" for key in way.members]) for way in ways]
        text = ways_text(told, language=language)
    else:
        text = stack_text(labelled_pairs(group.winners, texts), language=language)
    stacked, _ = Preference.objects.update_or_create(
        **whose,
        kind=PreferenceKind.STACK,
        defaults={
            "dataset_id": run.dataset_id,
            "judge": run.judge,
            "language": language,
            "status": JudgmentStatus.DONE,
            "text": text,
        },
    )
    return stacked


def _assess(
    matrix: Matrix, settings: PairwiseSettings, pulse: Pulse, *, has_null: bool
) -> Assessment:
    rules = SelectionSettings(
        settings.mode,
        difference_penalty=settings.difference_penalty,
        aggregate_eligible=settings.aggregate_eligible,
    )
    # The null of a further draw of the control would be that of the first, and takes the most time.
    return assess(matrix, rules, seed=settings.seed, between=pulse, has_null=has_null)


def _matrix_json(matrix: Matrix, *, difference_penalty: bool) -> dict[str, Any]:
    """As a matrix file, so that `manage.py select_preferences` reads what is stored."""
    return {
        "matrix_original": [list(row) for row in matrix.original],
        "matrix_swapped": [list(row) for row in matrix.swapped],
        "difference_penalty": difference_penalty,
        "column_source": list(matrix.sources),
        **({} if matrix.log_odds is None else {"log_odds": [list(row) for row in matrix.log_odds]}),
    }


def _evidence(
    found: Assessment, settings: PairwiseSettings, sessions: Sequence[int]
) -> dict[str, Any]:
    selection, null, held_out = found.selection, found.null, found.held_out
    return {
        "selection": {
            "selected": [list(subset) for subset in selection.selected],
            "metric": selection.metric,
            "denominator": selection.denominator,
            "strategy": selection.strategy.value,
            "mode": selection.settings.mode.value,
            "aggregate_eligible": selection.settings.aggregate_eligible,
            "trace": [[step.size, list(step.subset), step.metric] for step in found.trace],
            **({} if null is None else _null(null, flagged=found.flagged)),
        },
        "dev_accuracy": selection.accuracy,
        "leave_one_out": found.leave_one_out,
        "base_accuracy": None if held_out is None else held_out.base_accuracy,
        "p_over_base": None
        if held_out is None
        else held_out.p_over_base(seed=settings.seed, sessions=sessions),
        "is_used": settings.combine is not Combine.BASE
        and (found.beats_base or settings.mode is SelectionMode.PAPER),
        "null_p95": None if null is None else null.p95,
        "p_value": None if null is None else null.p_value,
    }


def _null(null: FlipNull, *, flagged: bool) -> dict[str, Any]:
    return {
        "flips": null.flips,
        "exact": null.exact,
        "seed": null.seed,
        "flagged": flagged,
        "null": [list(one) for one in null.counts],
    }


SELECT_STAGE: Final = ComputingStage(name=StageName.SELECT, compute=select_preferences)
