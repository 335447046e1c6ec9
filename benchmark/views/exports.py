"""The shown tables as CSV."""

from __future__ import annotations

from dataclasses import asdict, fields

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from benchmark.core.report import ReportRow
from benchmark.forms import LeaderboardForm, TrustForm, asked
from benchmark.frames import agreement_table
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
    rows = asked_report(question, reader_of(request))
    columns = [field.name for field in fields(ReportRow)]
    return csv_file("figures", columns, (asdict(row) for row in rows))


@require_safe
@login_required
def agreement_csv(request: HttpRequest) -> HttpResponse:
    """Agreement of every annotator in every scenario, as a wide table."""
    require_sees_everyone(request)
    question = asked(TrustForm, request.GET).question()
    found = report(question.dataset)
    return csv_file(f"agreement-{found.dataset}", *agreement_table(found.rows))


@require_safe
@login_required
def leaderboard_csv(request: HttpRequest) -> HttpResponse:
    """The leaderboards as one table, with whose verdicts they count."""
    require_sees_everyone(request)
    question = asked(LeaderboardForm, request.GET).question()
    page = leaderboard_page(question, seed=SEED)
    rows = [row for board in page.boards for row in board.records()]
    return csv_file("leaderboard", list(rows[0]) if rows else [], rows)
