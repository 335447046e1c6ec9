"""Pairwise runs: what they are about is decided from rows; their own rows are written later."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from annotation.core.choices import Verdict
from annotation.core.refusals import Refused
from annotation.core.splits import (
    Pooling,
    SplitItem,
    SplitSampling,
    SplitSettings,
    is_pooled,
    split,
)
from annotation.models import Dataset, Scenario, User
from judging.core.rules import Combine, PairwiseSettings, SelectionMode
from judging.core.runs import (
    COLUMNS,
    FOR_ABLATION,
    SCENARIOS,
    AppliedPlan,
    DistilPlan,
    Winners,
)
from judging.core.selection_paper import check_searchable
from judging.core.stack import FEWEST_PAIRS
from judging.core.verdicts import VerdictRule
from judging.core.votes import CONTROL_DRAWS, shuffled_winners
from judging.models import (
    Control,
    JudgeRun,
    ModelEndpoint,
    Preference,
    PreferenceKind,
)
from judging.queries.comparisons import split_items, texts_of, verdicts_of
from judging.queries.configurations import WRITER, as_json, cross_fits, distil_plans
from judging.services.abilities import check_letters
from judging.services.edited_prompts import edited_prompts
from judging.services.judges import (
    BATCH_FILE,
    LEXICAL,
    check_by_batch_file,
    check_chats,
    check_understands,
    judge_snapshot,
)
from judging.services.judgments import plan_judgments
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
            there is a budget, but calls have no price; verdicts are to be read by
            log-probabilities, and the judge returns none; the judge cannot read what the distiller
            writes; the paper's mode of selection is asked for beside what it does not combine with.
    """
    if request.parent is not None:
        return plan_rejudging(request)
    assert request.annotator is not None  # noqa: S101 - `kinds.plan` makes a request of each
    judge = request.judge or LEXICAL
    asked = request.asked_of(judge)
    endpoint = asked["endpoint"]
    check_chats(endpoint)
    check_chats(asked["writer_endpoint"])
    check_understands(judge, asked["writer"])
    if request.batch_file:
        check_by_batch_file(endpoint, judge)
        if asked["writer"]:
            check_by_batch_file(asked["writer_endpoint"], asked["writer"])
    settings = _settings(request.pairwise, judge)
    check_reads(request, settings, endpoint, judge)
    plans = list(_distil_plans(request.dataset, request.annotator, settings))
    if not plans:
        slug = request.dataset.slug
        message = f"{request.annotator} has not labelled any comparison of {slug} with both texts"
        raise Refused("run:no-labels", message)
    if settings.mode is SelectionMode.PAPER:
        check_searchable(2 + len(plan.winners) for plan in plans)
    more = {FOR_ABLATION: True} if request.for_ablation else {}
    return pairwise_run(request, settings, plans, more, **asked)


def _settings(asked: PairwiseSettings, judge: str) -> PairwiseSettings:
    """The rules as this judge follows them.

    The released code knows no control, lets the aggregate be selected, and takes no l*.
    """
    if asked.mode is not SelectionMode.PAPER:
        return replace(
            asked,
            combine=_combine(asked.combine, judge),
            control_draws=CONTROL_DRAWS if judge == LEXICAL else 1,
        )
    if asked.combine is Combine.STACK:
        raise Refused("run:no-stack", "paper mode applies the subsets that it selects")
    combine = asked.combine or Combine.SUBSET
    return replace(asked, combine=combine, aggregate_eligible=True, shuffled_control=False)


def _combine(asked: Combine | None, judge: str) -> Combine:
    if asked is None:
        return Combine.STACK if judge == LEXICAL else Combine.SUBSET
    return asked


def pairwise_run(
    request: RunRequest,
    settings: PairwiseSettings,
    scenarios: Sequence[DistilPlan | AppliedPlan],
    more: Mapping[str, Any],
    **columns: Any,
) -> JudgeRun:
    """The run with its configuration; `more` is what this kind says in it."""
    rules, endpoint = as_json(settings), columns["endpoint"]
    writes = columns.get("writer_endpoint")
    edits = edited_prompts(
        request.dataset, annotator=request.annotator, endpoint=endpoint or writes
    )
    asked = {**rules, **edits}
    return request.run(
        **columns,
        config={
            **rules,
            "judge": judge_snapshot(endpoint, asked),
            **({WRITER: judge_snapshot(writes, asked)} if columns.get("writer") else {}),
            **edits,
            **more,
            **({BATCH_FILE: True} if request.batch_file else {}),
            SCENARIOS: [as_json(plan) for plan in scenarios],
        },
    )


def check_reads(
    request: RunRequest,
    settings: PairwiseSettings,
    endpoint: ModelEndpoint | None,
    judge: str,
) -> None:
    """Refuse to read replies by log-probabilities where there are none to read.

    Calls of a batch file go elsewhere, and only what is known already stands against them.
    """
    if settings.verdict_rule is not VerdictRule.LOGPROB:
        return
    if settings.mode is SelectionMode.PAPER:
        raise Refused("vote:by-log-odds", "paper mode cannot be combined with l*")
    if endpoint is None:
        raise Refused("judge:no-letters", f"{judge} returns no log-probabilities")
    if not settings.prompt.compares:
        message = f"the prompt {settings.prompt.word} asks for a grade, not for a letter"
        raise Refused("run:no-letters", message)
    if not request.batch_file or endpoint.can("logprobs") is not None:
        check_letters(endpoint)


def _distil_plans(
    dataset: Dataset, annotator: User, settings: PairwiseSettings
) -> Iterator[DistilPlan]:
    """Every scenario in which the annotator labelled something, or all of them as one."""
    verdicts = verdicts_of(annotator.pk, dataset_id=dataset.pk)
    items = {
        scenario: own
        for scenario, own in split_items(dataset.pk).items()
        if any(item.comparison_id in verdicts for item in own)
    }
    names: dict[int | None, str] = dict(
        Scenario.objects.filter(dataset=dataset).values_list("pk", "name")
    )
    parts: dict[int | None, list[SplitItem]] = dict(items.items())
    pooling = settings.pooling
    if settings.sampling is SplitSampling.PAPER and pooling is Pooling.AUTO:
        pooling = Pooling.SCENARIO  # as the paper draws
    if items and is_pooled(_sessions(items, verdicts), pooling, size=settings.dev_size):
        parts, names = {None: [item for own in items.values() for item in own]}, {None: ""}
    for scenario_id, own in parts.items():
        coins = "\x1f".join((dataset.slug, names[scenario_id], annotator.username))
        yield _distil_plan(own, verdicts, settings, (scenario_id, names[scenario_id]), coins)


def _sessions(
    items: Mapping[int, Sequence[SplitItem]], verdicts: Mapping[int, Verdict]
) -> dict[int, int]:
    """By scenario, in how many sessions a winner was named."""
    winners = {key for key, verdict in verdicts.items() if verdict is not Verdict.TIE}
    return {
        scenario: len({item.session for item in own if item.comparison_id in winners})
        for scenario, own in items.items()
    }


def _distil_plan(
    items: Sequence[SplitItem],
    verdicts: Mapping[int, Verdict],
    settings: PairwiseSettings,
    scenario: tuple[int | None, str],
    coins: str,
) -> DistilPlan:
    parts = split(
        items,
        SplitSettings(settings.dev_size, settings.seed, settings.sampling),
        winners={key for key, verdict in verdicts.items() if verdict is not Verdict.TIE},
    )
    winners, dev_ties = winners_among(parts.dev, verdicts)
    test_winners, test_ties = winners_among(parts.test, verdicts)
    draws: list[Winners] = [()]
    if settings.shuffled_control and winners:
        draws = [
            shuffled_winners(winners, seed=settings.seed, name=coins, number=number)
            for number in range(settings.control_draws or 1)
        ]
    return DistilPlan(
        *scenario,
        dev=parts.dev,
        winners=winners,
        shuffled=draws[0],
        dev_ties=dev_ties,
        test_winners=test_winners,
        test_ties=test_ties,
        more_shuffled=tuple(draws[1:]),
    )


def winners_among(ids: Iterable[int], verdicts: Mapping[int, Verdict]) -> tuple[Winners, int]:
    """Labels with a winner, and how many ties were left out."""
    given = [(one, verdicts[one]) for one in ids if one in verdicts]
    winners = tuple((one, verdict) for one, verdict in given if verdict is not Verdict.TIE)
    return winners, len(given) - len(winners)


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
    columns = [base, *_write_columns(run, plan, language)]
    held_out = _write_held_out(run, plan, language)
    plan_judgments(
        run,
        ((comparison, columns + held_out.get(comparison, [])) for comparison, _ in plan.winners),
    )


def _write_held_out(run: JudgeRun, plan: DistilPlan, language: str) -> dict[int, list[int]]:
    """By dev comparison the preferences distilled from all others, which it alone is judged under.

    One from the annotator's labels, and one from each draw of the control's. None where no ways to
    judge are weighed by them, or a single label would be left out.
    """
    if not cross_fits(run.config, judge=run.judge) or len(plan.winners) < FEWEST_PAIRS:
        return {}
    rows = Preference.objects.bulk_create(
        Preference(
            run=run,
            dataset_id=run.dataset_id,
            scenario_id=plan.scenario_id,
            annotator_id=run.annotator_id,
            language=language,
            control=control,
            draw=draw,
            kind=PreferenceKind.HELD_OUT,
            position=len(plan.winners) + 1,
            source_comparison_id=comparison,
            source_verdict=winner.value,
        )
        for control, draw, winners in _labels(plan)
        for comparison, winner in winners
    )
    found: defaultdict[int, list[int]] = defaultdict(list)
    for row in rows:
        found[cast("int", row.source_comparison_id)].append(row.pk)
    return found


def _labels(plan: DistilPlan) -> Iterator[tuple[Control, int, Winners]]:
    """The annotator's own, then each draw of the control."""
    yield Control.NONE, 0, plan.winners
    for number, draw in enumerate(plan.draws):
        yield Control.SHUFFLED, number, draw


def _write_columns(run: JudgeRun, plan: DistilPlan, language: str) -> list[int]:
    """The preferences of a scenario: one per pair and the aggregate, then the control's.

    The control has a preference of each pair that is flipped in one of its draws (one that is not
    would read as the annotator's own), and an aggregate a draw.
    """

    def preference(
        control: Control, kind: PreferenceKind, position: int, **more: Any
    ) -> Preference:
        return Preference(
            run=run,
            dataset_id=run.dataset_id,
            scenario_id=plan.scenario_id,
            annotator_id=run.annotator_id,
            control=control,
            language=language,
            kind=kind,
            position=position,
            **more,
        )

    def pairs(control: Control, winners: Iterable[tuple[int, Verdict]]) -> Iterator[Preference]:
        for comparison, winner in winners:
            yield preference(
                control,
                PreferenceKind.PAIR,
                1 + places[comparison],
                source_comparison_id=comparison,
                source_verdict=winner.value,
            )

    places = {comparison: place for place, (comparison, _) in enumerate(plan.winners)}
    last = len(plan.winners) + 1
    rows = [
        *pairs(Control.NONE, plan.winners),
        preference(Control.NONE, PreferenceKind.AGGREGATE, last),
        *pairs(Control.SHUFFLED, plan.flipped),
        *(
            preference(Control.SHUFFLED, PreferenceKind.AGGREGATE, last, draw=number)
            for number, draw in enumerate(plan.draws)
            if draw
        ),
    ]
    return [row.pk for row in Preference.objects.bulk_create(rows)]
