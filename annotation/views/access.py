"""Who may see a page, in types and in fact; files, and what is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, Final, ParamSpec

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.views import redirect_to_login
from django.core.exceptions import PermissionDenied
from django.http import FileResponse, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.utils.translation import gettext

from annotation.core.refusals import Refused
from annotation.core.tables import Row, csv_lines
from annotation.exports import Export, ExportFormat
from annotation.exports.folder import PACKED, packed
from annotation.models import Dataset, User
from annotation.services.claims import RefusalCode

UNPROCESSABLE: Final = 422
"""What a form with faults is answered with."""

P = ParamSpec("P")


class SignedInRequest(HttpRequest):
    """A request of somebody who signed in."""

    user: User


def manager_required(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponse],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponse]:
    """Let managers and admins through; send strangers to the sign-in, refuse everybody else."""

    @wraps(view)
    def checked(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_manager:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(checked)


def reader_required(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponseBase],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponseBase]:
    """Let those through who may see everybody's labels and the models' names; refuse annotators."""

    @wraps(view)
    def checked(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.sees_everyone:
            raise PermissionDenied
        return view(request, *args, **kwargs)

    return login_required(checked)


def download(blocks: Iterator[str], *, name: str, format_: ExportFormat) -> StreamingHttpResponse:
    """The blocks as an attachment of this name and format."""
    response = StreamingHttpResponse(
        (block.encode() for block in blocks), content_type=f"{format_.content_type}; charset=utf-8"
    )
    header = content_disposition_header(as_attachment=True, filename=f"{name}.{format_.ending}")
    response.headers["Content-Disposition"] = header or "attachment"
    response.headers["Cache-Control"] = "no-store"
    return response


def whole_export(
    export: Export, dataset: Dataset, format_name: str, *, workers: bool = False
) -> HttpResponseBase:
    """All rows as a text format, or packed: the folder as a zip, or Parquet.

    Raises:
        Refused: there are none, or they cannot be packed so.
    """
    export.check(dataset)
    name = f"{dataset.slug}-{export.kind}"
    if format_name not in PACKED:
        format_ = ExportFormat(format_name)
        return download(
            export.blocks(dataset, format_, workers=workers), name=name, format_=format_
        )
    response = FileResponse(
        packed(export, dataset, format_name),
        as_attachment=True,
        filename=f"{name}.{format_name}",
        content_type=PACKED[format_name],
    )
    response.headers["Cache-Control"] = "no-store"
    return response


def csv_file(name: str, rows: Iterable[Row], said: Row) -> HttpResponse:
    """Figures as a CSV file `name`.csv to be saved, which tells what they are of.

    The last columns are the same in every row: what was `said` of the figures where the rows do not
    say it themselves (dataset, run, judge, filters), and the version that computed them. Without
    rows the file is empty.
    """
    told = [*rows]
    said = {**said, "version": said.get("version", settings.APP_VERSION)}
    columns = dict.fromkeys(column for row in (*told, said) for column in row) if told else ()
    lines = csv_lines([*columns], ({**said, **row} for row in told))
    response = HttpResponse("".join(lines), content_type="text/csv; charset=utf-8")
    header = content_disposition_header(as_attachment=True, filename=f"{name}.csv")
    response.headers["Content-Disposition"] = header or "attachment"
    return response


def table_asked(request: HttpRequest, tables: Iterable[str]) -> str:
    """Which of a page's tables the address asks for; the first where it names none.

    Raises:
        Refused: there is no such table; the sentence says which there are.
    """
    known = [*tables]
    name = request.GET.get("table") or known[0]
    if name not in known:
        raise Refused("export:unknown-table", tables=", ".join(known))
    return name


def refusals(
    view: Callable[Concatenate[SignedInRequest, P], HttpResponse],
) -> Callable[Concatenate[SignedInRequest, P], HttpResponse]:
    """Answer a refusal of the services with its page; what is not one's own does not exist.

    A script that wants no page is refused in one plain sentence.
    """

    @wraps(view)
    def answered(request: SignedInRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not request.user.is_authenticated:
            return _sign_in_first(request, **kwargs)
        try:
            return view(request, *args, **kwargs)
        except Refused as refused:
            if refused.code is RefusalCode.NOT_YOURS:
                raise
            if refused.code is RefusalCode.NOT_READY and request.method != "POST":
                return redirect(f"annotation:{refused.values['step'].value}", kwargs["slug"])
            text, status = gettext(refused.text), refused.status
            if not request.accepts("text/html"):
                return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8")
            context = {"text": text, "slug": kwargs["slug"]}
            page = render(request, "annotation/refused.html", context, status=status)
            if "HX-Boosted" in request.headers:  # who reloads the page goes on
                page["HX-Replace-Url"] = reverse("annotation:next", args=[kwargs["slug"]])
            return page

    return answered


def _sign_in_first(request: SignedInRequest, **place: object) -> HttpResponse:
    """To the sign-in, and from there to the item's page: what was sent cannot be sent again by it.

    A script gets a 401 and no page, so that it keeps what the person typed.
    """
    if "HX-Request" in request.headers or not request.accepts("text/html"):
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED)
    if request.method != "POST":
        return redirect_to_login(request.get_full_path())
    return redirect_to_login(reverse("annotation:item", kwargs=place))
