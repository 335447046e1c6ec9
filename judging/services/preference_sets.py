"""The sets of preferences that a run applies: whose they are, and what of them votes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from django.db.models import Q
from django.db.models.query import QuerySet

from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSampling, left_to_test, rank_of
from annotation.models import Dataset, User
from annotation.queries.participants import annotators
from judging.core.rules import SelectionMode, StackWay
from judging.core.runs import MOST_OTHERS, AppliedPlan, OtherJudge, WeightedWay
from judging.core.selection_search import Strategy
from judging.core.targets import Basis
from judging.models import Control, JudgeRun, PreferenceSet, RunKind, RunStatus
from judging.queries.configurations import distil_plans, pairwise_settings
from judging.services.run_requests import RunRequest
from judging.services.selections import WAYS


def _distillations(dataset: Dataset, owner: User) -> QuerySet[JudgeRun]:
    """Those that are finished, the newest first."""
    return JudgeRun.objects.filter(
        kind=RunKind.DISTIL,
        dataset=dataset,
        annotator=owner,
        status=RunStatus.DONE,
        config__ablation__isnull=True,
    ).order_by("-pk")


def newest_distillation(dataset: Dataset, owner: User, judge: str | None) -> JudgeRun | None:
    """The newest finished distillation, one selected by the same judge before any other."""
    done = _distillations(dataset, owner)
    return done.filter(judge=judge).first() or done.first()


def sets_to_apply(request: RunRequest, dataset: Dataset, owner: User) -> JudgeRun:
    """The distillation whose sets a test run applies: no two readings of the request are possible.

    It is the newest of the judge that is named as the one that selected, else of the judge that
    judges, else (that judge selected none) of the only one that did; where no judge is named at
    all, the newest. The distiller is the one that is named, else the only one.

    Raises:
        Refused: there is none; several judges selected sets, or several distilled for this one.
    """
    done = _distillations(dataset, owner)
    selecting = request.selected_by or request.judge
    if request.selected_by or done.filter(judge=selecting).exists():
        done = done.filter(judge=selecting)
    if request.writer:
        itself = Q(writer="", judge=request.writer)
        done = done.filter(itself | Q(writer=request.writer))
    newest = done.first()
    if newest is None:
        by = f" by {request.selected_by}" if request.selected_by else ""
        message = f"no preferences have been distilled for {owner} on {dataset.slug}{by}"
        raise Refused("run:not-distilled", message)
    known = sorted({(run.judge, run.written_by) for run in done.only("judge", "writer")})
    if selecting is not None and len(known) > 1:
        named = ", ".join(f"{judge} (distilled by {writer})" for judge, writer in known)
        raise Refused("run:which-sets", f"{owner} has preferences selected by {named}")
    return newest


SetsByScenario = Mapping[tuple[str | None, str, int], PreferenceSet]
"""By scenario's name (None for all of them), control and draw."""


def sets_of(parent: JudgeRun | None) -> SetsByScenario:
    """A distillation's sets, and those over all scenarios that the same judge learned last.

    Sets over all scenarios are of one distillation: the parent itself where it learned such, else
    the last that was selected in the same mode.
    """
    if parent is None:
        return {}
    pooled = PreferenceSet.objects.filter(
        run__dataset=parent.dataset_id,
        run__judge=parent.judge,
        run__writer=parent.writer,
        run__status=RunStatus.DONE,
        run__config__ablation__isnull=True,
        annotator=parent.annotator_id,
        scenario=None,
    )
    found = (PreferenceSet.objects.filter(run=parent) | pooled).select_related("run", "scenario")
    # A scenario without a development pair has no set of its own.
    rows = [one for one in found.prefetch_related("members") if one.rows]
    mode = pairwise_settings(parent.config).mode
    over_all = {
        one.run_id
        for one in rows
        if one.scenario is None and pairwise_settings(one.run.config).mode is mode
    }
    taken = parent.pk if parent.pk in over_all else max(over_all, default=None)
    return {
        (None if one.scenario is None else one.scenario.name, one.control, one.draw): one
        for one in rows
        if one.scenario is not None or one.run_id == taken
    }


def under_sets(plan: AppliedPlan, sets: SetsByScenario) -> AppliedPlan:
    """With the scenario's own sets, or those over all; else the base judge stands (A1.7)."""
    has_own = (plan.scenario, Control.NONE, 0) in sets
    name = plan.scenario if has_own else None
    selected = sets.get((name, Control.NONE, 0))
    drawn = sorted(key for key in sets if key[:2] == (name, Control.SHUFFLED))
    is_used = selected is not None and (selected.is_used or selected.stack_id is not None)
    # A control is used in the way of what stands in beside it (A1.6).
    is_voted = selected is not None and selected.stack_id is not None
    draws = [sets[key] for key in drawn if is_used]
    if is_voted:
        draws = [draw for draw in draws if draw.stack_id is not None]
    shuffled = [_all_members(draw) if draw.stack_id is None else (draw.stack_id,) for draw in draws]
    tied, is_inverted = ((), False) if selected is None else _tied(selected)
    return replace(
        plan,
        selected=(plan.base,) if selected is None else _member_ids(selected),
        shuffled=shuffled[0] if shuffled else None,
        more_shuffled=tuple(shuffled[1:]),
        shuffled_ways=_ways(draws[0]) if draws and is_voted else (),
        shuffled_votes=is_voted and bool(draws),
        stack=None if selected is None else selected.stack_id,
        ways=() if selected is None else _ways(selected),
        sets={one.control: one.pk for one in (selected, *draws[:1]) if one is not None},
        basis=(Basis.OWN if has_own else Basis.ALL) if is_used else Basis.BASE,
        tied=tied,
        inverted=is_inverted,
    )


def with_drawn(plan: AppliedPlan, sets: SetsByScenario, count: int) -> AppliedPlan:
    """With preferences drawn of all that its set was selected from (seed 001, section 4.2.2).

    As many as there are where they are fewer; the base judge where there is no set.
    """
    has_own = (plan.scenario, Control.NONE, 0) in sets
    chosen = sets.get((plan.scenario if has_own else None, Control.NONE, 0))
    if chosen is None:
        return plan
    columns = [key for key in chosen.columns if key != plan.base]
    drawn = sorted(columns, key=lambda key: rank_of("drawn", str(key)))[:count]
    return replace(
        plan,
        selected=tuple(sorted(drawn)),
        shuffled=None,
        more_shuffled=(),
        shuffled_ways=(),
        shuffled_votes=False,
        stack=None,
        ways=(),
        basis=Basis.OWN if has_own else Basis.ALL,
        tied=(),
        inverted=False,
    )


def _ways(chosen: PreferenceSet) -> tuple[WeightedWay, ...]:
    """What the weighted vote of a judge that is asked by prompts counts."""
    return tuple(
        WeightedWay(StackWay(way), weight, tuple(members))
        for way, weight, members in chosen.selection.get(WAYS, ())
        if chosen.stack_id is not None
    )


def _tied(chosen: PreferenceSet) -> tuple[tuple[int, ...], bool]:
    """Of a set that was selected as the paper's code does, its subsets and whether they invert."""
    selection = chosen.selection
    if selection.get("mode") != SelectionMode.PAPER or not chosen.is_used:
        return (), False
    places = {key: place for place, key in enumerate(_member_ids(chosen))}
    masks = tuple(
        sum(1 << places[chosen.columns[column]] for column in subset)
        for subset in selection["selected"]
    )
    return masks, selection["strategy"] == Strategy.INVERTED_WORST


def _member_ids(chosen: PreferenceSet) -> tuple[int, ...]:
    """Members in column order; the base judge where it stands in the set's place."""
    return _all_members(chosen) if chosen.is_used else tuple(chosen.columns[:1])


def _all_members(chosen: PreferenceSet) -> tuple[int, ...]:
    """Members in column order, used or not."""
    members = {member.pk for member in chosen.members.all()}
    return tuple(column for column in chosen.columns if column in members)


def runs_of(sets: SetsByScenario, *more: JudgeRun | None) -> list[JudgeRun]:
    """The distillations that any of the sets is of, and some more, each once."""
    runs = {one.run_id: one.run for one in sets.values()}
    runs |= {run.pk: run for run in more if run is not None}
    return list(runs.values())


def learned_from(run: JudgeRun) -> tuple[tuple[int, ...], SplitSampling]:
    """A distillation's development part, and how it was drawn."""
    dev = tuple(key for plan in distil_plans(run.config) for key in plan.dev)
    return dev, pairwise_settings(run.config).sampling


class OtherSets(NamedTuple):
    """What another annotator's judge applies, and what it was learned from."""

    annotator: int
    sets: SetsByScenario
    learned: Sequence[tuple[tuple[int, ...], SplitSampling]]

    def judge(self, plan: AppliedPlan, items: Sequence[SplitItem]) -> OtherJudge:
        """It on the labelled comparisons of a scenario; of more than one way the weighted vote."""
        own = under_sets(plan, self.sets)
        test = set(left_to_test(items, (), SplitSampling.DEFAULT)).intersection(
            *(left_to_test(items, dev, sampling) for dev, sampling in self.learned)
        )
        return OtherJudge(
            annotator=self.annotator,
            preferences=(own.selected or ()) if own.stack is None else (own.stack,),
            learned_from=tuple(key for key, _winner in plan.winners if key not in test),
            ways=own.ways,
        )


def other_sets(
    request: RunRequest, parent: JudgeRun | None, *, seed: int
) -> tuple[list[OtherSets], int]:
    """What stands in for other annotators, and how many of them could be asked.

    Nobody where the annotator's own sets are not applied, or no control is wanted.

    Those are annotators of the dataset that is judged whose preferences the same judge learned
    where the annotator's own were; of more than MOST_OTHERS so many are drawn by rank.
    """
    if parent is None or request.sets_of is not None or not request.with_control:
        return [], 0
    if pairwise_settings(parent.config).mode is SelectionMode.PAPER:  # which knows no control
        return [], 0
    here = [each.id for each in annotators(dataset=request.dataset)]
    latest = {
        run.annotator_id: run
        for run in JudgeRun.objects.filter(
            kind=RunKind.DISTIL,
            dataset=parent.dataset_id,
            judge=parent.judge,
            writer=parent.writer,
            status=RunStatus.DONE,
            annotator__in=here,
            config__ablation__isnull=True,
        )
        .exclude(annotator=parent.annotator_id)
        .select_related("annotator")
        .order_by("pk")
        if pairwise_settings(run.config).mode is not SelectionMode.PAPER
    }
    names = {key: run.annotator.username for key, run in latest.items() if run.annotator}
    whose = "" if parent.annotator is None else parent.annotator.username
    ranked = sorted(names, key=lambda key: rank_of(str(seed), "others", whose, names[key]))
    found = []
    for key in sorted(ranked[:MOST_OTHERS], key=lambda key: names[key]):
        sets = sets_of(latest[key])
        learned = [learned_from(run) for run in runs_of(sets, latest[key])]
        found.append(OtherSets(key or 0, sets, learned))
    return found, len(latest)
