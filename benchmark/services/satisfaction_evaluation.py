"""Comparing satisfaction evaluators: run what is missing, read stored rows, keep a report."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.participants import names_of
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
from benchmark.core.satisfaction_groups import EvaluatorDetails, details_of
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction import EvaluationTurns, evaluation_turns
from benchmark.queries.satisfaction_report import REPORT_KIND
from benchmark.services.evaluators import (
    LearnedPredictions,
    judge_and_variant,
    judged_dataset,
    predict_learned,
    predict_nearest,
    predict_stacked,
    require_honest_stacking,
    stored_judges,
)
from benchmark.services.satisfaction_report import stored
from judging.core.rules import LEARNED, Level
from judging.core.satisfaction_baselines import NEAREST_NAMES, Baseline
from judging.services.judges import endpoint_for

DEFAULT_SEED: Final = 42
HELD_OUT: Final = "held out"
STACKED: Final = f"{LEARNED}+"
"""Before a judge's name: the learned evaluator corrected by that judge's scores."""
STORED: Final = "stored"
"""Every endpoint whose finished run answers already, in each way that it was asked."""
_RATED: Final = {Level.TURN: "response", Level.SESSION: "session"}
REFERENCE: Final = Baseline.HISTORY_MEAN
"""What an evaluator must beat to be worth its trouble: the user's own mean, no response read."""

DEFAULT_EVALUATORS: Final = (
    *(baseline.lower() for baseline in Baseline),
    *NEAREST_NAMES,
    "lexical",
    LEARNED,
    STORED,
)


@dataclass(frozen=True)
class EvaluationData:
    """What every evaluator is given: the training users' turns and the test users'."""

    train_dataset: Dataset
    test_dataset: Dataset
    train: EvaluationTurns
    test: EvaluationTurns
    observer: Callable[[int], None] | None

    @cached_property
    def learned(self) -> LearnedPredictions:
        """What the learned evaluator says; it is trained, unless it is stored, when first asked.

        Raises:
            Refused: the training dataset has too few users or turns.
        """
        return predict_learned(
            train=self.train_dataset, training=self.train.gold, test=self.test.blocks
        )


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions of one evaluator in one setting, and how long they took."""

    name: str
    setting: str
    predictions: Predictions
    seconds: float


@dataclass(frozen=True, slots=True)
class EvaluationScale:
    """What predictions are measured on: gold turns, the reference's predictions, the bootstrap."""

    gold: Sequence[GoldBlock]
    reference: Predictions
    seed: int
    draws: int


@dataclass(frozen=True, slots=True)
class SatisfactionEvaluation:
    """A finished comparison, as kept in a report.

    `details` stand in the order of the evaluators; their gains are over the reference.
    `training` are the learned evaluator's figures on its own training users, each held out in
    turn; None where it was not asked for. `shared` names those who rated in both datasets: with
    any, global baselines and the learned evaluator have seen them. `skipped` tells why an
    evaluator stands in no row.
    """

    report_id: int
    users: int
    turns: int
    shared: tuple[str, ...]
    evaluators: tuple[EvaluatorFigures, ...]
    details: tuple[EvaluatorDetails, ...]
    training: tuple[EvaluatorFigures, EvaluatorDetails] | None = None
    skipped: tuple[str, ...] = ()


def evaluate_satisfaction(
    *,
    train: Dataset,
    test: Dataset,
    evaluators: Sequence[str] = DEFAULT_EVALUATORS,
    seed: int = DEFAULT_SEED,
    draws: int = 1_000,
    level: Level = Level.TURN,
    observer: Callable[[int], None] | None = None,
) -> SatisfactionEvaluation:
    """Compare evaluators on every rated turn, or session, of the test dataset.

    A judge is asked only where no finished run answers already; its settings are computed from
    that one run's rows.

    Args:
        train: whose users' scores a global baseline may know, and the learned evaluator learns.
        test: the turns.
        evaluators: names of baselines, `learned`, `lexical` or endpoints; ":no-memory" after a
            judge leaves the user memories out, "learned+" before it stacks the learned one on it.
        seed: of the user-clustered bootstrap.
        draws: its resamples; 0 leaves the intervals out.
        level: what is scored; the learned evaluator is left out where it is sessions.
        observer: told how many answers each commit of a run wrote.

    Raises:
        Refused: a name is neither a baseline nor a judge; a dataset has no rated turn; a judge's
            run did not finish.
    """
    given = EvaluationData(train, test, _rated(train, level), _rated(test, level), observer)
    shared = _raters(train, given.train.gold) & _raters(test, given.test.gold)
    predicted, skipped = _predict_all(evaluators, given)
    scale = EvaluationScale(given.test.gold, _baseline(REFERENCE, given).predictions, seed, draws)
    measured = [_measured(one, scale) for one in predicted]
    names = names_of(dataset=test)
    training = _training(predicted, given, seed=seed, draws=draws)
    report = VerificationReport.objects.create(
        dataset=test,
        kind=REPORT_KIND,
        settings={
            "train": train.slug,
            "test": test.slug,
            "level": level.value,
            "evaluators": list(evaluators),
            "seed": seed,
            "draws": draws,
            "reference": REFERENCE.lower(),
            "shared": sorted(shared),
            "skipped": skipped,
            "learned_version": None if training is None else given.learned.version,
            "training": None if training is None else stored(*training, names_of(dataset=train)),
        },
        rows=[stored(*one, names) for one in measured],
    )
    return SatisfactionEvaluation(
        report_id=report.pk,
        users=given.test.users,
        turns=given.test.turns,
        shared=tuple(sorted(shared)),
        evaluators=tuple(one for one, _details in measured),
        details=tuple(details for _one, details in measured),
        training=training,
        skipped=tuple(skipped),
    )


def _measured(one: Predicted, scale: EvaluationScale) -> tuple[EvaluatorFigures, EvaluatorDetails]:
    found = figures(
        one.name,
        one.setting,
        scale.gold,
        one.predictions,
        seconds=one.seconds,
        seed=scale.seed,
        draws=scale.draws,
    )
    details = details_of(
        scale.gold, one.predictions, scale.reference, seed=scale.seed, draws=scale.draws
    )
    return found, details


def _training(
    predicted: Sequence[Predicted], given: EvaluationData, *, seed: int, draws: int
) -> tuple[EvaluatorFigures, EvaluatorDetails] | None:
    """How the learned evaluator does on its training users, each of them held out."""
    trained = next((one for one in predicted if one.name == LEARNED), None)
    if trained is None:
        return None
    reference = baseline_predictions(REFERENCE, given.train.gold, train=counts_of(given.train.gold))
    held_out = Predicted(LEARNED, HELD_OUT, given.learned.training, trained.seconds)
    return _measured(held_out, EvaluationScale(given.train.gold, reference, seed, draws))


def _predict_all(
    evaluators: Sequence[str], given: EvaluationData
) -> tuple[list[Predicted], list[str]]:
    """What every evaluator says, and why some say nothing."""
    predicted: list[Predicted] = []
    skipped: list[str] = []
    names = tuple(_names(evaluators, given))
    for name in names:  # before the first of them is asked, and paid for
        _require_known(name)
    for name in names:
        if given.test.level is Level.SESSION and name.startswith(LEARNED):
            skipped.append(f"{name}: it is trained on ratings of single responses")
            continue
        try:
            predicted += _predict(name, given)
        except Refused as refused:
            if refused.code != "learned:too-few-ratings":
                raise
            skipped.append(f"{name}: {refused}")
    return predicted, skipped


def _names(evaluators: Sequence[str], given: EvaluationData) -> Iterable[str]:
    """The names asked for, each once; STORED stands for those of the runs that there are."""
    known: dict[str, None] = {}
    for name in evaluators:
        if name == STORED:
            level = given.test.level
            known |= dict.fromkeys(
                stored_judges(dataset=given.test_dataset, level=level, train=given.train_dataset)
            )
        else:
            known[name] = None
    return known


def _is_embedded(name: str) -> bool:
    return name.upper() in Baseline.__members__ or name in NEAREST_NAMES or name == LEARNED


def _require_known(name: str) -> None:
    """Refuse a name that no evaluator has.

    Raises:
        Refused: it is none of ours, nor a judge's, alone or with `learned+` before it; it is one on
            which the learned evaluator cannot be stacked.
    """
    if _is_embedded(name):
        return
    if name.startswith(STACKED):
        require_honest_stacking(name.removeprefix(STACKED))
    judge, _ = judge_and_variant(name.removeprefix(STACKED))
    try:
        endpoint_for(judge)
    except Refused as error:
        ours = ", ".join((*(each.lower() for each in Baseline), *NEAREST_NAMES, LEARNED, STORED))
        raise Refused("judge:unknown", f"{error}, or one of {ours}") from error


def _predict(name: str, given: EvaluationData) -> list[Predicted]:
    """One evaluator by name: a baseline, the learned one alone or stacked, or else a judge."""
    if name.upper() in Baseline.__members__:
        return [_baseline(Baseline(name.upper()), given)]
    if name in NEAREST_NAMES or name == LEARNED:
        return [_embedded(name, given)]
    if name.startswith(STACKED):
        return [_stacked(name, given)]
    return _judge(name, given)


def _embedded(name: str, given: EvaluationData) -> Predicted:
    """An evaluator of this program; the seconds of the learned one hold its training."""
    started = time.perf_counter()
    if name == LEARNED:
        predictions, setting = given.learned.test, "trained"
    else:
        predictions = predict_nearest(name, train=given.train.blocks, test=given.test.blocks)
        setting = "history"
    return Predicted(name, setting, predictions, time.perf_counter() - started)


def _stacked(name: str, given: EvaluationData) -> Predicted:
    """The learned evaluator corrected by a judge, who scores the training users' turns as well."""
    judge = name.removeprefix(STACKED)
    require_honest_stacking(judge)
    taught, asked = (
        judged_dataset(judge, dataset=dataset, turns=turns, observer=given.observer)
        for dataset, turns in (
            (given.train_dataset, given.train),
            (given.test_dataset, given.test),
        )
    )
    started = time.perf_counter()
    predictions = predict_stacked(
        given.learned,
        training=given.train.gold,
        judged_training=taught.turns,
        judged_test=asked.turns,
    )
    seconds = taught.seconds + asked.seconds + time.perf_counter() - started
    return Predicted(f"{STACKED}{asked.judge}", asked.setting, predictions, seconds)


def _baseline(baseline: Baseline, given: EvaluationData) -> Predicted:
    started = time.perf_counter()
    predictions = baseline_predictions(baseline, given.test.gold, train=counts_of(given.train.gold))
    known = baseline.partition("_")[0].lower()
    return Predicted(baseline.lower(), known, predictions, time.perf_counter() - started)


def _judge(name: str, given: EvaluationData) -> list[Predicted]:
    """A judge's run over the test dataset, in every setting that needs no further call."""
    found = judged_dataset(
        name,
        dataset=given.test_dataset,
        turns=given.test,
        train=given.train_dataset,
        observer=given.observer,
    )
    return [
        Predicted(
            found.judge,
            f"{found.setting} {setting}",
            judge_predictions(setting, given.test.gold, found.turns),
            found.seconds,
        )
        for setting in JudgeSetting
    ]


def _raters(dataset: Dataset, blocks: Sequence[GoldBlock]) -> set[str]:
    """The names, within their dataset, of those who rated."""
    names = names_of(dataset=dataset)
    return {names[block.user] for block in blocks}


def _rated(dataset: Dataset, level: Level) -> EvaluationTurns:
    found = evaluation_turns(dataset.pk, level=level)
    if not found.gold:
        message = f"no rated {_RATED[level]} of {dataset.slug} has an available text"
        raise Refused("run:no-ratings", message)
    return found
