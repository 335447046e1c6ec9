"""The password that everybody knows, tried from beyond this machine's own address.

The client always says `Host: 127.0.0.1`. The server listens on another address, on all of them, or
on the loopback behind a proxy that adds the header by which proxies are known.
"""

from __future__ import annotations

import http.client
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

from annotation.core.refusals import Refused
from sensejudge_site.benches.annotate.site import Site
from tests.attacks import Outcome
from tests.attacks._sign_ins import ADMIN, SIGN_IN, Answer, Visitor

LOGINS = ("demo-admin", "demo-manager", "demo-annotator", "demo-viewer")
PASSWORD = "sensejudge-demo"
PROXIES = {
    "Forwarded": "for=192.0.2.7",
    "X-Forwarded-For": "192.0.2.7",
    "X-Forwarded-Host": "127.0.0.1",
    "X-Forwarded-Proto": "https",
    "Via": "1.1 proxy",
}
_MAKE = "from sensejudge_site.demo.accounts import make_logins; make_logins()"


def attack(site: Site) -> Outcome:
    """How many of the attempts from elsewhere were admitted, and how many from here."""
    answers = []
    with site.server(host="0.0.0.0") as server:  # noqa: S104 - of a sandbox, for seconds
        site.manage("shell", "-c", _MAKE)  # while it runs: nothing at the start can know
        for host in ("127.0.0.1", "127.0.0.3"):
            answers += _tried(Visitor(server.port, host=host))
    refused = 0
    try:
        with site.server(host="127.0.0.2") as server:
            answers += _tried(Visitor(server.port, host="127.0.0.2"))
    except Refused:
        refused = 1
    with site.server() as server:
        for name, value in PROXIES.items():
            with _proxy(server.port, name, value) as port:
                answers += _tried(Visitor(port))
        here = _tried(Visitor(server.port))
    admitted = sum(each.admitted for each in answers)
    here_admitted = sum(each.admitted for each in here)
    figures: dict[str, float | str] = {
        "attempts": len(answers),
        "admitted": admitted,
        "server_errors": sum(each.status >= 500 for each in answers),
        "starts_refused": refused,
        "attempts_from_here": len(here),
        "admitted_from_here": here_admitted,
    }
    # From here all may sign in and have a token, and whom the admin console admits.
    return Outcome(held=not admitted and here_admitted >= 2 * len(LOGINS), figures=figures)


def _tried(visitor: Visitor) -> list[Answer]:
    """Every demo user by every way in, each with a browser of its own."""
    answers = []
    for login in LOGINS:
        visitor.cookies = {}
        answers.append(visitor.sign_in(login, PASSWORD, SIGN_IN))
        visitor.cookies = {}
        answers.append(visitor.sign_in(login, PASSWORD, ADMIN))
        visitor.cookies = {}
        answers.append(visitor.token(login, PASSWORD))
    return answers


@contextmanager
def _proxy(port: int, name: str, value: str) -> Iterator[int]:
    """The port of a proxy that passes every header on, and adds one."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._pass_on()

        def do_POST(self) -> None:
            self._pass_on()

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

        def _pass_on(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
            connection.request(self.command, self.path, body, {**self.headers, name: value})
            response = connection.getresponse()
            self.send_response_only(response.status)
            for key, word in response.getheaders():
                if key.lower() not in {"transfer-encoding", "connection"}:
                    self.send_header(key, word)
            self.end_headers()
            self.wfile.write(response.read())
            connection.close()

    proxy = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=proxy.serve_forever)
    thread.start()
    try:
        yield proxy.server_address[1]
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()
