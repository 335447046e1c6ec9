"""Requests for the head of an answer alone."""

from __future__ import annotations

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


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
