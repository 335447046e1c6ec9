"""What calibration did to one run's satisfaction scores."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import BarChart, BarRow, bar_chart
from benchmark.core.calibrated import LEVELS
from benchmark.core.recalibration import METRICS
from benchmark.queries.calibration import CalibrationPage, calibration_page
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import reliability_plot


@require_safe
@login_required
def calibration(request: HttpRequest, run_id: int) -> HttpResponse:
    """Distributions and reliability before and after, what fell back, and every user's means."""
    require_sees_everyone(request)
    found = calibration_page(run_id)
    context = {
        "found": found,
        "levels": LEVELS,
        "metrics": METRICS,
        "histograms": _histograms(found),
        "plots": [
            (_("Before"), reliability_plot(found.before)),
            (_("After"), reliability_plot(found.after)),
        ],
    }
    return render(request, "benchmark/calibration.html", context)


def _histograms(
    found: CalibrationPage,
) -> list[tuple[str, str, list[tuple[int, int]], BarChart]]:
    """The three distributions by level, with what leads to their turns and charts on one scale."""
    named = [
        (_("User scores"), "stated", found.histograms.stated, "control"),
        (_("Raw judge scores"), "raw", found.histograms.raw, "c2"),
        (_("Calibrated judge scores"), "calibrated", found.histograms.calibrated, "c1"),
    ]
    highest = max(max(counts) for _name, _column, counts, _css in named)
    return [
        (
            name,
            column,
            list(zip(LEVELS, counts, strict=True)),
            bar_chart(
                [
                    BarRow(label=str(level), value=float(n), text=str(n), css=css)
                    for level, n in zip(LEVELS, counts, strict=True)
                ],
                write=lambda value: f"{value:.0f}",
                plot_height=96.0,
                at_least=float(highest),
            ),
        )
        for name, column, counts, css in named
    ]
