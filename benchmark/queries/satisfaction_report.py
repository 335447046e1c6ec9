"""A stored comparison of satisfaction evaluators, as its page and its file show it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from annotation.core.intervals import Interval, Units, ends
from annotation.core.numbers import number_in
from annotation.core.participants import natural_key
from annotation.core.refusals import Refused
from annotation.queries.datasets import of_no_deleted
from benchmark.core.metrics import Metric, MetricName, UndefinedMetric
from benchmark.core.satisfaction_chances import (
    ChanceBin,
    ChanceEstimate,
    ChanceFigures,
    LikelyReasons,
)
from benchmark.core.satisfaction_groups import (
    BY_SCENARIO,
    COLUMNS,
    GAINED,
    EvaluatorGain,
    ReasonFigures,
)
from benchmark.models import VerificationReport
from judging.core.rules import Level
from judging.models import JudgeRun
from judging.queries.runs import UNFINISHED


@dataclass(frozen=True, slots=True)
class ScenarioMetrics:
    """One scenario: how many turns of how many users, and the metrics by name."""

    scenario: str
    turns: int
    users: int
    metrics: dict[str, Metric]


@dataclass(frozen=True, slots=True)
class UserRow:
    """One user: means of stated and predicted scores, and the metrics by name."""

    id: int
    name: str
    turns: int
    stated: float
    predicted: float
    metrics: dict[str, Metric]


class UserLine(NamedTuple):
    """One user with a cell an evaluator, None where it scored none of their turns.

    `turns` and `stated`, the mean score they gave, are of the evaluator that scored the most.
    """

    name: str
    turns: int
    stated: float
    cells: tuple[UserRow | None, ...]

    @property
    def least_error(self) -> float | None:
        """The lowest mean absolute error of two or more; None where there is nothing to choose."""
        errors = [cell.metrics[MetricName.MAE].value for cell in self.cells if cell is not None]
        known = [error for error in errors if error is not None]
        return min(known) if len(known) > 1 else None


def user_lines(columns: Sequence[Sequence[UserRow]]) -> tuple[UserLine, ...]:
    """The users of several evaluators side by side, by name."""
    cells = [{row.id: row for row in column} for column in columns]
    fullest: dict[int, UserRow] = {}
    for row in sorted((row for column in columns for row in column), key=lambda row: row.turns):
        fullest[row.id] = row
    return tuple(
        UserLine(row.name, row.turns, row.stated, tuple(own.get(user) for own in cells))
        for user, row in sorted(fullest.items(), key=lambda each: natural_key(each[1].name))
    )


@dataclass(frozen=True, slots=True)
class StoredDetails:
    """All that stands behind a line; empty in reports of before they were kept."""

    gains: dict[str, EvaluatorGain]
    scenarios: tuple[ScenarioMetrics, ...]
    users: tuple[UserRow, ...]
    reasons: ReasonFigures | None
    likely: LikelyReasons | None
    chances: ChanceFigures | None

    @property
    def shown_gains(self) -> tuple[tuple[MetricName, EvaluatorGain], ...]:
        """The gains in the order of a table's columns."""
        return tuple((name, self.gains[name]) for name in GAINED if name in self.gains)

    @property
    def scenario_metrics(self) -> tuple[MetricName, ...]:
        """The metrics of a scenario, in the order of its columns."""
        return BY_SCENARIO if self.scenarios else ()

    @property
    def reason_rows(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """The rows of the confusion table with what was stated."""
        if self.reasons is None:
            return ()
        return tuple(zip(COLUMNS, self.reasons.table, strict=True))


def details_in(stored: Mapping[str, Any]) -> StoredDetails:
    """The details of one stored evaluator."""
    reasons = stored.get("reasons")
    return StoredDetails(
        gains={name: _gain(one) for name, one in stored.get("gains", {}).items()},
        scenarios=tuple(
            ScenarioMetrics(
                one["scenario"], one["turns"], one["users"], dict(metrics_of(one["metrics"]))
            )
            for one in stored.get("scenarios", ())
        ),
        users=tuple(
            UserRow(
                one["id"],
                one["name"],
                one["turns"],
                one["stated"],
                one["predicted"],
                dict(metrics_of(one["metrics"])),
            )
            for one in stored.get("users", ())
        ),
        reasons=None
        if reasons is None
        else ReasonFigures(
            tuple(tuple(row) for row in reasons["table"]),
            reasons["both"],
            reasons["right"],
            reasons["commonest"],
            _interval({"low": None, **reasons}),
        ),
        likely=_likely(stored.get("likely")),
        chances=_chances(stored.get("chances")),
    )


def _likely(stored: Mapping[str, Any] | None) -> LikelyReasons | None:
    if stored is None:
        return None
    return LikelyReasons(
        turns=stored["turns"],
        accuracy=_estimate(stored["accuracy"]),
        top_2=_estimate(stored["top_2"]),
        macro_f1=_estimate(stored["macro_f1"]),
        commonest=stored["commonest"],
        commonest_f1=stored["commonest_f1"],
        gain=_estimate(stored["gain"]),
    )


def _chances(stored: Mapping[str, Any] | None) -> ChanceFigures | None:
    if stored is None:
        return None
    return ChanceFigures(
        turns=stored["turns"],
        bins=tuple(ChanceBin(*one) for one in stored["bins"]),
        error=_estimate(stored["error"]),
        brier=_estimate(stored["brier"]),
        base_brier=stored["base_brier"],
    )


def _estimate(stored: Mapping[str, Any]) -> ChanceEstimate:
    return ChanceEstimate(stored["value"], _interval(stored))


def metrics_of(
    stored: Mapping[str, Mapping[str, Any]], suffix: str = ""
) -> Iterator[tuple[str, Metric]]:
    """Stored metrics by name with a suffix."""
    for name, one in stored.items():
        undefined = None if one["undefined"] is None else UndefinedMetric(one["undefined"])
        yield f"{name}{suffix}", Metric(one["value"], undefined, _interval(one))


def cells_of(metrics: Mapping[str, Metric]) -> dict[str, object]:
    """Metrics as cells of a file: the value, `_low` and `_high`."""
    found: dict[str, object] = {}
    for name, metric in metrics.items():
        found[name] = metric.value
        found.update(ends(metric.interval, f"{name}_"))
    return found


def _gain(stored: Mapping[str, Any]) -> EvaluatorGain:
    return EvaluatorGain(stored["value"], _interval(stored), stored["p"])


def _interval(stored: Mapping[str, Any]) -> Interval | None:
    return None if stored["low"] is None else Interval(stored["low"], stored["high"])


RUN_KIND: Final = "EVALUATE"
"""Of the runs that make reports."""
REPORT_KIND: Final = "satisfaction"
MEMORY: Final = "memory:"
"""How the codes begin by which a user memory was not written."""

WHOLE: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.QWK,
    MetricName.F1_DSAT,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_BLOCK_PEARSON,
)
EXPECTED: Final = (
    MetricName.PEARSON,
    MetricName.WITHIN_USER_PEARSON,
    MetricName.WITHIN_BLOCK_PEARSON,
)
"""What the table shows, on whole and on unrounded scores; the file has every metric."""


@dataclass(frozen=True, slots=True)
class EvaluatorRow:
    """One evaluator in one setting; metrics by name, `_expected` after those on expected scores."""

    name: str
    setting: str
    turns: int
    missing: int
    seconds: float
    metrics: dict[str, Metric]
    details: StoredDetails
    missing_by_code: dict[str, int]

    @property
    def users(self) -> int:
        """How many users' turns have a score."""
        return len(self.details.users)

    @property
    def units(self) -> Units:
        """The users whose turns have a score, by how many each has."""
        return Units.of(np.array([float(user.turns) for user in self.details.users]))

    @property
    def shown(self) -> tuple[Metric, ...]:
        """The table's cells: WHOLE, then EXPECTED."""
        names = (*WHOLE, *(f"{name}_expected" for name in EXPECTED))
        return tuple(self.metrics[name] for name in names)

    @property
    def quoted(self) -> tuple[Metric, ...]:
        """What the paper's Table 2 has as well."""
        return tuple(self.metrics[name] for name in WHOLE[:4])

    @property
    def quoted_in_table_3(self) -> tuple[Metric, ...]:
        """What its Table 3 has as well."""
        return tuple(
            self.metrics[name] for name in (MetricName.PEARSON, MetricName.QWK, MetricName.F1_DSAT)
        )

    def record(self) -> dict[str, object]:
        """Every figure with its interval, as a row of a file."""
        found: dict[str, object] = {
            "evaluator": self.name,
            "setting": self.setting,
            "turns": self.turns,
            "users": self.users,
            "missing": self.missing,
            "missing_by_code": " ".join(f"{code}={n}" for code, n in self.missing_by_code.items()),
            "seconds": round(self.seconds, 3),
        }
        return found | cells_of(self.metrics)


class LeftOut(NamedTuple):
    """An evaluator that stands in no row: why, by code, and the judge's run that failed, if any.

    Reports of before codes were kept have the whole sentence as `detail`.
    """

    evaluator: str
    code: str
    detail: str
    run: int | None = None

    @property
    def lacks_memories(self) -> bool:
        """Whether it is for want of user memories."""
        return self.code.startswith(MEMORY)


class Unscored(NamedTuple):
    """Of an evaluator's `turns`, how many have no score for a reason (`code`)."""

    evaluator: str
    turns: int
    code: str
    n: int

    @property
    def lacks_memories(self) -> bool:
        """Whether it is for want of user memories."""
        return self.code.startswith(MEMORY)


@dataclass(frozen=True, slots=True)
class SatisfactionReport:
    """One report with its settings; `others` are the newest reports, this one among them.

    `whole` says that whole sessions were scored, not turns.
    `training` is the learned evaluator on its own training users, each held out in turn. `shared`
    names those who rated in both datasets: with any, global baselines have seen them. `skipped`
    are the evaluators that stand in no row. `users` and `turns` are 0 in reports of before they
    were kept.
    """

    chosen: VerificationReport
    seed: int
    draws: int
    shared: tuple[str, ...]
    skipped: tuple[LeftOut, ...]
    reference: str
    rows: tuple[EvaluatorRow, ...]
    training: EvaluatorRow | None
    learned_version: int | None
    others: Sequence[VerificationReport]
    whole: bool = False
    users: int = 0
    turns: int = 0
    run: int | None = None

    @property
    def all_rows(self) -> tuple[EvaluatorRow, ...]:
        """Every line, the one on training users last."""
        return (*self.rows, *(() if self.training is None else (self.training,)))

    @property
    def unscored(self) -> tuple[Unscored, ...]:
        """Why turns have no score: a line an evaluator, however many settings it has, and code."""
        found = (
            Unscored(row.name, row.turns + row.missing, code, n)
            for row in self.rows
            for code, n in row.missing_by_code.items()
        )
        return tuple(dict.fromkeys(found))

    @property
    def columns(self) -> tuple[tuple[str, str], ...]:
        """What tells the lines apart in a table by user: the evaluator and its setting."""
        return tuple((row.name, row.setting) for row in self.rows)

    @property
    def users_beside(self) -> tuple[UserLine, ...]:
        """Every user with a cell a line."""
        return user_lines([row.details.users for row in self.rows])

    @property
    def few_users(self) -> tuple[EvaluatorRow, ...]:
        """The lines that have no intervals because of too few users."""
        if not self.draws:
            return ()
        return tuple(row for row in self.all_rows if row.details.users and row.units.few)


def evaluation_of(run_id: int) -> SatisfactionReport | None:
    """The report that a run made; None where it has not come so far."""
    made = VerificationReport.objects.filter(kind=REPORT_KIND, run=run_id).first()
    return None if made is None else satisfaction_report(str(made.pk))


def evaluations_under_way() -> list[JudgeRun]:
    """The runs that will make a report, the newest first. One query."""
    running = JudgeRun.objects.filter(kind=RUN_KIND, status__in=UNFINISHED)
    return list(running.select_related("dataset").order_by("-pk"))


def satisfaction_report(number: str = "", *, dataset: str = "") -> SatisfactionReport | None:
    """A report by its number, or the newest; None where nothing was compared yet.

    Args:
        number: of the report.
        dataset: without a number, the slug of the one whose ratings were predicted; "" for any.

    Raises:
        Refused: there is no such report.
    """
    reports = VerificationReport.objects.filter(kind=REPORT_KIND).select_related("dataset")
    reports = of_no_deleted(reports, "dataset")
    newest = list(reports.defer("rows").order_by("-pk")[:20])
    if number:
        chosen = number_in(number)
        wanted = None if chosen is None else reports.filter(pk=chosen).first()
        if wanted is None:
            raise Refused("benchmark:unknown-choice")
    else:
        of_dataset = reports.filter(dataset__slug=dataset) if dataset else reports
        wanted = of_dataset.order_by("-pk").first()
    if wanted is None:
        return None
    return SatisfactionReport(
        chosen=wanted,
        seed=wanted.settings["seed"],
        draws=wanted.settings["draws"],
        shared=tuple(wanted.settings["shared"]),
        skipped=tuple(map(_left_out, wanted.settings.get("skipped", ()))),
        reference=wanted.settings.get("reference", ""),
        rows=tuple(_row(row) for row in wanted.rows),
        training=_row(wanted.settings["training"]) if wanted.settings.get("training") else None,
        learned_version=wanted.settings.get("learned_version"),
        others=newest,
        whole=wanted.settings.get("level") == Level.SESSION,
        users=wanted.settings.get("users", 0),
        turns=wanted.settings.get("turns", 0),
        run=wanted.run_id,
    )


def _left_out(stored: str | dict[str, Any]) -> LeftOut:
    if isinstance(stored, str):
        return LeftOut("", "", stored)
    return LeftOut(stored["evaluator"], stored["code"], stored["detail"], stored.get("run"))


_UNMEASURED: Final = {
    f"{name}{of}": Metric(None, UndefinedMetric.UNMEASURED)
    for name in (MetricName.WITHIN_BLOCK_PEARSON, MetricName.WITHIN_BLOCK_SPEARMAN)
    for of in ("", "_expected")
}
"""In reports of before these were measured."""


def _row(stored: dict[str, Any]) -> EvaluatorRow:
    return EvaluatorRow(
        name=stored["name"],
        setting=stored["setting"],
        turns=stored["turns"],
        missing=stored["missing"],
        seconds=stored["seconds"],
        metrics={
            **_UNMEASURED,
            **dict(metrics_of(stored["whole"])),
            **dict(metrics_of(stored["expected"], "_expected")),
        },
        details=details_in(stored),
        missing_by_code=stored.get("missing_by_code", {}),
    )
