from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.exports import LABELS
from annotation.models import AuditEvent, Claim, PairwiseLabel
from tests.annotation.labelling import make_pair_study
from tests.browser.labelling import (
    SETTLED_MS,
    expect_progress,
    move_clock,
    press_answer,
    shown_texts,
    stop_clock,
)
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def winner(row):
    """The text that an exported row says is better; None for a tie."""
    return {"A": row["text_a"], "B": row["text_b"], "TIE": None}[row["verdict"]]


def test_a_person_labels_fifty_pairs_without_a_mouse_by_two_keys_a_pair_at_most(open_page):
    annotator = make_user()
    rules = {"allow_tie": True, "allow_strength": True, "allow_both_bad": True}
    study = make_pair_study([annotator], items=50, name="Pilot", **rules)
    page = open_page("/", user=annotator)
    page.clock.install()
    page.get_by_role("link", name="Begin Pilot").press("Enter")
    expect_progress(page, "0 of 50")
    page.evaluate("window.pressed = 0; addEventListener('keydown', () => { window.pressed += 1 })")
    chosen, pressed = [], 0
    for number, keys in enumerate(["1", "2", "b3", "4", "b5"] * 10):
        expect_progress(page, f"{number} of 50")
        page.clock.run_for(SETTLED_MS)
        first, second = shown_texts(page)
        meant = {"1": (first, 2), "2": (first, 1), "3": (None, None), "4": (second, 1)}
        chosen.append((*meant.get(keys[-1], (second, 2)), "b" in keys))
        for key in keys:
            page.keyboard.press(key)
        pressed += len(keys)
        assert len(keys) <= 2
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    assert page.evaluate("pressed") == pressed == 70
    rows = list(LABELS.rows(study.dataset))
    assert {row["annotator"] for row in rows} == {annotator.username}
    assert {row["input_device"] for row in rows} == {"KEYBOARD"}
    order = study.items.order_by("position").values_list("comparison__key", flat=True)
    by_key = {row["comparison"]: row for row in rows}
    given = [(winner(row), row["strength"], row["both_bad"]) for row in map(by_key.get, order)]
    assert given == chosen
    shown_first = [
        row["model_a"] if row["shown_order"] == "ORIGINAL" else row["model_b"] for row in rows
    ]
    assert sorted(shown_first) == ["secret-alpha"] * 25 + ["secret-beta"] * 25


def test_a_slip_is_seen_and_mended_with_two_keys(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    first, second = shown_texts(page)
    press_answer(page, "1")
    expect(page.get_by_text("Saved: First")).to_be_visible()
    page.keyboard.press("u")
    pressed = page.get_by_role("button", name="First", pressed=True)
    expect(pressed).to_be_visible()
    assert shown_texts(page) == [first, second]
    press_answer(page, "5")
    expect(page.get_by_text("Saved: Second")).to_be_visible()
    assert page.url.endswith("/next/")
    (row,) = LABELS.rows(study.dataset)
    assert winner(row) == second
    assert PairwiseLabel.objects.get().edits == 1


def test_an_answer_is_one_click(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2, allow_strength=True, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    first, _second = shown_texts(page)
    page.get_by_label("Both bad").check()
    page.get_by_role("button", name="First, clearly").click()
    expect_progress(page, "1 of 2")
    (row,) = LABELS.rows(study.dataset)
    assert (winner(row), row["strength"], row["both_bad"]) == (first, 2, True)


def test_an_item_is_skipped_with_the_keyboard(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("s")
    expect(page.get_by_role("button", name="I cannot judge this")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect_progress(page, "0 of 2 · 1 skipped")
    assert Claim.objects.get(state="SKIPPED").skip_reason == "BROKEN"


def test_keys_choose_the_reason_while_it_is_asked_for_and_never_answer(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("s")
    reason = page.get_by_role("button", name="Broken or unreadable")
    expect(reason).to_be_visible()
    press_answer(page, "5")  # no such reason; without the menu it is an answer
    expect(reason).to_be_visible()
    page.keyboard.press("2")
    expect_progress(page, "0 of 2 · 1 skipped")
    assert Claim.objects.get(state="SKIPPED").skip_reason == "BROKEN"
    assert not PairwiseLabel.objects.exists()


def test_a_key_of_an_answer_that_the_study_does_not_allow_does_nothing(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.wait_for_timeout(SETTLED_MS)
    for key in ("3", "b", "6", "0"):
        page.keyboard.press(key)
    page.wait_for_timeout(SETTLED_MS)
    assert not PairwiseLabel.objects.exists()
    expect(page.get_by_role("button", name="Tie")).to_have_count(0)
    expect(page.get_by_label("Both bad")).to_have_count(0)
    page.keyboard.press("2")
    expect(page.get_by_text("Saved: First")).to_be_visible()
    press_answer(page, "4")
    expect(page.get_by_text("Saved: Second")).to_be_visible()


def test_the_sheet_of_keys_opens_and_closes_by_a_key_and_tells_what_holds_here(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2, allow_tie=True, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    sheet = page.locator(".key-sheet dl")
    page.keyboard.press("?")
    expect(sheet).to_be_visible()
    told = dict(zip(*(sheet.locator(each).all_inner_texts() for each in ("dt", "dd")), strict=True))
    assert {keys.strip(): what for keys, what in told.items()} == {
        "← 1 2": "First",
        "3": "Tie",
        "→ 4 5": "Second",
        "b": "Both are bad",
        "e": "Show the whole context",
        "a": "My answers",
        "c": "Comment",
        "f": "Report",
        "Esc": "Close this menu",
        "d": "Highlight differences",
        "y": "Scroll long responses together",
        "s": "Skip",
        "u": "Change the previous item",
    }
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    page.keyboard.press("?")
    page.keyboard.press("?")
    expect(sheet).to_be_hidden()
    press_answer(page, "b")
    page.keyboard.press("b")
    expect(page.get_by_label("Both bad")).not_to_be_checked()


def test_keys_do_nothing_while_composing_held_down_or_with_a_modifier(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.wait_for_timeout(SETTLED_MS)
    for extra in ("isComposing", "ctrlKey", "altKey", "metaKey", "repeat"):
        page.evaluate(
            "extra => document.body.dispatchEvent(new KeyboardEvent('keydown',"
            " {key: '1', bubbles: true, [extra]: true}))",
            extra,
        )
    page.wait_for_timeout(SETTLED_MS)
    assert not PairwiseLabel.objects.exists()
    page.keyboard.press("1")
    expect_progress(page, "1 of 3")
    assert PairwiseLabel.objects.count() == 1


@pytest.mark.parametrize("composing", [{"isComposing": True}, {"keyCode": 229}])
def test_no_key_answers_while_an_input_method_composes(open_page, composing):
    annotator = make_user()
    study = make_pair_study([annotator], items=2, allow_both_bad=True)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.wait_for_timeout(SETTLED_MS)
    for key in "15bcfsu?":
        page.evaluate(
            "([key, extra]) => document.body.dispatchEvent(new KeyboardEvent('keydown',"
            " {key, bubbles: true, cancelable: true, ...extra}))",
            [key, composing],
        )
    page.wait_for_timeout(SETTLED_MS)
    expect(page.locator("details.menu[open]")).to_have_count(0)
    expect(page.get_by_label("Both bad")).not_to_be_checked()
    assert not PairwiseLabel.objects.exists()


def test_a_comment_and_a_flag_are_given_by_keys_and_survive_a_reload(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    press_answer(page, "c")
    expect(page.get_by_label("Comment (optional)")).to_be_focused()
    page.keyboard.type("12 bits too few")  # keys that would answer, were this not a text
    page.reload()
    page.wait_for_timeout(SETTLED_MS)
    page.keyboard.press("f")
    expect(page.get_by_role("radio", name="No problem")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Escape")
    press_answer(page, "2")
    expect_progress(page, "1 of 2")
    (row,) = LABELS.rows(study.dataset)
    assert (row["comment"], row["extra"]) == ("12 bits too few", {"flag": "UNCLEAR"})
    assert row["input_device"] == "KEYBOARD"


def test_active_and_idle_time_are_told_apart(open_page):
    annotator = make_user()
    study = make_pair_study([annotator])
    page = open_page("/studies/", user=annotator)
    page.clock.install()
    page.goto(f"/studies/{study.slug}/next/")
    page.clock.run_for(10_000)
    page.mouse.move(200, 200)
    page.clock.run_for(90_000)  # 30 seconds after the last input, idle time begins
    page.get_by_role("button", name="First").click()
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()
    label = PairwiseLabel.objects.get()
    assert label.active_seconds == pytest.approx(40, abs=5)
    assert label.idle_seconds == pytest.approx(60, abs=5)
    assert (label.input_device, label.guidelines_version) == ("POINTER", 1)
    assert label.app_version


def test_one_s_own_answers_are_downloaded(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2, name="Pilot")
    page = open_page("/studies/", user=annotator)
    link = page.get_by_role("link", name="My answers (CSV) Pilot")
    expect(link).to_have_count(0)
    page.goto(f"/studies/{study.slug}/next/")
    press_answer(page, "1")
    expect_progress(page, "1 of 2")
    page.goto("/studies/")
    with page.expect_download() as download:
        link.click()
    text = download.value.path().read_text(encoding="utf-8")
    assert len(text.splitlines()) == 2
    assert "secret-" not in text


def test_long_responses_scroll_together_on_request(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    comparison = study.items.order_by("position").first().comparison
    for response, words in ((comparison.response_a, 2500), (comparison.response_b, 5000)):
        response.text = "word " * words
        response.save()
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    press_answer(page, "y")
    expect(page.get_by_role("button", name="Scroll together", pressed=True)).to_be_visible()
    shares = (
        "() => [...document.querySelectorAll('.resp')]"
        ".map(each => each.scrollTop / (each.scrollHeight - each.clientHeight))"
    )
    for side, share in ((0, 0.5), (1, 1.0)):
        page.evaluate(
            "([side, share]) => { const each = document.querySelectorAll('.resp')[side];"
            " each.scrollTop = share * (each.scrollHeight - each.clientHeight); }",
            [side, share],
        )
        page.wait_for_timeout(SETTLED_MS)
        assert page.evaluate(shares) == pytest.approx([share, share], abs=0.01)
    press_answer(page, "y")
    expect(page.locator(".pair.synced")).to_have_count(0)
    press_answer(page, "d")
    expect(page.get_by_role("link", name="Formatted")).to_be_visible()
    press_answer(page, "1")
    expect_progress(page, "1 of 2")
    expect(page.get_by_role("button", name="Scroll together")).to_be_hidden()


def test_a_key_pressed_twice_answers_one_pair(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.wait_for_timeout(SETTLED_MS)
    # Both in one go: on a busy machine a second press may come with the next pair on the page.
    page.evaluate(
        "for (const _ of [1, 2])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {key: '1', bubbles: true}))"
    )
    expect_progress(page, "1 of 3")
    page.wait_for_timeout(SETTLED_MS)
    assert PairwiseLabel.objects.count() == 1


def press_as_the_next_page_comes(page, key):
    """Once it is there; what settles afterwards finds the same key."""
    page.evaluate(
        "key => { for (const moment of ['htmx:afterSwap', 'htmx:afterSettle'])"
        " document.addEventListener(moment, () => document.body.dispatchEvent("
        "new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true})), {once: true}) }",
        key,
    )


def test_a_key_that_comes_again_with_the_next_page_answers_nothing_and_says_so(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    stop_clock(page)
    press_as_the_next_page_comes(page, "1")
    page.keyboard.press("1")
    expect(page.get_by_text("Saving, please wait.")).to_be_visible()
    expect_progress(page, "1 of 3")
    assert PairwiseLabel.objects.count() == 1
    move_clock(page)
    page.keyboard.press("1")
    expect_progress(page, "2 of 3")


def test_another_key_counts_however_fast_it_is(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    stop_clock(page)
    press_as_the_next_page_comes(page, "5")
    page.keyboard.press("1")
    expect_progress(page, "2 of 3")
    expect(page.get_by_text("Saved: Second")).to_be_visible()
    expect(page.get_by_text("Saving, please wait.")).to_be_hidden()


def test_another_key_while_an_answer_is_under_way_says_that_it_did_not_count(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    stop_clock(page)
    page.evaluate(
        "for (const key of ['1', '5'])"
        " document.body.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true}))"
    )
    expect(page.get_by_text("Saving, please wait.")).to_be_visible()
    expect(page.get_by_text("Saved: First")).to_be_visible()
    expect_progress(page, "1 of 3")


def test_a_double_click_answers_one_pair(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    stop_clock(page)
    page.evaluate(
        "document.addEventListener('htmx:afterSettle', () => document.querySelector("
        "'.choices button').dispatchEvent(new MouseEvent('click',"
        " {bubbles: true, cancelable: true, detail: 2})), {once: true})"
    )
    page.get_by_role("button", name="First").click()
    expect(page.get_by_text("Saving, please wait.")).to_be_visible()
    expect_progress(page, "1 of 3")
    move_clock(page)
    page.get_by_role("button", name="First").click()
    expect_progress(page, "2 of 3")


def test_a_failing_connection_loses_nothing_and_doubles_nothing(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator, quiet=False)
    page.context.set_offline(True)
    press_answer(page, "1")
    expect(page.get_by_role("alert")).to_contain_text("did not go through")
    page.context.set_offline(False)
    page.keyboard.press("1")
    expect_progress(page, "1 of 2")
    assert AuditEvent.objects.filter(action="label.given").count() == 1


def test_everything_works_without_javascript(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=2)
    page = open_page("/studies/", user=annotator, java_script_enabled=False)
    page.get_by_role("link", name="Begin").click()
    _first, second = shown_texts(page)
    page.get_by_role("button", name="Second").click()
    expect_progress(page, "1 of 2")
    (row,) = LABELS.rows(study.dataset)
    assert winner(row) == second
    page.get_by_role("link", name="Previous").click()
    expect(page.get_by_role("button", name="Second", pressed=True)).to_be_visible()
    page.get_by_role("link", name="raw").first.click()
    expect(page.locator("pre.raw")).to_have_count(2)
    page.get_by_role("link", name="Back to current item").click()
    page.locator("summary", has_text="Skip").click()
    page.get_by_role("button", name="Another reason").click()
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()


def test_arrows_choose_where_strengths_are_not_asked(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=3)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    shown = []
    for number, key in enumerate(("ArrowLeft", "ArrowRight"), start=1):
        shown.append(shown_texts(page)[number - 1])
        press_answer(page, key)
        expect_progress(page, f"{number} of 3")
    press_answer(page, "Shift+ArrowLeft")  # it chooses text
    page.wait_for_timeout(SETTLED_MS)
    rows = {row["comparison"]: winner(row) for row in LABELS.rows(study.dataset)}
    order = study.items.order_by("position").values_list("comparison__key", flat=True)
    assert [rows[key] for key in order if key in rows] == shown


def test_the_guidelines_the_context_and_an_older_answer_are_a_key_away(open_page):
    annotator = make_user()
    study = make_pair_study([annotator], items=4, guidelines="Be **fair**.")
    study.dataset.sessions.update(task_context="A kitchen.")
    study.participations.update(guidelines_read=1)
    page = open_page(f"/studies/{study.slug}/next/", user=annotator)
    page.keyboard.press("g")
    expect(page.get_by_role("region", name="Guidelines").get_by_text("Be fair.")).to_be_visible()
    press_answer(page, "1")  # not while they are open
    page.keyboard.press("Escape")
    context = page.get_by_text("A kitchen.")
    expect(context).to_be_hidden()
    page.keyboard.press("e")
    expect(context).to_be_visible()
    page.keyboard.press("e")
    expect(context).to_be_hidden()
    for number, key in enumerate("111", start=1):
        press_answer(page, key)
        expect_progress(page, f"{number} of 4")
    page.keyboard.press("a")
    expect(page.get_by_role("heading", name="My answers")).to_be_visible()
    page.keyboard.press("3")
    expect(page.get_by_text("Question 1?")).to_be_visible()
    press_answer(page, "5")
    expect(page.locator(".previous")).to_contain_text("Saved: Second")
    expect(page.get_by_text("Question 4?")).to_be_visible()
    assert page.url.endswith("/next/")
    assert PairwiseLabel.objects.order_by("pk")[0].edits == 1
