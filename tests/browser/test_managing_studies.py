from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from annotation.models import Claim, PairwiseLabel, Study
from tests.annotation.labelling import make_pair_study
from tests.browser.labelling import expect_progress, press_answer, shown_texts
from tests.browser.looks import assert_accessible
from tests.browser.steps import Steps
from tests.factory import (
    make_comparison,
    make_dataset,
    make_scenario,
    make_session,
    make_turn,
    make_user,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

POLLED_MS = 15_000  # three times the seconds between two looks at the progress


@pytest.fixture
def dataset():
    dataset = make_dataset(name="Letters")
    for name in ("Writing", "Code"):
        scenario = make_scenario(dataset, name=name)
        for _number in range(2):
            make_comparison(make_turn(make_session(scenario)))
    return dataset


def figure(page, name):
    """A large figure of the study's page, by its id."""
    return page.locator(f"#live-{name}")


def make_study_of_writing(page):
    """Plan a study of one scenario for two people, watching what it would be; then open it."""
    steps = Steps()
    steps.click(page.get_by_role("link", name="New study"))
    expect(page.get_by_label("Name")).to_be_focused()
    counts = page.locator("#counts")
    expect(counts).to_contain_text(re.compile(r"4\s*pairs"))
    steps.click(page.get_by_label("Writing"))
    expect(counts).to_contain_text(re.compile(r"2\s*pairs"))
    steps.click(page.get_by_label("Quick Li"))
    steps.click(page.get_by_label("Slow Wu"))
    page.get_by_label("Annotators for each item").fill("2")
    expect(counts).to_contain_text(re.compile(r"4\s*answers needed"))
    page.get_by_label("Name").fill("Pilot")
    page.get_by_label("Gold items (%)").fill("50")
    steps.click(page.get_by_role("button", name="Create study"))
    expect(page.locator("#drawn")).to_contain_text("0 gold")
    steps.click(page.get_by_role("button", name="A is better").first)
    expect(page.locator("#drawn")).to_contain_text("1 gold")
    expect(page.get_by_role("button", name="A is better", pressed=True)).to_be_focused()
    assert_accessible(page)
    steps.click(page.get_by_role("button", name="Open to annotators"))
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    assert steps.taken == 7
    study = Study.objects.get()
    assert (study.items.count(), study.overlap, study.status) == (2, 2, "OPEN")
    return study


def begin(open_page, user):
    page = open_page("/studies/", user=user)
    page.get_by_role("link", name="Begin Pilot").click()
    expect_progress(page, "0 of 2")
    return page


def answer_both(page):
    press_answer(page, "1")
    expect_progress(page, "1 of 2")
    press_answer(page, "5")
    expect(page.get_by_role("heading", name="All done, thank you")).to_be_visible()


def go_to(page, name):
    page.get_by_role("navigation", name="Study pages").get_by_text(name).click()


def test_a_manager_makes_a_study_watches_it_and_moves_an_item_that_is_stuck(open_page, dataset):
    manager = make_user(role="MANAGER", username="boss")
    quick = make_user(username="quick", display_name="Quick Li")
    slow = make_user(username="slow", display_name="Slow Wu")
    page = open_page("/studies/", user=manager)
    study = make_study_of_writing(page)

    # One annotator answers both items, the other takes one and leaves it; the page follows.
    answer_both(begin(open_page, quick))
    begin(open_page, slow).close()
    expect(figure(page, "done")).to_have_text("2", timeout=POLLED_MS)
    expect(page.get_by_role("row", name=re.compile("Quick Li"))).to_contain_text("all done")
    at_work = page.get_by_role("row", name=re.compile("Slow Wu")).first
    expect(at_work).to_contain_text("working", timeout=POLLED_MS)

    # The lease runs out: that too is seen without a reload.
    past = timezone.now() - timedelta(minutes=1)
    Claim.objects.filter(annotator=slow).update(expires_at=past)
    expect(page.locator("#stuck")).to_contain_text(
        "Slow Wu: left an item unfinished", timeout=POLLED_MS
    )

    # A third person is added, and gets the item.
    helper = make_user(username="helper", display_name="Helper Ma")
    go_to(page, "People")
    page.get_by_label("Helper Ma").check()
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("1 annotator added.")).to_be_visible()
    go_to(page, "Progress")
    held = Claim.objects.get(annotator=slow)
    page.locator(f"#held-{held.pk}").click()
    page.get_by_label("Assign to").first.select_option("Helper Ma")
    page.get_by_role("button", name="Reassign").click()
    expect(page.get_by_text("They get the item next")).to_be_visible()
    held.refresh_from_db()
    assert held.state == "RELEASED"

    # The item that was moved comes first for them; they finish the study.
    moved = begin(open_page, helper)
    pair = held.item.comparison
    assert sorted(shown_texts(moved)) == sorted([pair.response_a.text, pair.response_b.text])
    answer_both(moved)
    assert PairwiseLabel.objects.filter(annotator=helper, comparison=pair).exists()
    assert not PairwiseLabel.objects.filter(annotator=slow).exists()
    page.goto(f"/studies/{study.slug}/")
    expect(figure(page, "done")).to_have_text("4")
    go_to(page, "History")
    expect(page.get_by_role("cell", name=re.compile("Item assigned"))).to_be_visible()


def test_a_page_that_nobody_looks_at_asks_for_nothing(open_page):
    manager = make_user(role="MANAGER")
    study = make_pair_study([make_user()], items=2)
    page = open_page("/studies/", user=manager)
    page.clock.install()
    page.goto(f"/studies/{study.slug}/")
    asked = []
    page.on("request", lambda request: asked.append(request.url) if "live" in request.url else None)
    hide = "value => Object.defineProperty(document, 'hidden', {value, configurable: true})"
    page.evaluate(hide, arg=True)
    page.clock.fast_forward(6_000)  # longer than the five seconds between two looks
    page.evaluate(hide, arg=False)
    assert asked == []
    with page.expect_response(re.compile("/live/")) as answer:
        page.clock.fast_forward(6_000)
    assert answer.value.ok


def test_the_quality_of_a_study_too_short_for_repeats_fits_a_phone(open_page):
    study = make_pair_study([make_user()], items=12, repeat_rate=0.2)
    page = open_page(
        f"/studies/{study.slug}/quality/",
        user=make_user(role="MANAGER"),
        viewport={"width": 390, "height": 800},
    )
    expect(page.get_by_text("the study is too short for more")).to_be_visible()
    assert_accessible(page)


def test_a_form_that_changes_while_it_is_counted_is_counted_once_more_and_logs_nothing(
    open_page, dataset
):
    page = open_page(f"/studies/new/?dataset={dataset.slug}", user=make_user(role="MANAGER"))
    counts = page.locator("#counts")
    expect(counts).to_contain_text(re.compile(r"4\s*pairs"))
    held = []
    page.route(
        re.compile("/counts/"),
        lambda route: route.continue_() if held else held.append(route),
    )
    page.get_by_label("Writing").check()
    while not held:
        page.wait_for_timeout(20)
    page.get_by_label("Code", exact=True).check()
    page.get_by_label("Annotators for each item").fill("2")
    page.wait_for_timeout(1000)  # it would ask 300 ms after a change
    held[0].continue_()
    expect(counts).to_contain_text(re.compile(r"8\s*answers needed"))
