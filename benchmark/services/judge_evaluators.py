"""Judges as evaluators of satisfaction: their runs, and what the runs' rows say of each turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from annotation.core.refusals import Refused
from annotation.models import Dataset
from benchmark.core.satisfaction_evaluation import JudgedTurn
from benchmark.queries.satisfaction_evaluation import EvaluationTurns, judged_turns
from judging.core.satisfaction_settings import (
    LEARNED,
    SatisfactionSettings,
    satisfaction_settings,
)
from judging.core.satisfaction_variants import SPECS, Level, Variant, variant_of
from judging.models import JudgeRun, RunKind, RunStatus
from judging.services.foreground import run_to_end
from judging.services.satisfaction_runs import finished_run_like, start_satisfaction_run

_SETTINGS = {Variant.CHECKLIST: "memory", Variant.NO_MEMORY: "no memory"}
"""What a table calls a way of asking where its own word says less."""


@dataclass(frozen=True, slots=True)
class JudgedDataset:
    """What a judge's finished run says of a dataset's turns, block by block.

    `judge` and `setting` are what a table calls them; `seconds` is what the run took.
    """

    judge: str
    setting: str
    turns: Sequence[Sequence[JudgedTurn | None]]
    seconds: float


def judged_dataset(
    name: str,
    *,
    dataset: Dataset,
    turns: EvaluationTurns,
    train: Dataset | None = None,
    observer: Callable[[int], None] | None = None,
) -> JudgedDataset:
    """A judge's scores of a dataset; it is asked only where no finished run answers already.

    Args:
        name: of the judge, with ":" and a way of asking after it, such as "llm:no-memory".
        dataset: whose turns.
        turns: the same, as they are stored.
        train: whose raters teach the ways that show examples or rubrics; None for others here.
        observer: told how many answers each commit of a run wrote.

    Raises:
        Refused: there is no such judge, or no such way of asking; the way of asking has no prompt
            for sessions; nobody is left to take examples or rubrics from; its run did not finish.
    """
    judge, variant = judge_and_variant(name)
    settings = _settings(variant, turns.level, dataset=dataset, train=train)
    run = finished_run_like(dataset=dataset, judge=judge, settings=settings)
    if run is None:
        started = start_satisfaction_run(dataset=dataset, judge=judge, settings=settings)
        run = run_to_end(started.pk, observer=observer)
    if run.status != RunStatus.DONE:
        why = f"{run.error_code or run.status} {run.error_detail}".strip()
        message = f"run {run.pk} of {judge}: {why}"
        raise Refused("run:failed", message)
    return JudgedDataset(
        judge=judge,
        setting=_SETTINGS.get(variant, variant.word),
        turns=judged_turns(run.pk, turns.stored),
        seconds=_seconds(run),
    )


def stored_judges(*, dataset: Dataset, level: Level, train: Dataset) -> tuple[str, ...]:
    """The endpoints that answered for everybody's turns already, each with its way of asking.

    A run counts while asking anew would only repeat it: same prompts, rules and ratings.

    Args:
        dataset: whose turns.
        level: what is scored.
        train: whose raters teach the ways that show examples or rubrics.
    """
    done = JudgeRun.objects.filter(
        kind=RunKind.SATISFACTION,
        status=RunStatus.DONE,
        dataset=dataset,
        annotator=None,
        endpoint__enabled=True,
    )
    found: dict[str, None] = {}
    for judge, config in done.order_by("pk").values_list("judge", "config"):
        rules = satisfaction_settings(config)
        if rules.level is not level:
            continue
        variant = rules.variant
        settings = _settings(variant, level, dataset=dataset, train=train)
        if finished_run_like(dataset=dataset, judge=judge, settings=settings) is not None:
            found[judge if variant is Variant.CHECKLIST else f"{judge}:{variant.word}"] = None
    return tuple(found)


def _settings(
    variant: Variant, level: Level, *, dataset: Dataset, train: Dataset | None
) -> SatisfactionSettings:
    teaches = SPECS[variant].need.from_training and train is not None and train != dataset
    return SatisfactionSettings(
        variant=variant,
        level=level,
        train=train.slug if teaches and train is not None else "",
    )


def judge_and_variant(name: str) -> tuple[str, Variant]:
    """A judge and the way of asking it: "llm:two-stage"; the checklist without a word.

    Raises:
        Refused: there is no such way.
    """
    judge, _, word = name.partition(":")
    try:
        return judge, variant_of(word) if word else Variant.CHECKLIST
    except ValueError as error:
        words = ", ".join(variant.word for variant in Variant)
        raise Refused(
            "judge:unknown", f"no judge has the variant {word!r}; choose one of {words}"
        ) from error


def require_honest_stacking(name: str) -> None:
    """Refuse to stack on scores whose prompts could hold labels of the turns that were scored.

    Args:
        name: of the judge, with its way of asking.

    Raises:
        Refused: the judge learned from labels, or is shown training users' turns.
    """
    judge, variant = judge_and_variant(name)
    if judge == LEARNED:
        raise Refused("learned:cannot-stack", "the learned evaluator cannot be stacked on itself")
    if SPECS[variant].need.from_training:
        raise Refused("learned:cannot-stack", f"{name} is shown ratings of training users")


def _seconds(run: JudgeRun) -> float:
    if run.started_at is None or run.finished_at is None:
        return 0.0
    return (run.finished_at - run.started_at).total_seconds()
