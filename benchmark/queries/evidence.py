"""The rows behind the figures: an annotator's labels and a judge's decisions on test comparisons.

A run is scored against the labels that it was started with (judging.core.runs): a label that
is edited later, perhaps with the judge's verdict in view, changes the next run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.models import PairwiseLabel
from benchmark.core.accuracy import Decisions, StoredJudgment, decide
from benchmark.core.trust import BASE, SELECTED, SHUFFLED, Case, HumanLabel, Panel, Voice
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

Replies = Mapping[tuple[int, int], Sequence[StoredJudgment]]
"""Stored judgments by run and comparison."""


@dataclass(frozen=True, slots=True)
class _Hearing:
    """Whose preferences are heard in which run, in one scenario."""

    run: int
    voice: Voice
    members: frozenset[int]


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


def stand_in_cases(stand_ins: Sequence[StandIn], *, rule: VoteRule) -> tuple[tuple[Case, ...], ...]:
    """For each, the comparisons that it decided on. Three queries, however many there are."""
    runs = {each.run for each in stand_ins}
    plans, replies, base = _plans(runs), _replies(runs), _empty()
    return tuple(
        tuple(_stand_in_cases(each, plans[each.run], replies, base, rule)) for each in stand_ins
    )


def _stand_in_cases(
    each: StandIn,
    plans: Sequence[AppliedPlan],
    replies: Replies,
    base: frozenset[int],
    rule: VoteRule,
) -> Iterator[Case]:
    if plans:
        given = {label.comparison: label.verdict for label in each.labels}
        asked = [
            (comparison, plan.scenario, given[comparison] if each.against else winner, voices)
            for plan in plans
            for voices in (tuple(_own_voices(each.run, plan)),)
            for comparison, winner in plan.winners
            if comparison in given or not each.against
        ]
    else:
        voices = (_Hearing(each.run, BASE, base),)
        asked = [(one.comparison, one.scenario, one.verdict, voices) for one in each.labels]
    for comparison, scenario, verdict, heard in asked:
        decisions = _decisions(comparison, heard, replies, rule)
        if decisions:
            yield Case(comparison, scenario, verdict, decisions, each.annotator)


def cases_of(
    labels: Iterable[HumanLabel],
    run: RunChoice,
    annotator: AnnotatorChoice,
    scenario: ScenarioChoice | None,
    *,
    rule: VoteRule,
    others: Mapping[int, str],
) -> tuple[Case, ...]:
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
    judged = [plan for plan in plans if scenario is None or plan.scenario_id == scenario.id]
    latest = latest_of_others(run, annotator, others)
    heard = _voices_of_others(latest, others)
    replies = _replies({run.id, *latest.values()})
    return tuple(
        Case(
            comparison,
            plan.scenario,
            winner,
            _decisions(
                comparison,
                [*_own_voices(run.id, plan), *heard.get(plan.scenario_id, ())],
                replies,
                rule,
            ),
        )
        for plan in judged
        for comparison, winner in plan.winners
    )


def _decisions(
    comparison: int, hearings: Iterable[_Hearing], replies: Replies, rule: VoteRule
) -> dict[Voice, Decisions]:
    decided = {
        each.voice: decide(replies.get((each.run, comparison), ()), each.members, rule=rule)
        for each in hearings
    }
    return {voice: decision for voice, decision in decided.items() if decision}


def _own_voices(run: int, plan: AppliedPlan) -> Iterator[_Hearing]:
    yield _Hearing(run, BASE, frozenset({plan.base}))
    for voice, members in ((SELECTED, plan.selected), (SHUFFLED, plan.shuffled)):
        if members is not None:
            yield _Hearing(run, voice, frozenset(members))


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


def _voices_of_others(
    latest: Mapping[int, int], names: Mapping[int, str]
) -> dict[int, list[_Hearing]]:
    """By scenario, the sets selected for other annotators."""
    plans = _plans(latest.values())
    heard: dict[int, list[_Hearing]] = defaultdict(list)
    for annotator, run in latest.items():
        voice = Voice(Panel.OTHER, names[annotator])
        for plan in plans[run]:
            if plan.selected is not None:
                heard[plan.scenario_id].append(_Hearing(run, voice, frozenset(plan.selected)))
    return heard


def _plans(runs: Collection[int]) -> dict[int, tuple[AppliedPlan, ...]]:
    if not runs:
        return {}
    rows = JudgeRun.objects.filter(pk__in=runs).values_list("id", "config")
    return {key: applied_plans(config) for key, config in rows}


def judge_decisions(
    runs: Collection[int], voice: Voice, *, scenario: int | None = None
) -> Iterator[tuple[int, Decisions]]:
    """What a voice decided in several runs: a comparison and its decisions, once for each run.

    Args:
        runs: test runs, or runs of recorded verdicts, which only BASE speaks in.
        voice: BASE or SELECTED.
        scenario: only this one; None for all. It does not narrow recorded verdicts.
    """
    for heard in heard_replies(runs, voice, scenario=scenario):
        yield heard.comparison, decide(heard.replies, heard.members)


@dataclass(frozen=True, slots=True)
class Heard:
    """What one run replied on one comparison, and whose preferences of it are heard."""

    run: int
    comparison: int
    replies: Sequence[StoredJudgment]
    members: frozenset[int]


def heard_replies(
    runs: Collection[int], voice: Voice, *, scenario: int | None = None
) -> Iterator[Heard]:
    """The replies behind a voice in several runs; arguments as for `judge_decisions`."""
    replies = _replies(runs)
    for run, plans in _plans(runs).items():
        hearings = {
            comparison: each.members
            for plan in plans
            if scenario in {None, plan.scenario_id}
            for each in _own_voices(run, plan)
            if each.voice == voice
            for comparison, _ in plan.winners
        }
        if not plans and voice == BASE:
            hearings = dict.fromkeys((key for own, key in replies if own == run), _empty())
        for comparison, members in hearings.items():
            yield Heard(run, comparison, replies.get((run, comparison), ()), members)


def _empty() -> frozenset[int]:
    """The base judge's preference, as a set of one."""
    rows = Preference.objects.filter(kind=PreferenceKind.EMPTY).values_list("id", flat=True)
    return frozenset(rows)


def _replies(runs: Collection[int]) -> Replies:
    rows = Judgment.objects.filter(run__in=runs).values_list(
        "run_id", "comparison_id", "preference_id", "order", "status", "verdict", "log_odds"
    )
    found: dict[tuple[int, int], list[StoredJudgment]] = defaultdict(list)
    for run, comparison, preference, order, status, verdict, log_odds in rows.iterator():
        found[run, comparison].append(
            StoredJudgment(
                preference,
                Order(order),
                JudgmentStatus(status),
                Verdict(verdict) if verdict else None,
                log_odds,
            )
        )
    return found
