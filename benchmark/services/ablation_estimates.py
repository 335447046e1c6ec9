"""What an ablation would ask and cost, before it starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.models import Dataset, User
from benchmark.core.ablation import Vary
from benchmark.services.ablations import AblationStep, preferences_of, steps, variants_of
from judging.core.estimates import ASSUMED_PREFERENCE, RunEstimate
from judging.core.run_plans import applied_plans
from judging.models import JudgeRun, Preference
from judging.services.ablation_runs import asked_ablation_run, asked_like, finished_like
from judging.services.estimates import estimate_distillation, estimate_judgments, share_of_prompts
from judging.services.pairwise_plans import AskedDistillation


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
    asked = asked_like(step.settings, dataset=dataset, annotator=annotator, judge=step.distiller)
    finished = finished_like(asked.run)
    if finished is None:
        yield estimate_distillation(asked, most=most)
    members = {} if finished is None else _members(finished, vary, step)
    for judge in step.judges:
        run = asked_ablation_run(
            distillation=finished or asked.run, judge=judge, preferences=members
        )
        cells = _unwritten(asked) if finished is None else _written(run)
        yield estimate_judgments(run, cells, most=most)


def _members(finished: JudgeRun, vary: Vary, step: AblationStep) -> dict[int, tuple[int, ...]]:
    return preferences_of(list(variants_of(finished, vary, step)))


def _written(run: JudgeRun) -> Iterator[tuple[int, str | None]]:
    """Every test comparison under every preference that votes in some variant."""
    plans = applied_plans(run.config)
    ids = {key for plan in plans for key in plan.preferences}
    texts = dict(Preference.objects.filter(pk__in=ids).values_list("pk", "text"))
    for plan in plans:
        for comparison, _ in plan.winners:
            for key in plan.preferences:
                yield comparison, texts[key]


def _unwritten(asked: AskedDistillation) -> Iterator[tuple[int, str | None]]:
    """Every test comparison under every preference that would be distilled."""
    for plan in asked.plans:
        columns = len(plan.winners) + 1 if plan.winners else 0
        texts = ["", *(f"{ASSUMED_PREFERENCE}{place}" for place in range(columns))]
        for comparison, _ in plan.test_winners:
            for text in texts:
                yield comparison, text
