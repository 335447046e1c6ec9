"""Requests as bytes on a socket of their own, whole or cut."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

from sensejudge_site.benches.annotate.client import Browser
from sensejudge_site.benches.annotate.site import HOST

FORM: Final = "application/x-www-form-urlencoded"
_PATIENCE: Final = 20.0  # seconds for an answer


@dataclass(frozen=True, slots=True)
class Form:
    """What a browser would send: an address and fields, the last of which holds the long text."""

    path: str
    fields: Mapping[str, str]

    def body(self, token: str) -> bytes:
        """The fields, the CSRF token first."""
        return urlencode({"csrfmiddlewaretoken": token, **self.fields}).encode()


def head(path: str, *, host: str = HOST, browser: Browser | None = None, **headers: str) -> bytes:
    """The head of a POST; in the names of headers, _ stands for -."""
    lines = [f"POST {path} HTTP/1.1", f"Host: {host}"]
    if browser is not None:
        cookies = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
        lines += [f"Cookie: {cookies}", f"X-CSRFToken: {browser.cookies['csrftoken']}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode()


def send(port: int, data: bytes, *, hang_up: bool) -> int | None:
    """Send these bytes and no more; the status of the answer, if any came.

    Args:
        port: of the server on this machine.
        data: the request, or the part of one.
        hang_up: close at once, rather than only say that nothing more is sent.
    """
    with socket.create_connection((HOST, port), timeout=_PATIENCE) as connection:
        connection.sendall(data)
        if hang_up:
            return None
        connection.shutdown(socket.SHUT_WR)
        try:
            answer = connection.recv(4096)
        except OSError:
            return None
        return int(answer.split()[1]) if answer else None
