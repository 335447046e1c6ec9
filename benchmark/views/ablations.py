"""Ablations: the method with one thing varied, variant by variant."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import IntervalPlot, IntervalRow, interval_plot
from annotation.templatetags.look import percent
from benchmark.core.ablation import AblationRow, Vary
from benchmark.queries.ablations import StoredAblation, ablations_page
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import CHANCE


@dataclass(frozen=True, slots=True)
class AblationRowView:
    """A row with its variant in words."""

    row: AblationRow
    variant: str


@dataclass(frozen=True, slots=True)
class AblationView:
    """An ablation with its chart."""

    report: StoredAblation
    title: str
    rows: tuple[AblationRowView, ...]
    plot: IntervalPlot


@require_safe
@login_required
def ablations(request: HttpRequest) -> HttpResponse:
    """Every stored ablation, the newest first."""
    require_sees_everyone(request)
    found = ablations_page(dataset=request.GET.get("dataset", ""), page=request.GET.get("page", ""))
    context = {
        "found": found,
        "page": found.page,
        "views": [_view(report) for report in found.reports],
    }
    return render(request, "benchmark/ablations.html", context)


def _view(report: StoredAblation) -> AblationView:
    rows = tuple(
        AblationRowView(row, variant_name(report.vary, row.variant)) for row in report.rows
    )
    return AblationView(report, vary_name(report.vary), rows, _plot(rows))


def _plot(rows: tuple[AblationRowView, ...]) -> IntervalPlot:
    several = len({each.row.annotator for each in rows}) > 1
    return interval_plot(
        [
            IntervalRow(
                label=f"{each.variant} · {each.row.annotator}" if several else each.variant,
                value=each.row.accuracy,
                low=each.row.low,
                high=each.row.high,
                text=percent(each.row.accuracy),
            )
            for each in rows
        ],
        write=percent,
        reference=CHANCE,
    )


def vary_name(vary: Vary) -> str:
    """What was varied, as a heading."""
    return {
        Vary.WINDOW: _("Conversation shown to the judge"),
        Vary.DEV_SIZE: _("Number of labelled pairs to learn from"),
        Vary.SUBSET_SIZE: _("Number of voting preferences"),
        Vary.JUDGE: _("Distilling and judging models"),
        Vary.PREFERENCES: _("Choice of voting preferences"),
    }[vary]


def variant_name(vary: Vary, variant: str) -> str:
    """A variant in words; numbers and judges' names stay as they are."""
    return {
        (Vary.WINDOW, "LAST_TURN"): _("the last turn"),
        (Vary.WINDOW, "LAST_TWO_TURNS"): _("the last two turns"),
        (Vary.WINDOW, "ALL"): _("all turns"),
        (Vary.PREFERENCES, "none"): _("none (base judge)"),
        (Vary.PREFERENCES, "all pairs"): _("one per pair"),
        (Vary.PREFERENCES, "aggregate"): _("joint preference only"),
        (Vary.PREFERENCES, "selected"): _("selected preferences"),
    }.get((vary, variant), variant)
