"""From an invitation to the first pair; and the pages on which managers write the steps between."""

from __future__ import annotations

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import (
    AnnotatorProfile,
    GuidelinesVersion,
    Invitation,
    PairwiseLabel,
    Participation,
    User,
)
from annotation.queries.participants import token_of
from annotation.services.participants import invite
from annotation.services.studies import publish_guidelines
from tests.annotation.entry import do, make_asking_study, make_manager
from tests.browser.labelling import expect_progress, press_answer
from tests.browser.looks import BOTH_LOOKS, assert_accessible
from tests.browser.steps import Steps
from tests.factory import PASSWORD, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def link(study):
    made = invite(
        study=study.slug, by=make_manager(), now=timezone.now(), note="Course 101", places=20
    )
    return f"/join/{token_of(made)}/"


def test_a_newcomer_comes_from_the_link_to_the_first_answer(open_page):
    study = make_asking_study([], items=2, name="Pilot")
    page = open_page(link(study), quiet=False)  # a wrong answer is a 422
    expect(page.get_by_role("heading", name="Pilot")).to_be_visible()
    page.get_by_label("User name").fill("lin")
    page.get_by_label("Display name (optional)").fill("Lin")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    page.get_by_role("button", name="Create account and join").click()

    expect(page.get_by_role("heading", name="Taking part")).to_be_visible()
    page.get_by_label("I have read this, and I agree to take part.").check()
    page.get_by_role("button", name="Agree and continue").click()

    expect(page.get_by_role("heading", name="About you")).to_be_visible()
    page.get_by_label("Female").check()
    page.get_by_label("Age").fill("24")
    page.get_by_label("Field of study or work").select_option("Natural sciences")
    page.get_by_label("Occupation").select_option("Student")
    for group in ("Personality", "Daily interests", "Travel habits", "Dining preferences"):
        page.get_by_role("group", name=group).get_by_role("checkbox").first.check()
    for group in ("Spending habits", "Anything else that fits"):
        page.get_by_role("group", name=group).get_by_label("None of these").check()
    page.get_by_role("button", name="Continue").click()

    expect(page.get_by_role("heading", name="Guidelines")).to_be_visible()
    page.get_by_role("button", name="I have read the guidelines").click()

    page.get_by_label("Always").check()
    page.get_by_label("No", exact=True).check()
    expect(page.get_by_text("A tie is no way out.")).to_have_count(0)
    page.get_by_role("button", name="Submit answers").click()
    expect(page.get_by_text("A tie is no way out.")).to_be_visible()
    expect(page.get_by_label("No", exact=True)).to_be_checked()
    page.get_by_label("Where I have no preference").check()
    page.get_by_role("button", name="Submit answers").click()

    expect(page.get_by_text("All answers are correct.")).to_be_visible()
    expect_progress(page, "0 of 2")
    press_answer(page, "1")
    expect_progress(page, "1 of 2")

    user = User.objects.get(username="lin")
    part = Participation.objects.get(study=study, annotator=user)
    assert part.invitation == Invitation.objects.get()
    assert (part.guidelines_read, part.quiz_attempts) == (1, 2)
    assert AnnotatorProfile.objects.get(user=user).age == "24"
    label = PairwiseLabel.objects.get()
    assert (label.annotator, label.guidelines_version) == (user, 1)


def test_new_guidelines_come_before_the_answer_that_was_not_sent_yet(open_page):
    annotator = make_user()
    study = make_asking_study([annotator], items=2, guidelines="Read both.")
    do(study, annotator, "guidelines")
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    expect_progress(page, "0 of 2")
    publish_guidelines(study=study.slug, text="Read both twice.", since=1, by=make_manager())
    press_answer(page, "1")
    expect(page.get_by_text("Complete the step before the next item")).to_be_visible()
    page.get_by_role("link", name="Continue").click()
    expect(page.locator(".changes ins")).to_have_text("twice")
    page.get_by_role("button", name="I have read the guidelines").click()
    expect_progress(page, "0 of 2")  # the item is there again
    press_answer(page, "1")
    expect_progress(page, "1 of 2")
    assert PairwiseLabel.objects.get().guidelines_version == 2


def test_a_manager_writes_a_quiz_with_the_keyboard(open_page):
    study = make_asking_study([], guidelines="Read.")
    page = open_page(f"/studies/{study.slug}/quiz/edit/", user=make_manager())
    page.get_by_role("button", name="Add question").press("Enter")
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("Is longer better?")
    page.get_by_label("Choice 1", exact=True).fill("No")
    page.get_by_label("Choice 2", exact=True).fill("Yes")
    page.get_by_role("button", name="Add choice").press("Enter")
    expect(page.get_by_label("Choice 3", exact=True)).to_be_focused()
    page.keyboard.type("Mostly")
    page.get_by_label("Choice 1 is correct").press("Space")
    page.get_by_label("Explanation").fill("Length is no merit.")
    page.get_by_label("Choice 3", exact=True).press("Enter")  # stores, and presses no other button
    expect(page.get_by_text("Saved.")).to_be_visible()
    study.refresh_from_db()
    (question,) = study.quiz
    assert question["choices"] == ["No", "Yes", "Mostly"]
    assert (question["answer"], question["explanation"]) == (0, "Length is no merit.")


def test_a_manager_sees_the_guidelines_while_writing_and_publishes_them(open_page):
    study = make_asking_study([], guidelines="Read both.")
    page = open_page(f"/studies/{study.slug}/guidelines/edit/", user=make_manager())
    page.get_by_label("Guidelines").fill("Read **both** twice.")
    expect(page.locator("#preview strong")).to_have_text("both")
    page.get_by_role("button", name="Publish as a new version").click()
    expect(page.get_by_text("Published version 2.")).to_be_visible()
    assert GuidelinesVersion.objects.count() == 2


def test_a_manager_makes_and_withdraws_a_link_on_the_study_s_page(open_page):
    study = make_asking_study([], guidelines="")
    page = open_page(f"/studies/{study.slug}/", user=make_manager())
    block = page.locator("#invitations")
    block.get_by_label("Note").fill("Course 101")
    block.get_by_label("Places").fill("20")
    block.get_by_label("Completion code or address").fill("C0DE")
    steps = Steps()
    steps.click(block.get_by_role("button", name="Create link"))
    address = block.get_by_label("Invitation link Course 101")
    expect(address).to_be_visible()
    assert address.input_value().endswith(f"/join/{token_of(Invitation.objects.get())}/")
    address.click()
    assert page.evaluate("getSelection().toString()") == address.input_value()
    steps.click(block.get_by_role("button", name="Copy").first)
    expect(block.get_by_role("button", name="Copied")).to_be_visible()
    expect(block.get_by_text("C0DE")).to_be_visible()
    assert steps.taken == 2
    expect(block.get_by_text("0 of 20 joined")).to_be_visible()
    block.get_by_text("Withdraw… Course 101").click()
    expect(block.get_by_text("Nobody can join by this link any more.")).to_be_visible()
    block.get_by_role("button", name="Withdraw").click()
    expect(block.get_by_text("withdrawn")).to_be_visible()
    expect(address).to_have_count(0)


@BOTH_LOOKS
def test_the_pages_have_no_serious_fault(open_page, scheme, viewport):
    annotator = make_user()
    study = make_asking_study([annotator])
    look = {"color_scheme": scheme, "viewport": viewport}
    stranger = open_page(link(study), **look)
    assert_accessible(stranger)
    page = open_page("/profile/", user=annotator, **look)
    assert_accessible(page)
    for step in ("consent", "profile", "guidelines", "quiz"):
        page.goto(f"/studies/{study.slug}/{step}/")
        expect(page).to_have_url(
            f"{page.url.partition('/studies')[0]}/studies/{study.slug}/{step}/"
        )
        assert_accessible(page)
        do(study, annotator, step)
    publish_guidelines(study=study.slug, text="Read *all* of it.", since=1, by=make_manager())
    page.goto(f"/studies/{study.slug}/guidelines/")
    expect(page.get_by_role("heading", name="Changes")).to_be_visible()
    assert_accessible(page)
    boss = open_page(f"/studies/{study.slug}/invitations/", user=make_manager(), **look)
    assert_accessible(boss)
    for name in ("guidelines/edit", "guidelines/history", "consent/edit", "quiz/edit"):
        boss.goto(f"/studies/{study.slug}/{name}/")
        assert_accessible(boss)
