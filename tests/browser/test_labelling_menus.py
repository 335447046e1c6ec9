"""While a menu is open, keys are for it alone: none answers the item beneath."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.exports import LABELS
from annotation.models import Claim, PairwiseLabel, SatisfactionLabel
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.browser.labelling import SETTLED_MS, expect_progress, press_answer
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RULES = {"allow_tie": True, "allow_strength": True, "allow_both_bad": True}


@pytest.fixture
def annotator():
    return make_user()


@pytest.fixture
def open_pair(open_page, annotator):
    def open_(**context):
        study = make_pair_study([annotator], items=3, **RULES)
        page = open_page(f"/studies/{study.slug}/next/", user=annotator, **context)
        page.wait_for_timeout(SETTLED_MS)
        return page

    return open_


def flag_menu(page):
    return page.locator(".bar details", has=page.get_by_text("Report a problem"))


@pytest.mark.parametrize("menu", ["Report", "Comment", "Keys", "account"])
def test_no_key_answers_while_a_menu_is_open(open_pair, menu):
    page = open_pair()
    summary = page.locator(".top" if menu == "account" else ".bar").locator("summary")
    if menu != "account":
        summary = summary.filter(has_text=menu)
    summary.click()
    page.locator("details.menu[open] :is(.legend, dt)").first.click()  # no field has the focus
    for key in ("1", "2", "3", "4", "5", "b", "d", "u", "s"):
        page.keyboard.press(key)
    page.wait_for_timeout(SETTLED_MS)
    expect(page.locator("details.menu[open]")).to_have_count(1)
    expect(page.get_by_text("Question 1?")).to_be_visible()
    expect(page.get_by_label("Both bad")).not_to_be_checked()
    assert "diff" not in page.url
    assert not PairwiseLabel.objects.exists()
    assert Claim.objects.get().state == "ACTIVE"


def test_a_flag_is_given_and_its_menu_closed_by_keys(open_pair, annotator):
    page = open_pair()
    menu = flag_menu(page)
    page.keyboard.press("f")
    expect(menu.locator("kbd").filter(has_text="1")).to_be_visible()
    page.keyboard.press("1")
    expect(page.get_by_role("radio", name="The question is unclear")).to_be_checked()
    page.keyboard.press("3")
    expect(page.get_by_role("radio", name="Something is broken")).to_be_checked()
    page.keyboard.press("f")
    expect(menu).not_to_have_attribute("open", "")
    page.keyboard.press("f")
    expect(menu).to_have_attribute("open", "")
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    assert not PairwiseLabel.objects.exists()
    page.keyboard.press("1")
    expect_progress(page, "1 of 3")
    (row,) = LABELS.rows(Claim.objects.first().item.study.dataset)
    assert row["extra"] == {"flag": "FAULTY"}


@pytest.mark.parametrize("menu", ["Report", "Comment", "Skip", "Keys"])
def test_each_menu_closes_by_its_button(open_pair, menu):
    page = open_pair()
    summary = page.locator(".bar summary", has_text=menu)
    summary.click()
    page.locator("details[open]").get_by_role("button", name="Close").click()
    expect(page.locator("details.menu[open]")).to_have_count(0)
    expect(summary).to_be_focused()


def test_enter_saves_the_ratings_after_a_menu_was_open(open_page, annotator):
    study = make_session_study([annotator], turns=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("5")
    for closing in ("f", "Escape"):
        page.keyboard.press("f")
        page.keyboard.press("1")
        page.keyboard.press(closing)
    page.keyboard.press("?")
    page.keyboard.press("Escape")
    page.locator(".bar summary").first.click()
    page.keyboard.press("Escape")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done")).to_be_visible()
    assert SatisfactionLabel.objects.get().score == 5


def test_opening_and_closing_a_menu_scrolls_nothing(open_pair):
    page = open_pair(viewport={"width": 1280, "height": 320})
    page.evaluate("document.querySelector('.resp .prose').append('word '.repeat(2000))")
    page.evaluate("scrollTo(0, 60)")
    for key in "fcs?":
        page.keyboard.press(key)
        expect(page.locator("details.menu[open]")).to_have_count(1)
        page.keyboard.press("Escape")
        expect(page.locator("details.menu[open]")).to_have_count(0)
    assert page.evaluate("scrollY") == 60


def test_enter_in_a_field_sends_no_answer(open_pair):
    page = open_pair()
    page.get_by_label("Both bad").press("Enter")
    page.locator(".bar summary", has_text="Report").click()
    page.get_by_role("radio", name="No problem").press("Enter")
    page.wait_for_timeout(SETTLED_MS)
    expect(flag_menu(page)).not_to_have_attribute("open", "")
    expect(page.get_by_text("Question 1?")).to_be_visible()
    assert not PairwiseLabel.objects.exists()


def test_a_reply_is_flagged_by_keys_that_rate_nothing(open_page, annotator):
    study = make_session_study([annotator], turns=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    turn = page.locator("#turn-1")
    flag = turn.locator(".flag", has_text="Report")
    page.keyboard.press("f")
    for key in ("1", "4", "5", "j", "2"):
        page.keyboard.press(key)
    expect(turn.get_by_role("radio", name="Harmful or private content")).to_be_checked()
    expect(page.locator("#rated")).to_have_text("0 of 2 rated")
    expect(page.locator("#turn-1[data-current]")).to_be_visible()
    page.keyboard.press("f")
    expect(flag).not_to_have_attribute("open", "")
    flag.locator("summary").click()
    turn.get_by_role("button", name="Close").click()
    expect(flag).not_to_have_attribute("open", "")
    for key in ("4", "j", "5", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(each.score, each.extra) for each in labels] == [(4, {"flag": "HARMFUL"}), (5, {})]


def test_a_comment_box_that_was_resized_leaves_no_trace_on_the_next_page(open_pair):
    page = open_pair()
    page.keyboard.press("c")
    page.get_by_label("Comment (optional)").evaluate("box => { box.style.height = '200px'; }")
    page.keyboard.press("Escape")
    press_answer(page, "1")  # a style that htmx copies is a console error, which fails the test
    expect_progress(page, "1 of 3")
    page.wait_for_timeout(SETTLED_MS)
    assert page.locator("#comment").get_attribute("style") is None
