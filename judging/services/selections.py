"""Selecting the set of preferences that judges best, and what stands in for the annotator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
from django.db import transaction
from django.db.models.query import QuerySet

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from annotation.models import Comparison
from judging.core.lexical.stack import held_out_by_stack, stack_text
from judging.core.matrix import AGGREGATE, ColumnSource, Matrix
from judging.core.rules import Combine, PairwiseSettings, SelectionMode, StackWay
from judging.core.runs import COLUMNS, StageName, WeightedWay, Winners
from judging.core.selection import Assessment, FlipNull, assess, held_out_subsets, select
from judging.core.selection_search import SelectionSettings
from judging.core.stack import held_out_shares, stack_weights, way_log_odds, ways_text
from judging.core.stand_in import STANDS_IN
from judging.core.votes import (
    MemberVerdict,
    VerdictKey,
    correctness_matrix,
    log_odds_matrix,
)
from judging.judges.lexical import NAME as LEXICAL
from judging.models import Control, JudgeRun, Judgment, Preference, PreferenceKind, PreferenceSet
from judging.queries.comparisons import texts_of
from judging.queries.configurations import (
    decides_by_log_odds,
    distil_plans,
    pairwise_settings,
)
from judging.queries.preferences import run_columns
from judging.queries.runs import judgment_rows, preference_rows
from judging.services.batches import ComputingStage
from judging.services.heartbeats import Pulse
from judging.services.preferences import empty_preference, labelled_pairs, written_in

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
    # A control is used in the way of what stands in beside it, which is chosen first.
    groups = sorted(_groups(run), key=lambda group: group.control != Control.NONE)
    judged = {comparison for group in groups for comparison, _ in group.winners}
    told_in = dict(Comparison.objects.filter(pk__in=judged).values_list("pk", "turn__session_id"))
    voted: set[int | None] = set()
    for group in groups:
        stored = _store(run, group, make_matrix(group), settings, pulse, told_in, voted)
        if stored.stack_id is not None:
            voted.add(group.scenario_id)


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
    voted: Collection[int | None],
) -> PreferenceSet:
    """Store a group's set, with the weighted vote where that stands in.

    `told_in` has the session of each comparison, `voted` the scenarios in which a weighted vote
    stands in.
    """
    columns = [preference for preference, _ in group.columns]
    fields: dict[str, Any] = {
        "dataset_id": run.dataset_id,
        "columns": columns,
        "rows": [comparison for comparison, _ in group.winners],
        "matrix": _matrix_json(matrix, difference_penalty=settings.difference_penalty),
    }
    chosen: tuple[int, ...] = (0,)
    vote: _Vote | None = None
    try:
        found = _assess(matrix, settings, pulse, has_null=not group.draw)
        # Of subsets that are tied, in paper mode alone, all are judged under.
        chosen = tuple(sorted({column for each in found.selection.selected for column in each}))
        sessions = [told_in[comparison] for comparison, _ in group.winners]
        fields |= _evidence(found, settings, sessions)
        if group.control != Control.NONE:
            is_voted = group.scenario_id in voted
            vote = _learned_vote(run, group, matrix, settings) if is_voted else None
        elif settings.mode is not SelectionMode.PAPER and settings.combine is not Combine.BASE:
            # Whoever edited preferences means them to decide.
            if settings.combine is Combine.STACK and COLUMNS not in run.config:
                vote = _learned_vote(run, group, matrix, settings)
            stand_in = found.stand_in(
                None if vote is None else vote.right,
                optimistic=vote is not None and run.judge != LEXICAL,
            )
            fields["selection"] |= {STANDS_IN: stand_in.stored}
            is_voted = stand_in.choice is Combine.STACK
        else:
            is_voted = False
        fields["selection"] |= {} if vote is None else vote.evidence
        vote = vote if is_voted else None
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
        fields["stack"] = None if vote is None else _stored(run, group, whose, vote)
        stored, _ = PreferenceSet.objects.update_or_create(**whose, defaults=fields)
        stored.members.set([columns[column] for column in chosen])
    return stored


@dataclass(frozen=True, slots=True)
class _Vote:
    """A weighted vote: how right about each pair when learned without it, and the ways it counts.

    Without ways it is the embedded judge's, whose text says all.
    """

    right: Sequence[float | None]
    ways: Sequence[WeightedWay] = ()
    evidence: Mapping[str, Any] = field(default_factory=dict)


def _learned_vote(
    run: JudgeRun, group: _Group, matrix: Matrix, settings: PairwiseSettings
) -> _Vote:
    if run.judge != LEXICAL:
        return _weighed(run, group, matrix, settings)
    texts = texts_of([comparison for comparison, _ in group.winners])
    language = written_in(group.winners, texts)
    shares = iter(held_out_by_stack(labelled_pairs(group.winners, texts), language=language))
    return _Vote([next(shares) if key in texts else None for key, _ in group.winners])


def _weighed(run: JudgeRun, group: _Group, matrix: Matrix, settings: PairwiseSettings) -> _Vote:
    """The ways to judge with their weights, and by pair what each foretold without it.

    Log-odds are above 0 where the chosen response wins. Pairs on which every call of a way failed
    have no say and None.
    """
    ids = [preference for preference, _ in group.columns]
    held_out = dict(
        preference_rows(run.pk)
        .filter(
            kind=PreferenceKind.HELD_OUT,
            scenario=group.scenario_id,
            control=group.control,
            draw=group.draw,
        )
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
    table = np.array(heard).reshape(-1, len(StackWay))
    weights, shares = stack_weights(table), iter(held_out_shares(table))
    selected = select(matrix, rules).selected[0]
    aggregate = [key for key, source in group.columns if source == AGGREGATE]
    members = [ids[:1], aggregate, [ids[column] for column in selected]]
    found = [
        WeightedWay(way, float(weight), tuple(own))
        for way, weight, own in zip(StackWay, weights, members, strict=True)
    ]
    return _Vote(
        right=[None if each is None else next(shares) for each in foretold],
        ways=found,
        evidence={WAYS: [list(way) for way in found], "log_odds": foretold},
    )


def _stored(run: JudgeRun, group: _Group, whose: Mapping[str, Any], vote: _Vote) -> Preference:
    """The weighted vote that the scenario's labels give, in words."""
    texts = texts_of([comparison for comparison, _ in group.winners])
    language = written_in(group.winners, texts)
    if vote.ways:
        own = Preference.objects.in_bulk({key for way in vote.ways for key in way.members})
        told = [
            (way.way, way.weight, [own[key].text or "" for key in way.members]) for way in vote.ways
        ]
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
