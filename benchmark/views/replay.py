"""Replays: candidates beside the originals, as the paper's tables 8 and 9 and figures 2 to 4."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.charts import (
    IntervalPlot,
    IntervalRow,
    Mark,
    ShareChart,
    ShareRow,
    interval_plot,
    share_chart,
)
from annotation.core.refusals import Refused
from annotation.core.tables import Row
from annotation.models import Dataset
from annotation.templatetags.look import decimal, percent
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    csv_file,
    manager_required,
    table_asked,
)
from benchmark.core.paper_replay import TABLE_8, TABLE_9, PaperReplayRow, stands_beside
from benchmark.core.replay import ReplayScale
from benchmark.core.replay_items import ItemRule
from benchmark.forms import asked
from benchmark.forms.replay import ReplayForm, ReplayRowsForm
from benchmark.queries.replay import (
    ReplayOutcome,
    ReplayRow,
    StoredReplay,
    answer_records,
    answers_page,
    replayable_datasets,
    replays_page,
    stored_replay,
)
from benchmark.services.replay_runs import estimate_replay, plan_replay
from benchmark.submission import submit
from benchmark.views.ablations import say_if_attached
from benchmark.views.exports import require_sees_everyone
from judging.core.estimates import total_of
from judging.core.rules import GenerationContext
from judging.queries.generation import families_of_runs

_NEW: Final = "benchmark/replay_new.html"
_SCORES: Final = ("c2", "c5", "c7", "c6", "c1")
_OUTCOMES: Final = {ReplayOutcome.WIN: "c3", ReplayOutcome.TIE: "c7", ReplayOutcome.LOSS: "c2"}


@require_safe
@login_required
def replays(request: HttpRequest) -> HttpResponse:
    """Every finished replay, the newest first."""
    require_sees_everyone(request)
    found = replays_page(page=request.GET.get("page", ""))
    return render(request, "benchmark/replays.html", {"found": found, "page": found.page})


@require_safe
@login_required
def replay(request: HttpRequest, run_id: int) -> HttpResponse:
    """One replay on a scale, against the originals and against another candidate."""
    found = asked_replay_page(request, run_id)
    candidates = found.candidates
    reference = request.GET.get("reference", "")
    if reference not in candidates:
        reference = _best(found)
    context = {
        "found": found,
        "rule": ItemRule(found.settings["items"].partition(":")[0].upper()),
        "scales": list(ReplayScale),
        "means": _mean_plot(found),
        "shares": _share_plot(found),
        "originals": found.against(""),
        "originals_plot": _pair_plot(found, ""),
        "reference": reference if len(candidates) > 1 else "",
        "others": found.against(reference),
        "others_plot": _pair_plot(found, reference),
        "contexts": [
            [(row, GenerationContext(row.context)) for row in own] for own in found.by_context
        ],
        "score_keys": [(at, css) for at, css in enumerate(_SCORES, start=1)],
        "kin": families_of_runs([found.settings["scoring"]]),
        "outcome_keys": [(outcome, css) for outcome, css in _OUTCOMES.items()],
        "paper_tables": [
            (number, [(row, _beside(row, found)) for row in table])
            for number, table in ((8, TABLE_8), (9, TABLE_9))
        ],
    }
    return render(request, "benchmark/replay.html", context)


def _beside(row: PaperReplayRow, found: StoredReplay) -> list[ReplayRow]:
    """The replay's rows of the same model; none of raw scores, for the paper's are calibrated."""
    if found.scale is ReplayScale.RAW:
        return []
    return [
        each
        for each in found.rows
        if stands_beside(row, model=each.model or each.candidate, context=each.context)
    ]


@require_safe
@login_required
def replay_rows(request: HttpRequest, run_id: int) -> HttpResponse:
    """The answers behind a figure, each beside the reference's, leading to its judgment."""
    found = asked_replay_page(request, run_id)
    wanted = asked(ReplayRowsForm, request.GET).wanted()
    page = answers_page(run_id, wanted, page=request.GET.get("page", ""))
    context = {"found": found, "wanted": wanted, "page": page}
    return render(request, "benchmark/replay_rows.html", context)


@require_safe
@login_required
def replay_csv(request: HttpRequest, run_id: int) -> HttpResponse:
    """A table of a replay (`table`): scores, pairs, or every answer."""
    found = asked_replay_page(request, run_id)
    table = table_asked(request, _TABLES)
    said = {
        "dataset": found.run.dataset.slug,
        "judge": found.settings.get("evaluator_name"),
        "run": run_id,
        "scale": found.scale.value,
        "seed": found.settings["seed"],
    }
    return csv_file(f"replay-{run_id}-{table}", _TABLES[table](found), said)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_replay(request: SignedInRequest) -> HttpResponse:
    """Choose a dataset, then who answers what; candidates answer in a worker."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_bound and form.is_valid():
        try:
            run = submit(plan_replay(form.request(by=request.user)))
        except Refused as error:
            form.add_error(None, _(error.text))
        else:
            say_if_attached(request, run)
            return redirect("judging:run", run_id=run.pk)
    status = UNPROCESSABLE if form is not None and form.is_bound else 200
    return render(request, _NEW, context, status=status)


@require_POST
@manager_required
def estimate_new_replay(request: SignedInRequest) -> HttpResponse:
    """What the candidates and the evaluator would ask and cost; nothing is started."""
    context = _choice(request)
    form = context["form"]
    if form is not None and form.is_valid():
        try:
            estimates = estimate_replay(form.request(by=request.user))
            context |= {"estimates": estimates, "total": total_of(estimates)}
            context["nothing"] = not estimates
        except Refused as error:
            context["refusal"] = _(error.text)
    page = "judging/_estimate.html" if request.headers.get("HX-Request") else _NEW
    return render(request, page, context)


def _choice(request: HttpRequest) -> dict[str, Any]:
    """The datasets whose turns can be replayed, and the form of the one that was chosen."""
    slug = request.POST.get("dataset") or request.GET.get("dataset", "")
    datasets: list[Dataset] = list(replayable_datasets())
    chosen = next((each for each in datasets if each.slug == slug), None)
    data = request.POST if request.method == "POST" else None
    form = None if chosen is None else ReplayForm(data, dataset=chosen)
    return {"datasets": datasets, "chosen": chosen, "form": form}


def asked_replay_page(request: HttpRequest, run_id: int) -> StoredReplay:
    """A finished replay on the scale that the address asks for; 404 where there is none."""
    require_sees_everyone(request)
    scale = request.GET.get("scale") or ReplayScale.CALIBRATED
    found = stored_replay(run_id, scale=ReplayScale(scale)) if scale in set(ReplayScale) else None
    if found is None:
        raise Http404
    return found


def _best(found: StoredReplay) -> str:
    """The candidate with the highest user macro mean, of those that answered the most turns."""
    rows = [row for row in found.rows if not row.is_control]
    best = max(rows, key=lambda row: (row.items, row.means["user"].value), default=None)
    return best.candidate if best else ""


def _short_name(row: ReplayRow) -> str:
    """What a row of scores is called in a chart, where there is little room."""
    if row.role == "control":
        return _("Control (originals)")
    return _("Users' ratings") if row.is_control else row.candidate


def _mean_plot(found: StoredReplay) -> IntervalPlot:
    """The left half of the paper's Figure 2."""
    rows = []
    for row in found.rows:
        figure = row.means["user"]
        text = decimal(figure.value, 2)
        low = high = None
        if figure.interval is not None:
            low, high = figure.interval.low, figure.interval.high
            text = f"{text} ({decimal(low, 2)} … {decimal(high, 2)})"
        css, mark = ("c7", Mark.SQUARE) if row.is_control else ("c1", Mark.CIRCLE)
        rows.append(
            IntervalRow(_short_name(row), figure.value, low, high, text, css, mark, row.is_control)
        )
    control = next((row for row in found.rows if row.role == "control"), None)
    return interval_plot(
        rows,
        write=lambda value: decimal(value, 1),
        reference=control.means["user"].value if control else None,
    )


def _share_plot(found: StoredReplay) -> ShareChart:
    """The right half of the paper's Figure 2."""
    rows = [
        ShareRow(
            label=_short_name(row),
            shares=row.shares,
            names=[str(score) for score in range(1, 6)],
            css=_SCORES,
            text=_("dissatisfied %(share)s") % {"share": percent(row.dissatisfied)},
            urls=[
                "" if row.role == "stated" else _rows_url(found, row.candidate, score=score)
                for score in range(1, 6)
            ],
        )
        for row in found.rows
    ]
    return share_chart(rows, write=percent)


def _pair_plot(found: StoredReplay, reference: str) -> ShareChart:
    """The paper's Figure 3 against the originals, Figure 4 against a candidate."""
    rows = []
    for pair in found.against(reference):
        shares = pair.outcomes["micro"].shares
        rows.append(
            ShareRow(
                label=pair.candidate,
                shares=shares,
                names=[_(outcome.label) for outcome in ReplayOutcome],
                css=list(_OUTCOMES.values()),
                text=" / ".join(percent(share) for share in shares),
                urls=[
                    _rows_url(found, pair.candidate, reference=reference, outcome=outcome)
                    for outcome in ReplayOutcome
                ],
            )
        )
    return share_chart(rows, write=percent)


def _rows_url(found: StoredReplay, candidate: str, **more: object) -> str:
    address = reverse("benchmark:replay-rows", args=[found.run.pk])
    words = {"scale": found.scale, "candidate": candidate, **more}
    return f"{address}?{urlencode({name: str(word) for name, word in words.items() if word != ''})}"


_TABLES: Final[dict[str, Callable[[StoredReplay], Iterable[Row]]]] = {
    "scores": lambda found: (row.record() for row in found.rows),
    "pairs": lambda found: (pair.record() for pair in found.pairs),
    "answers": lambda found: answer_records(found.run.pk),
}
