from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.annotation.labelling import make_pair_study, make_session_study
from tests.browser.conftest import PLAIN, end_visits
from tests.browser.looks import BOTH_LOOKS, NARROW, assert_accessible
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RULES = {"allow_tie": True, "allow_strength": True, "allow_both_bad": True}
MARKUP = (
    "# Sort\n\n```python\nprint(sorted([3, 1, 2]))  # " + "long " * 40 + "\n```\n\n$x^2$\n\n"
    "| a | b |\n|--|--:|\n| " + "wide " * 40 + " | 2 |\n\n> quoted\n\n- [link](https://a.example)"
)


def fill_with_markup(study):
    for item in study.items.all():
        turns = [item.comparison.turn] if item.comparison else item.session.turns.all()
        for turn in turns:
            turn.responses.update(text=MARKUP)


@BOTH_LOOKS
def test_what_opens_on_a_labelling_page_has_no_serious_fault(open_page, scheme, viewport):
    annotator = make_user()
    pairs = make_pair_study([annotator], items=2, **RULES)
    session = make_session_study([annotator], turns=2, ask_hallucination=True)
    fill_with_markup(pairs)
    fill_with_markup(session)
    path = f"/studies/{pairs.slug}/next/"
    page = open_page(path, user=annotator, color_scheme=scheme, viewport=viewport)
    for menu in ("Skip", "Report", "Comment"):
        page.locator(".bar summary", has_text=menu).click()
        assert_accessible(page)
    for view in ("raw", "diff"):
        page.goto(f"{path}?{view}")
        assert_accessible(page)
    page.goto(f"/studies/{session.slug}/next/")
    page.locator("#turn-1").get_by_role("radio", name="3 Neutral").check()
    assert_accessible(page)


def test_theme_and_language_are_switched_by_the_server(open_page):
    annotator = make_user()
    page = open_page("/studies/", user=annotator, java_script_enabled=False)
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Dark").click()
    expect(page.locator("html")).to_have_class("theme-dark")
    expect(page.locator("body")).to_have_css("background-color", "rgb(20, 23, 26)")
    page.locator("button[name=language]").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    page.locator(".menu summary").click()
    page.locator("button[name=theme][value=light]").click()
    expect(page.locator("html")).to_have_class("theme-light")


def test_a_printed_page_says_where_it_is_from_and_when(open_page):
    page = open_page("/studies/?status=ACTIVE", user=make_user(role="MANAGER"))
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    line = page.evaluate("getComputedStyle(document.body, '::before').content")
    assert "/studies/?status=ACTIVE" in line
    assert page.evaluate("new Date().getFullYear().toString()") in line


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(open_page):
    page = open_page("/studies/", user=make_user())
    menu = page.locator(".menu")
    menu.locator("summary").click()
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    expect(menu.locator("summary")).to_be_focused()
    menu.locator("summary").click()
    page.get_by_role("heading", name="My studies").click()
    expect(menu).not_to_have_attribute("open", "")


def test_signing_out_ends_at_the_sign_in(open_page):
    page = open_page("/studies/", user=make_user())
    page.locator(".menu summary").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def test_what_one_test_left_in_the_browser_is_gone_in_the_next(chromium, open_page):
    page = open_page("/studies/", user=make_user(), color_scheme="dark", viewport=NARROW)
    page.evaluate("localStorage.left = sessionStorage.left = 'here'")
    page.clock.install(time=0)
    page.route("**/studies/", lambda route: route.abort())
    end_visits(chromium)
    page = open_page("/studies/")
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert page.evaluate("localStorage.left || sessionStorage.left || 'nothing'") == "nothing"
    assert page.evaluate("Date.now()") > 1e12
    assert page.evaluate("innerWidth") == PLAIN["viewport"]["width"]
    assert not page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
