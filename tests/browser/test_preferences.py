"""An annotator puts a preference right in a real browser, and a manager lets the judge go on."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections
from playwright.sync_api import expect

from judging.models import JudgeRun, Preference, PreferenceSet
from judging.services.foreground import run_to_end
from tests.browser.looks import BOTH_LOOKS, WIDE, assert_accessible
from tests.factory import PASSWORD, make_user
from tests.judging.study import FakeJudge, make_study, opener_of, start_distillation, start_test_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

NEW = "Strongly prefers short answers."


def aside(work):
    """What some work gives, in a thread of its own: the browser's keeps an event loop."""

    def done():
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(done).result()


def study():
    """A finished distillation with its test run, and its annotator, who can sign in."""
    return aside(judged)


def judged():
    dataset, rater = make_study(comparisons=12)
    rater.is_active = True
    rater.set_password(PASSWORD)
    rater.save()
    opener = opener_of(FakeJudge())
    asked = {"dataset": dataset, "annotator": rater, "judge": "lexical"}
    run = run_to_end(start_distillation(**asked).pk, opener=opener)
    test = run_to_end(start_test_run(**asked).pk, opener=opener)
    return rater, run, test


@BOTH_LOOKS
def test_the_pages_of_preferences_have_no_serious_fault(open_page, scheme, viewport):
    rater, run, test = study()
    row = Preference.objects.filter(run=run, kind="PAIR", control="NONE").first()
    chosen = PreferenceSet.objects.get(run=run, control="NONE")
    page = open_page("/preferences/", user=rater, color_scheme=scheme, viewport=viewport)
    assert_accessible(page)
    page.goto(f"/preferences/{row.pk}/edit/")
    page.get_by_label("What you prefer").fill(NEW)
    page.get_by_role("button", name="Save as new version").click()
    expect(page.locator("ins").first).to_be_visible()
    assert_accessible(page)
    page.goto(f"/runs/{run.pk}/preferences/{row.scenario_id}/new/")
    assert_accessible(page)
    page = open_page(
        f"/runs/{run.pk}/preferences/",
        user=make_user(role="MANAGER"),
        color_scheme=scheme,
        viewport=viewport,
    )
    expect(page.get_by_role("heading", name="1 change not judged yet")).to_be_visible()
    assert_accessible(page)
    for path in (f"/preference-sets/{chosen.pk}/", f"/runs/{test.pk}/controls/"):
        page.goto(path)
        assert_accessible(page)


def test_a_text_is_put_right_by_keys_alone_and_judged_again(open_page):
    rater, run, _test = study()
    page = open_page("/studies/", user=rater, viewport=WIDE)
    page.get_by_role("link", name="My preferences").press("Enter")
    page.get_by_role("link", name="prefers longer").first.press("Enter")
    page.get_by_role("link", name="Edit text").press("Enter")
    box = page.get_by_label("What you prefer")
    box.press("Control+a")
    box.type(NEW)
    page.get_by_role("button", name="Save as new version").press("Enter")
    expect(page.get_by_text("Saved as version 2.")).to_be_visible()
    page.get_by_role("button", name="Disable").press("Enter")
    expect(page.get_by_role("button", name="Enable")).to_be_visible()
    page.get_by_role("button", name="Enable").press("Enter")
    expect(page.get_by_text("Enabled.").first).to_be_visible()

    page = open_page(f"/runs/{run.pk}/preferences/", user=make_user(role="MANAGER"), viewport=WIDE)
    expect(page.get_by_text("12 new verdicts are needed on the dev split")).to_be_visible()
    page.get_by_role("button", name="Judge again").press("Enter")
    expect(page.get_by_role("heading", name="Judge edited preferences and select")).to_be_visible()
    again = JudgeRun.objects.get(parent=run, kind="DISTIL")
    aside(lambda: run_to_end(again.pk))
    page.goto(f"/runs/{run.pk}/preferences/")
    expect(page.get_by_text(f"last judged by run {again.pk}")).to_be_visible()
    expect(page.get_by_text("not judged yet")).to_have_count(0)
