"""The rows behind the figures: an annotator's labels and a judge's decisions on test comparisons.

A run is scored against the labels that it was started with (judging.core.runs): a label that
is edited later, perhaps with the judge's verdict in view, changes the next run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from django.core.exceptions import EmptyResultSet
from django.db import connection, models
from django.db.models import Q, QuerySet

from annotation.core.choices import Order, Verdict
from annotation.models import PairwiseLabel
from benchmark.core.decisions import (
    ORDER_CODES,
    STATUS_CODES,
    VERDICT_CODES,
    Decisions,
    Judgments,
    Memberships,
    Opinion,
)
from benchmark.core.trust import (
    BASE,
    SELECTED,
    SHUFFLED,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
)
from benchmark.queries.choices import (
    AnnotatorChoice,
    DatasetChoice,
    RunChoice,
    ScenarioChoice,
    best_last,
)
from judging.core.runs import AppliedPlan
from judging.core.votes import VoteRule
from judging.models import JudgeRun, Judgment, Preference, PreferenceKind, RunKind
from judging.queries.configurations import applied_plans

_MOST_NAMED: Final = 10_000  # SQLite takes 32,766 values in a statement
VoiceDecisions = Mapping[Condition, Mapping[int, Decisions]]
"""What each voice decided, by comparison."""


def labels_of(
    dataset: DatasetChoice, annotator: AnnotatorChoice, scenario: ScenarioChoice | None
) -> tuple[HumanLabel, ...]:
    """An annotator's labels in file order, one a comparison, in one scenario or in all.

    Of repeated labels the first counts, as it does for the judge (judging.queries.comparisons).
    """
    return labels_by_annotator(dataset, {annotator.id}, scenario).get(annotator.id, ())


def labels_by_annotator(
    dataset: DatasetChoice, annotators: Collection[int], scenario: ScenarioChoice | None = None
) -> dict[int, tuple[HumanLabel, ...]]:
    """The labels of several annotators, each as by `labels_of`. One query."""
    rows = PairwiseLabel.objects.filter(
        annotator__in=annotators, comparison__turn__session__dataset=dataset.id
    )
    if scenario is not None:
        rows = rows.filter(comparison__turn__session__scenario=scenario.id)
    first: dict[int, dict[int, HumanLabel]] = defaultdict(dict)
    for annotator, comparison, name, verdict, shown in rows.order_by(
        "comparison__turn__session__scenario__position",
        "comparison__turn__session__position",
        "comparison__position",
        "comparison_id",
        "repeat_index",
        "id",
    ).values_list(
        "annotator_id",
        "comparison_id",
        "comparison__turn__session__scenario__name",
        "verdict",
        "shown_order",
    ):
        order = Order(shown) if shown else None
        label = HumanLabel(comparison, name, Verdict(verdict), order)
        first[annotator].setdefault(comparison, label)
    return {annotator: tuple(given.values()) for annotator, given in first.items()}


@dataclass(frozen=True, slots=True)
class StandIn:
    """One run, read as what it says in somebody's stead.

    `labels` are theirs. They stand for the labels that the run was started with where it recorded
    none (imported verdicts), and where `against` says so (gold answers).
    """

    run: int
    annotator: int
    labels: Sequence[HumanLabel]
    against: bool = False


def stand_in_cases(
    stand_ins: Sequence[StandIn], *, rule: VoteRule
) -> tuple[tuple[JudgedComparison, ...], ...]:
    """For each, the comparisons that it decided on. Three queries, however many there are."""
    runs = {each.run for each in stand_ins}
    plans, base = _plans(runs), _empty()
    judged = run_judgments(Q(run__in=runs))
    decided = {run: _own_decisions(judged[run], plans[run], base, rule) for run in runs}
    return tuple(
        tuple(_stand_in_cases(each, plans[each.run], decided[each.run])) for each in stand_ins
    )


def _stand_in_cases(
    each: StandIn, plans: Sequence[AppliedPlan], decided: VoiceDecisions
) -> Iterator[JudgedComparison]:
    if plans:
        given = {label.comparison: label.verdict for label in each.labels}
        asked = [
            (comparison, plan.scenario, given[comparison] if each.against else winner)
            for plan in plans
            for comparison, winner in plan.winners
            if comparison in given or not each.against
        ]
    else:
        asked = [(one.comparison, one.scenario, one.verdict) for one in each.labels]
    for comparison, scenario, verdict in asked:
        decisions = _on(comparison, decided)
        if decisions:
            yield JudgedComparison(comparison, scenario, verdict, decisions, each.annotator)


def cases_of(
    labels: Iterable[HumanLabel],
    run: RunChoice,
    annotator: AnnotatorChoice,
    scenario: ScenarioChoice | None,
    *,
    rule: VoteRule,
    others: Mapping[int, str],
) -> tuple[JudgedComparison, ...]:
    """The labelled comparisons that a run judged, each with the decisions of every voice.

    Args:
        labels: the annotator's; they stand for the run's own where it recorded none (verdicts
            that were imported).
        run: whose judgments.
        annotator: in whose stead.
        scenario: only this one; None for all.
        rule: how members' verdicts become one.
        others: names of other annotators by id, whose sets are heard too.
    """
    plans = _plans({run.id})[run.id]
    if not plans:  # verdicts that were imported
        return stand_in_cases([StandIn(run.id, annotator.id, tuple(labels))], rule=rule)[0]
    asked = [plan for plan in plans if scenario is None or plan.scenario_id == scenario.id]
    latest = latest_of_others(run, annotator, others)
    selected = {
        key: [plan for plan in each if plan.selected is not None]
        for key, each in _plans(latest.values()).items()
    }
    members = {key for each in selected.values() for plan in each for key in plan.selected or ()}
    # More of them than a statement may name are read with all else of their runs.
    theirs = Q(preference__in=members) if len(members) <= _MOST_NAMED else Q()
    judged = run_judgments(Q(run=run.id) | Q(run__in=selected) & theirs)
    decided = _own_decisions(judged[run.id], asked, (), rule)
    here = {plan.scenario_id: [key for key, _winner in plan.winners] for plan in asked}
    for owner, key in latest.items():
        memberships = [
            (here.get(plan.scenario_id, ()), frozenset(plan.selected or ()))
            for plan in selected[key]
        ]
        voice = Condition(ConditionKind.OTHER, others[owner])
        decided[voice] = judged[key].decisions(memberships, rule=rule)
    return tuple(
        JudgedComparison(comparison, plan.scenario, winner, _on(comparison, decided))
        for plan in asked
        for comparison, winner in plan.winners
    )


def _on(comparison: int, decided: VoiceDecisions) -> dict[Condition, Decisions]:
    return {voice: found[comparison] for voice, found in decided.items() if comparison in found}


def _own_decisions(
    judged: Judgments, plans: Sequence[AppliedPlan], base: Collection[int], rule: VoteRule
) -> dict[Condition, Mapping[int, Decisions]]:
    """What a run's own voices decided; without plans (imported verdicts) the base judge's alone."""
    return {
        voice: judged.decisions(_memberships(judged, plans, voice, base), rule=rule)
        for voice in ((BASE, SELECTED, SHUFFLED) if plans else (BASE,))
    }


def _memberships(
    judged: Judgments, plans: Sequence[AppliedPlan], voice: Condition, base: Collection[int]
) -> Memberships:
    """The preferences of a voice of a run by scenario; without plans the base judge's."""
    if not plans:
        return [(set(judged.comparison.tolist()), base)] if voice == BASE else []
    members = [
        {BASE: (plan.base,), SELECTED: plan.selected, SHUFFLED: plan.shuffled}[voice]
        for plan in plans
    ]
    return [
        ([comparison for comparison, _winner in plan.winners], frozenset(own))
        for plan, own in zip(plans, members, strict=True)
        if own is not None
    ]


def latest_of_others(
    run: RunChoice, annotator: AnnotatorChoice, others: Collection[int]
) -> dict[int, int]:
    """By owner, the test run to read of the same judge under the sets of somebody else.

    All annotators share one split, so an owner's own run judged the same comparisons; a run that
    tried the owner's sets on this annotator's labels comes before it.
    """
    if not others:
        return {}
    rows = JudgeRun.objects.filter(
        dataset=run.dataset, kind=RunKind.TEST, judge=run.judge, parent__annotator__in=others
    )
    owners = best_last(rows).values_list("parent__annotator", "annotator", "id")
    own = {owner: key for owner, labelled, key in owners if labelled == owner}
    tried = {owner: key for owner, labelled, key in owners if labelled == annotator.id}
    return {**own, **tried}


def _plans(runs: Collection[int]) -> dict[int, tuple[AppliedPlan, ...]]:
    if not runs:
        return {}
    rows = JudgeRun.objects.filter(pk__in=runs).values_list("id", "config")
    return {key: applied_plans(config) for key, config in rows}


def voice_decisions(
    runs: Collection[int], voice: Condition, *, scenario: int | None = None
) -> Iterator[tuple[int, Mapping[int, Decisions]]]:
    """What a voice decided in several runs: each run with its decisions by comparison.

    Args:
        runs: test runs, or runs of recorded verdicts, which only BASE speaks in.
        voice: BASE or SELECTED.
        scenario: only this one; None for all. It does not narrow recorded verdicts.
    """
    judged, known = run_judgments(Q(run__in=runs)), _plans(runs)
    base = frozenset() if all(known.values()) else _empty()
    for run, plans in known.items():
        asked = [plan for plan in plans if scenario in {None, plan.scenario_id}]
        if asked or not plans:
            yield run, judged[run].decisions(_memberships(judged[run], asked, voice, base))


def voice_opinions(run: int, voice: Condition) -> dict[int, Opinion]:
    """The ballots of a voice in one run, by comparison."""
    judged = run_judgments(Q(run=run))[run]
    return judged.opinions(_memberships(judged, _plans({run})[run], voice, _empty()))


def _empty() -> frozenset[int]:
    """The base judge's preference, as a set of one."""
    rows = Preference.objects.filter(kind=PreferenceKind.EMPTY).values_list("id", flat=True)
    return frozenset(rows)


def _coded(field: str, codes: Mapping[Any, int]) -> models.Case:
    """The code of a stored word; the last one where there is none."""
    *known, missing = codes.items()
    when = [models.When(**{field: word}, then=models.Value(code)) for word, code in known]
    return models.Case(*when, default=models.Value(missing[1]))


_CODE: Final = (
    _coded("order", ORDER_CODES) + _coded("status", STATUS_CODES) + _coded("verdict", VERDICT_CODES)
)


def run_judgments(which: Q) -> defaultdict[int, Judgments]:
    """Stored judgments by run; none of a run without any. One query."""
    rows = Judgment.objects.filter(which).annotate(code=_CODE)
    columns = rows.values_list("run_id", "comparison_id", "preference_id", "code", "log_odds")
    found = Judgments.of(_stream(columns)).by_run()
    return defaultdict(lambda: Judgments.of(()), found)


def _stream(rows: QuerySet[Any, Any]) -> Iterator[tuple[Any, ...]]:
    """The rows of a query as the database has them: Django's own way takes twice as long."""
    try:
        statement = rows.query.sql_with_params()
    except EmptyResultSet:  # nothing can match, so Django does not ask either
        return
    with connection.cursor() as cursor:
        cursor.execute(*statement)
        yield from cursor
