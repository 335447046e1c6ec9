"""Measuring satisfaction evaluators on the same turns; judges are read from their finished runs."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Final

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
from benchmark.queries.satisfaction import EvaluationTurns, evaluation_turns
from benchmark.services.evaluators import (
    MEMORIES_BY,
    LearnedPredictions,
    judge_and_variant,
    judged_dataset,
    predict_learned,
    predict_stacked,
    require_honest_stacking,
    stored_judges,
)
from benchmark.services.satisfaction_report import stored
from judging.core.rules import LEARNED, SPECS, Level, Need
from judging.core.satisfaction_baselines import NEAREST_NAMES, Baseline
from judging.core.satisfaction_neighbours import RatedSpace
from judging.models import JudgeRun
from judging.services.judges import LEXICAL, endpoint_for

DEFAULT_SEED: Final = 42
HELD_OUT: Final = "held out"
STACKED: Final = f"{LEARNED}+"
"""Before a judge's name: the learned evaluator corrected by that judge's scores."""
STORED: Final = "stored"
"""Every endpoint whose finished run answers already, in each way that it was asked."""
_RATED: Final = {Level.TURN: "response", Level.SESSION: "session"}
REFERENCE: Final = Baseline.HISTORY_MEAN
"""What an evaluator must beat to be worth its trouble: the user's own mean, no response read."""

NO_HISTORY: Final = "evaluation:no-history"
"""The user rated nothing in other scenarios, so no turn is near."""

DEFAULT_EVALUATORS: Final = (
    *(baseline.lower() for baseline in Baseline),
    *NEAREST_NAMES,
    "lexical",
    LEARNED,
    STORED,
)


@dataclass(frozen=True)
class EvaluationData:
    """What every evaluator is given: the training users' turns and the test users'.

    `scored` are judges' finished runs by dataset id and judge's name; `pulse` is called between the
    steps of what takes long.
    """

    train_dataset: Dataset
    test_dataset: Dataset
    train: EvaluationTurns
    test: EvaluationTurns
    scored: Mapping[tuple[int, str], JudgeRun] = field(default_factory=dict)
    pulse: Callable[[], None] = lambda: None

    @cached_property
    def learned(self) -> LearnedPredictions:
        """What the learned evaluator says; it is trained, unless it is stored, when first asked.

        Raises:
            Refused: the training dataset has too few users or turns.
        """
        return predict_learned(
            train=self.train_dataset,
            training=self.train.gold,
            test=[
                replace(block, user=str(user))
                for block, user in zip(self.test.blocks, self.test_users, strict=True)
            ],
            level=self.test.level,
            pulse=self.pulse,
        )

    @cached_property
    def test_users(self) -> list[int]:
        """The user of each block of test turns, by their id among the training users if there."""
        taught = {name: user for user, name in names_of(dataset=self.train_dataset).items()}
        names = names_of(dataset=self.test_dataset)
        return [taught.get(names[block.user], block.user) for block in self.test.gold]


@dataclass(frozen=True, slots=True)
class Predicted:
    """The predictions of one evaluator in one setting, and how long they took.

    `missing` says by code how many turns have none.
    """

    name: str
    setting: str
    predictions: Predictions
    seconds: float
    missing: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EvaluationScale:
    """What predictions are measured on: gold turns, the reference's predictions, the bootstrap."""

    gold: Sequence[GoldBlock]
    reference: Predictions
    seed: int
    draws: int
    pulse: Callable[[], None]


def evaluation_names(
    evaluators: Sequence[str], *, train: Dataset, test: Dataset, level: Level
) -> list[str]:
    """The evaluators asked for, each once; STORED stands for those of the runs that there are.

    Raises:
        Refused: a name is neither a baseline nor a judge, or one to stack on that may not be.
    """
    known: dict[str, None] = {}
    for name in evaluators:
        if name == STORED:
            known |= dict.fromkeys(stored_judges(dataset=test, level=level, train=train))
        else:
            _require_known(name)
            known[name] = None
    return list(known)


def scorings_of(
    names: Sequence[str], *, train: Dataset, test: Dataset
) -> list[tuple[Dataset, str]]:
    """The judges' scores that evaluators need, each once: whose turns, and the judge's name."""
    found: dict[tuple[int, str], tuple[Dataset, str]] = {}
    for name in names:
        if _is_embedded(name):
            continue
        judge = name.removeprefix(STACKED)
        for dataset in (train, test) if name.startswith(STACKED) else (test,):
            found.setdefault((dataset.pk, judge), (dataset, judge))
    return list(found.values())


def measure(name: str, data: EvaluationData, *, seed: int, draws: int) -> dict[str, Any]:
    """One evaluator as a report keeps it: `rows`, one a setting, or `skipped`, a stored `LeftOut`.

    The learned evaluator's figures on its own training users, each held out in turn, come as
    `training`, with its `learned_version`.

    Args:
        name: of a baseline, `learned`, `lexical` or an endpoint; ":no-memory" after a judge leaves
            the user memories out, "learned+" before it stacks the learned one on it.
        data: all turns, and the finished runs of the judges that it needs.
        seed: of the user-clustered bootstrap.
        draws: its resamples; 0 leaves the intervals out.
    """
    try:
        predicted = _predict(name, data)
    except Refused as refused:
        if refused.code != "learned:too-few-ratings":
            raise
        return {"skipped": {"evaluator": name, "code": refused.code, "detail": refused.detail}}
    reference = _baseline(REFERENCE, data).predictions
    scale = EvaluationScale(data.test.gold, reference, seed, draws, data.pulse)
    names = names_of(dataset=data.test_dataset)
    rows = [stored(*_measured(one, scale), names, missing=one.missing) for one in predicted]
    if name != LEARNED:
        return {"rows": rows}
    training = _training(predicted[0], data, seed=seed, draws=draws)
    return {
        "rows": rows,
        "training": stored(*training, names_of(dataset=data.train_dataset), missing={}),
        "learned_version": data.learned.version,
    }


def _measured(one: Predicted, scale: EvaluationScale) -> tuple[EvaluatorFigures, EvaluatorDetails]:
    found = figures(
        one.name,
        one.setting,
        scale.gold,
        one.predictions,
        seconds=one.seconds,
        seed=scale.seed,
        draws=scale.draws,
        pulse=scale.pulse,
    )
    details = details_of(
        scale.gold,
        one.predictions,
        scale.reference,
        seed=scale.seed,
        draws=scale.draws,
        pulse=scale.pulse,
    )
    return found, details


def _training(
    trained: Predicted, data: EvaluationData, *, seed: int, draws: int
) -> tuple[EvaluatorFigures, EvaluatorDetails]:
    """How the learned evaluator does on its training users, each of them held out."""
    reference = baseline_predictions(REFERENCE, data.train.gold, train=counts_of(data.train.gold))
    held_out = Predicted(LEARNED, HELD_OUT, data.learned.training, trained.seconds)
    return _measured(held_out, EvaluationScale(data.train.gold, reference, seed, draws, data.pulse))


def _is_embedded(name: str) -> bool:
    return name.upper() in Baseline.__members__ or name in NEAREST_NAMES or name == LEARNED


def with_memory_judge(name: str, builder: str) -> str:
    """An evaluator's name with who builds its memories: "llm:two-stage" as "llm@BUILDER:two-stage".

    Names of those that read no memory of somebody else's, or say who builds it, stay as they are.

    Args:
        name: of an evaluator.
        builder: the name of a judge; "" for every judge itself.

    Raises:
        Refused: there is no such way of asking.
    """
    if not builder or name == STORED or _is_embedded(name):
        return name
    judge, variant = judge_and_variant(name)
    reads_memory = SPECS[variant].need is Need.MEMORY
    if (
        MEMORIES_BY in judge
        or not reads_memory
        or judge.removeprefix(STACKED) in {LEXICAL, builder}
    ):
        return name
    return name.replace(judge, f"{judge}{MEMORIES_BY}{builder}", 1)


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
        for each in judge.split(MEMORIES_BY):
            endpoint_for(each)
    except Refused as error:
        ours = ", ".join((*(each.lower() for each in Baseline), *NEAREST_NAMES, LEARNED, STORED))
        raise Refused("judge:unknown", f"{error}, or one of {ours}") from error


def _predict(name: str, data: EvaluationData) -> list[Predicted]:
    """One evaluator by name: a baseline, the learned one alone or stacked, or else a judge."""
    if name.upper() in Baseline.__members__:
        return [_baseline(Baseline(name.upper()), data)]
    if name in NEAREST_NAMES or name == LEARNED:
        return [_embedded(name, data)]
    if name.startswith(STACKED):
        return [_stacked(name, data)]
    return _judge(name, data)


def _embedded(name: str, data: EvaluationData) -> Predicted:
    """An evaluator of this program; the seconds are those it would take alone."""
    if name == LEARNED:
        started = time.perf_counter()
        predictions = data.learned.test
        return Predicted(name, "trained", predictions, time.perf_counter() - started)
    space, seconds = _rated_space(data.train, data.test)
    started = time.perf_counter()
    predictions = space.predictions(NEAREST_NAMES[name])
    without = sum(one is None for own in predictions for one in own)
    missing = {NO_HISTORY: without} if without else {}
    return Predicted(name, "history", predictions, seconds + time.perf_counter() - started, missing)


@lru_cache(maxsize=1)
def _rated_space(train: EvaluationTurns, test: EvaluationTurns) -> tuple[RatedSpace, float]:
    """What every nearest baseline reads, and the seconds that it took: one serves all of a run."""
    started = time.perf_counter()
    space = RatedSpace(test.blocks, train=train.blocks)
    return space, time.perf_counter() - started


def _stacked(name: str, data: EvaluationData) -> Predicted:
    """The learned evaluator corrected by a judge, who scores the training users' turns as well."""
    judge = name.removeprefix(STACKED)
    require_honest_stacking(judge)
    taught, asked = (
        judged_dataset(judge, data.scored[dataset.pk, judge], turns)
        for dataset, turns in ((data.train_dataset, data.train), (data.test_dataset, data.test))
    )
    started = time.perf_counter()
    predictions = predict_stacked(
        data.learned,
        training=data.train.gold,
        judged_training=taught.turns,
        judged_test=asked.turns,
        asked=data.test_users,
    )
    seconds = taught.seconds + asked.seconds + time.perf_counter() - started
    return Predicted(f"{STACKED}{asked.judge}", asked.setting, predictions, seconds)


def _baseline(baseline: Baseline, data: EvaluationData) -> Predicted:
    started = time.perf_counter()
    predictions = baseline_predictions(baseline, data.test.gold, train=counts_of(data.train.gold))
    known = baseline.partition("_")[0].lower()
    return Predicted(baseline.lower(), known, predictions, time.perf_counter() - started)


def _judge(name: str, data: EvaluationData) -> list[Predicted]:
    """A judge's run over the test dataset, in every setting that needs no further call."""
    found = judged_dataset(name, data.scored[data.test_dataset.pk, name], data.test)
    return [
        Predicted(
            found.judge,
            f"{found.setting} {setting}",
            judge_predictions(setting, data.test.gold, found.turns),
            found.seconds,
            found.missing,
        )
        for setting in JudgeSetting
    ]


def raters_of(dataset: Dataset, blocks: Sequence[GoldBlock]) -> set[str]:
    """The names, within their dataset, of those who rated."""
    names = names_of(dataset=dataset)
    return {names[block.user] for block in blocks}


def rated_turns(dataset: Dataset, level: Level) -> EvaluationTurns:
    """Every rated turn, or session, of a dataset.

    Raises:
        Refused: there is none with an available text.
    """
    found = evaluation_turns(dataset.pk, level=level)
    if not found.gold:
        message = f"no rated {_RATED[level]} of {dataset.slug} has an available text"
        raise Refused("run:no-ratings", message)
    return found
