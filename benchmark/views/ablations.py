"""Ablations: the method with one thing varied, variant by variant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.charts import IntervalPlot, IntervalRow, interval_plot
from annotation.core.numbers import number_in
from annotation.core.refusals import Refused
from annotation.models import Dataset
from annotation.templatetags.look import label, percent
from annotation.views.access import UNPROCESSABLE, SignedInRequest, csv_file, manager_required
from benchmark.core.ablation import AblationRow, Vary
from benchmark.core.failures import FailureRow, GoldOutcome
from benchmark.forms import AblationForm
from benchmark.queries.ablations import (
    StoredAblation,
    ablation_numbered,
    ablations_page,
    failure_judgments,
)
from benchmark.services.ablation_runs import estimate_ablation, plan_ablation
from benchmark.submission import submit
from benchmark.templatetags.figures import share_number
from benchmark.views.exports import require_sees_everyone
from benchmark.views.figures import CHANCE
from judging.core.estimates import total_of
from judging.core.rules import JudgePrompt
from judging.models import JudgeRun
from judging.queries.comparisons import with_comparisons
from judging.queries.generation import families_of_endpoints


@dataclass(frozen=True, slots=True)
class AblationRowView:
    """A row with its variant in words."""

    row: AblationRow
    variant: str

    @property
    def who(self) -> str:
        """The annotator, or that these are all together."""
        return self.row.annotator or _("all annotators")


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


@require_safe
@login_required
def ablations_csv(request: HttpRequest) -> HttpResponse:
    """One ablation as a table, with both orders and their mean as the paper prints them."""
    require_sees_everyone(request)
    number = number_in(request.GET.get("report", ""))
    if number is None:
        raise Refused("benchmark:unknown-choice")
    found = ablation_numbered(number)
    said = {
        "dataset": found.dataset,
        "judge": ", ".join(found.judges),
        "run": found.run,
        "vary": found.vary.value,
        "filter_scenario": found.scenario,
        "seed": found.seed,
    }
    return csv_file(f"ablation-{number}", found.records(), said)


@require_safe
@login_required
def ablation_judgments(request: HttpRequest) -> HttpResponse:
    """The judgments behind a share of failures, with the gold answer and the outcome."""
    require_sees_everyone(request)
    report, run = (number_in(request.GET.get(name, "")) for name in ("report", "run"))
    if report is None or run is None:
        raise Refused("benchmark:unknown-choice")
    found = failure_judgments(
        report,
        run=run,
        outcome=request.GET.get("outcome", ""),
        page=request.GET.get("page", ""),
    )
    context = {
        "found": found,
        "page": found.page,
        "outcomes": [(each, found.counts[each]) for each in GoldOutcome],
    }
    return render(request, "benchmark/ablation_judgments.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_ablation(request: SignedInRequest) -> HttpResponse:
    """Choose a dataset, then what to vary; the ablation runs in a worker."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_bound and form.is_valid():
        try:
            run = submit(plan_ablation(form.request(by=request.user)))
        except Refused as error:
            form.add_error(None, _(error.text))
        else:
            say_if_attached(request, run)
            return redirect("judging:run", run_id=run.pk)
    status = UNPROCESSABLE if form is not None and form.is_bound else 200
    return render(request, "benchmark/ablation_new.html", context, status=status)


@require_POST
@manager_required
def estimate_new_ablation(request: SignedInRequest) -> HttpResponse:
    """What an ablation would ask and cost; nothing is started."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_valid():
        try:
            asked = form.request(by=request.user)
            found = estimate_ablation(asked)
            kin = families_of_endpoints(asked.dataset.pk, asked.judges)
            context |= {"estimates": found, "total": total_of(found), "kin": kin}
            context["nothing"] = not found
        except Refused as error:
            context["refusal"] = _(error.text)
    if request.headers.get("HX-Request"):
        return render(request, "judging/_estimate.html", context)
    return render(request, "benchmark/ablation_new.html", context)


def say_if_attached(request: HttpRequest, run: JudgeRun) -> None:
    """Tell that the run that was to be started is under way."""
    if run.attached:
        text = _(
            "An identical run is already in progress. It was opened instead of starting another."
        )
        messages.info(request, text)


def _choice(request: HttpRequest) -> dict[str, Any]:
    """The datasets with comparisons, and the form of the one that was chosen."""
    slug = request.POST.get("dataset") or request.GET.get("dataset", "")
    datasets: list[Dataset] = list(with_comparisons())
    chosen = next((each for each in datasets if each.slug == slug), None)
    form = None
    if chosen is not None:
        data = request.POST if request.method == "POST" else None
        form = AblationForm(data, dataset=chosen)
    return {"datasets": datasets, "chosen": chosen, "form": form}


def _view(report: StoredAblation) -> AblationView:
    rows = tuple(
        AblationRowView(row, variant_name(report.vary, row.variant)) for row in report.rows
    )
    plot = _failure_plot(report.failures) if report.failures else _plot(rows)
    return AblationView(report, label(report.vary), rows, plot)


def _with_ends(share: float | None, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return percent(share)
    return f"{percent(share)} ({share_number(low)} … {share_number(high)})"


def _failure_plot(rows: tuple[FailureRow, ...]) -> IntervalPlot:
    """Shares of failures; a judge that draws lots fails in one half."""
    several = len({row.judge for row in rows}) > 1
    names = [(label(JudgePrompt(row.prompt)), row) for row in rows]
    return interval_plot(
        [
            IntervalRow(
                label=f"{name} · {row.judge}" if several else name,
                value=row.share,
                low=row.low,
                high=row.high,
                text=percent(row.share),
            )
            for name, row in names
        ],
        write=percent,
        reference=CHANCE,
    )


def _plot(rows: tuple[AblationRowView, ...]) -> IntervalPlot:
    several = len({each.row.annotator for each in rows}) > 1
    return interval_plot(
        [
            IntervalRow(
                label=f"{each.variant} · {each.who}" if several else each.variant,
                value=each.row.accuracy,
                low=each.row.low,
                high=each.row.high,
                text=_with_ends(each.row.accuracy, each.row.low, each.row.high),
            )
            for each in rows
        ],
        write=percent,
        reference=CHANCE,
    )


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
        (Vary.PREFERENCES, "stack"): _("weighted vote"),
    }.get((vary, variant), variant)
