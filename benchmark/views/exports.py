"""The shown tables as CSV, and downloads of what was decided."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields

from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from annotation.core.tables import Row, csv_lines
from annotation.exports import ExportFormat
from annotation.models import User
from annotation.queries.datasets import dataset_of
from annotation.views.access import SignedInRequest, download, reader_required
from benchmark.core.personal import PersonalRow
from benchmark.core.report import ReportRow
from benchmark.exports import EXPORTS
from benchmark.forms import TrustForm, asked
from benchmark.frames import agreement_table
from benchmark.queries.trust import Reader, asked_report, personal_report, report


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
    """One annotator's figures, a row a scenario, as the trust page shows them.

    Of position bias annotators read nothing.
    """
    question = asked(TrustForm, request.GET).question()
    reader = reader_of(request)
    rows = asked_report(question, reader)
    names = [field.name for field in fields(ReportRow)]
    columns = [name for name in names if reader.only is None or "position_bias" not in name]
    told = (asdict(row) for row in rows)
    return csv_file("figures", columns, ({name: row[name] for name in columns} for row in told))


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
@reader_required
def export(_request: SignedInRequest, slug: str, kind: str, format_name: str) -> HttpResponseBase:
    """A download of one kind, for those who see everyone."""
    dataset, format_ = dataset_of(slug), ExportFormat(format_name)
    return download(EXPORTS[kind].blocks(dataset, format_), name=f"{slug}-{kind}", format_=format_)
