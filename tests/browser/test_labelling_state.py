"""The page tells the state of the item in sight, in a place of its own; nothing else moves."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Claim, ClaimState, Participation, Study
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.browser.labelling import SETTLED_MS, expect_progress, press_answer
from tests.factory import make_item, make_response, make_session, make_turn, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

BOXES = """() => [...document.querySelectorAll('.top, .task-status, .dialogue, .resp, .turn, .bar')]
    .map(each => each.getBoundingClientRect()).map(box => [box.x, box.y, box.width, box.height])"""


@pytest.fixture
def annotator():
    return make_user(username="annotator-of-some-length")


def make_sessions(annotator, *, sessions):
    """A study of equal sessions of one turn."""
    study = make_session_study([annotator], turns=1)
    scenario = study.items.get().session.scenario
    for _each in range(sessions - 1):
        session = make_session(scenario, task_context="Plan a trip.")
        make_response(
            make_turn(session, user_message="Question 1?"), text="Reply 1.", original=True
        )
        make_item(study, session=session)
    return study


def state(page):
    return page.locator(".item-state")


def at_hand():
    return set(
        Claim.objects.filter(state=ClaimState.ACTIVE).values_list("item__position", flat=True)
    )


def test_an_earlier_item_tells_its_own_answer(open_page, annotator):
    study = make_pair_study([annotator], items=4)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    expect(state(page)).to_have_text("Unanswered")
    for number, key in enumerate("15", start=1):
        press_answer(page, key)
        expect_progress(page, f"{number} of 4")
    expect(state(page)).to_contain_text("Saved: Second")
    for answer in ("Second", "First"):
        page.keyboard.press("u")
        expect(state(page)).to_contain_text(f"Answered: {answer}")
        expect(page.get_by_text("Saved: ")).to_have_count(0)
    page.get_by_role("link", name="Back to current item").click()
    expect(state(page)).to_contain_text("Unanswered")


@pytest.mark.parametrize("ready", [True, False])
def test_a_skip_is_confirmed_and_undone(open_page, annotator, ready):
    study = make_pair_study([annotator], items=3)
    page = open_page("/studies/", user=annotator)
    if not ready:
        page.route("**/ahead/", lambda route: None)  # the next page is asked for when it is due
    page.goto(f"/studies/{study.slug}/next/")
    press_answer(page, "1")
    expect_progress(page, "1 of 3")
    page.wait_for_timeout(SETTLED_MS)
    page.keyboard.press("s")
    page.keyboard.press("2")
    expect(state(page)).to_contain_text("Previous: skipped")
    expect_progress(page, "1 of 3 · 1 skipped")
    page.keyboard.press("u")
    expect(state(page)).to_contain_text("Skipped")
    page.get_by_role("link", name="Back to current item").click()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Question 2?")).to_be_visible()
    expect(state(page)).to_contain_text("Unanswered")
    expect(state(page)).to_contain_text("Saved: First")
    expect(page.locator(".done-of")).to_have_text("1 of 3")
    assert at_hand() == {1, 2}
    press_answer(page, "5")
    expect(page.get_by_text("Question 3?")).to_be_visible()


@pytest.mark.parametrize("pairs", [True, False])
def test_the_last_skip_is_undone_without_javascript(open_page, annotator, pairs):
    study = make_pair_study([annotator]) if pairs else make_sessions(annotator, sessions=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, java_script_enabled=False)
    page.locator("summary", has_text="Skip").click()
    page.get_by_role("button", name="Another reason").click()
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    expect(page.get_by_text("You skipped the last item.")).to_be_visible()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_text("Question 1?")).to_be_visible()
    expect(page.locator(".done-of")).to_have_text("0 of 1")
    assert at_hand() == {0}


@pytest.mark.parametrize("chinese", [False, True])
@pytest.mark.parametrize("width", [1280, 390, 360])
def test_nothing_moves_whatever_the_state(open_page, annotator, width, chinese):
    study = make_pair_study([annotator], items=4, allow_tie=True, allow_both_bad=True)
    page = open_page("/studies/", user=annotator, viewport={"width": width, "height": 800})
    if chinese:
        page.locator("button[name=language]").click()
        expect(page.locator("html")).to_have_attribute("lang", "zh-hans")
    page.goto(f"/studies/{study.slug}/next/")
    seen = []

    def look(question):
        expect(page.get_by_text(f"Question {question}?")).to_be_visible()
        page.wait_for_timeout(SETTLED_MS)
        seen.append(page.evaluate(BOXES))

    look(1)
    page.keyboard.press("1")
    look(2)
    page.keyboard.press("u")
    look(1)
    page.locator(".item-state a").click()
    look(2)
    page.locator(".bar [data-key=s] summary").click()
    page.keyboard.press("1")
    look(3)
    page.keyboard.press("u")
    look(2)
    page.locator(".item-state a").click()
    look(3)
    page.locator(".item-state button").click()
    look(2)
    assert seen[1:] == seen[:1] * 7
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_an_earlier_session_tells_that_it_is_rated(open_page, annotator):
    study = make_sessions(annotator, sessions=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    expect(state(page)).to_have_text("Unanswered")
    boxes = page.evaluate(BOXES)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(state(page)).to_contain_text("Ratings saved")
    page.wait_for_timeout(SETTLED_MS)
    assert page.evaluate(BOXES) == boxes
    page.keyboard.press("u")
    expect(state(page)).to_contain_text("Answered")
    expect(page.locator(".bar summary", has_text="Skip")).to_have_count(0)
    page.get_by_role("link", name="Back to current item").click()
    page.locator(".bar summary", has_text="Skip").click()
    page.keyboard.press("1")
    expect(state(page)).to_contain_text("Previous: skipped")
    expect_progress(page, "1 of 3 · 1 skipped")
    page.get_by_role("button", name="Undo").click()
    expect(state(page)).to_contain_text("Ratings saved")


def test_what_is_refused_says_why_once_keeps_what_was_typed_and_goes_on_by_a_reload(
    open_page, annotator
):
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.keyboard.press("c")
    page.keyboard.type("Both too long")
    page.keyboard.press("Escape")
    Study.objects.update(status="PAUSED")
    press_answer(page, "1")
    expect(page.get_by_text("This study is paused, so nothing was changed.")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="This study is paused")).to_be_visible()
    Study.objects.update(status="OPEN")
    page.reload()
    expect(page.locator("#comment")).to_have_value("Both too long")


def test_who_was_taken_out_meanwhile_is_not_told_of_the_connection(open_page, annotator):
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.wait_for_timeout(SETTLED_MS)
    Participation.objects.all().delete()
    page.keyboard.press("1")
    expect(page.get_by_role("alert")).to_have_text(
        "This is no longer available to you. Nothing was saved."
    )


def test_going_back_shows_how_far_one_is_now(open_page, annotator):
    make_pair_study([annotator], items=3)
    page = open_page("/studies/", user=annotator)
    page.get_by_role("link", name="Begin").click()
    for number, key in enumerate("15", start=1):
        press_answer(page, key)
        expect_progress(page, f"{number} of 3")
    page.go_back()
    expect_progress(page, "2 of 3")
    page.evaluate("document.querySelector('.done-of').textContent = 'as it was'")
    page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', {persisted: true}))")
    expect_progress(page, "2 of 3")
