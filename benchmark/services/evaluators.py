"""The evaluators of satisfaction that need no judge's run, and the learned one stacked on one."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Final

import numpy as np

from annotation.core.choices import is_satisfied
from annotation.core.refusals import Refused
from annotation.models import Dataset
from benchmark.core.satisfaction_evaluation import GoldBlock, JudgedTurn, Predictions
from benchmark.queries.satisfaction import EvaluationTurns, judged_turns
from judging.core.retrieval import Block
from judging.core.rules import LEARNED, SPECS, Level, SatisfactionSettings, Variant, variant_of
from judging.core.satisfaction_artefact import from_bytes
from judging.core.satisfaction_baselines import Prediction
from judging.core.satisfaction_decisions import likeliest
from judging.core.satisfaction_stacking import StackedTurns, fit_stack, predict_stack
from judging.core.satisfaction_training import predict_apart
from judging.core.targets import Targets
from judging.models import JudgeRun, LearnedModel, RunKind, RunStatus
from judging.queries.configurations import satisfaction_settings
from judging.queries.satisfaction.labels import examples
from judging.queries.satisfaction.turns import missing_turns
from judging.services.kinds import plan
from judging.services.learned import learned_model
from judging.services.run_requests import RunRequest, finished_like

Judged = Sequence[Sequence[JudgedTurn | None]]
"""What a judge's run said of each turn, block by block."""

MEMORIES_BY: Final = "@"
"""In an evaluator's name, before who builds the memories that the judge reads."""
SEED: Final = 42
"""Of the groups of users by which stacking is fitted: part of the method, not of a bootstrap."""


@dataclass(frozen=True, slots=True)
class LearnedPredictions:
    """What the learned evaluator says of the test turns, and of its own training turns.

    No user is scored by a model that saw their labels, those of the test turns who taught included.
    """

    version: int
    test: Predictions
    training: Predictions


def predict_learned(
    *,
    train: Dataset,
    training: Sequence[GoldBlock],
    test: Sequence[Block],
    level: Level = Level.TURN,
    pulse: Callable[[], None] = lambda: None,
) -> LearnedPredictions:
    """The learned evaluator of the training dataset, trained now unless it is stored already.

    Args:
        train: the dataset.
        training: its rated turns, in their stored order.
        test: the turns to score; somebody who rated the training turns too goes by the same user
            there, and is scored by a model that was trained without them.
        level: whether these are turns or whole sessions, and what is learned from.
        pulse: called between the steps of a training.

    Raises:
        Refused: the training dataset has too few users or turns.
    """
    row = learned_model(dataset=train, level=level, pulse=pulse)
    said = predict_apart(
        examples(dataset_id=train.pk, level=level),
        test,
        model=from_bytes(bytes(row.artefact)),
        pulse=pulse,
    )
    found = [
        [
            Prediction(
                turn.score, turn.expected, turn.reason, turn.dissatisfied, turn.reason_chances
            )
            for turn in block
        ]
        for block in said
    ]
    kept = _kept(row)
    return LearnedPredictions(
        row.version, found, [list(islice(kept, len(block.gold))) for block in training]
    )


def _kept(row: LearnedModel) -> Iterator[Prediction]:
    """The held-out predictions of a stored model, turn by turn."""
    kept: dict[str, Any] = row.held_out
    columns = ("scores", "expected", "dissatisfied", "reason_chances")
    for score, expected, below, chances in zip(*(kept[name] for name in columns), strict=True):
        reason = None if is_satisfied(score) else likeliest(chances)
        yield Prediction(score, expected, reason, below, tuple(chances))


def predict_stacked(
    learned: LearnedPredictions,
    *,
    training: Sequence[GoldBlock],
    judged_training: Judged,
    judged_test: Judged,
    asked: Sequence[int],
) -> Predictions:
    """The learned evaluator corrected by a judge's scores of the same turns.

    Args:
        learned: what it says itself.
        training: the training users' turns with what they said.
        judged_training: the judge's scores of them.
        judged_test: the judge's scores of the test turns.
        asked: the user of each block of test turns.

    Raises:
        Refused: the judge scored too few of the training users' turns; one of them is asked about.
    """
    users = {user: at for at, user in enumerate(dict.fromkeys(own.user for own in training))}
    require_users_apart(users, asked)
    taught = _turns(learned.training, judged_training, [users[own.user] for own in training])
    gold = [score for own in training for score in own.gold]
    stack = fit_stack(taught, gold, seed=SEED)
    found = predict_stack(stack, _turns(learned.test, judged_test, list(range(len(learned.test)))))
    rows = zip(
        found.scores.tolist(), found.expected.tolist(), found.dissatisfied.tolist(), strict=True
    )
    return [
        [
            replace(
                one,
                score=score,
                expected=expected,
                dissatisfied=below,
                reason=None if is_satisfied(score) else likeliest(one.reason_chances),
            )
            for one, (score, expected, below) in zip(own, islice(rows, len(own)), strict=True)
            if one is not None
        ]
        for own in learned.test
    ]


def _turns(predictions: Predictions, judged: Judged, users: Sequence[int]) -> StackedTurns:
    known = [[one for one in own if one is not None] for own in predictions]
    flat = [one for own in known for one in own]
    sizes = [len(own) for own in known]
    scores = [_graded(one) for own in judged for one in own]
    return StackedTurns(
        learned=np.array([one.expected for one in flat], dtype=np.float64),
        dissatisfied=np.array([one.dissatisfied for one in flat], dtype=np.float64),
        judged=np.array(scores, dtype=np.float64),
        blocks=np.repeat(np.arange(len(sizes)), sizes),
        users=np.repeat(np.asarray(users, dtype=np.intp), sizes),
    )


def _graded(turn: JudgedTurn | None) -> float:
    """The expected score where the judge knows probabilities, its score otherwise, nan without."""
    if turn is None:
        return float("nan")
    return float(turn.score) if turn.expected is None else turn.expected


_SETTINGS = {Variant.CHECKLIST: "memory", Variant.NO_MEMORY: "no memory"}
"""What a table calls a way of asking where its own word says less."""


@dataclass(frozen=True, slots=True)
class JudgedDataset:
    """What a judge's finished run says of a dataset's turns, block by block.

    `judge` and `setting` are what a table calls them; `seconds` is what the run took. `missing`
    says by code how many turns have no score.
    """

    judge: str
    setting: str
    turns: Sequence[Sequence[JudgedTurn | None]]
    seconds: float
    missing: Mapping[str, int]


def scoring_run(
    name: str,
    *,
    dataset: Dataset,
    level: Level = Level.TURN,
    train: Dataset | None = None,
    targets: Targets | None = None,
) -> JudgeRun:
    """A run in which a judge scores everybody's turns of a dataset, planned and not saved.

    Args:
        name: of the judge, with ":" and a way of asking after it, such as "llm:no-memory".
        dataset: whose turns.
        level: what is scored.
        train: whose raters teach the ways that show examples or rubrics; None for others here.
        targets: which turns; None for everything rated.

    Raises:
        Refused: there is no such judge, or no such way of asking; the way of asking has no prompt
            for sessions; nobody is left to take examples or rubrics from.
    """
    judge, variant = judge_and_variant(name)
    settings = _settings(variant, level, dataset=dataset, train=train)
    return _scoring(dataset, judge, settings, targets)


def judged_dataset(name: str, run: JudgeRun, turns: EvaluationTurns) -> JudgedDataset:
    """What a judge's finished run says of turns; `name` as for `scoring_run`."""
    judge, variant = judge_and_variant(name)
    return JudgedDataset(
        judge=judge,
        setting=_SETTINGS.get(variant, variant.word),
        turns=judged_turns(run.pk, turns.stored),
        seconds=_seconds(run),
        missing=missing_turns(run.pk, turns.stored),
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
    for judge, writer, config in done.order_by("pk").values_list("judge", "writer", "config"):
        rules = satisfaction_settings(config)
        if rules.level is not level:
            continue
        variant = rules.variant
        settings = _settings(variant, level, dataset=dataset, train=train)
        name = f"{judge}{MEMORIES_BY}{writer}" if writer else judge
        if finished_like(_scoring(dataset, name, settings)) is not None:
            found[name if variant is Variant.CHECKLIST else f"{name}:{variant.word}"] = None
    return tuple(found)


def _scoring(
    dataset: Dataset, judge: str, settings: SatisfactionSettings, targets: Targets | None = None
) -> JudgeRun:
    """A run over everybody's turns, not saved."""
    name, _, builder = judge.partition(MEMORIES_BY)
    request = RunRequest(
        kind=RunKind.SATISFACTION,
        dataset=dataset,
        judge=name,
        writer=builder or None,
        satisfaction=settings,
        targets=targets or Targets(),
    )
    return plan(request)[0]


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

    The judge comes with who builds its memories, where it does not: "llm@builder".

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


def require_users_apart(teachers: Collection[Hashable], asked: Collection[Hashable]) -> None:
    """Refuse to stack where somebody rated the training turns and the test turns.

    A judge is weighed by what the other training users are expected to say, and that was learned
    from theirs.

    Args:
        teachers: who rated the training turns.
        asked: who rated the test turns, called the same.

    Raises:
        Refused: somebody is in both.
    """
    shared = len({*teachers} & {*asked})
    if shared:
        message = f"{shared} of the test users rated in the training dataset too"
        raise Refused("learned:tested-teachers", message)


def _seconds(run: JudgeRun) -> float:
    if run.started_at is None or run.finished_at is None:
        return 0.0
    return (run.finished_at - run.started_at).total_seconds()
