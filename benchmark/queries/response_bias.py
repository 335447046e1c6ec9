"""What a judge and an annotator lean to, from stored rows: length, a family, overconfidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from django.db.models.functions import Length

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Comparison, Dataset
from annotation.queries.participants import names_of
from benchmark.core.calibrated import (
    Histograms,
    MethodFigures,
    RawBlock,
    RawTurn,
    ScoreTriple,
    UserShift,
    compare,
    histograms,
    user_shifts,
)
from benchmark.core.metrics import ReliabilityPoint, reliability
from benchmark.core.response_bias import ResponseBias, ResponsePair, leanings
from benchmark.core.trust import BASE, SELECTED, HumanLabel, JudgedComparison
from benchmark.queries.choices import DatasetChoice, RunChoice
from benchmark.queries.satisfaction_runs import scored_turns
from judging.core.calibration import Calibration, Fallback, score_counts
from judging.core.rules import Level
from judging.core.targets import TurnPart
from judging.models import JudgeRun, RunKind, SatisfactionJudgment
from judging.queries.configurations import satisfaction_settings
from judging.queries.satisfaction.blocks import gold_ratings
from judging.queries.satisfaction.labels import rated_scores


def leanings_of(
    cases: Collection[JudgedComparison],
    labels: Collection[HumanLabel],
    *,
    dataset: DatasetChoice,
    run: RunChoice | None,
    seed: int,
) -> ResponseBias:
    """The leanings of a run's judge and an annotator. Two queries.

    Args:
        cases: what the run decided on the annotator's comparisons.
        labels: all of the annotator's labels.
        dataset: that they are of.
        run: whose judge; None where none has decided.
        seed: of every bootstrap.
    """
    wanted = {case.comparison for case in cases} | {label.comparison for label in labels}
    return leanings(
        cases,
        labels,
        pairs_of(dataset, wanted),
        voices=(BASE, SELECTED),
        judge=_judge_name(run) if run else "",
        seed=seed,
    )


def pairs_of(dataset: DatasetChoice, wanted: Collection[int]) -> dict[int, ResponsePair]:
    """Who wrote the responses of some comparisons, and how long they are. One query."""
    rows = Comparison.objects.filter(turn__session__dataset=dataset.id).values_list(
        "pk",
        "response_a__model",
        "response_b__model",
        Length("response_a__text"),
        Length("response_b__text"),
    )
    return {pk: ResponsePair(*told) for pk, *told in rows.iterator() if pk in wanted}


def _judge_name(run: RunChoice) -> str:
    """The judge's model where it is an endpoint, else its name."""
    row = JudgeRun.objects.filter(pk=run.id).values_list("judge", "endpoint__model").first()
    return "" if row is None else row[1] or row[0]


@dataclass(frozen=True, slots=True)
class CalibrationPage:
    """One satisfaction run before and after calibration.

    `fallbacks` counts scores that stand as they were by why; `names` are those of the users.
    """

    run: int
    judge: str
    dataset: str
    method: Calibration
    turns: int
    histograms: Histograms
    before: tuple[ReliabilityPoint, ...]
    after: tuple[ReliabilityPoint, ...]
    fallbacks: tuple[tuple[Fallback, int], ...]
    users: tuple[tuple[str, UserShift], ...]
    methods: tuple[MethodFigures, ...]


def calibration_page(run_id: int) -> CalibrationPage:
    """The page of one run; turns whose user's label is gone are left out.

    Raises:
        Refused: there is no such satisfaction run.
    """
    run = (
        JudgeRun.objects.filter(pk=run_id, kind=RunKind.SATISFACTION)
        .values_list("judge", "dataset_id", "config")
        .first()
    )
    if run is None:
        raise Refused("benchmark:unknown-choice")
    judge, dataset_id, config = run
    dataset = Dataset.objects.get(pk=dataset_id)
    turns = [
        ScoreTriple(turn.user, turn.gold, turn.raw, turn.final)
        for turn in scored_turns(dataset_id, run_id)
    ]
    reasons = Counter(
        SatisfactionJudgment.objects.filter(run=run_id, part=TurnPart.RATED)
        .exclude(fallback_reason="")
        .values_list("fallback_reason", flat=True)
    )
    names = names_of(dataset=dataset)
    return CalibrationPage(
        run=run_id,
        judge=judge,
        dataset=dataset.slug,
        method=satisfaction_settings(config).calibration,
        turns=len(turns),
        histograms=histograms(turns),
        before=reliability((turn.raw, turn.stated) for turn in turns),
        after=reliability((turn.calibrated, turn.stated) for turn in turns),
        fallbacks=tuple((each, reasons[each]) for each in Fallback if reasons[each]),
        users=tuple((names[shift.user], shift) for shift in user_shifts(turns)),
        methods=compare(_blocks(run_id, dataset_id, satisfaction_settings(config).level)),
    )


def _blocks(run_id: int, dataset_id: int, level: Level) -> list[RawBlock]:
    """The scored turns of a run by block, with the histories that its memories count.

    Where there is no memory, histories are those of now. Three queries.
    """
    path = "session" if level is Level.SESSION else "response__turn__session"
    gold = gold_ratings(dataset_id=dataset_id, level=level)
    rows = SatisfactionJudgment.objects.filter(
        run=run_id, status=JudgmentStatus.DONE, part=TurnPart.RATED
    )
    blocks: dict[tuple[int, int], list[RawTurn]] = {}
    counted: dict[tuple[int, int], tuple[int, ...]] = {}
    for user, response, session, scenario, key, place, score, statistics in rows.values_list(
        "user_id",
        "response_id",
        "session_id",
        f"{path}__scenario_id",
        f"{path}__key",
        "response__turn__position",
        "score",
        "memory__statistics",
    ):
        said = gold.get((user, response or session))
        if said is None or score is None:
            continue
        turn = RawTurn(user, f"{key}__turn_{place}", said[0], score)
        blocks.setdefault((user, scenario), []).append(turn)
        if statistics:
            counted[user, scenario] = tuple(statistics["counts"])
    users = {user for user, _scenario in blocks}
    scores = rated_scores(dataset_id, users, level=level) if len(counted) < len(blocks) else {}
    return [
        RawBlock(tuple(turns), counted.get(key) or _elsewhere(scores.get(key[0], {}), key[1]))
        for key, turns in blocks.items()
    ]


def _elsewhere(scores: dict[int, dict[str, int]], target: int) -> tuple[int, ...]:
    """Counts of a user's scores in every scenario but one."""
    return score_counts(
        [score for scenario, own in scores.items() if scenario != target for score in own.values()]
    )
