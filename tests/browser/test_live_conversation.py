"""A live conversation from the first word to the export, in a real browser."""

from __future__ import annotations

import math
import time

import pytest
from playwright.sync_api import expect

from annotation.exports import SATISFACTION, SESSIONS
from annotation.models import SessionQuestionnaire, Study
from judging.models import Conversation, ConversationMessage
from tests.browser.looks import BOTH_LOOKS, assert_accessible
from tests.browser.test_pages import MARKUP
from tests.factory import make_user
from tests.fake_llm import Act, FakeLlm
from tests.judging.talks import REQUIREMENTS, make_talk_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SLOW = 0.25  # seconds between two pieces of four characters


@pytest.fixture
def llm():
    with FakeLlm() as server:
        yield server
        deadline = time.monotonic() + 20  # no reply may be under way when the rows go
        while _under_way():
            assert time.monotonic() < deadline
            time.sleep(0.05)


def _under_way():
    return ConversationMessage.objects.filter(status__in=["WAITING", "WRITING"]).exists()


def say(page, text):
    page.locator("#message").fill(text)
    page.locator("#message").press("Enter")


def say_and_lose_the_answer(page, text):
    def lose(route):
        route.fetch(max_redirects=0)
        route.abort()

    page.route("**/send/", lose)
    say(page, text)
    expect(page.get_by_role("alert")).to_contain_text("That did not go through")
    page.unroute("**/send/")


def replies(page):
    return page.locator(".exchange .assistant .prose")


def rate_button(page):
    return page.get_by_role("button", name="I’m satisfied – rate the replies")


def test_a_conversation_is_held_rated_and_exported(open_page, llm):
    annotator = make_user(username="ann")
    study = make_talk_study(
        [annotator],
        base_urls=(llm.base_url,),
        requirements=REQUIREMENTS,
        min_turns=2,
        ask_questionnaire=True,
    )
    llm.script.extend(
        [
            Act(text="**Kyoto**, two days, <b>by train</b>.", piece_delay=SLOW),
            Act(status=400),
            Act(text="About 300 euros."),
            Act(text="Bring an umbrella.", piece_delay=SLOW),
        ]
    )
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    expect(page.get_by_text("Plan trip 1.")).to_be_visible()
    expect(rate_button(page)).to_be_disabled()

    # The reply is seen before it is whole, as text; whole, it is Markdown, and markup stays text.
    say(page, "Where to?\nWe are two.")
    expect(page.locator(".exchange .assistant .words")).to_contain_text("**Kyo")
    expect(page.locator("#message")).to_have_value("")
    expect(page.get_by_role("button", name="Send")).to_be_disabled()
    page.locator("#message").fill("What does it")  # typing on while the reply comes
    expect(replies(page)).to_have_text("Kyoto, two days, <b>by train</b>.")
    expect(replies(page).locator("strong")).to_have_text("Kyoto")
    expect(page.locator("#message")).to_have_value("What does it")

    # What was typed is there after a reload; a reply that fails can be tried again.
    page.reload()
    expect(page.locator("#message")).to_have_value("What does it")
    say(page, "What does it cost?")
    expect(page.get_by_role("alert")).to_contain_text("could not process this message")
    expect(page.get_by_role("alert")).to_contain_text("llm:bad-request")
    page.get_by_role("button", name="Try again").click()
    expect(replies(page)).to_have_count(2)
    expect(page.locator("#talk-state")).to_contain_text("2 replies")

    # A reload in the middle of a reply loses nothing of it.
    say(page, "What to take along?")
    expect(page.locator(".exchange .assistant .words")).to_contain_text("Brin")
    page.reload()
    expect(replies(page).last).to_have_text("Bring an umbrella.")
    assert [row.text for row in ConversationMessage.objects.order_by("position")] == [
        "Where to?\nWe are two.",
        "What does it cost?",
        "What to take along?",
    ]
    assert llm.stats()["calls"] == 4

    expect(rate_button(page)).to_be_disabled()
    page.get_by_label("two days").check()
    page.get_by_label("a budget").check()
    expect(page.locator("#talk-state")).to_contain_text("2 of 2 requirements met")
    for secret in ("secret-1", f"end-{study.pk}-1", llm.base_url):
        assert secret not in page.content()
    rate_button(page).click()

    expect(page.get_by_text("How satisfied are you with each reply?").first).to_be_visible()
    for key in ("5", "j", "3", "d", "j", "4", "j", "1", "j", "2", "j", "3", "j", "1"):
        page.keyboard.press(key)
    expect(page.locator("#rated")).to_have_text("3 of 3 rated")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert SessionQuestionnaire.objects.count() == 1
    rows = list(SATISFACTION.rows(study.dataset))
    assert [(row["annotator"], row["model"], row["score"]) for row in rows] == [
        ("ann", "secret-1", 5),
        ("ann", "secret-1", 3),
        ("ann", "secret-1", 4),
    ]
    (held,) = [row for row in SESSIONS.rows(study.dataset) if row.get("user") == "ann"]
    assert held["key"].startswith("trip-1/")
    assert held["turns"][0]["user"] == "Where to?\nWe are two."
    assert held["extra"]["requirements_met"] == REQUIREMENTS
    assert Conversation.objects.get().ending == "SATISFIED"


def test_enter_during_composition_and_shift_enter_send_nothing(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    message = page.locator("#message")
    message.fill("你")
    message.evaluate(
        "box => box.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: 'Enter', isComposing: true, bubbles: true, cancelable: true}))"
    )
    message.evaluate(
        "box => box.dispatchEvent(new KeyboardEvent('keydown',"
        " {key: 'Enter', keyCode: 229, bubbles: true, cancelable: true}))"
    )
    message.press("Shift+Enter")
    expect(message).to_have_value("你\n")
    assert not ConversationMessage.objects.exists()


def test_a_message_to_a_study_that_was_paused_is_refused_in_one_sentence_and_kept(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    Study.objects.update(status="PAUSED")
    say(page, "A trip to Wuhan")
    expect(page.get_by_text("This study is paused, so nothing was changed.")).to_be_visible()
    Study.objects.update(status="OPEN")
    page.get_by_role("link", name="Continue").click()
    expect(page.locator("#message")).to_have_value("A trip to Wuhan")


def test_a_message_that_could_not_be_sent_is_kept_and_sent_once(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.append(Act(text="Here I am."))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.context.set_offline(True)
    say(page, "Hello?")
    expect(page.get_by_role("alert")).to_contain_text("That did not go through")
    expect(page.locator("#message")).to_have_value("Hello?")
    page.context.set_offline(False)
    page.reload()
    expect(page.locator("#message")).to_have_value("Hello?")
    page.locator("#message").press("Enter")
    expect(replies(page)).to_have_text("Here I am.")
    assert ConversationMessage.objects.count() == 1
    assert page.evaluate("localStorage.length") == 0


def test_a_message_that_arrived_while_its_answer_was_lost_is_not_sent_twice(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.append(Act(text="Here I am."))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    say_and_lose_the_answer(page, "Hello?")
    page.locator("#message").press("Enter")  # the same message under the same id
    expect(replies(page)).to_have_text("Here I am.")
    assert ConversationMessage.objects.count() == 1
    page.reload()
    expect(page.locator("#message")).to_have_value("")


def test_the_second_conversation_is_held_like_the_first(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,), items=2)
    llm.script.extend([Act(text="One."), Act(text="Two.")])
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    say(page, "Hello")
    expect(replies(page)).to_have_text("One.")
    rate_button(page).click()
    expect(page.get_by_text("How satisfied are you with each reply?").first).to_be_visible()
    page.keyboard.press("5")
    page.keyboard.press("Enter")
    expect(page.locator("#message")).to_be_visible()
    say(page, "Hello again")
    expect(replies(page)).to_have_text("Two.")
    expect(page.locator("#message")).to_have_value("")


def test_what_is_written_on_after_a_lost_answer_is_a_message_of_its_own(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.extend([Act(text="Here I am."), Act(text="And there.")])
    llm.most_answers = 0
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    say_and_lose_the_answer(page, "Hello?")
    page.locator("#message").press("End")
    page.locator("#message").press_sequentially(" Is anybody there?")
    page.locator("#message").press("Enter")
    expect(page.get_by_role("alert").last).to_contain_text("still replying")
    expect(page.locator("#message")).to_have_value("Hello? Is anybody there?")
    llm.most_answers = math.inf
    expect(replies(page)).to_have_text("Here I am.")
    page.locator("#message").press("Enter")
    expect(replies(page).last).to_have_text("And there.")
    assert [row.text for row in ConversationMessage.objects.order_by("position")] == [
        "Hello?",
        "Hello? Is anybody there?",
    ]


def test_what_is_typed_while_a_message_is_sent_stays(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.append(Act(text="Here I am."))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    held = []

    def hold(route):
        held.append(route)

    page.route("**/send/", hold)
    with page.expect_request("**/send/"):
        say(page, "Hello?")
    page.locator("#message").press_sequentially(" Next")
    held[0].continue_()
    expect(replies(page)).to_have_text("Here I am.")
    expect(page.locator("#message")).to_have_value("Next")


def test_two_tabs_keep_what_is_typed_in_each(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.append(Act(text="Here I am."))
    one = open_page(f"/studies/{study.slug}/next/", user=annotator)
    other = one.context.new_page()
    other.goto(one.url)
    other.locator("#message").fill("From the other tab")
    say(one, "From the first tab")
    expect(replies(one)).to_have_text("Here I am.")
    other.goto(one.url)
    expect(other.locator("#message")).to_have_value("From the other tab")
    rate_button(one).click()
    expect(one.get_by_text("How satisfied are you with each reply?").first).to_be_visible()
    other.locator("#message").press("Enter")
    expect(other.get_by_text("How satisfied are you with each reply?").first).to_be_visible()


def test_a_reply_is_stopped(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.append(Act(text="A very long reply.", stalls_after=3))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    say(page, "Go on")
    expect(page.locator(".exchange .assistant .words")).to_contain_text("A very")
    # The page is looking for more of the reply meanwhile, and is told once that place is gone.
    looks = []

    def hold_the_first(route):
        if looks:
            route.continue_()
        looks.append(route)

    page.route("**/replies/**", hold_the_first)
    with page.expect_request("**/replies/**"):
        pass
    page.get_by_role("button", name="Stop reply").click()
    expect(page.get_by_text("You stopped this reply.")).to_be_visible()
    with page.expect_response(looks[0].request.url):
        looks[0].continue_()
    expect(rate_button(page)).to_be_enabled()


def test_who_is_signed_out_keeps_the_message(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.context.clear_cookies(name="sessionid")
    say(page, "Hello?")
    expect(page.get_by_role("alert")).to_contain_text("You are no longer signed in.")
    expect(page.locator("#message")).to_have_value("Hello?")


def refresh_until(page, wanted):
    """Clicks "Refresh" until `wanted` is there: between two pages neither of them is."""
    refresh = page.get_by_role("link", name="Refresh")
    while not wanted.is_visible():
        expect(refresh.or_(wanted)).to_be_visible()
        if refresh.is_visible():
            refresh.click()


def test_a_conversation_is_held_without_javascript(open_page, llm):
    annotator = make_user()
    study = make_talk_study([annotator], base_urls=(llm.base_url,))
    llm.script.extend([Act(text="Kyoto.", delay=0.5), Act(status=400)])
    page = open_page(
        f"/studies/{study.slug}/next/", user=annotator, java_script_enabled=False, quiet=False
    )
    page.locator("#message").fill("Where to?")
    page.get_by_role("button", name="Send").click()
    refresh_until(page, replies(page))
    expect(replies(page)).to_have_text("Kyoto.")
    page.locator("#message").fill("How?")
    page.get_by_role("button", name="Send").click()
    edit = page.get_by_role("button", name="Edit message")
    refresh_until(page, edit)
    edit.click()
    expect(page.locator("#message")).to_have_value("How?")
    rate_button(page).click()
    expect(page.get_by_text("How satisfied are you with each reply?").first).to_be_visible()


@BOTH_LOOKS
def test_the_pages_have_no_serious_fault(open_page, llm, scheme, viewport):
    annotator = make_user(role="MANAGER")
    study = make_talk_study([annotator], base_urls=(llm.base_url,), requirements=REQUIREMENTS)
    llm.script.extend([Act(text=MARKUP), Act(status=400)])
    page = open_page(
        f"/studies/{study.slug}/next/", user=annotator, color_scheme=scheme, viewport=viewport
    )
    assert_accessible(page)
    say(page, "Where to? " + "long" * 60)
    expect(replies(page)).to_have_count(1)
    say(page, "And what does it cost?")
    expect(page.get_by_role("button", name="Try again")).to_be_visible()
    assert_accessible(page)
    page.goto(f"/studies/{study.slug}/conversation/")
    page.locator("summary", has_text="Settings").click()
    assert_accessible(page)
