"""Annotators' browsers without the browser, who label one after another or many at a time."""

from __future__ import annotations

import gzip
import http.client
import math
import re
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from html import unescape
from http import HTTPStatus
from typing import Final
from urllib.parse import urlencode

from annotation.core.refusals import Refused
from sensejudge_site.benches.annotate.site import HOST

_TIMEOUT: Final = 60.0
_BLOCK: Final = 2**18
_FORM_TYPE: Final = "application/x-www-form-urlencoded"
_BOUNDARY: Final = "between-the-parts-of-a-form"
_FORM: Final = re.compile(r'<form[^>]*action="([^"]*/answer/)"[^>]*>(.*?)</form>', re.DOTALL)
_HIDDEN: Final = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)"')
_BUTTON: Final = re.compile(r'<button name="(answer)" value="([^"]*)"')
_ASSET: Final = re.compile(
    r'<(?:link rel="(?:icon|stylesheet)" href|script[^>]* src|img src)="([^"]+)"'
)


@dataclass(frozen=True, slots=True)
class PageReply:
    """What came back: status, decoded body, bytes on the wire, seconds until the last of them."""

    status: int
    body: str
    wire_bytes: int
    seconds: float
    encoding: str


@dataclass(slots=True)
class Browser:
    """One person's connection."""

    port: int
    cookies: dict[str, str] = field(default_factory=dict)
    _connection: http.client.HTTPConnection | None = None

    def get(self, path: str) -> PageReply:
        """Fetch a page, as it is or gzipped."""
        return self._send("GET", path, None)

    def download(self, path: str) -> Iterator[int]:
        """Fetch a file block by block, keeping none; the bytes of each block.

        Raises:
            Refused: it was not answered with a file.
        """
        response = self._ask("GET", path, None)
        if response.status != HTTPStatus.OK:
            response.read()
            message = f"{path} answered {response.status}"
            raise Refused("bench:failed", message)
        while block := response.read(_BLOCK):
            yield len(block)

    def post(self, path: str, fields: dict[str, str]) -> PageReply:
        """Send a form."""
        return self._send("POST", path, urlencode(fields))

    def upload(self, path: str, fields: dict[str, str], file: bytes) -> PageReply:
        """Send the form of a page with its token and a file."""
        token = dict(_HIDDEN.findall(self.get(path).body)).get("csrfmiddlewaretoken", "")
        parts = [
            f'--{_BOUNDARY}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in {"csrfmiddlewaretoken": token, **fields}.items()
        ]
        head = (
            f"--{_BOUNDARY}\r\nContent-Disposition: form-data; "
            'name="file"; filename="rows.jsonl"\r\n\r\n'
        )
        end = f"\r\n--{_BOUNDARY}--\r\n".encode()
        body = b"".join([*(part.encode() for part in parts), head.encode(), file, end])
        return self._send("POST", path, body, f"multipart/form-data; boundary={_BOUNDARY}")

    def sign_in(self, username: str, password: str) -> bool:
        """Through the sign-in page, as everybody."""
        token = dict(_HIDDEN.findall(self.get("/sign-in/").body)).get("csrfmiddlewaretoken", "")
        fields = {"csrfmiddlewaretoken": token, "username": username, "password": password}
        return self.post("/sign-in/", fields).status == HTTPStatus.FOUND

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _send(
        self, method: str, path: str, body: str | bytes | None, content_type: str = _FORM_TYPE
    ) -> PageReply:
        started = time.perf_counter()
        try:
            response = self._ask(method, path, body, content_type)
            data = response.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        seconds = time.perf_counter() - started
        encoding = response.headers.get("Content-Encoding", "")
        text = (gzip.decompress(data) if encoding == "gzip" else data).decode("utf-8", "replace")
        return PageReply(response.status, text, len(data), seconds, encoding)

    def _ask(
        self, method: str, path: str, body: str | bytes | None, content_type: str = _FORM_TYPE
    ) -> http.client.HTTPResponse:
        """Send a request, and keep the cookies of its answer."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(HOST, self.port, timeout=_TIMEOUT)
        headers = {
            "Accept-Encoding": "gzip",
            "Cookie": "; ".join(f"{name}={value}" for name, value in self.cookies.items()),
        }
        if body is not None:
            headers["Content-Type"] = content_type
        self._connection.request(method, path, body, headers)
        response = self._connection.getresponse()
        for cookie in response.headers.get_all("Set-Cookie", []):
            name, _equals, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        return response


@dataclass(frozen=True, slots=True)
class PageForm:
    """The form of a labelling page: where it goes, with its hidden fields and the first button."""

    action: str
    fields: dict[str, str]


def answer_form(page: str) -> PageForm | None:
    """The form of a page that shows a pair; None where there is none, as when nothing is left."""
    found = _FORM.search(page)
    if found is None:
        return None
    action, inside = found.groups()
    button = _BUTTON.search(inside)
    if button is None:
        return None
    pairs = [*_HIDDEN.findall(inside), button.groups()]
    return PageForm(unescape(action), {name: unescape(value) for name, value in pairs})


@dataclass(frozen=True, slots=True)
class Weight:
    """What a page costs to load with an empty cache, gzipped, and in how many requests."""

    wire_bytes: int
    requests: int


def weight_of(browser: Browser, path: str) -> Weight:
    """The page and every file that it names."""
    page = browser.get(path)
    replies = [page, *(browser.get(each) for each in sorted(set(_ASSET.findall(page.body))))]
    return Weight(sum(gzipped(each) for each in replies), len(replies))


def gzipped(reply: PageReply) -> int:
    """Bytes on the wire; of what came uncompressed, what a proxy's gzip makes of it."""
    if reply.encoding:
        return reply.wire_bytes
    return min(reply.wire_bytes, len(gzip.compress(reply.body.encode())))


@dataclass(slots=True)
class LoadCounts:
    """What some annotators saw: seconds a page and an answer took, answers accepted, errors."""

    next_seconds: list[float] = field(default_factory=list)
    submit_seconds: list[float] = field(default_factory=list)
    accepted: int = 0
    errors: int = 0
    wall_seconds: float = 0.0

    def add(self, other: LoadCounts) -> None:
        """Count what somebody else saw at the same time."""
        self.next_seconds += other.next_seconds
        self.submit_seconds += other.submit_seconds
        self.accepted += other.accepted
        self.errors += other.errors

    @property
    def seconds(self) -> list[float]:
        """All requests."""
        return self.next_seconds + self.submit_seconds

    @property
    def requests_per_second(self) -> float:
        """Over the time in which all of them worked."""
        return len(self.seconds) / self.wall_seconds if self.wall_seconds else 0.0


def percentile_ms(seconds: Sequence[float], share: float) -> float:
    """The nearest-rank percentile (share 0-1) in milliseconds; 0 without a request."""
    if not seconds:
        return 0.0
    rank = max(math.ceil(share * len(seconds)), 1)
    return sorted(seconds)[rank - 1] * 1000


def label(browser: Browser, study: str, *, rounds: int, until: float) -> LoadCounts:
    """Ask for an item and answer it, `rounds` times or until the clock says `until`."""
    tally = LoadCounts()
    for _round in range(rounds):
        if time.perf_counter() >= until:
            break
        try:
            if not _one_round(browser, study, tally):
                break
        except (OSError, http.client.HTTPException):
            tally.errors += 1
    return tally


def _one_round(browser: Browser, study: str, tally: LoadCounts) -> bool:
    """One item; whether there may be another."""
    page = browser.get(f"/studies/{study}/next/")
    tally.next_seconds.append(page.seconds)
    if page.status != HTTPStatus.OK:
        tally.errors += 1
        return True
    form = answer_form(page.body)
    if form is None:
        return False
    reply = browser.post(form.action, form.fields)
    tally.submit_seconds.append(reply.seconds)
    if reply.status == HTTPStatus.FOUND:
        tally.accepted += 1
    else:
        tally.errors += 1
    return True


def crowd(
    browsers: Sequence[Browser], study: str, *, rounds: int, limit_seconds: float
) -> LoadCounts:
    """All of them at the same time, each `rounds` items."""
    started = time.perf_counter()
    with ThreadPoolExecutor(len(browsers)) as threads:
        tallies = list(
            threads.map(
                lambda browser: label(browser, study, rounds=rounds, until=started + limit_seconds),
                browsers,
            )
        )
    together = LoadCounts(wall_seconds=time.perf_counter() - started)
    for tally in tallies:
        together.add(tally)
    return together
