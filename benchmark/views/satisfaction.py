"""The verification report of satisfaction evaluators: one table, what is behind it, files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    Mark,
    ScatterPlot,
    interval_plot,
    scatter_plot,
)
from annotation.core.intervals import ends
from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.templatetags.look import decimal, percent
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    csv_file,
    manager_required,
    table_asked,
)
from benchmark.core.learning_curve import CURVE_METRICS, CurveOn, CurvePoint
from benchmark.core.metrics import MetricName
from benchmark.core.paper_satisfaction import TABLE_2, TABLE_3, PaperRow, PublishedRow, ours_beside
from benchmark.core.satisfaction_chances import ChanceBin, ChanceEstimate
from benchmark.core.satisfaction_groups import COLUMNS, GAINED, EvaluatorGain
from benchmark.forms import EvaluationForm
from benchmark.queries.choices import dataset_of
from benchmark.queries.kept import fresh, kept
from benchmark.queries.satisfaction import (
    StoredCurve,
    model_scores,
    satisfaction_scope,
    stored_curve,
)
from benchmark.queries.satisfaction_report import (
    EvaluatorRow,
    SatisfactionReport,
    cells_of,
    evaluations_under_way,
    satisfaction_report,
)
from benchmark.queries.satisfaction_runs import COMPARED, finished_runs, runs_beside
from benchmark.queries.trust import SEED
from benchmark.services.evaluation_runs import estimate_evaluation, plan_evaluation
from benchmark.submission import submit
from benchmark.views.ablations import say_if_attached
from benchmark.views.exports import require_sees_everyone
from judging.core.estimates import total_of
from judging.queries.generation import families_of_judges

DRAWN: Final = f"{MetricName.PEARSON}_expected"
"""What the curve draws: the unrounded score depends on no cut points."""
_NEW: Final = "benchmark/evaluation_new.html"
_MARKS: Final = {
    CurveOn.HELD_OUT: ("c1", Mark.CIRCLE),
    CurveOn.TEST: ("c2", Mark.SQUARE),
}


def curve_plot(points: Sequence[CurvePoint]) -> IntervalPlot:
    """Pearson of the unrounded score by the number of training users."""
    return interval_plot(
        [_curve_row(point) for point in points], write=lambda value: decimal(value, 2)
    )


def _curve_row(point: CurvePoint) -> IntervalRow:
    figure = point.figures[DRAWN]
    interval = figure.interval
    text = decimal(figure.value, 3)
    if interval is not None:
        text = f"{text} ({decimal(interval.low, 2)} … {decimal(interval.high, 2)})"
    css, mark = _MARKS[point.on]
    return IntervalRow(
        label=curve_label(point),
        value=figure.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        text=text,
        css=css,
        mark=mark,
    )


def curve_label(point: CurvePoint) -> str:
    """How many users were learned from, and who is predicted."""
    users = ngettext("%(n)d user", "%(n)d users", point.users) % {"n": point.users}
    on = {CurveOn.HELD_OUT: _("held out"), CurveOn.TEST: _("test users")}[point.on]
    return f"{users}, {on}"


def chance_plot(bins: Sequence[ChanceBin]) -> ScatterPlot:
    """Share of dissatisfied turns against their mean chance; area is the number of turns."""
    points = [(one.chance, one.share, float(one.turns), _chance_text(one)) for one in bins]
    highest = max([one.share for one in bins] + [one.chance for one in bins], default=1.0)
    limit = min(1.0, -(-highest * 5 // 1) / 5)
    return scatter_plot(points, low=0.0, high=limit, write=percent, plot_height=160.0)


def _chance_text(one: ChanceBin) -> str:
    return _("predicted %(chance)s, dissatisfied %(share)s, n = %(n)d") % {
        "chance": percent(one.chance),
        "share": percent(one.share),
        "n": one.turns,
    }


@require_safe
@login_required
def satisfaction(request: HttpRequest) -> HttpResponse:
    """A dataset's newest report, or the one asked for; without one, its finished runs."""
    found = _asked(request)
    scope = satisfaction_scope(
        found.chosen.dataset.slug if found else request.GET.get("dataset", "")
    )
    runs = finished_runs(scope.dataset.id) if scope.dataset else ()
    rows = found.rows if found else ()
    curve = _stored_curve(found) if found else None
    tables = {
        name: [(row, ours) for row in table if (ours := ours_beside(row, rows))]
        for name, table in (("table_2", TABLE_2), ("table_3", TABLE_3))
    }
    context = {
        **tables,
        "found": found,
        "scope": scope,
        "runs": runs,
        "beside": kept(runs_beside, runs, seed=SEED).page if runs and not found else None,
        "compared": COMPARED,
        "gained": GAINED,
        "curve": curve,
        "curve_rows": [
            (curve_label(point), point, [point.figures[name] for name in CURVE_METRICS])
            for point in (curve.points if curve else ())
        ],
        "curve_metrics": CURVE_METRICS,
        "plot": curve_plot(curve.points) if curve else None,
        "under_way": evaluations_under_way(),
    }
    return render(request, "benchmark/satisfaction.html", context)


@require_safe
@login_required
def satisfaction_runs(request: HttpRequest) -> HttpResponse:
    """Finished runs side by side, those asked for or a dataset's; to htmx their tables."""
    require_sees_everyone(request)
    found = kept(runs_beside, _runs_asked(request), seed=SEED)
    context = {"beside": found.page, "kept": found, "compared": COMPARED}
    fragment = request.headers.get("HX-Request") == "true"
    name = "_satisfaction_runs" if fragment else "satisfaction_runs"
    return render(request, f"benchmark/{name}.html", context)


def _runs_asked(request: HttpRequest) -> Sequence[int]:
    asked = [number for each in request.GET.getlist("run") if (number := number_in(each))]
    slug = request.GET.get("dataset", "")
    return asked or (finished_runs(dataset_of(slug).id) if slug else ())


@require_safe
@login_required
def satisfaction_runs_csv(request: HttpRequest) -> HttpResponse:
    """A row for each run, with what it gains over the first on the turns that both scored."""
    require_sees_everyone(request)
    found = fresh(runs_beside, _runs_asked(request), seed=SEED)
    rows = [
        {
            "judge": line.run.judge,
            "asked": line.asked,
            "run": line.run.pk,
            "dataset": line.run.dataset and line.run.dataset.slug,
            "turns": line.turns,
            "users": line.users,
            **cells_of(dict(zip(found.names, line.metrics, strict=True))),
            "shared_turns": line.shared,
            **_gain_cells(line.gains),
        }
        for line in found.lines
    ]
    return csv_file("satisfaction-runs", rows, {"seed": SEED})


def _gain_cells(gains: Sequence[EvaluatorGain]) -> dict[str, object]:
    """None of the first run, nor of one that scored none of its turns."""
    cells: dict[str, object] = {}
    for name, gain in zip(COMPARED, gains, strict=False):
        cells[f"gain_{name}"] = gain.value
        cells |= ends(gain.interval, f"gain_{name}_")
    return cells


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_evaluation(request: SignedInRequest) -> HttpResponse:
    """Choose evaluators and datasets; they are compared in a worker."""
    asked = request.GET.get("test", "")
    form = EvaluationForm(
        request.POST if request.method == "POST" else None,
        initial={"test": asked, "train": asked},
    )
    if form.is_bound and form.is_valid():
        try:
            run = submit(plan_evaluation(form.request(by=request.user)))
        except Refused as error:
            form.add_error(None, _(error.text))
        else:
            say_if_attached(request, run)
            return redirect("judging:run", run_id=run.pk)
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, _NEW, {"form": form}, status=status)


@require_POST
@manager_required
def estimate_new_evaluation(request: SignedInRequest) -> HttpResponse:
    """What the judges would ask and cost; nothing is started."""
    form = EvaluationForm(request.POST)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        try:
            found = estimate_evaluation(form.request(by=request.user))
            context |= {"estimates": found, "total": total_of(found), "nothing": not found}
        except Refused as error:
            context["refusal"] = _(error.text)
    page = "judging/_estimate.html" if request.headers.get("HX-Request") else _NEW
    return render(request, page, context)


@require_safe
@login_required
def satisfaction_evaluator(request: HttpRequest, place: int) -> HttpResponse:
    """One evaluator of a report, by its place from 1: scenarios, users, reasons."""
    found = _asked(request)
    if found is None or not 1 <= place <= len(found.rows):
        raise Http404
    return _evaluator(request, found, found.rows[place - 1])


@require_safe
@login_required
def satisfaction_training(request: HttpRequest) -> HttpResponse:
    """The same for the learned evaluator on its training users, each held out in turn."""
    found = _asked(request)
    if found is None or found.training is None:
        raise Http404
    return _evaluator(request, found, found.training)


@require_safe
@login_required
def models(request: HttpRequest, run_id: int) -> HttpResponse:
    """Mean scores of the candidate responses of a run by model, beside the originals."""
    require_sees_everyone(request)
    found = model_scores(run_id, seed=SEED)
    if found is None:
        raise Http404
    context = {"found": found, "kin": families_of_judges([found.run])}
    return render(request, "benchmark/model_scores.html", context)


@require_safe
@login_required
def models_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """The table of such a run; the control is the original responses."""
    require_sees_everyone(request)
    found = model_scores(run_id, seed=SEED)
    if found is None:
        raise Http404
    rows = [
        {
            "model": row.model,
            "role": "control" if row.is_control else "candidate",
            "responses": row.responses,
            "users": row.users,
            "mean": row.mean,
            **ends(row.interval, "mean_"),
            "satisfied": row.satisfied,
        }
        for row in found.rows
    ]
    said = {
        "dataset": found.run.dataset and found.run.dataset.slug,
        "judge": found.run.judge,
        "run": run_id,
        "seed": found.seed,
    }
    return csv_file(f"models-{run_id}", rows, said)


def _evaluator(request: HttpRequest, found: SatisfactionReport, row: EvaluatorRow) -> HttpResponse:
    chances = row.details.chances
    context = {
        "found": found,
        "row": row,
        "reasons": COLUMNS,
        "plot": chance_plot(chances.bins) if chances else None,
    }
    return render(request, "benchmark/satisfaction_evaluator.html", context)


@require_safe
@login_required
def satisfaction_csv(request: HttpRequest) -> HttpResponse:
    """A table of a report: every figure, or (`table`) gains, scenarios, users or reasons."""
    found = _asked(request)
    table = table_asked(request, (*_TABLES, *_WHOLE_TABLES))
    if table in _WHOLE_TABLES:
        rows = list(_WHOLE_TABLES[table](found)) if found else []
    else:
        rows = [
            {"evaluator": row.name, "setting": row.setting, **cells}
            for row in (found.all_rows if found else ())
            for cells in _TABLES[table](row)
        ]
    name = "satisfaction" if table == "figures" else f"satisfaction-{table}"
    settings = found.chosen.settings if found else {}
    said = {
        "dataset": found and found.chosen.dataset.slug,
        "trained_on": settings.get("train"),
        "report": found and found.chosen.pk,
        "run": found and found.run,
        "seed": found and found.seed,
    }
    return csv_file(name, rows, said)


def _figures(row: EvaluatorRow) -> Iterator[Row]:
    yield row.record()


def _gains(row: EvaluatorRow) -> Iterator[Row]:
    for name, gain in row.details.shown_gains:
        yield {
            "metric": name.value,
            "turns": row.turns,
            "users": row.users,
            "gain": gain.value,
            **ends(gain.interval),
            "p": gain.p,
        }


def _scenarios(row: EvaluatorRow) -> Iterator[Row]:
    for one in row.details.scenarios:
        yield {
            "scenario": one.scenario,
            "turns": one.turns,
            "users": one.users,
            **cells_of(one.metrics),
        }


def _users(row: EvaluatorRow) -> Iterator[Row]:
    for one in row.details.users:
        yield {
            "user": one.name,
            "turns": one.turns,
            "stated": one.stated,
            "predicted": one.predicted,
            **{name: metric.value for name, metric in one.metrics.items()},
        }


def _reasons(row: EvaluatorRow) -> Iterator[Row]:
    for stated, counts in row.details.reason_rows:
        for predicted, turns in zip(COLUMNS, counts, strict=True):
            yield {"stated": stated, "predicted": predicted, "turns": turns}


def _likely(row: EvaluatorRow) -> Iterator[Row]:
    if (likely := row.details.likely) is not None:
        for name in ("accuracy", "top_2", "macro_f1", "gain"):
            one: ChanceEstimate = getattr(likely, name)
            told = {"figure": name, "turns": likely.turns, "value": one.value}
            yield {**told, **ends(one.interval)}
        for name in ("commonest", "commonest_f1"):
            told = {"figure": name, "turns": likely.turns, "value": getattr(likely, name)}
            yield {**told, **ends(None)}


def _chances(row: EvaluatorRow) -> Iterator[Row]:
    if (chances := row.details.chances) is not None:
        for one in chances.bins:
            yield {"turns": one.turns, "mean_chance": one.chance, "share_dissatisfied": one.share}


def _stored_curve(found: SatisfactionReport) -> StoredCurve | None:
    train, test = found.chosen.settings["train"], found.chosen.dataset.slug
    return stored_curve(train=train, test=test, whole=found.whole)


def _curve(found: SatisfactionReport) -> Iterator[Row]:
    curve = _stored_curve(found)
    for point in curve.points if curve else ():
        for name, one in point.figures.items():
            yield {
                "on": point.on.value,
                "users": point.users,
                "draws": point.draws,
                "metric": name,
                "value": one.value,
                **ends(one.interval),
                "lowest_draw": one.lowest,
                "highest_draw": one.highest,
            }


def _paper(found: SatisfactionReport) -> Iterator[Row]:
    for row in TABLE_2:
        for ours in ours_beside(row, found.rows):
            yield {"table": 2, "evaluator": row.evaluator, **_quoted(row, ours)}
    for line in TABLE_3:
        for ours in ours_beside(line, found.rows):
            yield {
                "table": 3,
                "evaluator": f"{line.model}, {line.variant}",
                **_quoted(line, ours),
            }


def _quoted(row: PaperRow | PublishedRow, ours: EvaluatorRow) -> Row:
    return {
        **{f"paper_{name}": getattr(row, name, None) for name in _QUOTED},
        "ours": f"{ours.name}, {ours.setting}",
        **{name: ours.metrics[name].value for name in _QUOTED},
    }


_QUOTED = ("pearson", "spearman", "qwk", "f1_dsat")
_WHOLE_TABLES = {"curve": _curve, "paper": _paper}
_TABLES = {
    "figures": _figures,
    "gains": _gains,
    "scenarios": _scenarios,
    "users": _users,
    "reasons": _reasons,
    "likely": _likely,
    "chances": _chances,
}


def _asked(request: HttpRequest) -> SatisfactionReport | None:
    require_sees_everyone(request)
    return satisfaction_report(
        request.GET.get("report", ""), dataset=request.GET.get("dataset", "")
    )
