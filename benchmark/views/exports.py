"""The shown tables as CSV."""

from __future__ import annotations

from dataclasses import asdict, fields

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from annotation.queries.datasets import UnknownDatasetError
from benchmark.core.report import ReportRow
from benchmark.forms import LeaderboardForm, TrustForm, asked
from benchmark.frames import agreement_table
from benchmark.queries.choices import UnknownChoiceError
from benchmark.queries.leaderboard import leaderboard_page
from benchmark.queries.report import asked_report, report
from benchmark.queries.trust import SEED
from benchmark.views.files import csv_file
from benchmark.views.readers import reader_of, require_sees_everyone


@require_safe
@login_required
def figures_csv(request: HttpRequest) -> HttpResponse:
    """One annotator's figures, a row a scenario, as the trust page shows them."""
    question = asked(TrustForm, request.GET).question()
    try:
        rows = asked_report(question, reader_of(request))
    except UnknownChoiceError as error:
        raise Http404 from error
    columns = [field.name for field in fields(ReportRow)]
    return csv_file("figures", columns, (asdict(row) for row in rows))


@require_safe
@login_required
def agreement_csv(request: HttpRequest) -> HttpResponse:
    """Agreement of every annotator in every scenario, as a wide table."""
    require_sees_everyone(request)
    question = asked(TrustForm, request.GET).question()
    try:
        found = report(question.dataset)
    except UnknownDatasetError as error:
        raise Http404 from error
    return csv_file(f"agreement-{found.dataset}", *agreement_table(found.rows))


@require_safe
@login_required
def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    """The leaderboards as one table, with whose verdicts they count."""
    require_sees_everyone(request)
    question = asked(LeaderboardForm, request.GET).question()
    try:
        page = leaderboard_page(question, seed=SEED)
    except UnknownChoiceError as error:
        raise Http404 from error
    rows = [row for board in page.boards for row in board.records()]
    return csv_file("leaderboard", list(rows[0]) if rows else [], rows)
