"""How attacks sign in: as a browser does, or for a token; from any address, with any headers."""

from __future__ import annotations

import base64
import http.client
import json
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from urllib.parse import urlencode

SIGN_IN = "/sign-in/"
ADMIN = "/admin/login/?next=/admin/"
TOKEN = "/api/v1/token/"
_CSRF = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the seconds until it was there."""

    status: int
    body: str
    seconds: float
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def admitted(self) -> bool:
        """Whether somebody is signed in now, or has a token."""
        if self.status == HTTPStatus.OK:
            return self.body.startswith("{") and "token" in json.loads(self.body)
        return self.status == HTTPStatus.FOUND

    @property
    def refused(self) -> bool:
        """Whether it says that the password was not looked at."""
        return self.status in {HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE}


@dataclass(slots=True)
class Visitor:
    """Somebody with a browser: the address asked, one's own address, headers, cookies."""

    port: int
    host: str = "127.0.0.1"
    source: str = ""
    headers: dict[str, str] = field(default_factory=dict)
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str) -> Answer:
        """Fetch a page."""
        return self._send("GET", path, {})

    def sign_in(self, username: str, password: str, path: str = SIGN_IN) -> Answer:
        """Fetch a sign-in form and send it."""
        return self.send_form(self.csrf(path), username, password, path)

    def csrf(self, path: str = SIGN_IN) -> str:
        """The hidden word of a form; "" where there is none."""
        found = _CSRF.search(self.get(path).body)
        return found[1] if found else ""

    def send_form(self, csrf: str, username: str, password: str, path: str = SIGN_IN) -> Answer:
        """Send a sign-in form that was fetched before."""
        fields = {"csrfmiddlewaretoken": csrf, "username": username, "password": password}
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        return self._send("POST", path, form, urlencode(fields))

    def token(self, username: str, password: str) -> Answer:
        """Ask for a token."""
        word = base64.b64encode(f"{username}:{password}".encode()).decode()
        return self._send("POST", TOKEN, {"Authorization": f"Basic {word}"})

    def _send(
        self, method: str, path: str, headers: Mapping[str, str], body: str | None = None
    ) -> Answer:
        source = (self.source, 0) if self.source else None
        connection = http.client.HTTPConnection(
            self.host, self.port, timeout=60, source_address=source
        )
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        started = time.perf_counter()
        sent = {"Host": "127.0.0.1", "Cookie": cookies, **self.headers, **headers}
        connection.request(method, path, body, sent)
        response = connection.getresponse()
        text = response.read().decode("utf-8", "replace")
        connection.close()
        for cookie in response.headers.get_all("Set-Cookie", []):
            name, _equals, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        seconds = time.perf_counter() - started
        return Answer(response.status, text, seconds, dict(response.headers))
