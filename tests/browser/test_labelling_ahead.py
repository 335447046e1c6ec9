"""The next pair is ready while this one is read, and is shown only once it is given out."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Claim, ClaimState
from annotation.services.claims import next_task
from tests.annotation.labelling import make_pair_study
from tests.browser.labelling import SETTLED_MS, expect_progress, press_answer, shown_texts
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def open_and_read(open_page, study, annotator):
    """Open the item at hand and stay until what follows it is here."""
    page = open_page("/studies/", user=annotator)
    with page.expect_response("**/ahead/"):
        page.goto(f"/studies/{study.slug}/next/")
    return page


def asked_for(page):
    """What the page asks of the application from now on, by the last part of the address."""
    asked = []

    def note(request):
        if request.resource_type in {"document", "xhr", "fetch"}:
            asked.append(request.url.rstrip("/").rpartition("/")[2])

    page.on("request", note)
    return asked


def at_hand():
    return Claim.objects.filter(state=ClaimState.ACTIVE).get().item.comparison.turn.user_message


def test_the_next_pair_is_shown_without_asking_for_a_page(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=4)
    page = open_and_read(open_page, study, annotator)
    for number, (key, answer) in enumerate((("1", "First"), ("5", "Second")), start=1):
        assert Claim.objects.count() == number  # what is ready is nobody's
        asked = asked_for(page)
        with page.expect_response("**/ahead/"):
            press_answer(page, key)
        expect(page.get_by_text(f"Question {number + 1}?")).to_be_visible()
        expect_progress(page, f"{number} of 4")
        expect(page.locator(".previous")).to_contain_text(f"Saved: {answer}")
        assert asked == ["answer", "ahead"]
        assert page.url.endswith("/next/")
        assert at_hand() == f"Question {number + 1}?"
        texts = shown_texts(page)
        with page.expect_response("**/ahead/"):
            page.reload()
        assert shown_texts(page) == texts
    asked = asked_for(page)
    page.wait_for_timeout(SETTLED_MS)
    page.keyboard.press("s")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Question 4?")).to_be_visible()
    expect_progress(page, "2 of 4 · 1 skipped")
    expect(page.locator(".previous")).to_have_text("Previous: skipped")
    assert asked[0] == "skip"
    assert "next" not in asked
    page.keyboard.press("u")
    expect(page.get_by_text("You can answer it now.")).to_be_visible()


def test_a_pair_that_others_took_meanwhile_is_not_shown(open_page):
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=3)
    page = open_and_read(open_page, study, annotator)
    next_task(study=study.slug, annotator=other, now=timezone.now())
    assert Claim.objects.get(annotator=other).item.position == 1
    page.evaluate(
        "window.seen = []; new MutationObserver(() => seen.push(document.body.innerText))"
        ".observe(document.body, {childList: true, subtree: true})"
    )
    press_answer(page, "1")
    expect(page.get_by_text("Question 3?")).to_be_visible()
    seen = page.evaluate("seen")
    assert seen
    assert not [text for text in seen if "Question 2?" in text]


def test_an_answer_before_the_next_pair_is_ready_goes_on_as_ever(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page("/studies/", user=annotator)
    page.route("**/ahead/", lambda route: None)  # it never comes
    page.goto(f"/studies/{study.slug}/next/")
    press_answer(page, "1")
    expect(page.get_by_text("Question 2?")).to_be_visible()
    expect(page.locator(".previous")).to_contain_text("Saved: First")


def test_the_page_says_what_is_at_hand_when_looking_ahead_fails(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page("/studies/", user=annotator, quiet=False)
    page.route("**/ahead/", lambda route: route.abort())
    page.goto(f"/studies/{study.slug}/next/")
    press_answer(page, "1")
    expect(page.get_by_text("Question 2?")).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)
