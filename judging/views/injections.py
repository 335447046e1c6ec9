"""What injected texts did to judges: the checks, one check's rates, the answers behind them."""

from __future__ import annotations

from typing import Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.translation import gettext
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.core.refusals import Refused
from annotation.core.tables import csv_lines, in_blocks
from annotation.exports import ExportFormat
from annotation.views.access import (
    UNPROCESSABLE,
    SignedInRequest,
    download,
    manager_required,
    reader_required,
)
from judging.core.estimates import total_of
from judging.core.injections import ATTEMPTS
from judging.core.repetition import PAPER
from judging.forms.injection import CheckForm
from judging.queries.generation import families_of_judges
from judging.queries.injections import (
    COLUMNS,
    RepetitionFigures,
    RepetitionPage,
    check_figures,
    check_lines,
    lines_of,
    repetition_list,
    repetitions_of,
    trial_list,
    trial_page,
    trial_records,
)
from judging.services.abilities import slow_replies
from judging.services.estimate_tallies import tight_requests
from judging.services.estimates import estimate_all
from judging.services.kinds import plan
from judging.submission import submit
from judging.views.run_starts import say_started

_NEW: Final = "judging/injection_new.html"
_ASKED: Final = ("kind", "language", "outcome", "page")


@require_safe
@reader_required
def checks(request: SignedInRequest) -> HttpResponse:
    """Every check, the newest first, with its rate over all attempts."""
    page = check_lines(request.GET.get("page", ""))
    context = {
        "lines": lines_of(page),
        "repetitions": repetitions_of(page),
        "paper": PAPER,
        "page": page,
        "attempts": len(ATTEMPTS),
    }
    return render(request, "judging/injections.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@manager_required
def new_check(request: SignedInRequest) -> HttpResponse:
    """Choose a judge and pairs; the check runs in a worker."""
    form = CheckForm(request.POST if request.method == "POST" else None)
    if form.is_bound and form.is_valid():
        try:
            started = submit(plan(form.request(by=request.user)))
        except Refused as error:
            form.add_error(None, gettext(error.text))
        else:
            say_started(request, started)
            return redirect("judging:run", run_id=started[0].pk)
    status = UNPROCESSABLE if form.is_bound else 200
    return render(request, _NEW, {"form": form}, status=status)


@require_POST
@manager_required
def estimate(request: SignedInRequest) -> HttpResponse:
    """What a check would ask and cost; nothing is started."""
    form = CheckForm(request.POST)
    context: dict[str, object] = {"form": form}
    if form.is_valid():
        try:
            planned = plan(form.request(by=request.user))
            found, kin = estimate_all(planned), families_of_judges(planned)
            context |= {"estimates": found, "total": total_of(found), "kin": kin}
            context["slow"] = slow_replies(planned)
            context["tight"] = tight_requests(planned)
        except Refused as error:
            context["refusal"] = gettext(error.text)
    elif form.limit:
        context["refusal"] = form.limit
    page = "judging/_run_estimate.html" if request.headers.get("HX-Request") else _NEW
    return render(request, page, context)


@require_safe
@reader_required
def check(request: SignedInRequest, check_id: int) -> HttpResponse:
    """The rates of one check: by kind of attempt and language, or of lists said twice."""
    found = check_figures(check_id)
    if isinstance(found, RepetitionFigures):
        outcome = request.GET.get("outcome", "")
        behind = repetition_list(check_id, outcome=outcome, page=request.GET.get("page", ""))
        context = {"found": found, "check": found.check, "behind": behind, "page": behind.page}
        context |= {"outcome": outcome, "paper": PAPER, "repetitions": [found]}
        return render(request, "judging/repetition_check.html", context)
    return render(request, "judging/injection_check.html", {"found": found, "check": found.check})


@require_safe
@reader_required
def trials(request: SignedInRequest, check_id: int) -> HttpResponse:
    """The attempts behind a rate."""
    asked = {name: request.GET.get(name, "") for name in _ASKED}
    found = trial_list(check_id, **asked)
    context = {"found": found, "check": found.check, "page": found.page, "asked": asked}
    return render(request, "judging/injection_trials.html", context)


@require_safe
@reader_required
def trial(request: SignedInRequest, check_id: int, trial_id: int) -> HttpResponse:
    """One attempt: the pair as the judge saw it, and its raw replies."""
    found = trial_page(check_id, trial_id)
    if isinstance(found, RepetitionPage):
        context = {"found": found, "check": found.row.second.check_run}
        return render(request, "judging/repetition_trial.html", context)
    context = {"found": found, "check": found.row.attempt.check_run}
    return render(request, "judging/injection_trial.html", context)


@require_safe
@reader_required
def trials_csv(_request: SignedInRequest, check_id: int) -> HttpResponseBase:
    """Every answer of a check as a table."""
    records = trial_records(check_id)
    blocks = in_blocks(csv_lines(COLUMNS, records))
    return download(blocks, name=f"injections-{check_id}", format_=ExportFormat.CSV)
