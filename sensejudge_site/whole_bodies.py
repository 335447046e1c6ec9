"""Requests whose body is not whole are refused, whatever server hands them on.

WSGI lets a server pass on a body that broke off: its end looks like any end. So the bytes that are
read are counted against Content-Length, and an end before it is an error. Nothing is read before
the application reads, and nothing is kept.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from http import HTTPStatus
from typing import Final, Protocol
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment

from django.core.exceptions import BadRequest
from django.utils.translation import gettext_lazy as _

_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_NO_LENGTH: Final = b"Send the body's length in a Content-Length header.\n"


class CutBodyError(BadRequest):
    """The body ended before the length that its header gives; nothing of it may be used.

    It is no OSError: Django takes one for a sender who is gone, and goes on without the form.
    """

    code = "cut_body"
    sentence = _(
        "Only part of your request arrived, so nothing was saved. Go back and send it again."
    )


class _Readable(Protocol):
    def read(self, size: int = ..., /) -> bytes: ...


class WholeBody(io.BufferedIOBase):
    """A body that ends where its length says, or with `CutBodyError`."""

    def __init__(self, stream: _Readable, length: int) -> None:
        self._stream = stream
        self._left = length

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
        return b"".join(pieces)


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
            environ["wsgi.input"] = WholeBody(environ["wsgi.input"], int(length))
        return self._application(environ, start_response)


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
