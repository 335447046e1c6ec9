"""The proxy that the documentation tells to put in front of granian."""

from __future__ import annotations

import re
import socket
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from tests import proxy
from tests.paths import ROOT

CONFIG = (ROOT / "docs" / "nginx.conf").read_text(encoding="utf-8")
HEADERS_OF_PROXIES = {
    "X-Forwarded-Host": "",
    "X-Forwarded-Port": "",
    "X-Real-IP": "",
    "Forwarded": "",
    "Via": "",
    "X-Forwarded-For": "127.0.0.3",
    "X-Forwarded-Proto": "https",
    "Host": proxy.NAME,
}
"""What granian is to be told of them, whatever the client says."""

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(
        proxy.NGINX is None or proxy.OPENSSL is None, reason="nginx or openssl is not here"
    ),
]


class Upstream:
    """A server that keeps the first bytes of every request and answers with nothing to read."""

    def __init__(self) -> None:
        self.requests: list[bytes] = []
        self.came = threading.Event()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _address = self._listening.accept()
            except OSError:
                return
            with connection:
                self.requests.append(connection.recv(65_536))
                self.came.set()
                connection.sendall(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")

    def close(self) -> None:
        self._listening.close()


@pytest.fixture
def upstream() -> Iterator[Upstream]:
    server = Upstream()
    yield server
    server.close()


@pytest.fixture
def static() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)  # the workers of a root's nginx are another user
        for each in ("app.0123456789ab.css", "app.css"):
            (folder / each).write_text("body {}")
        yield folder


def asked(port: int, head: str, body: bytes = b"") -> bytes:
    """What comes back through the proxy."""
    with proxy.connected(port, source="127.0.0.3") as connection:
        connection.sendall(head.replace("\n", "\r\n").encode() + body)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
        return answer


def test_nginx_takes_the_configuration(tmp_path):
    main = proxy.configured(tmp_path, CONFIG, port=8443, to=8000, static=tmp_path)
    done = subprocess.run(
        [str(proxy.NGINX), "-t", "-p", str(tmp_path), "-c", str(main)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "warn" not in done.stderr


def test_a_form_may_be_as_long_as_the_site_takes_it():
    (most,) = re.findall(r"^    client_max_body_size (\d+)m;", CONFIG, re.MULTILINE)
    assert int(most) * 2**20 == settings.DATA_UPLOAD_MAX_MEMORY_SIZE


def test_a_request_is_handed_on_once_it_is_whole(upstream, static):
    head = f"POST / HTTP/1.1\nHost: {proxy.NAME}\nConnection: close\nContent-Length: 6\n\n"
    with (
        proxy.proxy(CONFIG, to=upstream.port, static=static) as port,
        proxy.connected(port) as connection,
    ):
        connection.sendall(head.replace("\n", "\r\n").encode() + b"abc")
        assert not upstream.came.wait(0.5)
        connection.sendall(b"def")
        assert upstream.came.wait(10)
    assert upstream.requests[0].endswith(b"\r\n\r\nabcdef")


def test_a_body_in_chunks_gets_its_length(upstream, static):
    head = f"POST / HTTP/1.1\nHost: {proxy.NAME}\nConnection: close\nTransfer-Encoding: chunked\n\n"
    with proxy.proxy(CONFIG, to=upstream.port, static=static) as port:
        asked(port, head, b"3\r\nabc\r\n0\r\n\r\n")
    assert b"content-length: 3\r\n" in upstream.requests[0].lower()
    assert b"transfer-encoding" not in upstream.requests[0].lower()


def test_what_clients_say_of_themselves_goes_no_further(upstream, static):
    forged = "".join(f"{name}: forged\n" for name in HEADERS_OF_PROXIES if name != "Host")
    head = f"GET / HTTP/1.1\nHost: {proxy.NAME}\nConnection: close\n{forged}\n"
    with proxy.proxy(CONFIG, to=upstream.port, static=static) as port:
        asked(port, head)
    lines = upstream.requests[0].decode().split("\r\n")
    told = dict(line.split(": ", 1) for line in lines[1:] if line)
    assert {name: told.get(name, "") for name in HEADERS_OF_PROXIES} == HEADERS_OF_PROXIES


def test_another_name_is_not_served(upstream, static):
    with proxy.proxy(CONFIG, to=upstream.port, static=static) as port:
        answer = asked(port, "GET / HTTP/1.1\nHost: elsewhere.example\nConnection: close\n\n")
    assert answer == b"" or b" 204 " not in answer
    assert not upstream.requests


@pytest.mark.parametrize(
    ("name", "age"), [("app.0123456789ab.css", b"immutable"), ("app.css", b"max-age=60")]
)
def test_static_files_do_not_come_from_the_application(upstream, static, name, age):
    head = f"GET /static/{name} HTTP/1.1\nHost: {proxy.NAME}\nConnection: close\n\n"
    with proxy.proxy(CONFIG, to=upstream.port, static=static) as port:
        answer = asked(port, head)
    assert answer.endswith(b"body {}")
    assert age in answer
    assert not upstream.requests
