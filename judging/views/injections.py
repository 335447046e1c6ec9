"""What injected texts did to judges: the checks, one check's rates, the answers behind them."""

from __future__ import annotations

from typing import Final

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.core.tables import csv_lines, in_blocks
from annotation.exports import ExportFormat
from annotation.views.access import SignedInRequest, download, reader_required
from judging.core.injections import ATTEMPTS
from judging.queries.injections import (
    COLUMNS,
    check_figures,
    check_lines,
    lines_of,
    trial_list,
    trial_page,
    trial_records,
)

_ASKED: Final = ("kind", "language", "outcome", "page")


@require_safe
@reader_required
def checks(request: SignedInRequest) -> HttpResponse:
    """Every check, the newest first, with its rate over all attempts."""
    page = check_lines(request.GET.get("page", ""))
    context = {"lines": lines_of(page), "page": page, "attempts": len(ATTEMPTS)}
    return render(request, "judging/injections.html", context)


@require_safe
@reader_required
def check(request: SignedInRequest, check_id: int) -> HttpResponse:
    """The rates of one check, by kind of attempt and language."""
    found = check_figures(check_id)
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
    context = {"found": found, "check": found.row.attempt.check_run}
    return render(request, "judging/injection_trial.html", context)


@require_safe
@reader_required
def trials_csv(_request: SignedInRequest, check_id: int) -> HttpResponseBase:
    """Every answer of a check as a table."""
    records = trial_records(check_id)
    blocks = in_blocks(csv_lines(COLUMNS, records))
    return download(blocks, name=f"injections-{check_id}", format_=ExportFormat.CSV)
