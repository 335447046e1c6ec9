"""Applying what was learned: the comparisons of a run and the sets that they are judged under."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from django.db import transaction
from django.db.models import Q

from annotation.core.choices import JudgmentStatus, Order, Verdict
from annotation.core.refusals import Refused
from annotation.core.splits import (
    SplitItem,
    SplitSampling,
    left_to_test,
    rank_of,
)
from annotation.models import Dataset, PairingPlan, Scenario, Study
from judging.core.rules import JudgePrompt, PairwiseSettings, SelectionMode
from judging.core.runs import (
    ORDERS,
    OTHERS,
    TARGETS,
    UNSCORED,
    AppliedPlan,
    StageName,
    WeightedWay,
)
from judging.core.stack import (
    log_odds_of_score,
    stack_score,
    verdict_of_score,
    way_log_odds,
)
from judging.core.targets import COMPARISON_TARGETS, RunTarget, Targets
from judging.core.verdicts import VerdictRule
from judging.core.votes import MemberVerdict
from judging.models import (
    JudgeRun,
    Judgment,
    ModelEndpoint,
    RunKind,
)
from judging.queries.comparisons import split_items, verdicts_of
from judging.queries.configurations import (
    applied_plans,
    decides_by_log_odds,
    distil_plans,
    pairwise_settings,
    stored_targets,
)
from judging.queries.prompts import comparison_references
from judging.services.batches import ComputingStage
from judging.services.heartbeats import Pulse
from judging.services.judges import (
    LEXICAL,
    check_by_batch_file,
    check_chats,
    check_understands,
)
from judging.services.judgments import NO_PREFERENCE, plan_grades, plan_judgments
from judging.services.pairwise_runs import check_reads, pairwise_run, winners_among
from judging.services.preference_sets import (
    OtherSets,
    learned_from,
    newest_distillation,
    other_sets,
    runs_of,
    sets_of,
    sets_to_apply,
    under_sets,
    with_drawn,
)
from judging.services.preferences import empty_preference
from judging.services.run_requests import RunRequest


def plan_test(request: RunRequest) -> JudgeRun:
    """A run over comparisons in an annotator's stead, by default their test part; not saved.

    They are judged under the base judge and the members of the selected and of the shuffled set,
    in both orders; without an annotator under the base judge alone. What stands in for the other
    annotators judges the labelled ones beside them, as a control.

    Raises:
        Refused: there is no such judge; there is no finished distillation to take the sets of;
            nothing is among the targets, or has a label with a winner; the judge compares in its
            own way; the prompt shows reference answers, and there are none; another annotator's
            sets under a prompt that takes none; there is a budget, but calls have no price;
            verdicts are to be read by log-probabilities, and the judge returns none, or the prompt
            asks for grades; it is not clear whose sets are meant, or the judge cannot read them.
    """
    dataset, annotator, prompt = request.dataset, request.annotator, request.prompt
    if prompt is not JudgePrompt.PERSONAL and request.sets_of is not None:
        message = f"the prompt {prompt.word} does not use preferences"
        raise Refused("run:prompt-without-sets", message)
    with_sets = request.with_sets and prompt is JudgePrompt.PERSONAL and annotator is not None
    owner, learned_in = request.sets_of or annotator, request.sets_dataset or dataset
    parent = None
    if owner is not None and with_sets:
        parent = sets_to_apply(request, learned_in, owner)
    elif owner is not None:  # it says how labels are split and replies are read
        parent = newest_distillation(learned_in, owner, request.judge)
    judge = request.judge or (parent.judge if parent is not None else LEXICAL)
    endpoint = request.endpoint(judge)
    _check_takes(prompt, endpoint, judge)
    if with_sets and parent is not None and parent.written_by != LEXICAL:
        check_understands(judge, parent.written_by)
    if request.batch_file:
        check_by_batch_file(endpoint, judge)
    settings = pairwise_settings(parent.config) if parent is not None else PairwiseSettings()
    rule = _verdict_rule(request, settings.verdict_rule, endpoint)
    mode = settings.mode if with_sets else SelectionMode.DEFAULT
    settings = replace(settings, prompt=prompt, verdict_rule=rule, mode=mode)
    check_reads(request, settings, endpoint, judge)
    kind = RunKind.RANKING if request.draw and with_sets else RunKind.TEST
    own = None if annotator is None else newest_distillation(dataset, annotator, judge)
    learned = (parent, own) if with_sets else (None, None)
    others, known = other_sets(request, learned[0], seed=settings.seed)
    applied = list(_applied(request, *learned, others))
    if not applied:
        raise _nothing_to_judge(request)
    if prompt.guided and prompt is not JudgePrompt.OWN_REFERENCE:
        _check_references(applied, dataset)
    return pairwise_run(
        request,
        settings,
        applied,
        {
            "sets_of": owner.username if with_sets and owner is not None else None,
            **(_roles(parent) if with_sets else {}),
            **({"drawn": request.draw} if request.draw else {}),
            **_targets_config(request, applied),
            **_control_config(applied, known),
        },
        kind=RunKind.GRADE if prompt.grades else kind,
        judge=judge,
        endpoint=endpoint,
        parent=parent,
    )


def _roles(parent: JudgeRun | None) -> dict[str, str]:
    """Whose sets a run applies: who selected them, and who distilled."""
    if parent is None:
        return {}
    return {"selected_by": parent.judge, "distiller": parent.written_by}


def _nothing_to_judge(request: RunRequest) -> Refused:
    slug = request.dataset.slug
    if request.targets == Targets():
        message = f"{request.annotator} has no label with a winner on the test part of {slug}"
        return Refused("run:no-labels", message)
    return Refused("run:no-targets", f"no comparison of {slug} is among the targets")


def _targets_config(request: RunRequest, plans: Sequence[AppliedPlan]) -> dict[str, Any]:
    """What a run says of its targets, where it judges more or less than the test part."""
    if request.targets == Targets() and request.sets_dataset is None:
        return {}
    learned_in = request.sets_dataset or request.dataset
    return {
        TARGETS: stored_targets(request.targets),
        "set_dataset": learned_in.slug,
        UNSCORED: not any(plan.winners for plan in plans),
    }


def _control_config(plans: Sequence[AppliedPlan], known: int) -> dict[str, Any]:
    """What a run says of the other annotators whose judges it asks."""
    drawn = {other.annotator for plan in plans for other in plan.others}
    return {OTHERS: {"drawn": len(drawn), "of": known}} if drawn else {}


def plan_ablation(request: RunRequest) -> JudgeRun:
    """A run over a distillation's test comparisons under some of its preferences; not saved.

    The distillation need not be saved either.

    Raises:
        Refused: there is no such judge; verdicts are to be read by log-probabilities, and it
            returns none.
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
    endpoint = request.endpoint(judge)
    settings = pairwise_settings(request.parent.config)
    rule = _verdict_rule(request, settings.verdict_rule, endpoint)
    settings = replace(settings, verdict_rule=rule)
    check_reads(request, settings, endpoint, judge)
    return pairwise_run(
        request,
        settings,
        plans,
        {"sets_of": None},
        judge=judge,
        endpoint=endpoint,
        parent=request.parent,
    )


def _check_takes(prompt: JudgePrompt, endpoint: ModelEndpoint | None, judge: str) -> None:
    """Whether a judge can be asked so."""
    if prompt is not JudgePrompt.REWARD:
        check_chats(endpoint)
    if prompt is JudgePrompt.PERSONAL:
        return
    if endpoint is None:
        message = f"{judge} does not use prompts"
        raise Refused("judge:no-prompts", message)
    if prompt is JudgePrompt.REWARD and not endpoint.has_scores:
        message = f"{judge} does not score responses"
        raise Refused("judge:no-scores", message)


def _verdict_rule(
    request: RunRequest, followed: VerdictRule, endpoint: ModelEndpoint | None
) -> VerdictRule:
    """How a run reads replies: as asked, or as the distillation that it applies was read.

    The embedded judge has no letters to follow. Replies to any prompt but the paper's have a form
    of their own, which letters alone can take the place of.
    """
    personal = request.prompt is JudgePrompt.PERSONAL
    rule = request.verdict or (followed if personal else VerdictRule.STRICT)
    if rule is VerdictRule.LOGPROB:
        return VerdictRule.STRICT if request.verdict is None and endpoint is None else rule
    return rule if personal else VerdictRule.STRICT


def _check_references(plans: Sequence[AppliedPlan], dataset: Dataset) -> None:
    asked = [comparison for plan in plans for comparison in plan.comparisons]
    if not any(comparison_references(asked).values()):
        message = f"no test comparison of {dataset.slug} has a reference answer"
        raise Refused("run:no-references", message)


def _applied(
    request: RunRequest,
    parent: JudgeRun | None,
    own: JudgeRun | None,
    others: Sequence[OtherSets],
) -> Iterator[AppliedPlan]:
    """The scenarios with something to judge, each under the sets of `parent` where there is one.

    The `others` judge what is labelled beside them.

    What a set that is applied was learned from, and what the annotator's `own` distillation learned
    from, is no test. Parts are told on all comparisons: a filter hides no development pair.
    """
    dataset, targets = request.dataset, request.targets
    annotator = request.annotator
    verdicts = {} if annotator is None else verdicts_of(annotator.pk, dataset_id=dataset.pk)
    names = dict(Scenario.objects.filter(dataset=dataset).values_list("pk", "name"))
    sets, base = sets_of(parent), empty_preference().pk
    learned = [learned_from(run) for run in runs_of(sets, parent, own)]
    items = split_items(dataset.pk)
    standing = {
        scenario: set(left_to_test(each, (), SplitSampling.DEFAULT))
        for scenario, each in items.items()
    }
    test = {
        scenario: standing[scenario].intersection(
            *(left_to_test(each, dev, sampling) for dev, sampling in learned)
        )
        for scenario, each in items.items()
    }
    # A repetition of a turn's texts is never judged twice.
    candidates = test if targets.kind is RunTarget.TEST else standing
    asked = _asked(request, items, verdicts, candidates)
    for scenario_id, each in items.items():
        keys = [item.comparison_id for item in each if item.comparison_id in asked]
        winners, ties = winners_among((key for key in keys if key in test[scenario_id]), verdicts)
        scored = {key for key, _winner in winners}
        unscored = tuple(key for key in keys if key not in scored)
        if targets.kind is RunTarget.TEST:
            unscored = ()
        if not winners and not unscored:
            continue
        plan = AppliedPlan(
            scenario_id=scenario_id,
            scenario=names[scenario_id],
            winners=winners,
            ties=ties,
            base=base,
            unscored=unscored,
            learned_from=tuple(key for key in unscored if key not in test[scenario_id]),
        )
        plan = plan if parent is None else under_sets(plan, sets)
        if request.draw:
            plan = with_drawn(plan, sets, request.draw)
        yield replace(plan, others=tuple(one.judge(plan, each) for one in others if winners))


def _asked(
    request: RunRequest,
    items: Mapping[int, Sequence[SplitItem]],
    verdicts: Mapping[int, Verdict],
    candidates: Mapping[int, Collection[int]],
) -> frozenset[int]:
    """Of the candidates, by scenario, those asked for; a sample of them where one is wanted."""
    targets = request.targets
    if targets.kind not in (*COMPARISON_TARGETS, RunTarget.STUDY, RunTarget.PLAN):
        raise Refused("run:targets", f"{targets.kind.lower()} are no comparisons")
    check_listed(targets, request.dataset)
    passing = split_items(request.dataset.pk, targets) if targets.are_filtered else items
    allowed = {item.comparison_id for own in passing.values() for item in own}
    if targets.only:
        allowed.intersection_update(targets.only)
    asked = [
        item
        for scenario, own in items.items()
        for item in own
        if item.comparison_id in candidates[scenario]
        and item.comparison_id in allowed
        and _is_of_kind(targets, verdicts.get(item.comparison_id))
    ]
    if targets.sample is not None:
        # Not in the order of the splits, which would draw the development pairs first.
        asked.sort(key=lambda item: rank_of("sample", item.session, item.key))
        asked = asked[: targets.sample]
    return frozenset(item.comparison_id for item in asked)


def _is_of_kind(targets: Targets, verdict: Verdict | None) -> bool:
    if targets.kind is RunTarget.TEST:
        # Ties are counted, and stand in no sample.
        return targets.sample is None or verdict not in (None, Verdict.TIE)
    return targets.kind is not RunTarget.UNLABELLED or verdict is None


def check_listed(targets: Targets, dataset: Dataset) -> None:
    """Refuse a study or a plan that is not one of the dataset's."""
    slug, plan = targets.study, targets.plan
    studies = Study.objects.filter(slug=slug, dataset=dataset)
    if targets.kind is RunTarget.STUDY and not studies.exists():
        raise Refused("run:targets", f"{dataset.slug} has no study {slug!r}")
    plans = PairingPlan.objects.filter(pk=plan or 0, dataset=dataset)
    if targets.kind is RunTarget.PLAN and not plans.exists():
        raise Refused("run:targets", f"{dataset.slug} has no pairing plan {plan}")


def write_test(run: JudgeRun) -> None:
    """Every test comparison under its preferences in both orders, or once by two grades."""
    plans = applied_plans(run.config)
    if run.kind == RunKind.GRADE:
        asked = [comparison for plan in plans for comparison in plan.comparisons]
        plan_grades(run, asked, preference_id=empty_preference().pk)
        return
    plan_judgments(run, (cell for plan in plans for cell in plan.cells()))


def combine_ways(run: JudgeRun) -> None:
    """Stores what weighted votes decide: one verdict in both orders, from what their ways decided.

    A comparison on which every call of a way that weighs anything failed is left out; one of which
    no reply could be read has an unparseable row. Rows of an earlier time are replaced, since what
    failed may be asked again. Signs of life are given meanwhile.

    Raises:
        SupersededError: somebody else has the run now.
    """
    pulse = Pulse(run)
    votes = [vote for plan in applied_plans(run.config) for vote in plan.votes()]
    by_log_odds = decides_by_log_odds(run.config, judge=run.judge)
    asked = {key for _stack, ways, _on in votes for way in ways for key in way.members}
    said, answered = _said(run, asked)
    rows: list[Judgment] = []
    for stack, ways, comparisons in votes:
        for comparison in comparisons:
            pulse()
            replied = answered.get(comparison, ())
            if not replied or not all(_has_spoken(way, replied) for way in ways):
                continue
            ballots = [[said.get((comparison, key), {}) for key in way.members] for way in ways]
            log_odds = [way_log_odds(each, by_log_odds=by_log_odds) for each in ballots]
            is_read = any(own for each in ballots for own in each)
            columns = _combined(ways, log_odds) if is_read else _NOT_READ
            rows += (
                Judgment(
                    run=run,
                    comparison_id=comparison,
                    preference_id=stack,
                    order=order.value,
                    **columns,
                )
                for order in ORDERS
            )
    with transaction.atomic():
        stacks = {stack for stack, _ways, _comparisons in votes}
        Judgment.objects.filter(run=run, preference__in=stacks).delete()
        Judgment.objects.bulk_create(rows, batch_size=_CHUNK)


_CHUNK: Final = 1000
_NOT_READ: Final[Mapping[str, Any]] = {
    "status": JudgmentStatus.UNPARSEABLE.value,
    "error_code": "verdict:unparseable",
}
_Said = dict[tuple[int, int], dict[Order, MemberVerdict]]
"""By comparison and preference what the judge said in each order, where it could be read."""


def _combined(ways: Sequence[WeightedWay], log_odds: Sequence[float]) -> dict[str, Any]:
    """The columns of a row that a weighted vote gives."""
    score = stack_score(np.array([way.weight for way in ways]), np.array(log_odds))
    account = ", ".join(
        f"{way.way.lower()} {way.weight:.3f} x {value:+.2f}"
        for way, value in zip(ways, log_odds, strict=True)
    )
    return {
        "status": JudgmentStatus.DONE.value,
        "verdict": verdict_of_score(score).value,
        "log_odds": log_odds_of_score(score),
        "raw": f"{account}: log-odds {log_odds_of_score(score):+.2f}",
    }


def _has_spoken(way: WeightedWay, answered: Collection[int]) -> bool:
    """Whether any of its members replied, where it weighs anything and there is somebody to ask."""
    return not (way.weight and way.members) or not set(way.members).isdisjoint(answered)


def _said(run: JudgeRun, preferences: Collection[int]) -> tuple[_Said, dict[int, set[int]]]:
    """What was said under some preferences, and by comparison under which there was any reply.

    A preference that was never distilled is heard as one that cannot be read: nobody was asked.
    """
    rows = Judgment.objects.filter(
        Q(status__in=(JudgmentStatus.DONE, JudgmentStatus.UNPARSEABLE))
        | Q(error_code=NO_PREFERENCE),
        run=run,
        preference__in=preferences,
    )
    said: _Said = defaultdict(dict)
    answered: dict[int, set[int]] = defaultdict(set)
    for comparison, preference, order, verdict, log_odds in rows.values_list(
        "comparison_id", "preference_id", "order", "verdict", "log_odds"
    ):
        answered[comparison].add(preference)
        if verdict is not None:
            one = MemberVerdict(Verdict(verdict), log_odds)
            said[comparison, preference][Order(order)] = one
    return said, answered


def _has_ways(run: JudgeRun) -> bool:
    return any(True for plan in applied_plans(run.config) for _vote in plan.votes())


COMBINE_STAGE: Final = ComputingStage(StageName.COMBINE, combine_ways, is_needed=_has_ways)
