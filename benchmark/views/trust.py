"""Can I trust this judge for this annotator? The page, and the rows behind each of its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.charts import BarChart, BarRow, bar_chart
from annotation.core.tables import Row
from annotation.templatetags.look import percent
from annotation.views.access import csv_file, table_asked
from benchmark.core.calibrated import LEVELS, METRICS
from benchmark.core.metrics import MetricName
from benchmark.core.trust import BASE, STACK, Figures, TrustFigures
from benchmark.core.trust_answer import trust_answer
from benchmark.forms import (
    POLICIES,
    RULES,
    RULES_BY_LOG_ODDS,
    RowsForm,
    TrustForm,
    asked,
)
from benchmark.queries.annotators import voice_key
from benchmark.queries.kept import Kept, kept
from benchmark.queries.response_bias import CalibrationPage, calibration_page
from benchmark.queries.rows import NumberOwner, RowsPage, VerdictMatch, evidence_rows
from benchmark.queries.trust import TrustPage, TrustScope, trust_page
from benchmark.views.exports import reader_of, require_sees_everyone
from benchmark.views.figures import (
    FIGURES_ID,
    ConditionRow,
    agreement_plot,
    personal_links,
    queue_query,
    reliability_plot,
    scenario_controls,
    trust_query,
    voice_name,
    voice_rows,
)
from judging.models import RunStatus


@require_safe
@login_required
def trust(request: HttpRequest) -> HttpResponse:
    """The figures of one annotator; to htmx the part below the filters alone.

    Annotators read in two sentences how far the judge decides as they did.
    """
    question = asked(TrustForm, request.GET).question()
    reader = reader_of(request)
    # What an annotator may see changes with what they have answered elsewhere.
    is_whole = reader.only is None
    found = kept(trust_page, question, reader) if is_whole else Kept(trust_page(question, reader))
    is_part = is_whole and _asks_for_figures(request)
    template = "benchmark/_trust.html" if is_part else "benchmark/trust.html"
    return render(request, template, {"kept": found, **_trust_context(found.page)})


def _asks_for_figures(request: HttpRequest) -> bool:
    return request.headers.get("HX-Target") == FIGURES_ID


def _trust_context(page: TrustPage) -> dict[str, Any]:
    context = {
        "page": page,
        "scope": page.scope,
        "rules": RULES_BY_LOG_ODDS if page.scope.run and page.scope.run.by_log_odds else RULES,
        "policies": POLICIES,
        "query": trust_query(page.scope),
        "figures_id": FIGURES_ID,
        "leading": _leading(page),
        "satisfaction": [
            {
                "found": each,
                "is_own": each is page.own_satisfaction,
                "plot": reliability_plot(each.reliability),
            }
            for each in (page.own_satisfaction, page.all_satisfaction)
            if each is not None
        ],
    }
    if page.figures is not None:
        context |= _figures_context(page.figures, page.scope)
        answer = trust_answer(page.figures)
        context["verdict"] = answer and answer.verdict.value
        context["answer"] = answer and answer.sentence(share=percent, translate=_)
        context["stands_in"] = voice_name(page.stands_in)
        run = page.scope.run
        if run is not None and run.status is RunStatus.DONE:
            context["queue"] = queue_query(page.scope, voice_key(run, page.stands_in))
    if page.personal is not None:
        rows_url = reverse("benchmark:trust-rows")
        context["personal_links"] = personal_links(page.personal, page.scope, rows_url)
    return context


def _figures_context(figures: TrustFigures, scope: TrustScope) -> dict[str, Any]:
    rows = voice_rows(figures, scope, reverse("benchmark:trust-rows"))
    own = figures.overall.own
    return {
        "figures": figures,
        "overall": figures.overall,
        "voices": rows,
        "plot": agreement_plot(rows),
        "human_query": trust_query(scope, of="human"),
        "base_query": trust_query(scope, of="base"),
        "selected_query": trust_query(scope, of="selected"),
        "own_query": trust_query(
            scope, of="own" if figures.overall.own.agreement.comparisons else "base"
        ),
        "rule": next((row for row in rows if row.figures == figures.overall.best_rule), None),
        "is_stacked": figures.overall.own.voice == STACK,
        "is_applied": bool(own.agreement.comparisons) and own.voice != BASE,
        "controls": [row.name for row in rows if row.is_control],
        "scenario_rows": [_scenario_row(each, rows, scope) for each in figures.scenarios],
    }


def _scenario_row(
    figures: Figures, voices: list[ConditionRow], scope: TrustScope
) -> dict[str, Any]:
    ids = {each.name: each.id for each in scope.scenarios}
    scenario = str(ids.get(figures.scenario or "", ""))
    rows_url = reverse("benchmark:trust-rows")
    return {
        "figures": figures,
        "url": f"{rows_url}?{trust_query(scope, of='base', scenario=scenario)}",
        "own_url": f"{rows_url}?{trust_query(scope, of='own', scenario=scenario)}",
        "controls": scenario_controls(figures, voices, scope, rows_url),
    }


def _leading(page: TrustPage) -> dict[str, Any] | None:
    """The correlation that an answer about satisfaction rests on: within users where there are."""
    found = page.own_satisfaction or page.all_satisfaction
    if found is None:
        return None
    names = [MetricName.PEARSON] if page.own_satisfaction else [MetricName.WITHIN_USER_PEARSON]
    metrics = [row.calibrated for row in found.metrics if row.name in names]
    return {
        "metric": metrics[0],
        "turns": found.turns,
        "units": found.units,
        "is_own": page.own_satisfaction is not None,
    }


def _rows_title(found: RowsPage) -> str:
    """Whose decisions the rows are."""
    if found.voice is None:
        return gettext("The annotator's labels with a known order")
    if found.behind is NumberOwner.OTHER:
        name = found.voice.annotator
        return gettext("Decided with the preferences of %(name)s") % {"name": name}
    told = {
        NumberOwner.BASE: gettext("Decided by the base judge"),
        NumberOwner.SELECTED: gettext("Decided with the selected preferences"),
        NumberOwner.SHUFFLED: gettext("Decided with preferences from shuffled labels"),
        NumberOwner.OWN: gettext("Decided by the annotator's stand-in"),
    }
    return told.get(found.behind) or voice_name(found.voice)


@require_safe
@login_required
def trust_rows(request: HttpRequest) -> HttpResponse:
    """The comparisons behind a number, with the human's verdict and the judge's decisions."""
    form = asked(RowsForm, request.GET)
    found = evidence_rows(
        form.question(),
        reader_of(request),
        behind=form.behind(),
        outcome=form.outcome_asked(),
        page=request.GET.get("page", ""),
        who=form.cleaned_data["who"],
    )
    context = {
        "found": found,
        "title": _rows_title(found),
        "scope": found.scope,
        "page": found.page,
        "back": trust_query(found.scope),
        "queue": queue_query(found.scope, found.judge) if found.judge else "",
        "outcomes": [(each.value, found.counts[each]) for each in VerdictMatch],
    }
    return render(request, "benchmark/trust_rows.html", context)


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


@require_safe
@login_required
def calibration_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """A table of the page: distributions, reliability, other calibrations, or users."""
    require_sees_everyone(request)
    table = table_asked(request, _CALIBRATION_TABLES)
    found = calibration_page(run_id)
    said = {
        "dataset": found.dataset,
        "judge": found.judge,
        "run": run_id,
        "calibration": found.method.value.lower(),
        "seed": None,  # nothing is drawn
    }
    return csv_file(f"calibration-{run_id}-{table}", _CALIBRATION_TABLES[table](found), said)


def _distributions(found: CalibrationPage) -> Iterator[Row]:
    for scores, counts in asdict(found.histograms).items():
        for level, n in zip(LEVELS, counts, strict=True):
            yield {"scores": scores, "score": level, "n": n}


def _reliability(found: CalibrationPage) -> Iterator[Row]:
    for scores, points in (("raw", found.before), ("calibrated", found.after)):
        for point in points:
            yield {"scores": scores, **asdict(point)}


def _methods(found: CalibrationPage) -> Iterator[Row]:
    for one in found.methods:
        metrics = dict(zip(METRICS, one.metrics, strict=True))
        told = {name.value: metric.value for name, metric in metrics.items()}
        yield {"method": one.method.value.lower(), **told, "mean": one.mean, "n": found.turns}


def _users(found: CalibrationPage) -> Iterator[Row]:
    for name, one in found.users:
        means = {"stated": one.stated, "raw": one.raw, "calibrated": one.calibrated}
        yield {"user": name, **means, "n": one.turns}


_CALIBRATION_TABLES: Final = {
    "distributions": _distributions,
    "reliability": _reliability,
    "methods": _methods,
    "users": _users,
}


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
