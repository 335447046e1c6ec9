"""What every request passes: whole bodies, no body after HEAD, and an answer to every error."""

from __future__ import annotations

import io
import logging
import sqlite3
import sys
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.core.exceptions import BadRequest
from django.db import DataError, InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware
from django.template.loader import get_template, render_to_string
from django.templatetags.static import static
from django.utils.http import parse_header_parameters
from django.utils.translation import gettext, gettext_lazy
from django.views.decorators.csrf import requires_csrf_token

from annotation.services.disk import is_full
from sensejudge_site.api_errors import shaped


class PackedPages(GZipMiddleware):
    """Pages go out compressed; files that are streamed do not, for that would take longer."""

    def process_response(
        self, request: HttpRequest, response: HttpResponseBase
    ) -> HttpResponseBase:
        """The response, compressed where it is whole and the reader can unpack it."""
        return response if response.streaming else super().process_response(request, response)


class HeadWithoutBody:
    """An application that sends no body where none is asked for.

    Not every server drops it (waitress does not), and then the next answer on the connection is
    read out of it. The head is what it would be for GET; a stream is closed, not read.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        body = self._application(environ, start_response)
        if environ["REQUEST_METHOD"] != "HEAD":
            return body
        close = getattr(body, "close", None)
        if close is not None:
            close()
        return []


_FAULTS_OF_OURS: Final = frozenset({sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE})
"""By these SQLite also names a statement that is wrong; PostgreSQL has other errors for that."""

_UNSTORABLE: Final = frozenset({None, "22003", "22021", "22P02", "22P05"})
"""psycopg's own refusal of NUL; a number out of range; a character or a word that is none."""


def is_unavailable(error: BaseException | None) -> bool:
    """Whether the database is away, locked, full or broken off."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    code = getattr(error.__cause__, "sqlite_errorcode", None)
    return code is None or code & 0xFF not in _FAULTS_OF_OURS


def is_unstorable(error: BaseException | None) -> bool:
    """Whether a value was sent that no column can hold, so that no row can have it either."""
    if isinstance(error, DataError):
        return getattr(error.__cause__, "sqlstate", None) in _UNSTORABLE
    return isinstance(error, OverflowError) and str(error).endswith("SQLite INTEGER")


_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_NO_LENGTH: Final = b"Send the body's length in a Content-Length header.\n"


class CutBodyError(BadRequest):
    """The body ended before the length or the boundary that its header gives; it may not be used.

    It is no OSError: Django takes one for a sender who is gone, and goes on without the form.
    """

    code = "cut_body"
    sentence = gettext_lazy(
        "Only part of your request arrived, so nothing was saved. Go back and send it again."
    )


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class WholeBody(io.BufferedIOBase):
    """A body that ends where its length says, or with `CutBodyError`.

    Args:
        stream: The body as the server hands it on.
        length: Its bytes.
        last: What must stand in it, the last boundary; empty for nothing.
    """

    def __init__(self, stream: _Readable, length: int, last: bytes = b"") -> None:
        self._stream = stream
        self._left = length
        self._last = last
        self._tail = b""

    def readable(self) -> bool:
        """As a file that is open to be read."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """At most `size` bytes, fewer only at the end.

        Raises:
            CutBodyError: the body ended too early.
        """
        wanted = self._left if size is None or size < 0 else min(size, self._left)
        pieces = []
        while wanted:
            piece = self._stream.read(wanted)
            if not piece:
                raise CutBodyError("The request's body is shorter than its Content-Length.")
            pieces.append(piece)
            wanted -= len(piece)
            self._left -= len(piece)
            self._look_for_last(piece)
        return b"".join(pieces)

    def _look_for_last(self, piece: bytes) -> None:
        if not self._last:
            return
        held = self._tail + piece
        if self._last in held:
            self._last = self._tail = b""
            return
        if not self._left:
            raise CutBodyError("The request's body has no last boundary.")
        self._tail = held[1 - len(self._last) :]


class WholeBodies:
    """An application to whose every request a `WholeBody` belongs.

    A body of no stated length cannot be counted, and servers hand on one in chunks that broke off
    as if it were whole: 411.
    """

    def __init__(self, application: WSGIApplication) -> None:
        self._application = application

    def __call__(self, environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request."""
        length = environ.get("CONTENT_LENGTH", "")
        if _has_no_length(environ, length):
            return _refuse(start_response)
        if length.isdecimal():
            last = _last_boundary(environ.get("CONTENT_TYPE", ""))
            environ["wsgi.input"] = WholeBody(environ["wsgi.input"], int(length), last)
        return self._application(environ, start_response)


def _last_boundary(content_type: str) -> bytes:
    """How the body ends; empty where it is no form with files, or does not say."""
    try:
        kind, parameters = parse_header_parameters(content_type)
    except ValueError:  # Django says what is wrong with it
        return b""
    boundary = parameters.get("boundary", "") if kind == "multipart/form-data" else ""
    return f"--{boundary}--".encode("latin-1", "replace") if boundary else b""


def _has_no_length(environ: WSGIEnvironment, length: str) -> bool:
    """Whether a body may follow that nobody can count; in HTTP/2 no header announces one."""
    if "HTTP_TRANSFER_ENCODING" in environ:
        return True
    announced = environ.get("SERVER_PROTOCOL", "").startswith("HTTP/1")
    return not length and not announced and environ["REQUEST_METHOD"] not in _SAFE


def _refuse(start_response: StartResponse) -> list[bytes]:
    status = HTTPStatus.LENGTH_REQUIRED
    headers = [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(_NO_LENGTH))),
    ]
    start_response(f"{status.value} {status.phrase}", headers)
    return [_NO_LENGTH]


_RETRY_SECONDS: Final = 30
_log = logging.getLogger(__name__)


@requires_csrf_token
def bad_request(request: HttpRequest, exception: BaseException) -> HttpResponse:
    """The answer to what was not understood, or did not arrive whole."""
    cut = isinstance(exception, CutBodyError)
    if _is_api(request):
        code, message = "bad_request", gettext("This request could not be read.")
        if cut:
            code, message = CutBodyError.code, str(CutBodyError.sentence)
        return JsonResponse(shaped(code, message), status=HTTPStatus.BAD_REQUEST)
    page = render_to_string("400.html", {"reason": CutBodyError.sentence if cut else ""}, request)
    return HttpResponse(page, status=HTTPStatus.BAD_REQUEST)


def server_error(request: HttpRequest) -> HttpResponse:
    """The answer to our own faults, and to what the database refuses.

    Django calls it while it handles the error, whichever middleware or view that came from. While
    the database is away nothing here reads it.
    """
    error = sys.exc_info()[1]
    if error is not None and is_unstorable(error):
        # It may be a fault of ours after all, where the value was not sent: it is in the log.
        _log.error("Not to be stored: %s", request.path, exc_info=error)
        return bad_request(request, error)
    if isinstance(error, OSError) and is_full(error):
        sentence = gettext("The server's disk is full, so nothing was saved. Try again later.")
        return _answer(request, HTTPStatus.INSUFFICIENT_STORAGE, shaped("disk_full", sentence))
    if is_unavailable(error):
        answer = _answer(
            request,
            HTTPStatus.SERVICE_UNAVAILABLE,
            shaped(
                "unavailable", gettext("The database is not responding. Try again in a minute.")
            ),
        )
        answer.headers["Retry-After"] = str(_RETRY_SECONDS)
        return answer
    return _answer(
        request,
        HTTPStatus.INTERNAL_SERVER_ERROR,
        shaped("server_error", gettext("This is an error on our side, and it has been logged.")),
    )


def _answer(request: HttpRequest, status: HTTPStatus, body: dict[str, object]) -> HttpResponse:
    """That body for the API; a page has no look where the fault is that no file is to be had."""
    if _is_api(request):
        return JsonResponse(body, status=status)
    try:
        files = {"icon": static("icons/favicon.svg"), "stylesheet": static("app.css")}
    except ValueError:
        files = {}
    return HttpResponse(get_template(f"{status.value}.html").render(files), status=status)


def _is_api(request: HttpRequest) -> bool:
    return request.path_info.startswith("/api/v1/")
