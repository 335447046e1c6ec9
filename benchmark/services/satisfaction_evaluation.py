"""Comparing satisfaction evaluators: run what is missing, read stored rows, keep a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from annotation.models import Dataset
from annotation.queries.annotators import names_of
from benchmark.core.satisfaction_details import EvaluatorDetails, details_of
from benchmark.core.satisfaction_evaluation import (
    EvaluatorFigures,
    GoldBlock,
    JudgeSetting,
    Predictions,
    baseline_predictions,
    counts_of,
    figures,
    judge_predictions,
)
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction_evaluation import (
    EvaluationTurns,
    evaluation_turns,
    judged_turns,
)
from benchmark.queries.satisfaction_report import REPORT_KIND
from benchmark.services.embedded_evaluators import (
    LEARNED,
    NEAREST_NAMES,
    predict_learned,
    predict_nearest,
)
from benchmark.services.satisfaction_report import stored
from judging.core.satisfaction_baselines import Baseline
from judging.core.satisfaction_settings import SatisfactionSettings
from judging.core.satisfaction_training import TooFewRatingsError
from judging.models import JudgeRun, RunStatus
from judging.services.foreground import run_to_end
from judging.services.satisfaction_runs import (
    NothingToScoreError,
    finished_run_like,
    start_satisfaction_run,
)

DEFAULT_SEED: Final = 42
NO_MEMORY: Final = ":no-memory"
REFERENCE: Final = Baseline.HISTORY_MEAN
"""What an evaluator must beat to be worth its trouble: the user's own mean, no response read."""

DEFAULT_EVALUATORS: Final = (
    *(baseline.lower() for baseline in Baseline),
    *NEAREST_NAMES,
    "lexical",
    LEARNED,
)


class RunFailedError(RuntimeError):
    """A judge's run did not finish; its rows say why."""

    code = "run:failed"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What every evaluator is given: the training users' turns and the test users'."""

    train_dataset: Dataset
    test_dataset: Dataset
    train: EvaluationTurns
    test: EvaluationTurns
    observer: Callable[[int], None] | None


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions of one evaluator in one setting, and how long they took."""

    name: str
    setting: str
    predictions: Predictions
    seconds: float


@dataclass(frozen=True, slots=True)
class SatisfactionEvaluation:
    """A finished comparison, as kept in a report.

    `details` stand in the order of the evaluators; their gains are over the reference.
    `shared` names those who rated in both datasets: with any, global baselines and the learned
    evaluator have seen them. `skipped` tells why an evaluator stands in no row.
    """

    report_id: int
    users: int
    turns: int
    shared: tuple[str, ...]
    evaluators: tuple[EvaluatorFigures, ...]
    details: tuple[EvaluatorDetails, ...]
    skipped: tuple[str, ...] = ()


def evaluate_satisfaction(
    *,
    train: Dataset,
    test: Dataset,
    evaluators: Sequence[str] = DEFAULT_EVALUATORS,
    seed: int = DEFAULT_SEED,
    draws: int = 1_000,
    observer: Callable[[int], None] | None = None,
) -> SatisfactionEvaluation:
    """Compare evaluators on every rated turn of the test dataset.

    A judge is asked only where no finished run answers already; its settings are computed from
    that one run's rows.

    Args:
        train: whose users' scores a global baseline may know, and the learned evaluator learns.
        test: the turns.
        evaluators: names of baselines, `learned`, `lexical` or endpoints; ":no-memory" after a
            judge leaves the user memories out.
        seed: of the user-clustered bootstrap.
        draws: its resamples; 0 leaves the intervals out.
        observer: told how many answers each commit of a run wrote.

    Raises:
        UnknownJudgeError: a name is neither a baseline nor a judge.
        NothingToScoreError: a dataset has no rated turn.
        RunFailedError: a judge's run did not finish.
    """
    given = Comparison(train, test, _rated(train), _rated(test), observer)
    shared = _raters(train, given.train.gold) & _raters(test, given.test.gold)
    predicted, skipped = _predict_all(evaluators, given)
    results = tuple(
        figures(
            one.name,
            one.setting,
            given.test.gold,
            one.predictions,
            seconds=one.seconds,
            seed=seed,
            draws=draws,
        )
        for one in predicted
    )
    reference = _baseline(REFERENCE, given).predictions
    details = tuple(
        details_of(given.test.gold, one.predictions, reference, seed=seed, draws=draws)
        for one in predicted
    )
    names = names_of(dataset=test)
    report = VerificationReport.objects.create(
        dataset=test,
        kind=REPORT_KIND,
        settings={
            "train": train.slug,
            "test": test.slug,
            "evaluators": list(evaluators),
            "seed": seed,
            "draws": draws,
            "reference": REFERENCE.lower(),
            "shared": sorted(shared),
            "skipped": skipped,
        },
        rows=[stored(*one, names) for one in zip(results, details, strict=True)],
    )
    return SatisfactionEvaluation(
        report_id=report.pk,
        users=given.test.users,
        turns=given.test.turns,
        shared=tuple(sorted(shared)),
        evaluators=results,
        details=details,
        skipped=tuple(skipped),
    )


def _predict_all(evaluators: Sequence[str], given: Comparison) -> tuple[list[Predicted], list[str]]:
    """What every evaluator says, and why some say nothing."""
    predicted: list[Predicted] = []
    skipped: list[str] = []
    for name in dict.fromkeys(evaluators):
        try:
            predicted += _predict(name, given)
        except TooFewRatingsError as error:
            skipped.append(f"{name}: {error}")
    return predicted, skipped


def _predict(name: str, given: Comparison) -> list[Predicted]:
    """One evaluator by name: a baseline, the learned one, or else a judge."""
    if name.upper() in Baseline.__members__:
        return [_baseline(Baseline(name.upper()), given)]
    if name in NEAREST_NAMES or name == LEARNED:
        return [_embedded(name, given)]
    return _judge(name, given)


def _embedded(name: str, given: Comparison) -> Predicted:
    """An evaluator of this program; the seconds of the learned one hold its training."""
    started = time.perf_counter()
    test = given.test.blocks
    if name == LEARNED:
        predictions, setting = predict_learned(train=given.train_dataset, test=test), "trained"
    else:
        predictions = predict_nearest(name, train=given.train.blocks, test=test)
        setting = "history"
    return Predicted(name, setting, predictions, time.perf_counter() - started)


def _baseline(baseline: Baseline, given: Comparison) -> Predicted:
    started = time.perf_counter()
    predictions = baseline_predictions(baseline, given.test.gold, train=counts_of(given.train.gold))
    known = baseline.partition("_")[0].lower()
    return Predicted(baseline.lower(), known, predictions, time.perf_counter() - started)


def _judge(name: str, given: Comparison) -> list[Predicted]:
    """A judge's run over the test dataset, in every setting that needs no further call."""
    judge = name.removesuffix(NO_MEMORY)
    settings = SatisfactionSettings(with_memory=judge == name)
    dataset = given.test_dataset
    run = finished_run_like(dataset=dataset, judge=judge, settings=settings)
    if run is None:
        started = start_satisfaction_run(dataset=dataset, judge=judge, settings=settings)
        run = run_to_end(started.pk, observer=given.observer)
    if run.status != RunStatus.DONE:
        message = f"run {run.pk} of {judge}: {run.error_code or run.status}"
        raise RunFailedError(message)
    judged = judged_turns(run.pk, given.test.stored)
    memory = "memory" if settings.with_memory else "no memory"
    return [
        Predicted(
            judge,
            f"{memory} {setting}",
            judge_predictions(setting, given.test.gold, judged),
            _seconds(run),
        )
        for setting in JudgeSetting
    ]


def _raters(dataset: Dataset, blocks: Sequence[GoldBlock]) -> set[str]:
    """The names, within their dataset, of those who rated."""
    names = names_of(dataset=dataset)
    return {names[block.user] for block in blocks}


def _rated(dataset: Dataset) -> EvaluationTurns:
    found = evaluation_turns(dataset.pk)
    if not found.gold:
        message = f"nobody rated a response of {dataset.slug} whose text is available"
        raise NothingToScoreError(message)
    return found


def _seconds(run: JudgeRun) -> float:
    if run.started_at is None or run.finished_at is None:
        return 0.0
    return (run.finished_at - run.started_at).total_seconds()
