"""Starting pairwise runs: what is judged is decided, and every row written, in one transaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any

from django.db import transaction

from annotation.core.choices import Verdict
from annotation.core.splits import SplitItem, SplitSettings, split
from annotation.models import Dataset, Scenario, User
from annotation.queries.annotators import annotators
from judging.core.correctness import shuffled_winners
from judging.core.pairwise_settings import PairwiseSettings, settings_from_config
from judging.core.run_plans import AppliedPlan, DistilPlan, Winners, distil_plans
from judging.models import (
    Control,
    JudgeRun,
    Preference,
    PreferenceKind,
    PreferenceSet,
    RunKind,
    RunStatus,
)
from judging.queries.comparisons import split_items, texts_of, verdicts_of
from judging.queries.runs import UNFINISHED
from judging.services.distillation import empty_preference
from judging.services.judges import LEXICAL, endpoint_for, judge_snapshot
from judging.services.judgments import plan_judgments


class NothingToJudgeError(ValueError):
    """The annotator labelled no comparison of the dataset that has both texts."""

    code = "run:no-labels"


class NotDistilledError(ValueError):
    """No finished distillation for this annotator and dataset."""

    code = "run:not-distilled"


def start_distillation(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str,
    settings: PairwiseSettings | None = None,
    created_by: User | None = None,
) -> JudgeRun:
    """Writes a distillation with all its PENDING rows; the caller dispatches it.

    Per scenario the columns are the base judge, one preference per dev comparison with a winner,
    and the aggregate of all of them; every dev comparison is judged under every column in both
    orders. The shuffled control adds as many columns, distilled from flipped labels.

    Asking for what an unfinished run is already about gives that run.

    Raises:
        UnknownJudgeError: there is no such judge.
        NothingToJudgeError: the annotator labelled nothing here that can be judged.
    """
    settings = settings or PairwiseSettings()
    endpoint = endpoint_for(judge)
    plans = tuple(_distil_plans(dataset, annotator, settings))
    if not plans:
        message = f"{annotator} labelled no comparison of {dataset.slug} that has both texts"
        raise NothingToJudgeError(message)
    asked = JudgeRun(
        kind=RunKind.DISTIL,
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        endpoint=endpoint,
        created_by=created_by,
        config={
            **settings.to_config(),
            "judge": judge_snapshot(endpoint, settings.to_config()),
            "scenarios": [plan.to_json() for plan in plans],
        },
    )
    with transaction.atomic():
        run = _same_unfinished(asked)
        if run is None:
            run = asked
            run.save()
            for plan in plans:
                _plan_scenario(run, plan)
    return run


def start_distillations(
    *,
    dataset: Dataset,
    judge: str,
    settings: PairwiseSettings | None = None,
    created_by: User | None = None,
) -> list[JudgeRun]:
    """Writes a distillation for each annotator with something to judge, all of them or none.

    Raises:
        UnknownJudgeError: there is no such judge.
        NothingToJudgeError: nobody labelled anything here that can be judged.
    """
    started = []
    users = User.objects.in_bulk([each.id for each in annotators(dataset=dataset)])
    with transaction.atomic():
        for user in users.values():
            with suppress(NothingToJudgeError):  # rated turns alone, or pairs without texts
                started.append(
                    start_distillation(
                        dataset=dataset,
                        annotator=user,
                        judge=judge,
                        settings=settings,
                        created_by=created_by,
                    )
                )
    if not started:
        message = f"nobody labelled a comparison of {dataset.slug} that has both texts"
        raise NothingToJudgeError(message)
    return started


def _same_unfinished(asked: JudgeRun) -> JudgeRun | None:
    """A run that was set out to do exactly this and is not finished: it goes on instead."""
    unfinished = JudgeRun.objects.filter(
        kind=asked.kind,
        dataset=asked.dataset,
        annotator=asked.annotator,
        judge=asked.judge,
        parent=asked.parent,
        status__in=UNFINISHED,
    )
    return next((run for run in unfinished.order_by("-pk") if run.config == asked.config), None)


def _distil_plans(
    dataset: Dataset, annotator: User, settings: PairwiseSettings
) -> Iterator[DistilPlan]:
    """Every scenario in which the annotator labelled something."""
    verdicts = verdicts_of(annotator.pk, dataset_id=dataset.pk)
    names = dict(Scenario.objects.filter(dataset=dataset).values_list("pk", "name"))
    for scenario_id, items in split_items(dataset.pk).items():
        if any(item.comparison_id in verdicts for item in items):
            yield _distil_plan(
                items,
                verdicts,
                settings,
                (dataset.slug, scenario_id, names[scenario_id]),
                annotator,
            )


def _distil_plan(
    items: Sequence[SplitItem],
    verdicts: Mapping[int, Verdict],
    settings: PairwiseSettings,
    place: tuple[str, int, str],
    annotator: User,
) -> DistilPlan:
    dataset, scenario_id, scenario = place
    parts = split(
        items,
        SplitSettings(
            dataset=dataset,
            scenario=scenario,
            size=settings.dev_size,
            seed=settings.seed,
            sampling=settings.sampling,
        ),
    )
    winners, dev_ties = _winners(parts.dev, verdicts)
    test_winners, test_ties = _winners(parts.test, verdicts)
    shuffled: Winners = ()
    if settings.shuffled_control:
        name = "\x1f".join((dataset, scenario, annotator.username))
        shuffled = shuffled_winners(winners, seed=settings.seed, name=name)
    return DistilPlan(
        scenario_id=scenario_id,
        scenario=scenario,
        dev=parts.dev,
        test=parts.test,
        winners=winners,
        shuffled=shuffled,
        dev_ties=dev_ties,
        test_winners=test_winners,
        test_ties=test_ties,
    )


def _winners(ids: Iterable[int], verdicts: Mapping[int, Verdict]) -> tuple[Winners, int]:
    """Labels with a winner, and how many ties were left out."""
    given = [(one, verdicts[one]) for one in ids if one in verdicts]
    winners = tuple((one, verdict) for one, verdict in given if verdict is not Verdict.TIE)
    return winners, len(given) - len(winners)


def _plan_scenario(run: JudgeRun, plan: DistilPlan) -> None:
    if not plan.winners:
        return  # nothing to learn from: the base judge stands in
    language = _language(plan.winners)
    base = empty_preference().pk
    columns = [base]
    for control, winners in ((Control.NONE, plan.winners), (Control.SHUFFLED, plan.shuffled)):
        if winners:
            columns += _plan_columns(run, plan.scenario_id, control, winners, language)
    plan_judgments(run, ((comparison, columns) for comparison, _ in plan.winners))


def _plan_columns(
    run: JudgeRun, scenario_id: int, control: Control, winners: Winners, language: str
) -> list[int]:
    """The preferences of one control: one per pair, then the aggregate."""

    def preference(kind: PreferenceKind, position: int, **source: Any) -> Preference:
        return Preference(
            run=run,
            dataset_id=run.dataset_id,
            scenario_id=scenario_id,
            annotator_id=run.annotator_id,
            control=control,
            language=language,
            kind=kind,
            position=position,
            **source,
        )

    pairs = [
        preference(
            PreferenceKind.PAIR,
            position,
            source_comparison_id=comparison,
            source_verdict=winner.value,
        )
        for position, (comparison, winner) in enumerate(winners, start=1)
    ]
    aggregate = preference(PreferenceKind.AGGREGATE, len(winners) + 1)
    return [row.pk for row in Preference.objects.bulk_create([*pairs, aggregate])]


def _language(winners: Winners) -> str:
    """The language most of the dev comparisons are in: preferences are written in it."""
    texts = texts_of([comparison for comparison, _ in winners])
    return Counter(one.language for one in texts.values()).most_common(1)[0][0]


def start_test_run(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str | None = None,
    with_sets: bool = True,
    sets_of: User | None = None,
    created_by: User | None = None,
) -> JudgeRun:
    """Writes a run over the annotator's test comparisons; the caller dispatches it.

    They are judged under the base judge and the members of the selected and of the shuffled set,
    in both orders. Asking for what an unfinished run is already about gives that run.

    Args:
        dataset: where the comparisons are.
        annotator: whose labels the verdicts will be scored against.
        judge: who judges; None for the judge that distilled.
        with_sets: False judges under the base judge alone, which needs no distillation.
        sets_of: another annotator, whose sets are tried on this one's labels.
        created_by: who asked for the run.

    Raises:
        UnknownJudgeError: there is no such judge.
        NotDistilledError: there is no finished distillation to take the sets of.
        NothingToJudgeError: no test comparison has a label with a winner.
    """
    owner = sets_of or annotator
    parent = _distillation(dataset, owner, judge)
    if parent is None and with_sets:
        message = f"nothing was distilled for {owner} on {dataset.slug}"
        raise NotDistilledError(message)
    judge = judge or (parent.judge if parent is not None else LEXICAL)
    endpoint = endpoint_for(judge)
    settings = settings_from_config(parent.config) if parent is not None else PairwiseSettings()
    plans = (
        distil_plans(parent.config)
        if parent is not None
        else tuple(_distil_plans(dataset, annotator, settings))
    )
    applied = tuple(_applied(plans, dataset, annotator, parent if with_sets else None))
    if not applied:
        message = f"{annotator} has no label with a winner on the test part of {dataset.slug}"
        raise NothingToJudgeError(message)
    asked = JudgeRun(
        kind=RunKind.TEST,
        dataset=dataset,
        annotator=annotator,
        judge=judge,
        endpoint=endpoint,
        parent=parent,
        created_by=created_by,
        config={
            **settings.to_config(),
            "judge": judge_snapshot(endpoint, settings.to_config()),
            "sets_of": owner.username if with_sets else None,
            "scenarios": [plan.to_json() for plan in applied],
        },
    )
    with transaction.atomic():
        run = _same_unfinished(asked)
        if run is None:
            run = asked
            run.save()
            plan_judgments(
                run,
                (
                    (comparison, plan.preferences)
                    for plan in applied
                    for comparison, _ in plan.winners
                ),
            )
    return run


def _distillation(dataset: Dataset, owner: User, judge: str | None) -> JudgeRun | None:
    """The newest finished distillation, one by the same judge before any other."""
    done = JudgeRun.objects.filter(
        kind=RunKind.DISTIL, dataset=dataset, annotator=owner, status=RunStatus.DONE
    ).order_by("-pk")
    return done.filter(judge=judge).first() or done.first()


def _applied(
    plans: Sequence[DistilPlan], dataset: Dataset, annotator: User, parent: JudgeRun | None
) -> Iterator[AppliedPlan]:
    """The scenarios with a test label, each with the sets of `parent` where there is one."""
    verdicts = verdicts_of(annotator.pk, dataset_id=dataset.pk)
    base = empty_preference().pk
    sets = {
        (one.scenario_id, one.control): one
        for one in PreferenceSet.objects.filter(run=parent).prefetch_related("members")
    }
    for plan in plans:
        winners, ties = _winners(plan.test, verdicts)
        if not winners:
            continue
        selected = sets.get((plan.scenario_id, Control.NONE))
        shuffled = sets.get((plan.scenario_id, Control.SHUFFLED))
        yield AppliedPlan(
            scenario_id=plan.scenario_id,
            scenario=plan.scenario,
            winners=winners,
            ties=ties,
            base=base,
            selected=_member_ids(selected),
            shuffled=_member_ids(shuffled),
            sets={one.control: one.pk for one in (selected, shuffled) if one is not None},
        )


def _member_ids(chosen: PreferenceSet | None) -> tuple[int, ...] | None:
    """Members in column order."""
    if chosen is None:
        return None
    members = {member.pk for member in chosen.members.all()}
    return tuple(column for column in chosen.columns if column in members)
