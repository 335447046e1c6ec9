"""The shown tables as CSV."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.tables import Row, csv_lines
from annotation.models import User
from benchmark.core.personal import PersonalRow
from benchmark.core.report import ReportRow
from benchmark.forms import LeaderboardForm, TrustForm, asked
from benchmark.frames import agreement_table
from benchmark.queries.ranking import leaderboard_page
from benchmark.queries.trust import SEED, Reader, asked_report, personal_report, report


def csv_file(name: str, columns: Sequence[str], rows: Iterable[Row]) -> HttpResponse:
    """Rows as a CSV file `name`.csv to be saved."""
    response = HttpResponse(
        "".join(csv_lines(columns, rows)), content_type="text/csv; charset=utf-8"
    )
    response["Content-Disposition"] = f'attachment; filename="{name}.csv"'
    return response


def reader_of(request: HttpRequest) -> Reader:
    """Annotators read figures about themselves alone; everybody else reads all.

    Raises:
        PermissionDenied: nobody is signed in.
    """
    user = request.user
    if not isinstance(user, User):
        raise PermissionDenied
    return Reader(only=None if user.sees_everyone else user.pk)


def require_sees_everyone(request: HttpRequest) -> None:
    """Refuse annotators: models' names and other people's labels are on the page.

    Raises:
        PermissionDenied: an annotator asks.
    """
    if reader_of(request).only is not None:
        raise PermissionDenied(
            _("Annotators cannot see this page: it shows models and other people's answers.")
        )


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
def personal_csv(request: HttpRequest) -> HttpResponse:
    """Whose judge is personal: a row an annotator, under the judge of a trust page."""
    require_sees_everyone(request)
    question = asked(TrustForm, request.GET).question()
    rows = personal_report(question, reader_of(request))
    columns = [field.name for field in fields(PersonalRow)]
    told = (asdict(row) | {"others": ", ".join(row.others)} for row in rows)
    return csv_file("personal", columns, told)


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
