"""Strangers begin to send a form and leave it at that: does anybody else still get a page?"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Final

from sensejudge_site.benches.annotate.site import HOST, Site
from tests import proxy
from tests.attacks import Outcome
from tests.attacks._raw import FORM, head

_ATTACKER: Final = "127.0.0.2"
_COUNTS: Final = (8, 64)
_PATIENCE: Final = 20.0  # seconds until a visitor gives up, while all posts stay half sent
_PAGE: Final = "GET /sign-in/ HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"

Connect = Callable[[str], socket.socket]
"""A connection from an address of this machine."""


def attack(site: Site) -> Outcome:
    """Seconds until a visitor has the sign-in page, at the documented deployment.

    That is `serve`, or granian behind the proxy of docs/nginx.conf; a checkout without that file
    says to open granian as it is, which is measured in any case.
    """
    figures: dict[str, float | str] = {}
    config = site.root / "docs" / "nginx.conf"
    direct = "granian" if site.on_postgres else "serve"
    with site.server() as server:
        figures |= _measured(direct, partial(_direct, server.port), HOST)
    if not site.on_postgres:
        return Outcome(_held(figures), figures)
    if not config.exists():
        return Outcome(_held(figures), {**figures, "proxy": "none is documented"})
    if proxy.NGINX is None or proxy.OPENSSL is None:
        left_out = "the deployment behind the proxy: nginx or openssl is not on this machine"
        return Outcome(held=True, figures={**figures, "left_out": left_out})
    behind = site.having(ALLOWED_HOSTS=f"{proxy.NAME},{HOST}")
    static = Path(site.env["SENSEJUDGE_VAR"]) / "static"
    text = config.read_text(encoding="utf-8")
    with behind.server() as server, proxy.proxy(text, to=server.port, static=static) as port:
        behind_figures = _measured("proxy", partial(_through, port), proxy.NAME)
    return Outcome(_held(behind_figures), {**figures, **behind_figures})


def _held(figures: dict[str, float | str]) -> bool:
    """Whether every visitor got the page; how fast a busy machine is says nothing."""
    return all(isinstance(each, float) and each < _PATIENCE for each in figures.values())


def _direct(port: int, source: str) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=_PATIENCE, source_address=(source, 0))


def _through(port: int, source: str) -> socket.socket:
    return proxy.connected(port, source=source, timeout=_PATIENCE)


def _measured(name: str, connect: Connect, host: str) -> dict[str, float | str]:
    return {f"{name}_{count}_seconds": _seconds(count, connect, host) for count in (0, *_COUNTS)}


def _seconds(count: int, connect: Connect, host: str) -> float:
    """Until the page is there, while so many posts are half sent; `_PATIENCE` if it never is."""
    cookie = f"csrftoken={'a' * 32}"  # without one the form is refused unread
    beginning = head(
        "/sign-in/", host=host, Content_Type=FORM, Content_Length="1000", Cookie=cookie
    )
    beginning += b"username="
    with ExitStack() as held:
        for _number in range(count):
            held.enter_context(connect(_ATTACKER)).sendall(beginning)
        time.sleep(1.0)  # they have all arrived
        started = time.perf_counter()
        try:
            with connect(HOST) as visitor:
                visitor.sendall(_PAGE.format(host=host).encode())
                page = bytearray()
                while piece := visitor.recv(65_536):
                    page += piece
        except OSError:
            return _PATIENCE
        seconds = round(time.perf_counter() - started, 3)
    return seconds if b" 200 OK\r\n" in page[:100] else _PATIENCE
