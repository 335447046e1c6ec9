"""The trust page and the report: the figures of one annotator, or of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Count, Prefetch, Q

from annotation.core.quality import HitShare
from annotation.models import Dataset
from annotation.queries.participants import resolve_annotator
from annotation.queries.quality import repeatability
from annotation.queries.withheld import is_anything_withheld, withheld_comparisons
from benchmark.core.accuracy import InvalidPolicy
from benchmark.core.personal import PersonalRow
from benchmark.core.report import (
    ControlRow,
    ReportRow,
    adjusted,
    control_rows,
    repeats_rows,
    report_rows,
)
from benchmark.core.response_bias import ResponseBias, leaning_records
from benchmark.core.trust import (
    BASE,
    MAJORITY,
    RULES,
    Condition,
    ConditionKind,
    HumanLabel,
    JudgedComparison,
    TrustFigures,
    trust_figures,
)
from benchmark.core.trust_answer import TrustAnswer, trust_answer
from benchmark.queries.baselines import rubric_runs, with_baselines
from benchmark.queries.choices import (
    NOTHING_PINNED,
    AnnotatorChoice,
    DatasetChoice,
    Pin,
    RunChoice,
    ScenarioChoice,
    annotators,
    check_judge,
    dataset_of,
    datasets,
    picked,
    picked_dataset,
    pin_of,
    scenarios,
    verdict_runs,
)
from benchmark.queries.evidence import cases_of, labels_of, run_of_other
from benchmark.queries.personal import personal_claims
from benchmark.queries.response_bias import leanings_of
from benchmark.queries.satisfaction import SatisfactionFigures, satisfaction_figures
from judging.core.votes import VoteRule, check_rule
from judging.models import (
    Control,
    Judgment,
    Preference,
    PreferenceSet,
    RunKind,
)
from judging.queries.preference_sets import edited_after_verdicts, runs_edited_late
from judging.queries.withheld import readable_sets, withheld_numbers


@dataclass(frozen=True, slots=True)
class Report:
    """Pairwise agreement by annotator and scenario, and satisfaction over all users.

    `leanings` are rows of benchmark.core.response_bias: length bias and self-preference.
    `controls` are what stands beside each result, `personal` whether it is the annotator's own.
    `runs` are what was read of whom, `answers` what the trust page says of it.
    """

    dataset: str
    judges: tuple[str, ...]
    rows: tuple[ReportRow, ...]
    satisfaction: SatisfactionFigures | None
    seed: int
    leanings: tuple[dict[str, object], ...] = ()
    controls: tuple[ControlRow, ...] = ()
    runs: tuple[tuple[str, RunChoice], ...] = ()
    personal: tuple[PersonalRow, ...] = ()
    answers: tuple[tuple[str, TrustAnswer], ...] = ()


def report(dataset: str, *, annotator: str = "", judge: str = "") -> Report:
    """The figures of the run to read of each annotator, for all annotators or for one.

    Args:
        dataset: its slug.
        annotator: a name within the dataset, or a user name; empty for all.
        judge: only runs of this judge; empty for the run to read, whoever judged.

    Raises:
        Refused: there is no such dataset; nobody of that name labels in it; the judge decided on
            nothing that they labelled.
    """
    row = dataset_of(dataset)
    only = None
    if annotator:
        known = Dataset.objects.get(pk=row.id)
        only = resolve_annotator(dataset=known, name=annotator).id
    everybody = annotators(row)
    people = [person for person in everybody if only in {None, person.id}]
    rows: list[ReportRow] = []
    controls: list[ControlRow] = []
    judges: dict[str, None] = {}
    leanings: list[dict[str, object]] = []
    read: list[tuple[str, RunChoice]] = []
    heard: dict[int, tuple[JudgedComparison, ...]] = {}
    answers: list[tuple[str, TrustAnswer]] = []
    runs = {person.id: verdict_runs(row, person) for person in people}
    if judge:
        check_judge(judge, (run.judge for known in runs.values() for run in known))
    chosen = [
        (person, run)
        for person in people
        for run in [run for run in runs[person.id] if judge in {"", run.judge}][:1]
    ]
    edited = runs_edited_late({run.id: run.parent for _person, run in chosen if run.sets_of})
    for person, run in chosen:
        labels = labels_of(row, person, None)
        others = {each.id: each.name for each in everybody if each.id != person.id}
        cases = cases_of(labels, run, person, None, rule=VoteRule.DEFAULT, others=others)
        cases = heard[run.id] = with_baselines(cases, labels, run, person)
        figures = trust_figures(cases, labels, seed=SEED)
        rows += (
            replace(told, edited=run.id in edited) for told in report_rows(person.name, figures)
        )
        controls += control_rows(person.name, figures)
        answer = trust_answer(figures)
        if answer is not None:
            answers.append((person.name, answer))
        judges[run.judge] = None
        read.append((person.name, run))
        leaning = leanings_of(cases, labels, dataset=row, run=run, seed=SEED)
        leanings += leaning_records(person.name, leaning)
    return Report(
        dataset=dataset,
        judges=tuple(judges),
        rows=adjusted(rows),
        satisfaction=satisfaction_figures(row, user=only, seed=SEED),
        seed=SEED,
        leanings=tuple(leanings),
        controls=tuple(controls),
        runs=tuple(read),
        answers=tuple(answers),
        personal=tuple(
            claim
            for name in judges
            for claim in personal_claims(row, name, everybody, seed=SEED, cases=heard)
            if claim.run in heard
        ),
    )


def asked_report(scope: TrustScope) -> tuple[ReportRow, ...]:
    """The rows of one annotator as a trust page asks for them."""
    if scope.annotator is None:
        return ()
    figures = scoped_figures(scope, scoped_labels(scope), compare=False)
    run = scope.run
    parents = {run.id: run.parent} if run is not None and run.sets_of else {}
    edited = bool(runs_edited_late(parents))
    return tuple(replace(row, edited=edited) for row in report_rows(scope.annotator.name, figures))


def asked_controls(scope: TrustScope) -> tuple[ControlRow, ...]:
    """What stands beside them in the chart of the page."""
    if scope.dataset is None or scope.annotator is None:
        return ()
    figures = scoped_figures(scope, scoped_labels(scope), compare=True)
    topic, name = (scope.scenario.id, scope.scenario.name) if scope.scenario else (None, None)
    own = repeatability(scope.dataset.id, scope.annotator.id, topic)
    return (
        *control_rows(scope.annotator.name, figures),
        *repeats_rows(scope.annotator.name, name, own),
    )


SEED: Final = 42
"""Of every bootstrap on a page; stated beside the figures."""


@dataclass(frozen=True, slots=True)
class TrustQuestion:
    """What a reader asks: empty fields take the first choice there is.

    `rule_of` is the run that the rule was chosen for, where that may be another one. Nothing is
    read of a run after `until`, so that a later one changes no figure; None reads all.
    """

    dataset: str = ""
    annotator: int | None = None
    run: int | None = None
    scenario: int | None = None
    rule: VoteRule = VoteRule.DEFAULT
    policy: InvalidPolicy = InvalidPolicy.EXCLUDED
    rule_of: int | None = None
    until: int | None = None


@dataclass(frozen=True, slots=True)
class Reader:
    """Who asks. `only` is the one annotator that they may read of, None for everybody."""

    only: int | None


@dataclass(frozen=True, slots=True)
class TrustScope:
    """What was asked, resolved, with what else could be asked; None where there is nothing.

    `withheld` are comparisons that count nowhere, for the reader may not know what a judge decided.
    `pin` is what an address names that no later run changes.
    """

    question: TrustQuestion
    datasets: tuple[DatasetChoice, ...]
    annotators: tuple[AnnotatorChoice, ...]
    runs: tuple[RunChoice, ...]
    scenarios: tuple[ScenarioChoice, ...]
    dataset: DatasetChoice | None
    annotator: AnnotatorChoice | None
    run: RunChoice | None
    scenario: ScenarioChoice | None
    withheld: frozenset[int] = frozenset()
    anything_withheld: bool = False
    pin: Pin = NOTHING_PINNED

    @property
    def newer(self) -> RunChoice | None:
        """The run that would be shown if none were asked for, where it came later."""
        first = next(iter(self.runs), None)
        return first if first and self.run and first.id > self.run.id else None


@dataclass(frozen=True, slots=True)
class TrustPage:
    """Everything the trust page shows; parts are None or empty where nothing is stored.

    `progress` counts the run's judgments by status. `sets` are stored selections, each with whether
    a person edited it after its test verdicts were there to see. `repeats` are the hidden ones that
    the annotator answered, of which they are told nothing.
    """

    scope: TrustScope
    labels: int
    figures: TrustFigures | None
    progress: Mapping[str, int]
    sets: tuple[tuple[PreferenceSet, bool], ...]
    own_satisfaction: SatisfactionFigures | None
    all_satisfaction: SatisfactionFigures | None
    leanings: ResponseBias | None = None
    personal: PersonalRow | None = None
    repeats: HitShare | None = None

    @property
    def edited(self) -> bool:
        """Whether a person edited a set after its test verdicts were there to see."""
        return any(edited for _set, edited in self.sets)

    @property
    def stands_in(self) -> Condition:
        """What stands in for the annotator; the base judge where no set was worth applying."""
        own = self.figures.overall.own if self.figures else None
        if own is None or not own.agreement.comparisons:
            return BASE
        return own.voice


def trust_scope(question: TrustQuestion, reader: Reader) -> TrustScope:
    """Resolve a question to rows.

    Raises:
        Refused: something asked for does not exist, or is not this reader's to see; the run is read
            by l*, which the rule cannot be combined with.
    """
    every_dataset = datasets(labelled_by=reader.only)
    dataset = picked_dataset(every_dataset, question.dataset)
    if dataset is None:
        return TrustScope(question, (), (), (), (), None, None, None, None)
    people = annotators(dataset, only=reader.only)
    judged = tuple(person for person in people if person.judged)
    annotator = picked(people if question.annotator or not judged else judged, question.annotator)
    topics = scenarios(dataset)
    runs = verdict_runs(dataset, annotator) if annotator else ()
    runs = tuple(each for each in runs if not each.unscored or each.id == question.run)
    until = question.until
    known = runs if until is None or question.run else [run for run in runs if run.id <= until]
    run = picked(tuple(known), question.run)
    run = run and replace(run, until=until)
    by_log_odds = run is not None and run.by_log_odds
    if run is not None and by_log_odds and question.rule_of not in {None, run.id}:
        question = replace(question, rule=VoteRule.DEFAULT)  # of the run that was looked at before
    check_rule(question.rule, by_log_odds=by_log_odds)
    return TrustScope(
        question=question,
        datasets=every_dataset,
        annotators=people,
        runs=runs,
        scenarios=topics,
        dataset=dataset,
        annotator=annotator,
        run=run,
        scenario=None if question.scenario is None else picked(topics, question.scenario),
        withheld=withheld_numbers(reader.only),
        anything_withheld=is_anything_withheld(reader.only),
        pin=pin_of(dataset, question.until),
    )


def trust_page(question: TrustQuestion, reader: Reader) -> TrustPage:
    """The figures that answer a question.

    Raises:
        Refused: something asked for does not exist, or is not this reader's to see.
    """
    scope = trust_scope(question, reader)
    if scope.dataset is None or scope.annotator is None:
        return TrustPage(scope, 0, None, {}, (), None, None)
    labels = scoped_labels(scope)
    cases = scoped_cases(scope, labels, compare=reader.only is None) if labels else ()
    if reader.only is not None and scope.run is not None:
        cases = with_baselines(cases, labels, scope.run, scope.annotator, rules_alone=True)
    policy = question.policy
    return TrustPage(
        scope=scope,
        labels=len(labels),
        figures=trust_figures(cases, labels, seed=SEED, policy=policy) if labels else None,
        progress=_progress(scope.run, reader) if scope.run else {},
        sets=selected_sets(scope),
        own_satisfaction=satisfaction_figures(
            scope.dataset,
            user=scope.annotator.id,
            seed=SEED,
            only=reader.only,
            until=question.until,
        ),
        all_satisfaction=(
            satisfaction_figures(scope.dataset, user=None, seed=SEED, until=question.until)
            if reader.only is None
            else None
        ),
        leanings=(
            leanings_of(cases, labels, dataset=scope.dataset, run=scope.run, seed=SEED)
            if labels and reader.only is None
            else None
        ),
        personal=_personal(scope, cases) if cases and reader.only is None else None,
        repeats=(
            repeatability(scope.dataset.id, scope.annotator.id, question.scenario)
            if reader.only is None
            else None
        ),
    )


def _personal(scope: TrustScope, cases: tuple[JudgedComparison, ...]) -> PersonalRow | None:
    """The annotator's claim, over all scenarios; it stands among those of all annotators."""
    run, question = scope.run, scope.question
    if scope.dataset is None or run is None or run.kind is not RunKind.TEST or not run.sets_of:
        return None
    is_whole = scope.scenario is None and question.rule is VoteRule.DEFAULT
    claims = personal_claims(
        scope.dataset,
        run.judge,
        scope.annotators,
        seed=SEED,
        chosen=run,
        cases={run.id: cases} if is_whole else None,
    )
    return next((claim for claim in claims if claim.run == run.id), None)


def personal_report(scope: TrustScope) -> tuple[PersonalRow, ...]:
    """The claims of all annotators beside that of the run that a trust page shows."""
    if scope.dataset is None or scope.run is None:
        return ()
    run, people = scope.run, scope.annotators
    return personal_claims(scope.dataset, run.judge, people, seed=SEED, chosen=run)


def scoped_labels(scope: TrustScope) -> tuple[HumanLabel, ...]:
    """The annotator's labels in the scenario asked for, or in all."""
    if scope.dataset is None or scope.annotator is None:
        return ()
    labels = labels_of(scope.dataset, scope.annotator, scope.scenario)
    return tuple(label for label in labels if label.comparison not in scope.withheld)


def selected_sets(scope: TrustScope) -> tuple[tuple[PreferenceSet, bool], ...]:
    """The annotator's selections behind the run, or their latest ones, one a scenario.

    With each whether it was edited after its test verdicts were there to see.
    """
    if scope.dataset is None or scope.annotator is None:
        return ()
    rows = PreferenceSet.objects.filter(
        dataset=scope.dataset.id,
        annotator=scope.annotator.id,
        control=Control.NONE,
        run__config__ablation__isnull=True,
    )
    if scope.run is not None:
        rows = rows.filter(Q(run=scope.run.id) | Q(run=scope.run.parent))
    if scope.scenario is not None:
        rows = rows.filter(Q(scenario=scope.scenario.id) | Q(scenario=None))
    latest = {
        row.scenario_id: row
        for row in readable_sets(
            rows.order_by("scenario__position", "id")
            .select_related("scenario")
            .prefetch_related(Prefetch("members", Preference.objects.order_by("position", "pk"))),
            scope.withheld,
        )
    }
    edited = edited_after_verdicts({row.run_id for row in latest.values()})
    return tuple((row, row.pk in edited) for row in latest.values())


def scoped_cases(
    scope: TrustScope, labels: tuple[HumanLabel, ...], *, compare: bool = False
) -> tuple[JudgedComparison, ...]:
    """The labelled comparisons that the run judged; `compare` hears all that it is held against.

    That is: other annotators' sets, the same judge by other prompts, and baselines of no call.
    """
    if scope.run is None or scope.annotator is None:
        return ()
    own = scope.annotator.id
    others = {person.id: person.name for person in scope.annotators if person.id != own}
    cases = cases_of(
        labels,
        scope.run,
        scope.annotator,
        scope.scenario,
        rule=scope.question.rule,
        others=others if compare else {},
        without=scope.withheld,
    )
    return with_baselines(cases, labels, scope.run, scope.annotator) if compare else cases


def voice_run(scope: TrustScope, voice: Condition) -> int | None:
    """The run in which a voice of a trust page spoke; None for a baseline that asks no judge."""
    if scope.run is None or scope.annotator is None:
        return None
    if voice.panel is ConditionKind.OTHER:
        owners = {
            person.id
            for person in scope.annotators
            if person.name == voice.annotator and person.id != scope.annotator.id
        }
        found = (run_of_other(scope.run, scope.annotator, owner) for owner in owners)
        return next(found, None)
    if voice.panel is ConditionKind.RUBRIC:
        return rubric_runs(scope.run, scope.annotator.id).get(voice.annotator)
    return None if voice in {*RULES, MAJORITY} else scope.run.id


def scoped_figures(
    scope: TrustScope, labels: tuple[HumanLabel, ...], *, compare: bool
) -> TrustFigures:
    """The figures of a resolved question."""
    cases = scoped_cases(scope, labels, compare=compare)
    return trust_figures(cases, labels, seed=SEED, policy=scope.question.policy)


def _progress(run: RunChoice, reader: Reader) -> dict[str, int]:
    """How many of its judgments stand where, by status."""
    return dict(
        Judgment.objects.filter(run=run.id)
        .exclude(comparison__in=withheld_comparisons(reader.only))
        .order_by()
        .values_list("status")
        .annotate(rows=Count("id"))
    )
