"""What an ablation varies: its steps, the variants that come of each, and what they would take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from annotation.core.refusals import Refused
from annotation.models import Dataset, User
from benchmark.core.ablation import Vary
from judging.core.estimates import ASSUMED_PREFERENCE, RunEstimate
from judging.core.matrix import read_matrix
from judging.core.rules import PairwiseSettings, Window
from judging.core.selection import select_by_size
from judging.core.selection_search import SelectionSettings
from judging.core.verdicts import VerdictRule
from judging.models import Control, JudgeRun, PreferenceKind, PreferenceSet, RunKind
from judging.queries.configurations import distil_plans, pairwise_settings
from judging.services.abilities import learn_abilities
from judging.services.estimates import estimate, estimate_judgments, share_of_prompts
from judging.services.judges import LEXICAL
from judging.services.kinds import plan
from judging.services.run_requests import RunRequest, finished_like

DEV_SIZES: Final = (2, 5, 10, 20)
MOST_MEMBERS: Final = 10


def estimate_variants(
    dataset: Dataset, annotators: Sequence[User], vary: Vary, of_each: Sequence[AblationStep]
) -> list[RunEstimate]:
    """The runs that an ablation would start, without those that are finished.

    Before a distillation is finished nobody knows which of its preferences are selected; its test
    comparisons are then estimated under all of them, so that this is never less than what comes.

    Raises:
        Refused: too many preferences to try every subset of a size; see `learn_abilities`.
    """
    steps = [(user, step) for user in annotators for step in of_each]
    wanted = [
        (step.unit_name(str(user), None if run.kind == RunKind.DISTIL else run.judge), run, cells)
        for user, step in steps
        for run, cells in _of_step(dataset, user, vary, step)
    ]
    learn_abilities([run for _, run, _ in wanted])
    most = share_of_prompts(2 * len(steps))
    estimates = [
        estimate(run, most=most) if cells is None else estimate_judgments(run, cells, most=most)
        for _, run, cells in wanted
    ]
    return [replace(each, name=name) for each, (name, _, _) in zip(estimates, wanted, strict=True)]


def _of_step(
    dataset: Dataset, annotator: User, vary: Vary, step: AblationStep
) -> Iterator[tuple[JudgeRun, Iterator[tuple[int, str | None]] | None]]:
    """The runs of a step; with those whose preferences are unwritten, what would be judged."""
    wanted = distillation_of(dataset, annotator, step)
    finished = finished_like(wanted)
    if finished is None:
        yield wanted, None
    members = {} if finished is None else preferences_of(list(variants_of(finished, vary, step)))
    for judge in step.judges:
        run = judging_under(finished or wanted, judge, members)
        yield run, _unwritten(wanted) if finished is None else None


def distillation_of(dataset: Dataset, annotator: User, step: AblationStep) -> JudgeRun:
    """The distillation of a step, planned and not saved; it is nobody's preferences."""
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


def judging_under(
    distillation: JudgeRun, judge: str, preferences: Mapping[int | None, Sequence[int]]
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


class AblationVariant(NamedTuple):
    """One way of doing it: whose preferences vote, by scenario, and who judges."""

    name: str
    distillation: JudgeRun
    judge: str
    members: Mapping[int | None, tuple[int, ...]]


class AblationStep(NamedTuple):
    """A distillation of an ablation, and who judges under what it distils."""

    name: str
    settings: PairwiseSettings
    distiller: str
    judges: tuple[str, ...]

    def unit_name(self, annotator: str, judge: str | None) -> str:
        """Name of the distillation, or of judging by a judge under what it distils."""
        judges = self.distiller if judge is None else f"{self.distiller} → {judge}"
        words = [annotator, self.name.replace("_", " ").lower(), judges]
        return " · ".join(word for word in words if word)[:200]


def steps(
    vary: Vary, judges: Sequence[str], verdict: VerdictRule = VerdictRule.STRICT
) -> list[AblationStep]:
    """The distillations of an ablation; the first judge distils and judges, all where they vary.

    The lexical judge reads only what it wrote itself, so it judges under no other's preferences.
    """
    usual = PairwiseSettings(shuffled_control=False, verdict_rule=verdict)
    alone, readers = (judges[0],), [judge for judge in judges if judge != LEXICAL]
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
            return [
                AblationStep(each, usual, each, tuple(j for j in judges if j in (each, *readers)))
                for each in judges
            ]
        case _:
            return [AblationStep("", usual, judges[0], alone)]


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


def _selected(run: JudgeRun) -> dict[int | None, tuple[int, ...]]:
    return {
        row.scenario_id: tuple(sorted(member.pk for member in row.members.all()))
        for row in _sets(run)
    }


def _by_size(run: JudgeRun, judge: str) -> Iterator[AblationVariant]:
    """The best subset of each size by the stored matrix; a scenario with fewer has its largest."""
    rules = SelectionSettings(aggregate_eligible=pairwise_settings(run.config).aggregate_eligible)
    found: dict[int | None, dict[int, tuple[int, ...]]] = {}
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
    """The base judge, every pair's preference, the aggregate alone, the selected set, the stack."""
    kinds = dict(run.preferences.filter(control=Control.NONE).values_list("pk", "kind"))
    columns = {row.scenario_id: list(row.columns) for row in _sets(run)}

    def of_kind(kind: PreferenceKind) -> dict[int | None, tuple[int, ...]]:
        return {
            scenario: tuple(key for key in keys if kinds.get(key) == kind)
            for scenario, keys in columns.items()
        }

    base = {scenario: tuple(keys[:1]) for scenario, keys in columns.items()}
    yield AblationVariant("none", run, judge, base)
    yield AblationVariant("all pairs", run, judge, of_kind(PreferenceKind.PAIR))
    yield AblationVariant("aggregate", run, judge, of_kind(PreferenceKind.AGGREGATE))
    selected = _selected(run)
    yield AblationVariant("selected", run, judge, selected)
    stacks = {row.scenario_id: (row.stack_id,) for row in _sets(run) if row.stack_id is not None}
    if stacks:
        yield AblationVariant("stack", run, judge, {**selected, **stacks})


def preferences_of(variants: Sequence[AblationVariant]) -> dict[int | None, tuple[int, ...]]:
    """The preferences of some variants by scenario, each once."""
    union: dict[int | None, dict[int, None]] = {}
    for variant in variants:
        for scenario, members in variant.members.items():
            union.setdefault(scenario, {}).update(dict.fromkeys(members))
    return {scenario: tuple(members) for scenario, members in union.items()}
