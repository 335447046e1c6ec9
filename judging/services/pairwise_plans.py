"""What a pairwise run would be about: decided from rows, without writing any."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from hashlib import sha256
from typing import Any, Final

from django.db import IntegrityError, transaction
from django.db.models.query import QuerySet

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSettings, split
from annotation.models import Dataset, Scenario, User
from annotation.queries.participants import annotators
from judging.core.rules import JudgePrompt, PairwiseSettings, settings_from_config
from judging.core.runs import AppliedPlan, DistilPlan, Winners, distil_plans
from judging.core.verdicts import VerdictRule
from judging.core.votes import shuffled_winners
from judging.models import Control, JudgeRun, ModelEndpoint, PreferenceSet, RunKind, RunStatus
from judging.queries.comparisons import split_items, verdicts_of
from judging.queries.prompts import comparison_references
from judging.queries.runs import UNFINISHED
from judging.services.edited_prompts import edited_prompts
from judging.services.endpoints import check_budget, set_budget
from judging.services.judges import (
    BATCH_FILE,
    LEXICAL,
    check_by_batch_file,
    endpoint_for,
    judge_snapshot,
)
from judging.services.preferences import empty_preference


def start_once(
    wanted: JudgeRun,
    write_rows: Callable[[JudgeRun], object],
    *,
    again: bool = False,
    config: Mapping[str, Any] | None = None,
) -> JudgeRun:
    """Save a run with its rows, unless an equal one is under way: then that one, `attached`.

    The budget that was wanted becomes that of the run which is under way.

    Args:
        wanted: not saved yet.
        write_rows: writes the rows of the saved run, in the same transaction.
        again: start anew beside the run that is under way; others attach to the new one from then.
        config: what of the configuration makes runs equal; all of it without.
    """
    wanted.plan = _plan(wanted, wanted.config if config is None else config)
    with transaction.atomic():
        if again:
            _under_way(wanted.plan).update(plan="")
        same = _under_way(wanted.plan).first() or _save_or_find(wanted)
        if same is None:
            write_rows(wanted)
            return wanted
        if wanted.budget is not None:
            set_budget(same.pk, wanted.budget)
    same.attached = True
    return same


def _save_or_find(wanted: JudgeRun) -> JudgeRun | None:
    """None once it is saved; the equal run where somebody else saved it at the same moment."""
    try:
        with transaction.atomic():
            wanted.save(force_insert=True)
    except IntegrityError:
        same = _under_way(wanted.plan).first()
        if same is None:
            raise
        return same
    return None


def _under_way(plan: str) -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(plan=plan, status__in=(*UNFINISHED, RunStatus.BATCH))


def _plan(run: JudgeRun, config: Mapping[str, Any]) -> str:
    """64 hexadecimal digits."""
    parts = [run.kind, run.dataset_id, run.annotator_id, run.judge, run.parent_id, config]
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return sha256(canonical.encode()).hexdigest()


FOR_ABLATION: Final = "ablation"
"""In the configuration of a distillation that only an ablation looks at."""


@dataclass(frozen=True, slots=True)
class AskedDistillation:
    """A distillation that was asked for; its run is not saved."""

    run: JudgeRun
    plans: tuple[DistilPlan, ...]


@dataclass(frozen=True, slots=True)
class AskedTest:
    """A run over test comparisons that was asked for; it is not saved."""

    run: JudgeRun
    plans: tuple[AppliedPlan, ...]


def asked_distillation(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    batch_file: bool = False,
    for_ablation: bool = False,
    created_by: User | None = None,
) -> AskedDistillation:
    """See `pairwise_runs.start_distillation`."""
    settings = settings or PairwiseSettings()
    endpoint = endpoint_for(judge)
    check_budget(budget, endpoint=endpoint)
    _check_chats(endpoint)
    if batch_file:
        check_by_batch_file(endpoint, judge)
    edits = edited_prompts(dataset, annotator=annotator, endpoint=endpoint)
    plans = tuple(_distil_plans(dataset, annotator, settings))
    if not plans:
        message = f"{annotator} has not labelled any comparison of {dataset.slug} with both texts"
        raise Refused("run:no-labels", message)
    return AskedDistillation(
        JudgeRun(
            kind=RunKind.DISTIL,
            dataset=dataset,
            annotator=annotator,
            judge=judge,
            endpoint=endpoint,
            budget=budget,
            status=RunStatus.BATCH if batch_file else RunStatus.PENDING,
            created_by=created_by,
            config={
                **settings.to_config(),
                "judge": judge_snapshot(endpoint, {**settings.to_config(), **edits}),
                **edits,
                **({BATCH_FILE: True} if batch_file else {}),
                **({FOR_ABLATION: True} if for_ablation else {}),
                "scenarios": [plan.to_json() for plan in plans],
            },
        ),
        plans,
    )


def asked_distillations(
    *,
    dataset: Dataset,
    annotator: User | None,
    judge: str,
    settings: PairwiseSettings | None = None,
    budget: Decimal | None = None,
    created_by: User | None = None,
) -> list[AskedDistillation]:
    """One annotator's distillation, or that of everybody with something to judge.

    Each has the whole budget for itself.

    Raises:
        Refused: there is no such judge; nobody labelled anything here that can be judged.
    """
    wanted: dict[str, Any] = {
        "dataset": dataset,
        "judge": judge,
        "settings": settings,
        "budget": budget,
        "created_by": created_by,
    }
    if annotator is not None:
        return [asked_distillation(annotator=annotator, **wanted)]
    asked = []
    users = User.objects.in_bulk([each.id for each in annotators(dataset=dataset)])
    for user in users.values():
        try:
            asked.append(asked_distillation(annotator=user, **wanted))
        except Refused as refused:
            if refused.code != "run:no-labels":  # rated turns only, or pairs without texts
                raise
    if not asked:
        message = f"no labelled comparison of {dataset.slug} has both texts"
        raise Refused("run:no-labels", message)
    return asked


def asked_test_run(
    *,
    dataset: Dataset,
    annotator: User,
    judge: str | None = None,
    with_sets: bool = True,
    sets_of: User | None = None,
    prompt: JudgePrompt = JudgePrompt.PERSONAL,
    budget: Decimal | None = None,
    batch_file: bool = False,
    created_by: User | None = None,
) -> AskedTest:
    """See `pairwise_runs.start_test_run`."""
    if prompt is not JudgePrompt.PERSONAL and sets_of is not None:
        message = f"the prompt {prompt.word} does not use preferences"
        raise Refused("run:prompt-without-sets", message)
    with_sets = with_sets and prompt is JudgePrompt.PERSONAL
    owner = sets_of or annotator
    parent = _distillation(dataset, owner, judge)
    if parent is None and with_sets:
        message = f"no preferences have been distilled for {owner} on {dataset.slug}"
        raise Refused("run:not-distilled", message)
    judge = judge or (parent.judge if parent is not None else LEXICAL)
    endpoint = endpoint_for(judge)
    check_budget(budget, endpoint=endpoint)
    _check_takes(prompt, endpoint, judge)
    if batch_file:
        check_by_batch_file(endpoint, judge)
    settings = settings_from_config(parent.config) if parent is not None else PairwiseSettings()
    if prompt is not JudgePrompt.PERSONAL:
        settings = replace(settings, prompt=prompt, verdict_rule=VerdictRule.STRICT)
    plans = (
        distil_plans(parent.config)
        if parent is not None
        else tuple(_distil_plans(dataset, annotator, settings))
    )
    applied = tuple(_applied(plans, dataset, annotator, parent if with_sets else None))
    if not applied:
        message = f"{annotator} has no label with a winner on the test part of {dataset.slug}"
        raise Refused("run:no-labels", message)
    if prompt.guided and prompt is not JudgePrompt.OWN_REFERENCE:
        _check_references(applied, dataset)
    edits = edited_prompts(dataset, annotator=annotator, endpoint=endpoint)
    return AskedTest(
        JudgeRun(
            kind=RunKind.GRADE if prompt.grades else RunKind.TEST,
            dataset=dataset,
            annotator=annotator,
            judge=judge,
            endpoint=endpoint,
            parent=parent,
            budget=budget,
            status=RunStatus.BATCH if batch_file else RunStatus.PENDING,
            created_by=created_by,
            config={
                **settings.to_config(),
                "judge": judge_snapshot(endpoint, {**settings.to_config(), **edits}),
                **edits,
                "sets_of": owner.username if with_sets else None,
                **({BATCH_FILE: True} if batch_file else {}),
                "scenarios": [plan.to_json() for plan in applied],
            },
        ),
        applied,
    )


def _check_chats(endpoint: ModelEndpoint | None) -> None:
    if endpoint is not None and endpoint.has_scores:
        message = f"{endpoint.name} only scores responses"
        raise Refused("judge:only-scores", message)


def _check_takes(prompt: JudgePrompt, endpoint: ModelEndpoint | None, judge: str) -> None:
    """Whether a judge can be asked so."""
    if prompt is not JudgePrompt.REWARD:
        _check_chats(endpoint)
    if prompt is JudgePrompt.PERSONAL:
        return
    if endpoint is None:
        message = f"{judge} does not use prompts"
        raise Refused("judge:no-prompts", message)
    if prompt is JudgePrompt.REWARD and not endpoint.has_scores:
        message = f"{judge} does not score responses"
        raise Refused("judge:no-scores", message)


def _check_references(plans: Sequence[AppliedPlan], dataset: Dataset) -> None:
    asked = [comparison for plan in plans for comparison, _ in plan.winners]
    if not any(comparison_references(asked).values()):
        message = f"no test comparison of {dataset.slug} has a reference answer"
        raise Refused("run:no-references", message)


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


def _distillation(dataset: Dataset, owner: User, judge: str | None) -> JudgeRun | None:
    """The newest finished distillation, one by the same judge before any other."""
    done = JudgeRun.objects.filter(
        kind=RunKind.DISTIL,
        dataset=dataset,
        annotator=owner,
        status=RunStatus.DONE,
        config__ablation__isnull=True,
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
