"""Pairwise runs: what they are about is decided from rows; their own rows are written later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.core.splits import SplitItem, SplitSettings, split
from annotation.models import Dataset, Scenario, User
from judging.core.rules import JudgePrompt, PairwiseSettings
from judging.core.runs import COLUMNS, FOR_ABLATION, SCENARIOS, AppliedPlan, DistilPlan, Winners
from judging.core.verdicts import VerdictRule
from judging.core.votes import shuffled_winners
from judging.models import (
    Control,
    JudgeRun,
    ModelEndpoint,
    Preference,
    PreferenceKind,
    PreferenceSet,
    RunKind,
    RunStatus,
)
from judging.queries.comparisons import split_items, texts_of, verdicts_of
from judging.queries.configurations import applied_plans, as_json, distil_plans, pairwise_settings
from judging.queries.prompts import comparison_references
from judging.services.edited_prompts import edited_prompts
from judging.services.judges import BATCH_FILE, LEXICAL, check_by_batch_file, judge_snapshot
from judging.services.judgments import plan_grades, plan_judgments
from judging.services.preferences import empty_preference, written_in
from judging.services.rejudging import plan_rejudging, write_rejudged
from judging.services.run_requests import RunRequest


def plan_distillation(request: RunRequest) -> JudgeRun:
    """A distillation of an annotator's preferences, or their judging again; not saved.

    Per scenario the columns are the base judge, one preference per dev comparison with a winner,
    and the aggregate of all of them; every dev comparison is judged under every column in both
    orders. The shuffled control adds as many columns, distilled from flipped labels.

    Raises:
        Refused: there is no such judge; the annotator labelled nothing here that can be judged;
            there is a budget, but calls have no price.
    """
    if request.parent is not None:
        return plan_rejudging(request)
    assert request.annotator is not None  # noqa: S101 - `kinds.plan` makes a request of each
    judge = request.judge or LEXICAL
    endpoint = request.endpoint(judge)
    _check_chats(endpoint)
    if request.batch_file:
        check_by_batch_file(endpoint, judge)
    plans = list(_distil_plans(request.dataset, request.annotator, request.pairwise))
    if not plans:
        slug = request.dataset.slug
        message = f"{request.annotator} has not labelled any comparison of {slug} with both texts"
        raise Refused("run:no-labels", message)
    more = {FOR_ABLATION: True} if request.for_ablation else {}
    return _run(request, request.pairwise, plans, more, judge=judge, endpoint=endpoint)


def plan_test(request: RunRequest) -> JudgeRun:
    """A run over the annotator's test comparisons; not saved.

    They are judged under the base judge and the members of the selected and of the shuffled set,
    in both orders.

    Raises:
        Refused: there is no such judge; there is no finished distillation to take the sets of; no
            test comparison has a label with a winner; the judge compares in its own way; the prompt
            shows reference answers, and there are none; another annotator's sets under a prompt
            that takes none; there is a budget, but calls have no price.
    """
    dataset, annotator, prompt = request.dataset, request.annotator, request.prompt
    assert annotator is not None  # noqa: S101 - the form and the commands name one
    if prompt is not JudgePrompt.PERSONAL and request.sets_of is not None:
        message = f"the prompt {prompt.word} does not use preferences"
        raise Refused("run:prompt-without-sets", message)
    with_sets = request.with_sets and prompt is JudgePrompt.PERSONAL
    owner = request.sets_of or annotator
    parent = _distillation(dataset, owner, request.judge)
    if parent is None and with_sets:
        message = f"no preferences have been distilled for {owner} on {dataset.slug}"
        raise Refused("run:not-distilled", message)
    judge = request.judge or (parent.judge if parent is not None else LEXICAL)
    endpoint = request.endpoint(judge)
    _check_takes(prompt, endpoint, judge)
    if request.batch_file:
        check_by_batch_file(endpoint, judge)
    settings = pairwise_settings(parent.config) if parent is not None else PairwiseSettings()
    if prompt is not JudgePrompt.PERSONAL:
        settings = replace(settings, prompt=prompt, verdict_rule=VerdictRule.STRICT)
    plans = (
        distil_plans(parent.config)
        if parent is not None
        else tuple(_distil_plans(dataset, annotator, settings))
    )
    applied = list(_applied(plans, dataset, annotator, parent if with_sets else None))
    if not applied:
        message = f"{annotator} has no label with a winner on the test part of {dataset.slug}"
        raise Refused("run:no-labels", message)
    if prompt.guided and prompt is not JudgePrompt.OWN_REFERENCE:
        _check_references(applied, dataset)
    return _run(
        request,
        settings,
        applied,
        {"sets_of": owner.username if with_sets else None},
        kind=RunKind.GRADE if prompt.grades else RunKind.TEST,
        judge=judge,
        endpoint=endpoint,
        parent=parent,
    )


def plan_ablation(request: RunRequest) -> JudgeRun:
    """A run over a distillation's test comparisons under some of its preferences; not saved.

    The distillation need not be saved either.

    Raises:
        Refused: there is no such judge.
    """
    assert request.parent is not None  # noqa: S101 - what is varied was distilled
    judge = request.judge or request.parent.judge
    base = empty_preference().pk
    plans = [
        AppliedPlan(
            scenario_id=plan.scenario_id,
            scenario=plan.scenario,
            winners=plan.test_winners,
            ties=plan.test_ties,
            base=base,
            selected=tuple(dict.fromkeys(request.preferences.get(plan.scenario_id, ()))),
        )
        for plan in distil_plans(request.parent.config)
        if plan.test_winners
    ]
    settings = pairwise_settings(request.parent.config)
    return _run(
        request,
        settings,
        plans,
        {"sets_of": None},
        judge=judge,
        endpoint=request.endpoint(judge),
        parent=request.parent,
    )


def _run(
    request: RunRequest,
    settings: PairwiseSettings,
    scenarios: Sequence[DistilPlan | AppliedPlan],
    more: Mapping[str, Any],
    **columns: Any,
) -> JudgeRun:
    """The run with its configuration; `more` is what this kind says in it."""
    rules, endpoint = as_json(settings), columns["endpoint"]
    edits = edited_prompts(request.dataset, annotator=request.annotator, endpoint=endpoint)
    return request.run(
        **columns,
        config={
            **rules,
            "judge": judge_snapshot(endpoint, {**rules, **edits}),
            **edits,
            **more,
            **({BATCH_FILE: True} if request.batch_file else {}),
            SCENARIOS: [as_json(plan) for plan in scenarios],
        },
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


def write_distillation(run: JudgeRun) -> None:
    """Every preference to distil, and every dev comparison under each, PENDING."""
    if COLUMNS in run.config:
        write_rejudged(run)
        return
    for plan in distil_plans(run.config):
        _write_scenario(run, plan)


def _write_scenario(run: JudgeRun, plan: DistilPlan) -> None:
    if not plan.winners:
        return  # nothing to learn from: the base judge stands in
    texts = texts_of([comparison for comparison, _ in plan.winners])
    language = written_in(plan.winners, texts)
    base = empty_preference().pk
    columns = [base]
    for control, winners in ((Control.NONE, plan.winners), (Control.SHUFFLED, plan.shuffled)):
        if winners:
            columns += _write_columns(run, plan.scenario_id, control, winners, language)
    plan_judgments(run, ((comparison, columns) for comparison, _ in plan.winners))


def _write_columns(
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


def write_test(run: JudgeRun) -> None:
    """Every test comparison under its preferences in both orders, or once by two grades."""
    plans = applied_plans(run.config)
    if run.kind == RunKind.GRADE:
        asked = [comparison for plan in plans for comparison, _ in plan.winners]
        plan_grades(run, asked, preference_id=empty_preference().pk)
        return
    plan_judgments(
        run,
        ((comparison, plan.preferences) for plan in plans for comparison, _ in plan.winners),
    )
