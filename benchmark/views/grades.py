"""Mean grades by model, as MT-Bench scores them; the graded responses behind them, a file."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    ShareChart,
    ShareRow,
    interval_plot,
    share_chart,
)
from annotation.templatetags.look import decimal
from annotation.views.access import csv_file
from benchmark.core.corrected import MeanEstimate
from benchmark.core.grades import GRADES, GradeMean
from benchmark.forms import asked
from benchmark.forms.ranking import GradeRowsForm, GradesForm
from benchmark.queries.grades import GradesPage, grade_rows, grades_page, opening
from benchmark.queries.kept import fresh, kept
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import FIGURES_ID
from judging.queries.generation import families_of_runs

_HIGHEST: Final = GRADES[1]


@require_safe
@login_required
def grades(request: HttpRequest) -> HttpResponse:
    """MT-Bench's score of each model, by turn and by scenario."""
    require_sees_everyone(request)
    found = kept(grades_page, asked(GradesForm, request.GET).question())
    page = found.page
    context = {
        "kept": found,
        "page": page,
        "scope": page,
        "kin": families_of_runs([page.run.pk] if page.run else []),
        "figures_id": FIGURES_ID,
        "plot": _plot(page),
        "turns": page.turns if len(page.turns) > 1 else (),
        "rows": [
            (
                each,
                [
                    (each.turns.get(turn), _rows_url(page, each.model, turn=turn))
                    for turn in page.turns
                ],
                _rows_url(page, each.model),
            )
            for each in page.models
        ],
        "charts": [(name, _chart(page, name)) for name in page.scenarios]
        if len(page.scenarios) > 1
        else [],
        "scenario_rows": [
            (
                each,
                [
                    (each.scenarios.get(name), _rows_url(page, each.model, scenario=name))
                    for name in page.scenarios
                ],
            )
            for each in page.models
        ],
    }
    is_part = request.headers.get("HX-Target") == FIGURES_ID
    template = "benchmark/_grades.html" if is_part else "benchmark/grades.html"
    return render(request, template, context)


@require_safe
@login_required
def graded_responses(request: HttpRequest) -> HttpResponse:
    """The graded responses behind a mean."""
    require_sees_everyone(request)
    form = asked(GradeRowsForm, request.GET)
    found, rows, page = grade_rows(form.question(), form.wanted(), page=request.GET.get("page", ""))
    context = {
        "found": found,
        "wanted": form.wanted(),
        "page": page,
        "rows": [
            (
                score,
                turn,
                opening(score.response.turn.user_message),
                opening(score.response.text),
                opening(score.call.reply if score.call else score.raw),
            )
            for score, turn in rows
        ],
    }
    return render(request, "benchmark/graded_responses.html", context)


@require_safe
@login_required
def grades_csv(request: HttpRequest) -> HttpResponse:
    """A row for each mean: of a model, of each of its turns, of each of its scenarios."""
    require_sees_everyone(request)
    page = fresh(grades_page, asked(GradesForm, request.GET).question())
    said = {"dataset": page.dataset and page.dataset.slug, "seed": None}  # nothing is drawn
    return csv_file("grades", page.records(), said)


def _rows_url(page: GradesPage, model: str, **more: object) -> str:
    told = {
        "dataset": page.dataset.slug if page.dataset else "",
        "run": page.run.pk if page.run else "",
        "model": model,
        **more,
    }
    return f"{reverse('benchmark:graded-responses')}?{urlencode(told)}"


def _plot(page: GradesPage) -> IntervalPlot:
    """The score of each model with its interval, the best first."""
    rows = [
        IntervalRow(
            label=each.model,
            value=found.value,
            low=found.interval.low if found.interval else None,
            high=found.interval.high if found.interval else None,
            text=_written(found),
            url=_rows_url(page, each.model),
        )
        for each in page.models
        if (found := each.score.mean)
    ]
    return interval_plot(rows, write=lambda value: decimal(value, 1))


def _written(found: MeanEstimate) -> str:
    interval = found.interval
    if interval is None:
        return decimal(found.value)
    return f"{decimal(found.value)} ({decimal(interval.low)} … {decimal(interval.high)})"


def _chart(page: GradesPage, scenario: str) -> ShareChart:
    """The mean of each model in one scenario, as bars that fill the width at the highest grade."""
    rows = [
        ShareRow(
            label=each.model,
            shares=[mean.value / _HIGHEST],
            names=[_("mean grade")],
            css=["c1"],
            text=_written(mean),
            urls=[_rows_url(page, each.model, scenario=scenario)],
        )
        for each in page.models
        if (mean := each.scenarios.get(scenario, _NOTHING).mean)
    ]
    return share_chart(rows, write=lambda share: decimal(_HIGHEST * share))


_NOTHING: Final = GradeMean(None, 0, 0)
