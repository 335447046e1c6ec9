"""The paper's ablations in one call: run what is missing, measure every variant, store the table.

Every variant is measured on the same test comparisons of an annotator: those that are test
comparisons under all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import Q

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from benchmark.core.ablation import AblationRow, Vary, ablation_row
from benchmark.core.accuracy import Judged
from benchmark.models import VerificationReport
from benchmark.queries.ablations import KIND
from benchmark.queries.evidence import run_judgments
from judging.core.estimates import ASSUMED_PREFERENCE, RunEstimate
from judging.core.matrix import read_matrix
from judging.core.rules import PairwiseSettings, Window
from judging.core.runs import DistilPlan
from judging.core.selection import select_by_size
from judging.core.selection_search import SelectionSettings
from judging.llm.errors import LlmCode
from judging.models import Control, JudgeRun, PreferenceKind, PreferenceSet, RunKind, RunStatus
from judging.queries.configurations import distil_plans, pairwise_settings
from judging.services.estimates import estimate, estimate_judgments, share_of_prompts
from judging.services.foreground import run_to_end
from judging.services.kinds import plan, start
from judging.services.run_requests import RunRequest, finished_like


def estimate_ablation(
    *, dataset: Dataset, annotators: Sequence[User], vary: Vary, judges: Sequence[str]
) -> list[RunEstimate]:
    """The runs that `ablations.ablate` would start, without those that are finished.

    Before a distillation is finished nobody knows which of its preferences are selected; its test
    comparisons are then estimated under all of them, so that this is never less than what comes.

    Raises:
        Refused: there is no such judge; an annotator labelled nothing here that can be judged; too
            many preferences to try every subset of a size.
    """
    wanted = [(user, step) for user in annotators for step in steps(vary, judges)]
    most = share_of_prompts(2 * len(wanted))
    return [
        estimate
        for user, step in wanted
        for estimate in _of_step(dataset, user, vary, step, most=most)
    ]


def _of_step(
    dataset: Dataset, annotator: User, vary: Vary, step: AblationStep, *, most: int
) -> Iterator[RunEstimate]:
    wanted = _distillation(dataset, annotator, step)
    finished = finished_like(wanted)
    if finished is None:
        yield estimate(wanted, most=most)
    members = {} if finished is None else preferences_of(list(variants_of(finished, vary, step)))
    for judge in step.judges:
        run = _judging(finished or wanted, judge, members)
        if finished is None:
            yield estimate_judgments(run, _unwritten(wanted), most=most)
        else:
            yield estimate(run, most=most)


def _distillation(dataset: Dataset, annotator: User, step: AblationStep) -> JudgeRun:
    """The distillation of a step, not saved."""
    (run,) = plan(
        RunRequest(
            kind=RunKind.DISTIL,
            dataset=dataset,
            annotator=annotator,
            judge=step.distiller,
            pairwise=step.settings,
            for_ablation=True,
        )
    )
    return run


def _judging(
    distillation: JudgeRun, judge: str, preferences: Mapping[int, Sequence[int]]
) -> JudgeRun:
    """A run over a distillation's test comparisons under some of its preferences, not saved."""
    (run,) = plan(
        RunRequest(
            kind=RunKind.ABLATION,
            dataset=distillation.dataset,
            annotator=distillation.annotator,
            judge=judge,
            parent=distillation,
            preferences=preferences,
        )
    )
    return run


def _unwritten(wanted: JudgeRun) -> Iterator[tuple[int, str | None]]:
    """Every test comparison under every preference that would be distilled."""
    for each in distil_plans(wanted.config):
        columns = len(each.winners) + 1 if each.winners else 0
        texts = ["", *(f"{ASSUMED_PREFERENCE}{place}" for place in range(columns))]
        for comparison, _ in each.test_winners:
            for text in texts:
                yield comparison, text


SEED: Final = 42
DEV_SIZES: Final = (2, 5, 10, 20)
MOST_MEMBERS: Final = 10

Finish = Callable[[JudgeRun], JudgeRun]
"""Works a run off and gives it back as it ended."""


@dataclass(frozen=True, slots=True)
class AblationVariant:
    """One way of doing it: whose preferences vote, by scenario, and who judges."""

    name: str
    distillation: JudgeRun
    judge: str
    members: Mapping[int, tuple[int, ...]]


def ablate(
    *,
    dataset: Dataset,
    annotators: Sequence[tuple[str, User]],
    vary: Vary,
    judges: Sequence[str],
    finish: Finish = lambda run: run_to_end(run.pk),
) -> VerificationReport:
    """Measures every variant for some annotators and stores the table.

    Args:
        dataset: whose comparisons.
        annotators: names to show, with the users.
        vary: what differs between variants.
        judges: the first one judges and distils; `Vary.JUDGE` tries each with each.
        finish: works a run off.

    Raises:
        Refused: there is no such judge; an annotator labelled nothing here that can be judged; a
            run did not finish; the money ended before the first annotator was measured. Where it
            ends later, the table has those before, and its settings name who is left out; too many
            preferences to try every subset of a size.
    """
    rows: list[AblationRow] = []
    left_out: list[str] = []
    for place, (name, user) in enumerate(annotators):
        bench = _Bench(dataset, user, finish)
        try:
            variants = list(_variants(bench, vary, judges))
            rows += _measured(name, variants, finish)
        except Refused as refused:
            if refused.code != "budget:spent" or not rows:
                raise
            left_out = [each for each, _ in annotators[place:]]
            break
    return VerificationReport.objects.create(
        dataset=dataset,
        kind=KIND,
        settings={
            "vary": vary.value,
            "judges": list(judges),
            "seed": SEED,
            **({"left_out": left_out} if left_out else {}),
        },
        rows=[row.to_json() for row in rows],
    )


@dataclass(frozen=True, slots=True)
class _Bench:
    """One annotator with what it takes to distil under some settings."""

    dataset: Dataset
    annotator: User
    finish: Finish

    def distilled(self, step: AblationStep) -> JudgeRun:
        return _done(_distillation(self.dataset, self.annotator, step), self.finish)


def _done(wanted: JudgeRun, finish: Finish) -> JudgeRun:
    """A planned run with all its answers: a finished one like it, or it is started."""
    run = finished_like(wanted) or start(wanted)
    if run.status != RunStatus.DONE:
        run = finish(run)
    if run.error_code == LlmCode.BUDGET_SPENT:
        message = f"run {run.pk} got a part of its answers"
        raise Refused("budget:spent", message)
    if run.status != RunStatus.DONE:
        message = f"run {run.pk}: {run.status.lower()} {run.error_code} {run.error_detail}".rstrip()
        raise Refused("ablation:run-failed", message)
    return run


@dataclass(frozen=True, slots=True)
class AblationStep:
    """A distillation of an ablation, and who judges under what it distils."""

    name: str
    settings: PairwiseSettings
    distiller: str
    judges: tuple[str, ...]


def steps(vary: Vary, judges: Sequence[str]) -> list[AblationStep]:
    """The distillations of an ablation; the first judge distils and judges, all where they vary."""
    usual, alone = PairwiseSettings(shuffled_control=False), (judges[0],)
    match vary:
        case Vary.WINDOW:
            windows = (Window.LAST_TURN, Window.LAST_TWO_TURNS, Window.ALL)
            return [
                AblationStep(window.value, replace(usual, window=window), judges[0], alone)
                for window in windows
            ]
        case Vary.DEV_SIZE:
            return [
                AblationStep(str(size), replace(usual, dev_size=size), judges[0], alone)
                for size in DEV_SIZES
            ]
        case Vary.JUDGE:
            return [AblationStep(each, usual, each, tuple(judges)) for each in judges]
        case _:
            return [AblationStep("", usual, judges[0], alone)]


def _variants(bench: _Bench, vary: Vary, judges: Sequence[str]) -> Iterator[AblationVariant]:
    for step in steps(vary, judges):
        yield from variants_of(bench.distilled(step), vary, step)


def variants_of(run: JudgeRun, vary: Vary, step: AblationStep) -> Iterator[AblationVariant]:
    """What is measured of a finished distillation.

    Raises:
        Refused: too many preferences to try every subset of a size.
    """
    if vary is Vary.SUBSET_SIZE:
        yield from _by_size(run, step.distiller)
    elif vary is Vary.PREFERENCES:
        yield from _by_preferences(run, step.distiller)
    else:
        # Each distiller's set, selected by its own verdicts, applied by each judge.
        for judge in step.judges:
            name = f"{step.name} > {judge}" if vary is Vary.JUDGE else step.name
            yield AblationVariant(name, run, judge, _selected(run))


def _sets(run: JudgeRun) -> list[PreferenceSet]:
    rows = PreferenceSet.objects.filter(run=run, control=Control.NONE)
    return list(rows.order_by("scenario_id").prefetch_related("members"))


def _selected(run: JudgeRun) -> dict[int, tuple[int, ...]]:
    return {
        row.scenario_id: tuple(sorted(member.pk for member in row.members.all()))
        for row in _sets(run)
    }


def _by_size(run: JudgeRun, judge: str) -> Iterator[AblationVariant]:
    """The best subset of each size by the stored matrix; a scenario with fewer has its largest."""
    rules = SelectionSettings(aggregate_eligible=pairwise_settings(run.config).aggregate_eligible)
    found: dict[int, dict[int, tuple[int, ...]]] = {}
    for row in _sets(run):
        if not row.matrix.get("matrix_original"):
            continue
        try:
            sizes = select_by_size(read_matrix(row.matrix).matrix, rules, most=MOST_MEMBERS)
        except Refused as refused:
            if refused.code != "selection:no-verdict":
                raise
            continue
        found[row.scenario_id] = {
            size: tuple(row.columns[column] for column in columns)
            for size, columns in sizes.items()
        }
    for size in range(1, max(map(max, found.values()), default=0) + 1):
        yield AblationVariant(
            str(size),
            run,
            judge,
            {scenario: own[min(size, max(own))] for scenario, own in found.items()},
        )


def _by_preferences(run: JudgeRun, judge: str) -> Iterator[AblationVariant]:
    """The base judge, every pair's preference, the aggregate alone, and the selected set."""
    kinds = dict(run.preferences.filter(control=Control.NONE).values_list("pk", "kind"))
    columns = {row.scenario_id: list(row.columns) for row in _sets(run)}

    def of_kind(kind: PreferenceKind) -> dict[int, tuple[int, ...]]:
        return {
            scenario: tuple(key for key in keys if kinds.get(key) == kind)
            for scenario, keys in columns.items()
        }

    base = {scenario: tuple(keys[:1]) for scenario, keys in columns.items()}
    yield AblationVariant("none", run, judge, base)
    yield AblationVariant("all pairs", run, judge, of_kind(PreferenceKind.PAIR))
    yield AblationVariant("aggregate", run, judge, of_kind(PreferenceKind.AGGREGATE))
    yield AblationVariant("selected", run, judge, _selected(run))


def _measured(
    name: str, variants: Sequence[AblationVariant], finish: Finish
) -> Iterator[AblationRow]:
    runs = _runs(variants, finish)
    shared = _shared_tests(variants)
    for variant in variants:
        run = runs[variant.distillation.pk, variant.judge]
        plans = distil_plans(variant.distillation.config)
        yield ablation_row(
            list(_judged(run, variant, plans, shared)),
            annotator=name,
            variant=variant.name,
            dev=sum(len(plan.winners) for plan in plans),
            members=sum(map(len, variant.members.values())),
            run=run.pk,
            seed=SEED,
        )


def _runs(variants: Sequence[AblationVariant], finish: Finish) -> dict[tuple[int, str], JudgeRun]:
    """One run for all variants of a distillation and a judge, under all their preferences."""
    found: dict[tuple[int, str], JudgeRun] = {}
    for variant in variants:
        key = (variant.distillation.pk, variant.judge)
        if key not in found:
            of_key = [each for each in variants if (each.distillation.pk, each.judge) == key]
            run = _judging(variant.distillation, variant.judge, preferences_of(of_key))
            found[key] = _done(run, finish)
    return found


def preferences_of(variants: Sequence[AblationVariant]) -> dict[int, tuple[int, ...]]:
    """The preferences of some variants by scenario, each once."""
    union: dict[int, dict[int, None]] = {}
    for variant in variants:
        for scenario, members in variant.members.items():
            union.setdefault(scenario, {}).update(dict.fromkeys(members))
    return {scenario: tuple(members) for scenario, members in union.items()}


def _shared_tests(variants: Sequence[AblationVariant]) -> set[int]:
    """The comparisons that are in the test part of every variant."""
    parts = [
        {key for plan in distil_plans(each.distillation.config) for key, _ in plan.test_winners}
        for each in variants
    ]
    return set.intersection(*parts) if parts else set()


def _judged(
    run: JudgeRun, variant: AblationVariant, plans: Sequence[DistilPlan], shared: set[int]
) -> Iterator[Judged]:
    memberships = [
        ([key for key, _winner in plan.test_winners], variant.members.get(plan.scenario_id, ()))
        for plan in plans
    ]
    decided = run_judgments(Q(run=run.pk))[run.pk].decisions(memberships)
    for each in plans:
        for comparison, winner in each.test_winners:
            if comparison in shared and comparison in decided:
                yield Judged(comparison, winner, decided[comparison])
