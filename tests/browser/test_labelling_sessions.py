from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.exports import SATISFACTION
from annotation.models import Response, SatisfactionLabel, SessionQuestionnaire
from tests.annotation.labelling import make_session_study
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def exported(study):
    rows = SATISFACTION.rows(study.dataset)
    return [(row["annotator"], row["turn"], row["score"], row["reason"]) for row in rows]


def reasons(page, turn):
    return page.locator(f"#turn-{turn} .reason")


def choose(page, turn, name):
    page.locator(f"#turn-{turn}").get_by_role("radio", name=name).check()


def test_a_person_rates_a_session_with_the_keyboard(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=4)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    rated = page.locator("#rated")
    expect(rated).to_have_text("0 of 4 rated")
    for key in ("5", "j", "2", "d", "j", "1", "k", "j", "3", "r", "j", "4"):
        page.keyboard.press(key)
    expect(rated).to_have_text("4 of 4 rated")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    name = annotator.username
    assert exported(study) == [
        (name, 1, 5, None),
        (name, 2, 2, "INSUFFICIENT_DETAIL"),
        (name, 3, 3, "REQUIREMENT_UNMET"),
        (name, 4, 4, None),
    ]


def test_a_turn_is_shown_only_once_the_one_before_it_is_rated(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=3, ask_questionnaire=True, reveal_turns=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    shown = page.locator("[data-turn]:visible")
    expect(shown).to_have_count(1)
    page.keyboard.press("j")  # there is nowhere to go yet
    expect(page.locator("#turn-1[data-current]")).to_be_visible()
    page.keyboard.press("4")
    expect(shown).to_have_count(2)
    for key in ("j", "2", "d", "j"):
        page.keyboard.press(key)
    expect(page.locator("#turn-3[data-current]")).to_be_visible()
    expect(page.locator("#questionnaire")).to_be_hidden()
    expect(page.locator("#rated")).to_have_text("2 of 3 rated")
    for key in "5j1j1j1j1":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert [row[2:] for row in exported(study)] == [
        (4, None),
        (2, "INSUFFICIENT_DETAIL"),
        (5, None),
    ]


def test_twelve_turns_and_the_questions_after_them_are_answered_by_keys_alone(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=12, ask_questionnaire=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    given = [(5, ""), (3, "d"), (2, "v"), (1, "r"), (4, ""), (3, "p"), (2, "o"), (5, "")] * 2
    for score, reason in given[:12]:
        for key in (str(score), reason, "j"):
            if key:
                page.keyboard.press(key)
    for key in "1j1j1j1":
        page.keyboard.press(key)
    expect(page.locator("#rated")).to_have_text("12 of 12 rated")
    # Second thoughts on turns 2, 3 and 5: a reason goes with the score that asked for it.
    for key in "k" * 14 + "5j4jj3v":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    reason_of = {
        "": None,
        "d": "INSUFFICIENT_DETAIL",
        "v": "INSUFFICIENT_DIVERSITY",
        "r": "REQUIREMENT_UNMET",
        "p": "UNUSABLE",
        "o": "OTHER",
    }
    final = [given[0], (5, ""), (4, ""), given[3], (3, "v"), *given[5:12]]
    assert [row[2:] for row in exported(study)] == [
        (score, reason_of[reason]) for score, reason in final
    ]
    assert len(SessionQuestionnaire.objects.get().answers) == 4


def test_the_reason_is_asked_for_exactly_at_three_and_below(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    expect(reasons(page, 1)).to_be_hidden()
    for score in "123":
        page.keyboard.press(score)
        expect(reasons(page, 1)).to_be_visible()
    page.keyboard.press("Enter")  # the reason is asked for, nothing is sent
    expect(page.locator("#rated")).to_have_text("Still open: Turn 1")
    assert not SatisfactionLabel.objects.exists()
    page.keyboard.press("o")
    expect(page.get_by_role("radio", name="Other")).to_be_checked()
    expect(page.locator("#rated")).to_have_text("1 of 1 rated")
    page.keyboard.press("4")
    expect(reasons(page, 1)).to_be_hidden()
    page.keyboard.press("d")  # no reason to give: the key does nothing
    page.keyboard.press("3")
    expect(page.get_by_role("radio", name="Other")).not_to_be_checked()
    page.keyboard.press("p")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert exported(study) == [(annotator.username, 1, 3, "UNUSABLE")]


def test_the_questions_about_the_conversation_are_answered_by_keys(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2, ask_questionnaire=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    for key in ("5", "j", "4", "j", "1", "j", "2", "j", "3"):
        page.keyboard.press(key)
    expect(page.locator("#rated")).to_have_text("2 of 2 rated")
    page.keyboard.press("Enter")  # one question is open: the browser holds the form back
    assert not SatisfactionLabel.objects.exists()
    for key in ("j", "1", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    answers = SessionQuestionnaire.objects.get().answers
    assert [each["option"] for each in answers] == ["No", "Fair", "Not usable", "Varied"]


def test_each_turn_is_measured_while_one_is_at_it(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    page = open_page("/studies/", user=annotator)
    page.clock.install()
    page.goto(f"/studies/{study.slug}/next/")
    page.clock.run_for(10_000)
    page.keyboard.press("5")
    page.keyboard.press("j")
    page.clock.run_for(20_000)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    first, second = SatisfactionLabel.objects.order_by("response__turn__position")
    assert first.active_seconds == pytest.approx(10, abs=4)
    assert second.active_seconds == pytest.approx(20, abs=4)
    assert first.input_device == second.input_device == "KEYBOARD"


def test_every_turn_must_be_rated_before_anything_is_sent(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("5")
    page.get_by_role("button", name="Save ratings").click()
    assert page.url.endswith("/next/")
    assert not SatisfactionLabel.objects.exists()


def test_hallucination_has_its_keys(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=1, ask_hallucination=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("4")
    page.keyboard.press("n")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert SatisfactionLabel.objects.get().hallucination == "NO"


def test_a_rating_is_changed_afterwards(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Back to last item").click()
    expect(page.get_by_role("radio", name="5 Very satisfied")).to_be_checked()
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    label = SatisfactionLabel.objects.get()
    assert (label.score, label.edits) == (4, 1)


def test_a_session_is_rated_without_javascript(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    page = open_page(
        f"/studies/{study.slug}/next/", user=annotator, java_script_enabled=False, quiet=False
    )
    choose(page, 1, "5 Very satisfied")
    choose(page, 2, "3 Neutral")
    expect(reasons(page, 1)).to_be_hidden()
    expect(reasons(page, 2)).to_be_visible()
    page.get_by_role("button", name="Save ratings").click()
    expect(page.get_by_text("Choose the main reason.", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="reply 2")).to_be_visible()
    expect(page.locator("#turn-1").get_by_role("radio", name="5")).to_be_checked()
    assert not SatisfactionLabel.objects.exists()
    choose(page, 2, "Not enough variety")
    page.get_by_role("button", name="Save ratings").click()
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert [row[2:] for row in exported(study)] == [(5, None), (3, "INSUFFICIENT_DIVERSITY")]


def test_raw_text_is_fetched_once_and_put_away_again(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    Response.objects.filter(turn__position=1).update(text="**bold** text")
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for key in ("5", "j"):
        page.keyboard.press(key)
    link = page.locator("#turn-2").get_by_role("link", name="raw")
    link.click()
    raw = page.locator("#turn-2 pre.raw")
    expect(raw).to_have_text("**bold** text")
    expect(link).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("4")  # keys still rate the reply one is at
    expect(page.locator("#rated")).to_have_text("2 of 2 rated")
    link.click()
    expect(raw).to_be_hidden()
    link.click()
    expect(raw).to_be_visible()
    assert len([url for url in asked if url.endswith("/raw/")]) == 1


def test_raw_text_that_cannot_be_had_is_told(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.route("**/raw/", lambda route: route.abort())
    page.get_by_role("link", name="raw").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_raw_text_is_no_sign_in_page_where_the_sign_in_expired(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.context.clear_cookies(name="sessionid")
    page.get_by_role("link", name="raw").click()
    expect(page.get_by_role("alert")).to_contain_text("You are no longer signed in.")
    expect(page.locator("pre.raw")).to_have_count(0)


def test_turns_are_left_by_capitals_too_but_not_while_a_reason_to_skip_is_asked_for(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    current = page.locator("[data-current]")
    for key, turn in (("J", "turn-2"), ("j", "turn-3"), ("K", "turn-2")):
        page.keyboard.press(key)
        expect(current).to_have_attribute("id", turn)
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="I cannot judge this")).to_be_focused()
    page.keyboard.press("j")
    expect(current).to_have_attribute("id", "turn-2")


def test_a_reply_is_flagged_by_keys_and_the_flag_survives_a_reload(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    for key in ("5", "j", "f"):
        page.keyboard.press(key)
    flag = page.locator("#turn-2").get_by_role("radio", name="The question is unclear")
    expect(page.locator("#turn-2").get_by_role("radio", name="No problem")).to_be_focused()
    page.keyboard.press("1")
    expect(flag).to_be_checked()
    page.keyboard.press("Escape")
    expect(flag).to_be_hidden()
    while not page.evaluate("Object.values(localStorage).join().includes('UNCLEAR')"):
        page.wait_for_timeout(20)  # until the draft is written
    page.reload()
    expect(page.locator("#turn-2 [value=UNCLEAR]")).to_be_checked()
    for key in ("4", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    labels = SatisfactionLabel.objects.order_by("response__turn__position")
    assert [(label.score, label.extra) for label in labels] == [(5, {}), (4, {"flag": "UNCLEAR"})]


def test_what_is_still_open_is_named_and_gone_to(open_page):
    annotator = make_user()
    study = make_session_study([annotator], turns=9, ask_questionnaire=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    rated = page.locator("#rated")
    for key in "5j2j" + "5j" * 3:
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(rated).to_have_text("Still open: Turn 2, Turn 6, Turn 7 …")
    expect(page.locator("#turn-2[data-current]")).to_be_visible()
    expect(reasons(page, 2)).to_be_in_viewport()
    page.keyboard.press("o")
    expect(rated).to_have_text("Still open: Turn 6, Turn 7, Turn 8 …")
    page.keyboard.press("Enter")
    expect(page.locator("#turn-6 .rate")).to_be_in_viewport()
    for key in "5j" * 4:
        page.keyboard.press(key)
    expect(rated).to_have_text("Still open: About the whole conversation")
    for key in "1j1j1j1c":
        page.keyboard.press(key)
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
