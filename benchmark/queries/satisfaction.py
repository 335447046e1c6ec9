"""How well a judge's satisfaction scores follow the users' own, from stored rows alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, NamedTuple

from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus, Reason
from annotation.core.intervals import Interval, Units
from annotation.models import Dataset, SatisfactionLabel
from benchmark.core.learning_curve import CURVE_METRICS, CurveFigure, CurveOn, CurvePoint
from benchmark.core.metrics import ReliabilityPoint, reliability
from benchmark.core.replay import Grouping, Replayed, summarise, user_interval
from benchmark.core.satisfaction_evaluation import GoldBlock, JudgedTurn
from benchmark.models import VerificationReport
from benchmark.queries.choices import (
    AnnotatorChoice,
    DatasetChoice,
    RunChoice,
    dataset_of,
    run_choices,
)
from benchmark.queries.satisfaction_runs import (
    MetricRow,
    kept_metrics,
    over_rated_turns,
    readable,
    scored_turns,
)
from judging.core.calibration import score_counts
from judging.core.retrieval import Block
from judging.core.rules import LEARNED, Level
from judging.core.runs import WITHDRAWN
from judging.core.targets import TurnPart
from judging.models import JudgeRun, RunKind, SatisfactionJudgment
from judging.queries.satisfaction.blocks import StoredBlock, gold_ratings, stored_blocks


@dataclass(frozen=True, slots=True)
class SatisfactionFigures:
    """Agreement of one run's scores with the users' own.

    `unreadable` and `failed` judgments carry no score and stand in no metric. Where only one user
    is measured, intervals draw that user's sessions instead of users: `units` are those of either.
    `asked` is the way in which the judge was asked, "" where there is none.
    """

    run: RunChoice
    asked: str
    users: int
    turns: int
    units: Units
    unreadable: int
    failed: int
    fallbacks: int
    metrics: tuple[MetricRow, ...]
    reliability: tuple[ReliabilityPoint, ...]
    seed: int


def satisfaction_figures(
    dataset: DatasetChoice,
    *,
    user: int | None,
    seed: int,
    only: int | None = None,
    until: int | None = None,
) -> SatisfactionFigures | None:
    """The figures of the run that scored most rated turns, of equals the newest; None without one.

    Runs over other targets are left out, also where they scored rated turns beside them.

    Args:
        dataset: where.
        user: only this user's turns; None for all users.
        seed: of the bootstrap.
        only: the annotator who reads; nothing counts that is withheld from them. None for others.
        until: no run after this one counts.
    """
    judgments = readable(
        SatisfactionJudgment.objects.filter(
            run__dataset=dataset.id,
            run__kind=RunKind.SATISFACTION,
            part=TurnPart.RATED,
            run__in=over_rated_turns(),
        ),
        only,
    )
    if user is not None:
        judgments = judgments.filter(user=user)
    done = judgments.filter(status=JudgmentStatus.DONE)
    if until is not None:
        done = done.filter(run__lte=until)
    # KT does not reach through a relation on PostgreSQL, so it is asked of the run itself.
    scored = done.order_by().values("run_id").annotate(n=Count("pk"))
    fullest = (
        JudgeRun.objects.filter(pk__in=scored.order_by("-n", "-run_id").values("run_id")[:1])
        .values_list("pk", KT("config__variant"))
        .first()
    )
    if fullest is None:
        return None
    (run,) = run_choices(JudgeRun.objects.filter(pk=fullest[0]))
    called = judgments.filter(run=run.id).exclude(error_code__in=WITHDRAWN)
    stored = called.values_list("status", "fallback_reason")
    states = [(status, reason) for status, reason in stored]
    turns = scored_turns(dataset.id, run.id, user, only=only)
    return SatisfactionFigures(
        run=run,
        asked="" if run.judge == LEARNED else fullest[1] or "",
        users=len({turn.user for turn in turns}),
        turns=len(turns),
        units=Units.of_rows(turn.user if user is None else turn.session for turn in turns),
        unreadable=sum(status == JudgmentStatus.UNPARSEABLE for status, _ in states),
        failed=sum(status == JudgmentStatus.FAILED for status, _ in states),
        fallbacks=sum(bool(reason) for _, reason in states),
        metrics=kept_metrics(turns, single=user is not None, seed=seed),
        reliability=reliability((turn.final, turn.gold) for turn in turns),
        seed=seed,
    )


def shown_figures(
    dataset: DatasetChoice | None,
    annotator: AnnotatorChoice | None,
    *,
    seed: int,
    until: int | None,
) -> list[tuple[str, SatisfactionFigures]]:
    """The figures that a trust page shows: of the annotator by name, and of all users (`""`)."""
    if dataset is None or annotator is None:
        return []
    found = [
        (name, satisfaction_figures(dataset, user=user, seed=seed, until=until))
        for name, user in ((annotator.name, annotator.id), ("", None))
    ]
    return [(name, figures) for name, figures in found if figures is not None]


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


@dataclass(frozen=True, slots=True, eq=False)  # what is kept of it is kept by identity
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


class SatisfactionScope(NamedTuple):
    """The dataset whose ratings a page is about, of those that have any (None: none has)."""

    dataset: DatasetChoice | None
    datasets: tuple[DatasetChoice, ...]
    rated: bool


def satisfaction_scope(slug: str) -> SatisfactionScope:
    """The dataset asked for, or else the one that was scored last. At most three queries.

    Raises:
        Refused: there is no such dataset.
    """
    found = tuple(
        DatasetChoice(row.pk, row.slug, row.name, row.simulated) for row in with_ratings()
    )
    known = {one.slug: one for one in found}
    if slug:
        one = known.get(slug) or dataset_of(slug)
        return SatisfactionScope(one, found if slug in known else (one, *found), slug in known)
    scored = over_rated_turns().filter(kind=RunKind.SATISFACTION, dataset__in=[o.id for o in found])
    last = scored.order_by("-pk").values_list("dataset__slug", flat=True).first()
    first = known[last] if last else next(iter(found), None)
    return SatisfactionScope(first, found, rated=bool(found))


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
