"""A stored comparison of satisfaction evaluators, as its page and its file show it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from benchmark.core.metrics import Metric, MetricName
from benchmark.models import VerificationReport
from benchmark.queries.satisfaction_details import (
    StoredDetails,
    cells_of,
    details_in,
    metrics_of,
)
from judging.core.satisfaction_variants import Level

REPORT_KIND: Final = "satisfaction"

WHOLE: Final = (
    MetricName.PEARSON,
    MetricName.SPEARMAN,
    MetricName.QWK,
    MetricName.F1_DSAT,
    MetricName.WITHIN_USER_PEARSON,
)
EXPECTED: Final = (MetricName.PEARSON, MetricName.WITHIN_USER_PEARSON)
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
            "missing": self.missing,
            "seconds": round(self.seconds, 3),
        }
        return found | cells_of(self.metrics)


@dataclass(frozen=True, slots=True)
class ReportChoice:
    """A stored report, to be chosen by its number."""

    id: int
    dataset: str
    train: str
    created_at: datetime


@dataclass(frozen=True, slots=True)
class SatisfactionReport:
    """One report with its settings; `others` are the newest reports, this one among them.

    `whole` says that whole sessions were scored, not turns.
    `training` is the learned evaluator on its own training users, each held out in turn.
    """

    chosen: ReportChoice
    seed: int
    draws: int
    shared: tuple[str, ...]
    skipped: tuple[str, ...]
    reference: str
    rows: tuple[EvaluatorRow, ...]
    training: EvaluatorRow | None
    learned_version: int | None
    others: tuple[ReportChoice, ...]
    whole: bool = False


def satisfaction_report(number: str = "") -> SatisfactionReport | None:
    """A report by its number, the newest without one; None where nothing was compared yet.

    Raises:
        Refused: there is no such report.
    """
    reports = VerificationReport.objects.filter(kind=REPORT_KIND).select_related("dataset")
    newest = list(reports.defer("rows").order_by("-pk")[:20])
    if number:
        chosen = number_in(number)
        wanted = None if chosen is None else reports.filter(pk=chosen).first()
        if wanted is None:
            raise Refused("benchmark:unknown-choice")
    else:
        wanted = reports.order_by("-pk").first()
    if wanted is None:
        return None
    return SatisfactionReport(
        chosen=_choice(wanted),
        seed=wanted.settings["seed"],
        draws=wanted.settings["draws"],
        shared=tuple(wanted.settings["shared"]),
        skipped=tuple(wanted.settings.get("skipped", ())),
        reference=wanted.settings.get("reference", ""),
        rows=tuple(_row(row) for row in wanted.rows),
        training=_row(wanted.settings["training"]) if wanted.settings.get("training") else None,
        learned_version=wanted.settings.get("learned_version"),
        others=tuple(_choice(one) for one in newest),
        whole=wanted.settings.get("level") == Level.SESSION,
    )


def _choice(report: VerificationReport) -> ReportChoice:
    return ReportChoice(report.pk, report.dataset.slug, report.settings["train"], report.created_at)


def _row(stored: dict[str, Any]) -> EvaluatorRow:
    return EvaluatorRow(
        name=stored["name"],
        setting=stored["setting"],
        turns=stored["turns"],
        missing=stored["missing"],
        seconds=stored["seconds"],
        metrics={
            **dict(metrics_of(stored["whole"])),
            **dict(metrics_of(stored["expected"], "_expected")),
        },
        details=details_in(stored),
    )
