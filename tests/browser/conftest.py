"""A real Chromium over the live server; every page is watched for faults while a test runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

from annotation.models import User

BROWSERS = [Path("/usr/bin/chromium-headless-shell"), Path("/usr/bin/chromium")]
"""The first has no window to draw and takes two thirds of the time."""
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
PLAIN: dict[str, Any] = {"color_scheme": "light", "viewport": {"width": 1280, "height": 720}}
"""What of a context can be set anew, as it is elsewhere; who wants more has one of their own."""
UNSAFE = "DJANGO_ALLOW_ASYNC_UNSAFE"

expect.set_options(timeout=30_000)  # milliseconds; 5 s is too little on a busy machine


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser. Playwright keeps an event loop running, in which Django wants to be told."""
    found = next((each for each in BROWSERS if each.exists()), None)
    if found is None:
        pytest.skip(f"no {' or '.join(map(str, BROWSERS))} on this machine")
    before = os.environ.get(UNSAFE)
    os.environ[UNSAFE] = "1"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=FLAGS)
            yield browser
            browser.close()
    finally:
        if before is None:
            del os.environ[UNSAFE]
        else:
            os.environ[UNSAFE] = before


def watch(page: Page, origin: str, faults: list[str]) -> None:
    """Notes exceptions, dialogs and requests to another host."""

    def dismissed(dialog: Dialog) -> None:
        faults.append("a dialog")
        dialog.dismiss()

    def requested(request: Request) -> None:
        if not request.url.startswith((origin, "data:")):
            faults.append(f"request to {request.url}")

    page.on("pageerror", lambda error: faults.append(f"exception: {error}"))
    page.on("dialog", dismissed)
    page.on("request", requested)


def watch_console(page: Page, faults: list[str]) -> None:
    """Notes console errors; a script or style that the content policy refuses is one."""

    def logged(message: ConsoleMessage) -> None:
        if message.type == "error":
            faults.append(f"{message.text} ({message.location.get('url')})")

    page.on("console", logged)


def session_of(user: User) -> str:
    """The key of a session that this user is signed in to, without the sign-in page."""
    client = Client()
    client.force_login(user)
    return client.cookies["sessionid"].value


def begin_visit(chromium: Browser, **options: Any) -> BrowserContext:
    """A context without anything in it, where it can be the last test's, emptied.

    A new context and its page cost a second of processor time. What empties it is what
    Playwright's own runner does between tests: storage, cookies, routes, scripts, the clock.
    """
    if chromium.contexts or options.keys() - PLAIN.keys() - {"base_url"}:
        return chromium.new_context(**options)
    chromium._sync(chromium._impl_obj._new_context_for_reuse(PLAIN | options))
    return chromium.contexts[0]


def end_visits(chromium: Browser) -> None:
    """Closes contexts, but for the one that is kept."""
    for context in chromium.contexts:
        if not context._impl_obj._for_reuse:
            context.close()
    chromium._sync(chromium._impl_obj._disconnect_from_reused_context("the test is over"))


@pytest.fixture
def open_page(chromium: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Open a page of the site, signed in as somebody; afterwards, nothing may have gone wrong.

    A console error (a refused script or style is one), an exception, a dialog, or a request to
    another host fails the test. `quiet=False` leaves console errors out: a test of failing requests
    makes some.
    """
    faults: list[str] = []

    def open_(path: str, *, user: User | None = None, quiet: bool = True, **context: Any) -> Page:
        visit = begin_visit(chromium, base_url=live_server.url, **context)
        if user is not None:
            session = session_of(user)
            visit.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page = visit.pages[0] if visit.pages else visit.new_page()
        watch(page, live_server.url, faults)
        if quiet:
            watch_console(page, faults)
        page.goto(path)
        return page

    yield open_
    end_visits(chromium)
    assert not faults
