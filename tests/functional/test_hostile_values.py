"""Numbers that no column holds and characters that no text may hold, wherever the site takes any.

Everybody's pages are walked. Once for all of them each number of an address, each parameter of a
link and each field of a form is sent with such a value: it is refused or not found, never a fault.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from html import unescape
from html.parser import HTMLParser
from typing import Any
from urllib.parse import parse_qsl, urlencode, urljoin, urlsplit

import pytest
from django.db import transaction
from django.test import Client
from django.urls import NoReverseMatch, Resolver404, resolve, reverse

from annotation.models import User
from tests.browser.visitors import everybody

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif("HOSTILE_VALUES" not in os.environ, reason="takes minutes: make attack"),
]

VALUES = (str(2**63), "1\x00")
ADMINS = re.compile(r"admin:(index|annotation_(study|auditevent|dataset)|judging_(judgerun|model))")
"""Pages of Django's own administration that are tried; the others are made like them."""

USUAL = ("page", "q")
"""Parameters that are tried everywhere, besides those that links and forms have."""

LEAVING = {"sign-out", "admin:logout"}

_LINK = re.compile(r'(?:href|hx-get|action)="([^"#]+)')
_TRIES = 1  # addresses of one view that are walked from, for each visitor


class Forms(HTMLParser):
    """The forms of a page: method, action, fields."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str, dict[str, str]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        if tag == "form":
            action = told.get("action") or told.get("hx-post") or told.get("hx-get") or ""
            method = "post" if "hx-post" in told else told.get("method", "get").lower()
            self.found.append((method, action, {}))
        elif tag in {"input", "select", "textarea", "button"} and told.get("name") and self.found:
            self.found[-1][2].setdefault(told["name"], told.get("value", "1"))


class Prober:
    """One visitor, who sends what nobody should."""

    def __init__(self, user: User | None, sent: set[tuple[str, ...]]) -> None:
        self.client = Client(raise_request_exception=False)
        if user is not None:
            self.client.force_login(user)
        self.faults: list[str] = []
        self.sent = sent
        self._tried: Counter[str] = Counter()

    def walk(self, starts: tuple[str, ...]) -> None:
        waiting, seen = ["/", *starts], set()
        while waiting:
            path = waiting.pop(0)
            view = view_of(path)
            own = "/admin/" in starts and ADMINS.match(view)
            elsewhere = view.startswith("admin:") and not own
            if path in seen or not view or elsewhere or view in LEAVING:
                continue
            seen.add(path)
            self._tried[view] += 1
            if self._tried[view] > _TRIES and path not in starts:
                continue
            answer = self.ask("get", path)
            if answer.headers.get("Location"):
                waiting.append(urljoin(path, answer.headers["Location"]))
            html = "" if answer.streaming else answer.content.decode("utf-8", "replace")
            links = [urljoin(path, unescape(each)) for each in _LINK.findall(html)]
            waiting += [each for each in links if each.startswith("/")]
            for address in {path, *links}:
                self.try_address(address)
            for method, action, fields in Forms(html).found:
                self.try_form(method, urljoin(path, unescape(action) or path), fields)

    def try_address(self, address: str) -> None:
        """Each number of the path, and each parameter, with each value."""
        split = urlsplit(address)
        try:
            match = resolve(split.path)
        except Resolver404:
            return
        for name in match.kwargs:
            for value in VALUES:
                if self.is_new(match.view_name, "path", name, value):
                    self.ask("get", path_with(match, name, value))
        parameters = {**dict.fromkeys(USUAL, "1"), **dict(parse_qsl(split.query))}
        for name in parameters:
            for value in VALUES:
                if self.is_new(match.view_name, "query", name, value):
                    given = {**dict(parse_qsl(split.query)), name: value}
                    self.ask("get", f"{split.path}?{urlencode(given)}")

    def try_form(self, method: str, action: str, fields: dict[str, str]) -> None:
        view = view_of(action)
        if not view or view in LEAVING:
            return
        for name in fields:
            for value in VALUES:
                if self.is_new(view, method, name, value):
                    given = {**fields, name: value}
                    if method == "post":
                        self.ask("post", action, given)
                    else:
                        self.ask("get", f"{urlsplit(action).path}?{urlencode(given)}")

    def is_new(self, *what: str) -> bool:
        new = what not in self.sent
        self.sent.add(what)
        return new

    def ask(self, method: str, path: str, fields: dict[str, str] | None = None) -> Any:
        """One request that leaves nothing behind."""
        with transaction.atomic():
            answer = getattr(self.client, method)(path, fields)
            if method == "post":
                transaction.set_rollback(True)
        if answer.status_code >= 500:
            error = answer.exc_info and answer.exc_info[0]
            self.faults.append(f"{method} {path[:150]} {fields!s:.300}: {error}")
        return answer


def view_of(path: str) -> str:
    try:
        return resolve(urlsplit(path).path).view_name
    except Resolver404:
        return ""


def path_with(match: Any, name: str, value: str) -> str:
    """The address with another value in one place, whether or not the site would make it."""
    mark = {**match.kwargs, name: "987654321"}
    try:
        path = reverse(match.view_name, kwargs=mark)
    except NoReverseMatch:
        path = "/" + match.route
    return path.replace("987654321", value.replace("\x00", "%00"))


def test_no_value_is_a_fault():
    faults: list[str] = []
    sent: set[tuple[str, ...]] = set()
    for visitor in everybody():
        prober = Prober(visitor.user, sent)
        prober.walk(visitor.starts)
        faults += [f"{visitor.name}: {each}" for each in prober.faults]
    assert len(sent) > 1000
    assert not faults, "\n".join(faults)
