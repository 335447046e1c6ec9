"""Rated turns that satisfaction runs scored; finished runs side by side."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.db.models.fields.json import KT

from annotation.core.choices import JudgmentStatus
from annotation.core.intervals import Units
from annotation.models import SatisfactionLabel
from annotation.queries.participants import names_of
from annotation.queries.withheld import withheld_responses, withheld_sessions
from benchmark.core.metrics import Metric, MetricName, evaluate, scored
from benchmark.core.satisfaction_groups import (
    EvaluatorGain,
    figures_of_users,
    paired_gains,
)
from benchmark.queries.satisfaction_report import UserLine, UserRow, user_lines
from judging.core.rules import LEARNED
from judging.core.runs import TARGETS
from judging.core.targets import TurnPart
from judging.models import JudgeRun, RunKind, RunStatus, SatisfactionJudgment
from judging.queries.run_pages import MOST_RUNS

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
    """One rated target (response or session id): the user's own score, the judge's two."""

    user: int
    target: tuple[int | None, int | None]
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


def over_rated_turns() -> QuerySet[JudgeRun]:
    """Runs over what users rated, as far as they score anything."""
    return JudgeRun.objects.filter(**{f"config__{TARGETS}__isnull": True})


def readable(
    judgments: QuerySet[SatisfactionJudgment], only: int | None
) -> QuerySet[SatisfactionJudgment]:
    """Those of targets that are not withheld from the reader."""
    return judgments.exclude(response__in=withheld_responses(only)).exclude(
        session__in=withheld_sessions(only)
    )


def _labels(dataset_ids: Collection[int]) -> QuerySet[SatisfactionLabel]:
    return SatisfactionLabel.objects.filter(
        Q(response__turn__session__dataset__in=dataset_ids) | Q(session__dataset__in=dataset_ids),
        repeat_index=0,
    )


def scored_turns(
    dataset_id: int, run_id: int, user: int | None = None, *, only: int | None = None
) -> list[EvaluatedTurn]:
    """Rated targets that a run scored, as in `turns_of_runs`.

    Arguments as for `satisfaction_figures`.
    """
    return turns_of_runs({dataset_id}, [run_id], user, only=only)[run_id]


def turns_of_runs(
    dataset_ids: Collection[int],
    runs: Sequence[int],
    user: int | None = None,
    *,
    only: int | None = None,
) -> dict[int, list[EvaluatedTurn]]:
    """By run the rated targets that it scored, with the user's first label of each. Two queries.

    What was rated after a run began is not among its targets.
    """
    labels = _labels(dataset_ids)
    judgments = readable(
        SatisfactionJudgment.objects.filter(
            run__in=runs, status=JudgmentStatus.DONE, part=TurnPart.RATED
        ),
        only,
    )
    if user is not None:
        labels, judgments = labels.filter(annotator=user), judgments.filter(user=user)
    gold: dict[tuple[int, int | None, int | None], int] = {}
    for annotator, response, session, stated in labels.order_by("created_at", "id").values_list(
        "annotator_id", "response_id", "session_id", "score"
    ):
        gold.setdefault((annotator, response, session), stated)
    found: dict[int, list[EvaluatedTurn]] = {run: [] for run in runs}
    rows = judgments.order_by("id").values_list(
        "run_id",
        "user_id",
        "response_id",
        "session_id",
        "response__turn__session_id",
        "response__turn__session__scenario_id",
        "session__scenario_id",
        "score",
        "calibrated",
    )
    for run, rater, response, whole, own, one, other, score, calibrated in rows:
        if (rater, response, whole) in gold and score is not None:
            turn = EvaluatedTurn(
                user=rater,
                target=(response, whole),
                scenario=one or other or 0,
                session=own or whole or 0,
                gold=gold[rater, response, whole],
                raw=score,
                calibrated=calibrated,
            )
            found[run].append(turn)
    return found


def kept_metrics(
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
    return tuple(
        MetricRow(
            name,
            evaluate(scored(gold, final, units, blocks), name, seed=seed),
            evaluate(scored(gold, raw, units, blocks), name, seed=seed),
        )
        for name in _names(single=single)
    )


def _names(*, single: bool) -> tuple[MetricName, ...]:
    """Of one user, the correlation within users is the correlation."""
    return tuple(
        name for name in METRICS if not (single and name is MetricName.WITHIN_USER_PEARSON)
    )


COMPARED: Final = (MetricName.PEARSON, MetricName.QWK, MetricName.F1_DSAT, MetricName.MAE)
"""On what two runs are compared; a lower mean absolute error is better."""


class RunScores(NamedTuple):
    """A finished run: its figures (METRICS), and on `shared` turns what it gains over the first.

    `asked` is the way in which the judge was asked, "" where there is none. The first run itself
    has no gains (COMPARED); nor has one that scored none of the first one's turns.
    """

    run: JudgeRun
    asked: str
    turns: int
    users: int
    metrics: tuple[Metric, ...]
    shared: int
    gains: tuple[EvaluatorGain, ...]


class RunsBeside(NamedTuple):
    """Finished satisfaction runs side by side, on calibrated scores.

    `unfinished` are those asked for that are under way, stopped or failed. Intervals draw users,
    or sessions where all turns are one user's (`single`); `units` are these, of the run that has
    the fewest effective ones.
    """

    lines: tuple[RunScores, ...]
    unfinished: tuple[JudgeRun, ...]
    users: tuple[UserLine, ...]
    single: bool
    units: Units
    seed: int

    @property
    def names(self) -> tuple[MetricName, ...]:
        """The columns of every line."""
        return _names(single=self.single)

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """What tells the runs apart in a table by user: the judge, and the number."""
        return tuple((line.run.judge, f"#{line.run.pk}") for line in self.lines)

    @property
    def compares(self) -> bool:
        """Whether a run scored turns that the first one scored."""
        return any(line.shared for line in self.lines)


def finished_runs(dataset_id: int) -> tuple[int, ...]:
    """The newest finished run over rated turns of every judge and way to ask, oldest first.

    Those of one annotator count where no run is of everybody. One query.
    """
    rows = over_rated_turns().filter(
        kind=RunKind.SATISFACTION, dataset=dataset_id, status=RunStatus.DONE
    )
    known = list(
        rows.order_by("pk").values_list("pk", "judge", KT("config__variant"), "annotator_id")
    )
    of_all = [row for row in known if row[3] is None] or known
    return tuple(sorted({row[1:]: row[0] for row in of_all}.values()))[-MOST_RUNS:]


def runs_beside(ids: Sequence[int], *, seed: int) -> RunsBeside:
    """Satisfaction runs by their numbers, the first of which the others are compared with.

    Others than satisfaction runs are left out.

    Args:
        ids: of at most MOST_RUNS runs.
        seed: of the bootstrap.
    """
    asked = list(dict.fromkeys(ids))[:MOST_RUNS]
    known = (
        JudgeRun.objects.filter(kind=RunKind.SATISFACTION)
        .select_related("dataset")
        .annotate(asked=KT("config__variant"))
        .defer("config")
        .in_bulk(asked)
    )
    runs = [known[pk] for pk in asked if pk in known]
    done = [run for run in runs if run.status == RunStatus.DONE]
    turns = turns_of_runs({run.dataset_id for run in done}, [run.pk for run in done])
    everyone = {turn.user for own in turns.values() for turn in own}
    single = len(everyone) == 1
    first = turns[done[0].pk] if done else []
    lines = []
    for run in done:
        own = turns[run.pk]
        pairs = [] if run is done[0] else _paired(own, first, single=single)
        found = paired_gains(pairs, seed=seed) if pairs else {}
        figures = kept_metrics(own, single=single, seed=seed)
        lines.append(
            RunScores(
                run=run,
                asked="" if run.judge == LEARNED else run.asked or "",
                turns=len(own),
                users=len({turn.user for turn in own}),
                metrics=tuple(row.calibrated for row in figures),
                shared=len(pairs),
                gains=tuple(found[name] for name in COMPARED if name in found),
            )
        )
    names: dict[int, str] = {}
    for dataset in {run.dataset_id: run.dataset for run in done}.values():
        names.update(names_of(dataset=dataset))
    units = [
        Units.of_rows(turn.session if single else turn.user for turn in own)
        for own in turns.values()
        if own
    ]
    return RunsBeside(
        lines=tuple(lines),
        unfinished=tuple(run for run in runs if run not in done),
        users=user_lines([_user_rows(turns[run.pk], names) for run in done]),
        single=single,
        units=min(units, key=lambda each: each.effective, default=Units.alike(0)),
        seed=seed,
    )


def _paired(
    own: Iterable[EvaluatedTurn], others: Iterable[EvaluatedTurn], *, single: bool
) -> list[tuple[int, int, int, int]]:
    """Turns that both scored, as `paired_gains` takes them."""
    final = {(turn.user, turn.target): turn.final for turn in others}
    return [
        (turn.gold, turn.final, other, turn.session if single else turn.user)
        for turn in own
        if (other := final.get((turn.user, turn.target))) is not None
    ]


def _user_rows(turns: Iterable[EvaluatedTurn], names: dict[int, str]) -> tuple[UserRow, ...]:
    scores: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for turn in turns:
        scores[turn.user].append((turn.gold, turn.final))
    return tuple(
        UserRow(
            one.user,
            names[one.user],
            one.turns,
            one.stated,
            one.predicted,
            {name.value: metric for name, metric in one.metrics.items()},
        )
        for one in figures_of_users(scores)
    )
