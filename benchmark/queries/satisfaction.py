"""How well a judge's satisfaction scores follow the users' own, from stored rows alone."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.core.cache import cache
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus, Reason
from annotation.core.intervals import Interval, missing_units
from annotation.models import Dataset, SatisfactionLabel
from annotation.queries.withheld import withheld_responses, withheld_sessions
from benchmark.core.learning_curve import CURVE_METRICS, CurveFigure, CurveOn, CurvePoint
from benchmark.core.metrics import (
    Metric,
    MetricName,
    ReliabilityPoint,
    evaluate,
    reliability,
    scored,
)
from benchmark.core.replay import Grouping, Replayed, summarise, user_interval
from benchmark.core.satisfaction_evaluation import GoldBlock, JudgedTurn
from benchmark.models import VerificationReport
from benchmark.queries.choices import DatasetChoice, RunChoice, run_choices
from judging.core.calibration import score_counts
from judging.core.retrieval import Block
from judging.core.rules import LEARNED, Level
from judging.core.runs import TARGETS
from judging.core.targets import TurnPart
from judging.models import JudgeRun, RunKind, SatisfactionJudgment
from judging.queries.satisfaction.blocks import StoredBlock, gold_ratings, stored_blocks

KEPT_SECONDS: Final = 24 * 3600
METRICS: Final = (
    MetricName.PEARSON,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_BLOCK_PEARSON,
    MetricName.QWK,
    MetricName.F1_DSAT,
    MetricName.MAE,
)


@dataclass(frozen=True, slots=True)
class EvaluatedTurn:
    """One rated target: the user's own score, the judge's raw and calibrated one."""

    user: int
    scenario: int
    session: int
    gold: int
    raw: int
    calibrated: int | None

    @property
    def final(self) -> int:
        """The score that counts: one that could not be calibrated stands as it is."""
        return self.raw if self.calibrated is None else self.calibrated


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One metric on the calibrated scores, and on the raw ones."""

    name: MetricName
    calibrated: Metric
    raw: Metric


@dataclass(frozen=True, slots=True)
class SatisfactionFigures:
    """Agreement of one run's scores with the users' own.

    `unreadable` and `failed` judgments carry no score and stand in no metric. Where only one user
    is measured, intervals draw that user's sessions instead of users: `units` is how many of either
    there are. `asked` is the way in which the judge was asked, "" where there is none.
    """

    run: RunChoice
    asked: str
    users: int
    turns: int
    units: int
    unreadable: int
    failed: int
    fallbacks: int
    metrics: tuple[MetricRow, ...]
    reliability: tuple[ReliabilityPoint, ...]
    seed: int

    @property
    def missing(self) -> int:
        """How many units more would give intervals; 0 where there are enough."""
        return missing_units(self.units)


def satisfaction_figures(
    dataset: DatasetChoice,
    *,
    user: int | None,
    seed: int,
    only: int | None = None,
    until: int | None = None,
) -> SatisfactionFigures | None:
    """The figures of the latest run over rated turns that scored any; None without one.

    Runs over other targets are left out, also where they scored rated turns beside them.

    Args:
        dataset: where.
        user: only this user's turns; None for all users.
        seed: of the bootstrap.
        only: the annotator who reads; nothing counts that is withheld from them. None for others.
        until: no run after this one counts.
    """
    judgments = _readable(
        SatisfactionJudgment.objects.filter(
            run__dataset=dataset.id,
            run__kind=RunKind.SATISFACTION,
            part=TurnPart.RATED,
            run__in=_over_rated_turns(),
        ),
        only,
    )
    if user is not None:
        judgments = judgments.filter(user=user)
    done = judgments.filter(status=JudgmentStatus.DONE)
    if until is not None:
        done = done.filter(run__lte=until)
    # KT does not reach through a relation on PostgreSQL, so it is asked of the run itself.
    latest = (
        JudgeRun.objects.filter(pk__in=done.order_by("-run_id").values("run_id")[:1])
        .values_list("pk", KT("config__variant"))
        .first()
    )
    if latest is None:
        return None
    (run,) = run_choices(JudgeRun.objects.filter(pk=latest[0]))
    stored = judgments.filter(run=run.id).values_list("status", "fallback_reason")
    states = [(status, reason) for status, reason in stored]
    turns = scored_turns(dataset.id, run.id, user, only=only)
    return SatisfactionFigures(
        run=run,
        asked="" if run.judge == LEARNED else latest[1] or "",
        users=len({turn.user for turn in turns}),
        turns=len(turns),
        units=len({turn.user if user is None else turn.session for turn in turns}),
        unreadable=sum(status == JudgmentStatus.UNPARSEABLE for status, _ in states),
        failed=sum(status == JudgmentStatus.FAILED for status, _ in states),
        fallbacks=sum(bool(reason) for _, reason in states),
        metrics=_kept_metrics(turns, single=user is not None, seed=seed),
        reliability=reliability((turn.final, turn.gold) for turn in turns),
        seed=seed,
    )


def _over_rated_turns() -> QuerySet[JudgeRun]:
    return JudgeRun.objects.filter(**{f"config__{TARGETS}__isnull": True})


def _readable(
    judgments: QuerySet[SatisfactionJudgment], only: int | None
) -> QuerySet[SatisfactionJudgment]:
    """Those of targets that are not withheld from the reader."""
    return judgments.exclude(response__in=withheld_responses(only)).exclude(
        session__in=withheld_sessions(only)
    )


def _labels(dataset_id: int) -> QuerySet[SatisfactionLabel]:
    return SatisfactionLabel.objects.filter(
        Q(response__turn__session__dataset=dataset_id) | Q(session__dataset=dataset_id),
        repeat_index=0,
    )


def scored_turns(
    dataset_id: int, run_id: int, user: int | None = None, *, only: int | None = None
) -> list[EvaluatedTurn]:
    """Rated targets that a run scored, with the user's first label of each. Two queries.

    What was rated after the run began is not among them.

    Arguments as for `satisfaction_figures`.
    """
    labels = _labels(dataset_id)
    judgments = _readable(
        SatisfactionJudgment.objects.filter(
            run=run_id, status=JudgmentStatus.DONE, part=TurnPart.RATED
        ),
        only,
    )
    if user is not None:
        labels, judgments = labels.filter(annotator=user), judgments.filter(user=user)
    gold: dict[tuple[int, int | None, int | None], int] = {}
    for annotator, response, session, score in labels.order_by("created_at", "id").values_list(
        "annotator_id", "response_id", "session_id", "score"
    ):
        gold.setdefault((annotator, response, session), score)
    rows = judgments.order_by("id").values_list(
        "user_id",
        "response_id",
        "session_id",
        "response__turn__session_id",
        "response__turn__session__scenario_id",
        "session__scenario_id",
        "score",
        "calibrated",
    )
    return [
        EvaluatedTurn(
            user=rater,
            scenario=one or other or 0,
            session=own or session or 0,
            gold=gold[rater, response, session],
            raw=score,
            calibrated=calibrated,
        )
        for rater, response, session, own, one, other, score, calibrated in rows
        if (rater, response, session) in gold and score is not None
    ]


def _kept_metrics(
    turns: Sequence[EvaluatedTurn], *, single: bool, seed: int
) -> tuple[MetricRow, ...]:
    """The metrics of exactly these turns, kept: a bootstrap over thousands takes seconds."""
    digest = hashlib.sha256(repr((turns, single, seed)).encode()).hexdigest()
    key = f"satisfaction-metrics:{digest}"
    found: tuple[MetricRow, ...] | None = cache.get(key)
    if found is None:
        found = _metrics(turns, single=single, seed=seed)
        cache.set(key, found, KEPT_SECONDS)
    return found


def _metrics(turns: Sequence[EvaluatedTurn], *, single: bool, seed: int) -> tuple[MetricRow, ...]:
    gold = [turn.gold for turn in turns]
    raw = [turn.raw for turn in turns]
    final = [turn.final for turn in turns]
    units = [turn.session if single else turn.user for turn in turns]
    blocks = [(turn.user, turn.scenario) for turn in turns]
    names = [name for name in METRICS if not (single and name is MetricName.WITHIN_USER_PEARSON)]
    return tuple(
        MetricRow(
            name,
            evaluate(scored(gold, final, units, blocks), name, seed=seed),
            evaluate(scored(gold, raw, units, blocks), name, seed=seed),
        )
        for name in names
    )


class ModelScore(NamedTuple):
    """How a model's candidate responses were scored in the users' stead.

    `mean` is 1-5, the mean over users of each user's mean; `interval` draws users, None for fewer
    than ten. `satisfied` is the share of scores of 4 and 5. The control are the original responses
    to the same turns, scored again in the same run.
    """

    model: str
    is_control: bool
    responses: int
    users: int
    mean: float
    interval: Interval | None
    satisfied: float


class ModelScores(NamedTuple):
    """The models of a run, the best first, after the control."""

    run: JudgeRun
    rows: tuple[ModelScore, ...]
    seed: int


def model_scores(run_id: int, *, seed: int) -> ModelScores | None:
    """Mean scores of candidate responses by model; None where there is no such satisfaction run.

    Two queries.

    Args:
        run_id: of a run that scored candidates; without any there are no rows.
        seed: of the bootstrap over users.
    """
    run = (
        JudgeRun.objects.filter(pk=run_id, kind=RunKind.SATISFACTION)
        .select_related("dataset")
        .first()
    )
    if run is None:
        return None
    done = SatisfactionJudgment.objects.filter(
        run=run, status=JudgmentStatus.DONE, response__isnull=False
    )
    originals: list[tuple[tuple[int, int], Replayed]] = []
    candidates: dict[str, list[Replayed]] = defaultdict(list)
    answered: set[tuple[int, int]] = set()
    for user, turn, response, scenario, original, model, raw, calibrated in done.order_by(
        "pk"
    ).values_list(
        "user_id",
        "response__turn_id",
        "response_id",
        "response__turn__session__scenario__name",
        "response__original",
        "response__model",
        "score",
        "calibrated",
    ):
        score = raw if calibrated is None else calibrated
        assert score is not None  # noqa: S101 - a constraint holds that what is done has one
        answer = Replayed(str(response), str(user), scenario, score)
        if original:
            originals.append(((user, turn), answer))
        else:
            candidates[model].append(answer)
            answered.add((user, turn))
    control = [answer for key, answer in originals if key in answered]
    rows = [_model_score(model, own, seed=seed) for model, own in candidates.items()]
    rows.sort(key=lambda row: (-row.mean, row.model))
    if control:
        rows.insert(0, _model_score("", control, seed=seed)._replace(is_control=True))
    return ModelScores(run, tuple(rows), seed)


def _model_score(model: str, answers: Sequence[Replayed], *, seed: int) -> ModelScore:
    found = summarise(answers)
    return ModelScore(
        model=model,
        is_control=False,
        responses=len(answers),
        users=found.groups[Grouping.USER],
        mean=found.macro[Grouping.USER],
        interval=user_interval(answers, seed=seed),
        satisfied=found.satisfied,
    )


@dataclass(frozen=True, slots=True)
class EvaluationTurns:
    """The rated turns of a dataset: stored blocks, and the same with their gold scores."""

    stored: tuple[StoredBlock, ...]
    gold: tuple[GoldBlock, ...]
    level: Level = Level.TURN

    @property
    def blocks(self) -> tuple[Block, ...]:
        """The blocks without the ids of their rows."""
        return tuple(stored.block for stored in self.stored)

    @property
    def users(self) -> int:
        """How many users rated something."""
        return len({block.user for block in self.gold})

    @property
    def turns(self) -> int:
        """How many turns they rated."""
        return sum(len(block.gold) for block in self.gold)


def evaluation_turns(dataset_id: int, *, level: Level = Level.TURN) -> EvaluationTurns:
    """Every rated turn, or session, of a dataset. Six queries."""
    gold = gold_ratings(dataset_id=dataset_id, level=level)
    stored = stored_blocks(dataset_id=dataset_id, level=level)
    return EvaluationTurns(stored, tuple(_gold_block(block, gold) for block in stored), level)


def judged_turns(
    run_id: int, blocks: Sequence[StoredBlock]
) -> tuple[tuple[JudgedTurn | None, ...], ...]:
    """What a run said of each turn, in the order of the blocks; None without a score."""
    done = SatisfactionJudgment.objects.filter(
        run=run_id, status=JudgmentStatus.DONE, part=TurnPart.RATED
    )
    rows = done.values_list(
        "user_id", "response_id", "session_id", "score", "expected_score", "reason"
    )
    found = {
        (user_id, response_id or session_id): JudgedTurn(
            score, expected, Reason(reason) if reason else None
        )
        for user_id, response_id, session_id, score, expected, reason in rows
        if score is not None
    }
    return tuple(
        tuple(found.get((stored.user_id, int(one.turn_id))) for one in stored.block.targets)
        for stored in blocks
    )


def _gold_block(
    stored: StoredBlock, gold: dict[tuple[int, int], tuple[int, Reason | None]]
) -> GoldBlock:
    targets = stored.block.targets
    given = [gold[stored.user_id, int(one.turn_id)] for one in targets]
    return GoldBlock(
        user=stored.user_id,
        scenario=stored.block.scenario,
        keys=tuple(f"{one.session_key}\x1f{one.position}\x1f{one.response}" for one in targets),
        gold=tuple(score for score, _reason in given),
        history=score_counts([turn.score for turn in stored.block.history]),
        reasons=tuple(reason for _score, reason in given),
    )


def with_ratings() -> QuerySet[Dataset]:
    """The datasets in which somebody rated a response or a session, by name."""
    rated = SatisfactionLabel.objects.filter(
        Q(response__turn__session__dataset=OuterRef("pk")) | Q(session__dataset=OuterRef("pk"))
    )
    return Dataset.objects.filter(Exists(rated)).order_by("name")


CURVE_KIND: Final = "learning_curve"


@dataclass(frozen=True, slots=True)
class StoredCurve:
    """A curve with the settings that made it."""

    report_id: int
    created_at: datetime
    draws: int
    seed: int
    bootstrap: int
    points: tuple[CurvePoint, ...]
    sizes: tuple[int, ...] = ()


def stored_curve(
    *, train: str, test: str, whole: bool = False, run: int | None = None
) -> StoredCurve | None:
    """The newest curve of two datasets, by their slugs, or that of a run; None without one.

    `whole` asks for one of sessions instead of turns. One query.
    """
    curves = VerificationReport.objects.filter(
        kind=CURVE_KIND, dataset__slug=test, settings__train=train
    )
    of_sessions = Q(settings__has_key="level")
    of_level = of_sessions if whole else ~of_sessions
    curves = curves.filter(of_level if run is None else Q(run=run))
    found = curves.order_by("-pk").first()
    if found is None:
        return None
    return StoredCurve(
        report_id=found.pk,
        created_at=found.created_at,
        draws=found.settings["draws"],
        seed=found.settings["seed"],
        bootstrap=found.settings["bootstrap"],
        points=tuple(_point(row) for row in found.rows),
        sizes=tuple(found.settings.get("sizes", ())),
    )


_UNMEASURED: Final = CurveFigure(None, None, None, None)
"""In curves of before there was the metric."""


def _point(stored: dict[str, Any]) -> CurvePoint:
    return CurvePoint(
        on=CurveOn(stored["on"]),
        users=stored["users"],
        draws=stored["draws"],
        turns=stored["turns"],
        figures=dict.fromkeys(CURVE_METRICS, _UNMEASURED)
        | {
            name: CurveFigure(
                value=one["value"],
                interval=None if one["low"] is None else Interval(one["low"], one["high"]),
                lowest=one["lowest"],
                highest=one["highest"],
            )
            for name, one in stored["figures"].items()
        },
    )
