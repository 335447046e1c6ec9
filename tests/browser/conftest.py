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
    ConsoleMessage,
    Dialog,
    Page,
    Request,
    expect,
    sync_playwright,
)

from annotation.models import User

CHROMIUM = Path("/usr/bin/chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
UNSAFE = "DJANGO_ALLOW_ASYNC_UNSAFE"

expect.set_options(timeout=30_000)  # milliseconds; 5 s is too little on a busy machine


@pytest.fixture(scope="package")
def chromium() -> Iterator[Browser]:
    """The browser. Playwright keeps an event loop running, in which Django wants to be told."""
    if not CHROMIUM.exists():
        pytest.skip(f"no {CHROMIUM} on this machine")
    before = os.environ.get(UNSAFE)
    os.environ[UNSAFE] = "1"
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
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


@pytest.fixture
def open_page(chromium: Browser, live_server: Any) -> Iterator[Callable[..., Page]]:
    """Open a page of the site, signed in as somebody; afterwards, nothing may have gone wrong.

    A console error (a refused script or style is one), an exception, a dialog, or a request to
    another host fails the test. `quiet=False` leaves console errors out: a test of failing requests
    makes some.
    """
    faults: list[str] = []

    def open_(path: str, *, user: User | None = None, quiet: bool = True, **context: Any) -> Page:
        visit = chromium.new_context(base_url=live_server.url, **context)
        if user is not None:
            session = session_of(user)
            visit.add_cookies([{"name": "sessionid", "value": session, "url": live_server.url}])
        page = visit.new_page()
        watch(page, live_server.url, faults)
        if quiet:
            watch_console(page, faults)
        page.goto(path)
        return page

    yield open_
    for context in chromium.contexts:
        context.close()
    assert not faults
