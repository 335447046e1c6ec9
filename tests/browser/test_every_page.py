"""Every page of the site, as all who can come to it see it, by day and night, wide and narrow."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connections
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.urls import reverse

from annotation.models import Claim, Response, StudyItem
from tests.annotation.pages import answered
from tests.browser.looks import NARROW, OF_THE_LOOK, WIDE, bring_axe, faults_of, read_each_kind
from tests.browser.visitors import Walk, everybody
from tests.paths import ROOT

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BY_ACCIDENT = (
    "400.html",
    "403.html",
    "403_csrf.html",
    "500.html",
    "503.html",
    "507.html",
    "refused.html",
    "sign_in_refused.html",
)
"""Pages of faults that no address leads to."""

BASES = {"base.html", "message.html", "admin/base_site.html"}


def watch_what_is_said(page):
    """All that the browser's console says, errors or not, but that a page itself was refused."""
    said = []

    def logged(message):
        itself = message.location.get("url") == page.url and "Failed to load" in message.text
        if not itself:
            said.append(f"console: {message.text} ({message.location.get('url')})")

    page.on("console", logged)
    return said


def look(page):
    """Wide by day with what can be opened open, then narrow by night."""
    page.set_viewport_size(WIDE)
    page.emulate_media(color_scheme="light")
    page.evaluate(
        "document.querySelectorAll('details:not(.menu)').forEach((each) => { each.open = true })"
    )
    read_each_kind(page)
    faults = [f"wide, light: {each}" for each in faults_of(page)]
    page.set_viewport_size(NARROW)
    page.emulate_media(color_scheme="dark")
    return faults + [f"narrow, dark: {each}" for each in faults_of(page, rules=OF_THE_LOOK)]


def whole_pages():
    """Every template that is a page by itself."""
    folder = ROOT / "templates"
    found = [each for each in folder.rglob("*.html") if not each.name.startswith("_")]
    return {each.relative_to(folder).as_posix() for each in found} - BASES


def sign_in(page, client):
    """Have the browser go on with a client's session."""
    kept = client.cookies.get("sessionid")
    page.context.clear_cookies()
    if kept is not None:
        here = page.evaluate("location.origin")
        page.context.add_cookies([{"name": "sessionid", "value": kept.value, "url": here}])


def show(page, html):
    """Show a page that no address leads to, with the site's own style and script."""
    place = "**/by-accident/"
    page.route(place, lambda route: route.fulfill(body=html, content_type="text/html"))
    page.goto("/by-accident/")
    page.unroute(place)


def refused_answer(visitor):
    """What somebody reads who sends what the study does not allow."""
    client = Client()
    client.force_login(visitor.user)
    item = StudyItem.objects.get(claims__in=Claim.objects.filter(item__study__slug="pairs"))
    place = reverse("annotation:answer", args=["pairs", item.pk])
    return client.post(place, answered("NEVER")).content.decode()


def reference_answer(visitor):
    """What somebody reads who holds the leaderboard against a file."""
    client = Client()
    client.force_login(visitor.user)
    names = Response.objects.filter(turn__session__dataset__slug="demo").values_list("model")
    rows = [f"{name},{place}" for place, (name,) in enumerate(names.distinct().order_by("model"))]
    content = "\n".join(["model,score", *rows]).encode()
    place = f"{reverse('benchmark:leaderboard-reference')}?dataset=demo"
    return client.post(place, {"file": SimpleUploadedFile("r.csv", content)}).content.decode()


@pytest.fixture
def tours():
    """Everybody's way through the site: who they are, their session and the pages they came to.

    In a thread of its own, because the browser's keeps an event loop; and before the browser opens
    anything, because Django tells of every template that is used meanwhile.
    """

    def gather():
        try:
            walks = [(visitor, Walk(visitor)) for visitor in everybody()]
            return [(visitor, walk.client, list(walk.pages())) for visitor, walk in walks]
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(gather).result()


def test_no_page_has_a_serious_fault_for_anybody(open_page, tours):
    page = open_page("/sign-in/", quiet=False)  # pages that are refused are among them
    bring_axe(page)
    said = watch_what_is_said(page)
    faults: list[str] = []
    looked_at: dict[tuple[str, str], list[frozenset[tuple[str, str]]]] = {}
    for visitor, client, pages in tours:
        sign_in(page, client)
        for number, found in enumerate(pages):
            same = looked_at.setdefault((found.view, found.template), [])
            if number and any(found.holds <= each for each in same):
                continue  # it holds nothing that was not looked at; the first has their top line
            same.append(found.holds)
            page.goto(found.path)
            here = [*look(page), *said]
            said.clear()
            faults += [f"{visitor.name} at {found.path}: {each}" for each in here]

    known = {visitor.name: visitor for visitor, _client, _pages in tours}
    request = RequestFactory().get("/")
    htmls = {name: render_to_string(name, {}, request) for name in BY_ACCIDENT}
    htmls["annotation/refused.html"] = refused_answer(known["labeller"])
    htmls["benchmark/leaderboard_reference.html"] = reference_answer(known["viewer"])
    for name, html in htmls.items():
        show(page, html)
        faults += [f"{name}: {each}" for each in look(page)]

    assert not faults, "\n".join(faults)
    assert whole_pages() - {template for _view, template in looked_at} - set(htmls) == set(), (
        "nobody came to these: give them an address to start from in tests/browser/visitors.py"
    )
