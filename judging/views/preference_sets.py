"""A preference set: what was selected, and everything that it was selected on."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.charts import BarChart, BarRow, bar_chart
from annotation.templatetags.look import percent
from annotation.views.access import SignedInRequest
from judging.queries.preference_sets import SetPage, set_page


@require_safe
@login_required
def preference_set(request: SignedInRequest, set_id: int) -> HttpResponse:
    """A selected set with its texts, matrix, trace and null; annotators see their own."""
    found = set_page(set_id, only=request.user.only)
    context = {
        "found": found,
        "chosen": found.chosen,
        "plot": _columns_plot(found),
        "null_plot": _null_plot(found) if found.null else None,
    }
    return render(request, "judging/preference_set.html", context)


def _columns_plot(found: SetPage) -> BarChart:
    """Each column's share of right verdicts on the dev part; the selected ones stand out."""
    rows = [
        BarRow(
            label=str(number),
            value=column.correct / column.answered if column.answered else 0.0,
            text=f"{column.correct}/{column.answered}",
            css="c1" if column.selected else "control",
        )
        for number, column in enumerate(found.columns)
    ]
    return bar_chart(rows, write=percent, plot_height=96.0)


def _null_plot(found: SetPage) -> BarChart:
    """How often flipped labels were fitted how well; what reaches the real figure stands out."""
    rows = [
        BarRow(
            label=f"{bar.accuracy * 100:.0f}",
            value=float(bar.flips),
            text=str(bar.flips),
            css="c1" if bar.reached else "control",
        )
        for bar in found.null
    ]
    return bar_chart(rows, write=_count, plot_height=96.0)


def _count(value: float) -> str:
    return f"{value:.0f}"
