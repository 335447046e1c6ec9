"""Requests whose body is not whole are refused, whatever server hands them on.

WSGI lets a server pass on a body that broke off: its end looks like any end. So the bytes that are
read are counted against Content-Length, and an end before it is an error; so is one before the
last boundary of a form with files, which Django takes for the end of the file. Nothing is read
before the application reads, and nothing is kept.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.core.exceptions import BadRequest
from django.utils.http import parse_header_parameters
from django.utils.translation import gettext_lazy as _

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_NO_LENGTH: Final = b"Send the body's length in a Content-Length header.\n"


class CutBodyError(BadRequest):
    """The body ended before the length or the boundary that its header gives; it may not be used.

    It is no OSError: Django takes one for a sender who is gone, and goes on without the form.
    """

    code = "cut_body"
    sentence = _(
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
