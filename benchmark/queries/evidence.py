"""The rows behind the figures: an annotator's labels and a judge's decisions on test comparisons.

A run is scored against the labels that it was started with (judging.core.runs): a label that
is edited later, perhaps with the judge's verdict in view, changes the next run.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final, NamedTuple, TypeVar

from django.db.models import Q

from annotation.core.choices import Order, Verdict
from annotation.models import Comparison, PairwiseLabel
from benchmark.core.decisions import (
    EXCHANGED,
    Decisions,
    Judgments,
    Memberships,
    Opinion,
    Shares,
)
from benchmark.core.trust import (
    BASE,
    PERSONAL,
    SELECTED,
    SHUFFLED,
    STACK,
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
    latest_of_others,
)
from benchmark.queries.judgments import run_judgments
from judging.core.rules import SelectionMode
from judging.core.runs import AppliedPlan
from judging.core.votes import VoteRule, check_rule
from judging.models import JudgeRun, Preference, PreferenceKind
from judging.queries.configurations import (
    applied_plans,
    decides_by_log_odds,
    pairwise_settings,
)

_MOST_NAMED: Final = 10_000  # SQLite takes 32,766 values in a statement
_COMPARISONS_A_QUERY: Final = 10_000
_OWN: Final = (SELECTED, PERSONAL)
VoiceDecisions = Mapping[Condition, Mapping[int, Decisions]]
"""What each voice decided, by comparison."""


def labels_of(
    dataset: DatasetChoice, annotator: AnnotatorChoice, scenario: ScenarioChoice | None
) -> tuple[HumanLabel, ...]:
    """An annotator's labels in file order, one a comparison, in one scenario or in all.

    It is their last one, repeats left out, as for the judge (judging.queries.comparisons).
    """
    return labels_by_annotator(dataset, {annotator.id}, scenario).get(annotator.id, ())


def labels_by_annotator(
    dataset: DatasetChoice, annotators: Collection[int], scenario: ScenarioChoice | None = None
) -> dict[int, tuple[HumanLabel, ...]]:
    """The labels of several annotators, each as by `labels_of`. One query."""
    rows = PairwiseLabel.objects.filter(
        annotator__in=annotators, comparison__turn__session__dataset=dataset.id, repeat_index=0
    )
    if scenario is not None:
        rows = rows.filter(comparison__turn__session__scenario=scenario.id)
    first: dict[int, dict[int, HumanLabel]] = defaultdict(dict)
    for annotator, comparison, name, verdict, shown, session in rows.order_by(
        "comparison__turn__session__scenario__position",
        "comparison__turn__session__position",
        "comparison__position",
        "comparison_id",
        "-id",
    ).values_list(
        "annotator_id",
        "comparison_id",
        "comparison__turn__session__scenario__name",
        "verdict",
        "shown_order",
        "comparison__turn__session_id",
    ):
        order = Order(shown) if shown else None
        label = HumanLabel(comparison, name, Verdict(verdict), order, session)
        first[annotator].setdefault(comparison, label)
    return {annotator: tuple(given.values()) for annotator, given in first.items()}


@dataclass(frozen=True, slots=True)
class StandIn:
    """One run, read as what it says in somebody's stead.

    `labels` are theirs. They stand for the labels that the run was started with where it recorded
    none (imported verdicts), and where `against` says so (gold answers, a run in nobody's stead).
    """

    run: int
    annotator: int
    labels: Sequence[HumanLabel]
    against: bool = False


def stand_in_cases(
    stand_ins: Sequence[StandIn], *, rule: VoteRule
) -> tuple[tuple[JudgedComparison, ...], ...]:
    """For each, the comparisons that it decided on. Three queries, however many there are.

    A fourth finds the places of comparisons of which no label is left.
    """
    runs = {each.run for each in stand_ins}
    plans, base = _plans(runs), _empty()
    judged = run_judgments(Q(run__in=runs))
    decided = {run: _own_decisions(judged[run], plans[run], base, rule) for run in runs}
    places = places_of(
        chain.from_iterable(each.labels for each in stand_ins),
        (
            comparison
            for each in stand_ins
            if not each.against
            for plan in plans[each.run].scenarios
            for comparison, _winner in plan.winners
        ),
    )
    return tuple(
        tuple(_stand_in_cases(each, plans[each.run].scenarios, decided[each.run], places))
        for each in stand_ins
    )


class ComparisonPlace(NamedTuple):
    """The present scenario and session of a comparison; a scenario may be renamed after a run."""

    scenario: str
    session: int | None


def places_of(labels: Iterable[HumanLabel], asked: Iterable[int]) -> Mapping[int, ComparisonPlace]:
    """Returns the place of each comparison: as the labels have it, else by a query."""
    found = {label.comparison: ComparisonPlace(label.scenario, label.session) for label in labels}
    missing = sorted(set(asked) - found.keys())
    for start in range(0, len(missing), _COMPARISONS_A_QUERY):
        some = Comparison.objects.filter(pk__in=missing[start : start + _COMPARISONS_A_QUERY])
        for key, scenario, session in some.values_list(
            "pk", "turn__session__scenario__name", "turn__session_id"
        ):
            found[key] = ComparisonPlace(scenario, session)
    return found


def _stand_in_cases(
    each: StandIn,
    plans: Sequence[AppliedPlan],
    heard: _Heard,
    places: Mapping[int, ComparisonPlace],
) -> Iterator[JudgedComparison]:
    if plans and not each.against:
        asked = [
            (comparison, places[comparison].scenario, winner)
            for plan in plans
            for comparison, winner in plan.winners
        ]
    else:
        fresh = {key for plan in plans for key in plan.fresh}
        asked = [
            (one.comparison, one.scenario, one.verdict)
            for one in each.labels
            if one.comparison in fresh or not plans
        ]
    for comparison, scenario, verdict in asked:
        decisions = _on(comparison, heard.decided)
        if decisions:
            yield JudgedComparison(
                comparison,
                scenario,
                verdict,
                decisions,
                each.annotator,
                session=places[comparison].session,
                shown=_on(comparison, heard.shown),
                shares=_on(comparison, heard.shares),
            )


def cases_of(
    labels: Iterable[HumanLabel],
    run: RunChoice,
    annotator: AnnotatorChoice,
    scenario: ScenarioChoice | None,
    *,
    rule: VoteRule,
    others: Mapping[int, str],
    without: Collection[int] = (),
) -> tuple[JudgedComparison, ...]:
    """The labelled comparisons that a run judged, each with the decisions of every voice.

    Args:
        labels: the annotator's; they stand for the run's own where it recorded none (verdicts
            that were imported, and a run in nobody's stead).
        run: whose judgments.
        annotator: in whose stead.
        scenario: only this one; None for all.
        rule: how members' verdicts become one.
        others: names of other annotators by id, whose sets are heard too.
        without: comparisons to leave out.

    Raises:
        Refused: the run is read by l*, which another rule cannot be combined with.
    """
    own = _plans({run.id})[run.id]
    check_rule(rule, by_log_odds=own.by_log_odds)
    if not own.scenarios or run.annotator is None:
        stand_in = StandIn(run.id, annotator.id, tuple(labels), against=True)
        return stand_in_cases([stand_in], rule=rule)[0]
    asked = [plan for plan in own.scenarios if scenario is None or plan.scenario_id == scenario.id]
    own = own._replace(scenarios=tuple(asked))
    latest = latest_of_others(run, annotator, others, within=_heard_in(asked))
    elsewhere = _plans(set(latest.values()) - {run.id})
    members = {
        key
        for each in elsewhere.values()
        for plan in _selecting(each.scenarios)
        for key in _members_of(plan, PERSONAL) or ()
    }
    # More of them than a statement may name are read with all else of their runs.
    theirs = Q(preference__in=members) if len(members) <= _MOST_NAMED else Q()
    judged = run_judgments(Q(run=run.id) | Q(run__in=elsewhere) & theirs)
    heard = _own_decisions(judged[run.id], own, (), rule)
    decided = dict(heard.decided)
    for owner, key in latest.items():
        plans = elsewhere.get(key, own)
        memberships = _memberships_of_other(own.scenarios, owner, plans if key != run.id else None)
        voice = Condition(ConditionKind.OTHER, others[owner])
        heard_as = voice if key == run.id else PERSONAL  # there they spoke for themselves
        decided[voice] = _decided(judged[key], memberships, plans, heard_as, rule)
    cases = [
        (comparison, plan, winner)
        for plan in asked
        for comparison, winner in plan.winners
        if comparison not in without
    ]
    places = places_of(labels, (comparison for comparison, _plan, _winner in cases))
    return tuple(
        JudgedComparison(
            comparison,
            places[comparison].scenario,
            winner,
            _on(comparison, decided),
            session=places[comparison].session,
            shown=_on(comparison, heard.shown),
            shares=_on(comparison, heard.shares),
            in_place=plan.selected == (plan.base,),
        )
        for comparison, plan, winner in cases
    )


def _heard_in(plans: Iterable[AppliedPlan]) -> set[int]:
    """The other annotators whose judges a run asked itself."""
    return {other.annotator for plan in plans for other in plan.others}


def _memberships_of_other(
    asked: Iterable[AppliedPlan], owner: int, elsewhere: _Plans | None
) -> Memberships:
    """What stands in for another annotator on a run's comparisons with labels.

    Args:
        asked: the run's plans.
        owner: the other annotator.
        elsewhere: the plans of another run that asked their judge; None where the run itself did.
    """
    if elsewhere is None:
        return [
            (plan.judged_by(other), other.preferences)
            for plan in asked
            for other in plan.others
            if other.annotator == owner
        ]
    here = {plan.scenario_id: {key for key, _winner in plan.winners} for plan in asked}
    return [
        (
            here.get(plan.scenario_id, set()).difference(plan.learned_from),
            _members_of(plan, PERSONAL) or (),
        )
        for plan in _selecting(elsewhere.scenarios)
    ]


def _selecting(plans: Iterable[AppliedPlan]) -> tuple[AppliedPlan, ...]:
    return tuple(plan for plan in plans if plan.selected is not None)


Said = TypeVar("Said")


def _on(comparison: int, decided: Mapping[Condition, Mapping[int, Said]]) -> dict[Condition, Said]:
    return {voice: found[comparison] for voice, found in decided.items() if comparison in found}


class _Plans(NamedTuple):
    """What a run judged by scenario (nothing where verdicts were imported), and how it is read."""

    scenarios: tuple[AppliedPlan, ...]
    by_log_odds: bool
    is_paper: bool = False

    def rule(self, asked: VoteRule, voice: Condition) -> VoteRule:
        """How a voice's members vote: those of sets that the paper's code would select as there."""
        return VoteRule.PAPER if self.is_paper and voice in _OWN else asked

    def inverted(self, voice: Condition) -> frozenset[int]:
        """The comparisons on which a voice means the other response."""
        plans = [plan for plan in self.scenarios if plan.inverted and voice in _OWN]
        return frozenset(key for plan in plans for key in plan.fresh)


class _Heard(NamedTuple):
    """What a run's voices decided, leaned to where they are read by l*, and decided on average."""

    decided: VoiceDecisions
    shown: VoiceDecisions
    shares: Mapping[Condition, Mapping[int, Shares]]


def _own_decisions(
    judged: Judgments, plans: _Plans, base: Collection[int], rule: VoteRule
) -> _Heard:
    """What a run's own voices say; without plans (imported verdicts) the base judge's alone."""
    memberships = {
        voice: _memberships(judged, plans.scenarios, voice, base)
        for voice in ((BASE, SELECTED, STACK, SHUFFLED) if plans.scenarios else (BASE,))
    }
    decided = {
        voice: _decided(judged, own, plans, voice, rule) for voice, own in memberships.items()
    }
    shown = {}
    if plans.by_log_odds:
        shown = {voice: judged.shown_signs(own) for voice, own in memberships.items()}
    shares = {}
    if any(len(plan.control) > 1 for plan in plans.scenarios):
        panels = [(plan.fresh, plan.control) for plan in plans.scenarios if plan.control]
        shares[SHUFFLED] = judged.shares(panels, rule=rule, by_log_odds=plans.by_log_odds)
    if plans.is_paper:
        shares[SELECTED] = _tied_shares(judged, plans)
    return _Heard(decided, shown, shares)


def _tied_shares(judged: Judgments, plans: _Plans) -> dict[int, Shares]:
    """What all tied subsets decided on average; those that are inverted mean the other response."""
    found: dict[int, Shares] = {}
    for inverted in (False, True):
        own = [plan for plan in plans.scenarios if plan.subsets and plan.inverted is inverted]
        panels = [(plan.fresh, plan.subsets) for plan in own]
        shares = judged.shares(panels, rule=VoteRule.PAPER)
        found |= {key: each[:, EXCHANGED] if inverted else each for key, each in shares.items()}
    return found


def _decided(
    judged: Judgments,
    memberships: Memberships,
    plans: _Plans,
    voice: Condition,
    rule: VoteRule = VoteRule.DEFAULT,
) -> Mapping[int, Decisions]:
    """By l* where the run is read so, whatever the rule; else by the rule."""
    if plans.by_log_odds:
        return judged.decisions_by_log_odds(memberships)
    decided = judged.decisions(memberships, rule=plans.rule(rule, voice))
    inverted = plans.inverted(voice)
    return {
        key: {order: each and each.flipped() for order, each in own.items()}
        if key in inverted
        else own
        for key, own in decided.items()
    }


def _memberships(
    judged: Judgments, plans: Sequence[AppliedPlan], voice: Condition, base: Collection[int]
) -> Memberships:
    """The preferences of a voice of a run by scenario; without plans the base judge's.

    A set says nothing of the comparisons that it was learned from.
    """
    if not plans:
        return [(set(judged.comparison.tolist()), base)] if voice == BASE else []
    members = [_members_of(plan, voice) for plan in plans]
    return [
        (plan.comparisons if voice == BASE else plan.fresh, frozenset(own))
        for plan, own in zip(plans, members, strict=True)
        if own is not None
    ]


def _members_of(plan: AppliedPlan, voice: Condition) -> Collection[int] | None:
    stack = None if plan.stack is None else (plan.stack,)
    selected = _first(plan)
    return {
        BASE: (plan.base,),
        SELECTED: selected,
        SHUFFLED: plan.control[0] if plan.control else None,
        STACK: stack,
        PERSONAL: stack or selected,
    }[voice]


def _first(plan: AppliedPlan) -> Collection[int] | None:
    """The selected set; of several that are tied the smallest, then the first in column order."""
    return plan.subsets[0] if plan.subsets else None


def run_of_other(run: RunChoice, annotator: AnnotatorChoice, owner: int) -> int | None:
    """The run in which somebody else's judge was asked, for `cases_of`; None where it was not."""
    within = _heard_in(_plans({run.id})[run.id].scenarios)
    return latest_of_others(run, annotator, {owner}, within=within).get(owner)


def _plans(runs: Collection[int]) -> dict[int, _Plans]:
    if not runs:
        return {}
    rows = JudgeRun.objects.filter(pk__in=runs).values_list("id", "judge", "config")
    return {
        key: _Plans(
            applied_plans(config),
            decides_by_log_odds(config, judge=judge),
            is_paper=pairwise_settings(config).mode is SelectionMode.PAPER,
        )
        for key, judge, config in rows
    }


class RunDecisions(NamedTuple):
    """What a voice decided in a run by comparison, and leaned to where it is read by l*."""

    run: int
    decided: Mapping[int, Decisions]
    shown: Mapping[int, Decisions]


def voice_decisions(
    runs: Collection[int], voice: Condition, *, scenario: int | None = None
) -> Iterator[RunDecisions]:
    """What a voice decided in several runs.

    Args:
        runs: test runs, or runs of recorded verdicts, which only BASE speaks in.
        voice: BASE, SELECTED, or PERSONAL, which is what stands in for the annotator.
        scenario: only this one; None for all. It does not narrow recorded verdicts.
    """
    known = _plans(runs)
    base = frozenset() if all(plans.scenarios for plans in known.values()) else _empty()
    members = base.union(
        *(_members_of(plan, voice) or () for own in known.values() for plan in own.scenarios)
    )
    judged = run_judgments(Q(run__in=runs, preference__in=members))
    for run, plans in known.items():
        asked = [plan for plan in plans.scenarios if scenario in {None, plan.scenario_id}]
        if asked or not plans.scenarios:
            own = _memberships(judged[run], asked, voice, base)
            shown = judged[run].shown_signs(own) if plans.by_log_odds else {}
            yield RunDecisions(run, _decided(judged[run], own, plans, voice), shown)


def voice_opinions(run: int, voice: Condition) -> dict[int, Opinion]:
    """The ballots of a voice in one run, by comparison."""
    judged, plans = run_judgments(Q(run=run))[run], _plans({run})[run]
    memberships = _memberships(judged, plans.scenarios, voice, _empty())
    if plans.by_log_odds:
        return judged.opinions_by_log_odds(memberships)
    said = judged.opinions(memberships, rule=plans.rule(VoteRule.DEFAULT, voice))
    inverted = plans.inverted(voice)
    return {key: one.flipped() if key in inverted else one for key, one in said.items()}


def _empty() -> frozenset[int]:
    """The base judge's preference, as a set of one."""
    rows = Preference.objects.filter(kind=PreferenceKind.EMPTY).values_list("id", flat=True)
    return frozenset(rows)
