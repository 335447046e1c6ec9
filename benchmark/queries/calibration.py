"""What calibration did to one run's scores, from stored rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from annotation.core.choices import JudgmentStatus
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.queries.annotators import names_of
from benchmark.core.calibrated import (
    Histograms,
    ScoreTriple,
    UserShift,
    histograms,
    user_shifts,
)
from benchmark.core.metrics import ReliabilityPoint, reliability
from benchmark.core.recalibration import MethodFigures, RawBlock, RawTurn, compare
from benchmark.queries.satisfaction import scored_turns
from judging.core.calibration import Calibration, Fallback, score_counts
from judging.core.rules import Level, satisfaction_settings
from judging.models import JudgeRun, RunKind, SatisfactionJudgment
from judging.queries.satisfaction.blocks import gold_ratings
from judging.queries.satisfaction.labels import rated_scores


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
        SatisfactionJudgment.objects.filter(run=run_id)
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
    rows = SatisfactionJudgment.objects.filter(run=run_id, status=JudgmentStatus.DONE)
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
