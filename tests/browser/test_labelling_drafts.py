"""What was entered survives a reload, an expired sign-in and a lost lease."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import AuditEvent, Claim, ClaimState, PairwiseLabel, SatisfactionLabel, Study
from tests.annotation.labelling import make_pair_study, make_session_study
from tests.browser.labelling import SETTLED_MS, expect_progress, press_answer, shown_texts
from tests.factory import PASSWORD, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

RESTORED = "Your unsent answer has been restored."
SIGNED_OUT = "You are no longer signed in."


def checked(page):
    return page.eval_on_selector_all(
        "input:checked:not([value=''])",
        "inputs => inputs.map(input => `${input.name}=${input.value}`)",
    )


def sign_in_again(page, user):
    page.get_by_role("link", name="Sign in to submit it").click()
    page.get_by_label("User name").fill(user.username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("main").get_by_role("button", name="Sign in").click()


def test_ratings_that_were_not_sent_come_back_after_a_reload(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    for key in ("5", "j", "2", "d"):
        page.keyboard.press(key)
    before = checked(page)
    assert len(before) == 3
    page.reload()
    expect(page.get_by_text(RESTORED)).to_be_visible()
    assert checked(page) == before
    expect(page.locator("#rated")).to_have_text("2 of 3 rated")
    expect(page.locator("[data-current]")).to_have_attribute("id", "turn-3")
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert page.evaluate("localStorage.length") == 0
    assert SatisfactionLabel.objects.count() == 3


def test_a_draft_belongs_to_one_item_and_is_back_when_its_skip_is_undone(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    press_answer(page, "b")
    page.reload()
    expect(page.get_by_label("Both bad")).to_be_checked()
    page.keyboard.press("s")
    page.get_by_role("button", name="I cannot judge this").click()
    expect_progress(page, "0 of 2 · 1 skipped")
    expect(page.get_by_label("Both bad")).not_to_be_checked()
    page.get_by_role("button", name="Undo").click()
    expect(page.get_by_label("Both bad")).to_be_checked()


def test_an_answer_to_a_pair_is_sent_after_signing_in_again(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    press_answer(page, "1")
    expect_progress(page, "1 of 3")
    expect(page.get_by_text("Saved: First")).to_be_visible()
    first, second = shown_texts(page)
    page.context.clear_cookies(name="sessionid")
    press_answer(page, "b")
    press_answer(page, "4")
    expect(page.get_by_role("alert")).to_contain_text(SIGNED_OUT)
    expect(page.get_by_text("Saved: First")).to_have_count(0)
    assert shown_texts(page) == [first, second]
    assert PairwiseLabel.objects.count() == 1
    sign_in_again(page, annotator)
    expect_progress(page, "2 of 3")
    label = PairwiseLabel.objects.latest("pk")
    chosen = label.comparison.response_a if label.verdict == "A" else label.comparison.response_b
    assert (chosen.text, label.both_bad) == (second, True)
    assert AuditEvent.objects.count() == 2
    assert page.evaluate("localStorage.length") == 0


def test_an_answer_that_is_no_longer_allowed_is_not_sent_as_another(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], allow_tie=True, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.context.clear_cookies(name="sessionid")
    press_answer(page, "b")
    press_answer(page, "3")
    expect(page.get_by_role("alert")).to_contain_text(SIGNED_OUT)
    Study.objects.update(allow_tie=False)
    sign_in_again(page, annotator)
    expect(page.get_by_text(RESTORED)).to_be_visible()
    page.wait_for_timeout(SETTLED_MS)
    assert not PairwiseLabel.objects.exists()
    expect(page.get_by_label("Both bad")).to_be_checked()


def test_ratings_are_sent_after_signing_in_again(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    for key in ("5", "j", "3", "p"):
        page.keyboard.press(key)
    page.context.clear_cookies()  # the token against forged requests goes too
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(SIGNED_OUT)
    sign_in_again(page, annotator)
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.score, label.reason) for label in labels] == [(5, None), (3, "UNUSABLE")]


def test_nothing_is_sent_in_another_person_s_name(open_page):
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other], items=1, overlap=2, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    press_answer(page, "b")
    page.context.clear_cookies(name="sessionid")
    press_answer(page, "1")
    expect(page.get_by_role("alert")).to_contain_text(SIGNED_OUT)
    sign_in_again(page, other)
    page.goto(f"/studies/{study.slug}/next/")
    expect(page.get_by_label("Both bad")).not_to_be_checked()
    assert not PairwiseLabel.objects.exists()


def test_the_lease_is_renewed_while_the_page_is_open_and_its_loss_is_said(open_page):
    annotator, other = make_user(), make_user()
    study = make_pair_study([annotator, other])
    page = open_page("/studies/", user=annotator, quiet=False)
    page.clock.install()
    page.goto(f"/studies/{study.slug}/next/")
    before = Claim.objects.get().expires_at
    with page.expect_response("**/lease/") as renewed:
        page.clock.fast_forward("05:01")
    assert renewed.value.status == 204
    assert Claim.objects.get().expires_at > before
    Claim.objects.update(state=ClaimState.RELEASED, slot=None)
    Claim.objects.create(
        item=study.items.get(), annotator=other, slot=0, claimed_at=before, expires_at=before
    )
    Claim.objects.filter(annotator=other).update(state=ClaimState.DONE)
    page.clock.fast_forward("05:01")
    expect(page.get_by_role("alert")).to_contain_text("This item is no longer reserved for you")
    Claim.objects.filter(annotator=other).delete()
    with page.expect_response("**/lease/"):
        page.clock.fast_forward("05:01")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.context.clear_cookies(name="sessionid")
    page.clock.fast_forward("05:01")
    expect(page.get_by_role("alert")).to_contain_text(SIGNED_OUT)


def test_signing_out_gives_the_item_back(open_page):
    annotator = make_user()
    study = make_pair_study([annotator])
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.locator("summary", has_text=annotator.username).click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
    assert Claim.objects.get().state == ClaimState.RELEASED
