"""A manager edits a study's prompt, told while typing what would break the judge."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Study
from judging.models import PromptOverride
from tests.annotation.labelling import make_pair_study
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_a_prompt_is_edited_checked_published_and_taken_back(open_page):
    study: Study = make_pair_study([make_user()], items=1, slug="pairs")
    page = open_page(f"/studies/{study.slug}/", user=make_user(role="MANAGER"))
    page.get_by_role("link", name="Prompts").click()
    page.locator("#en").get_by_role("link", name="judge_pair_base", exact=True).click()
    text, check = page.get_by_label("Text"), page.locator("#check")
    released = text.input_value()

    text.fill(released.replace("{{response_b}}", ""))
    expect(check.get_by_text("missing")).to_have_count(1)
    expect(check).to_contain_text("Fix the placeholders first.")

    text.fill(released.replace("Two assistants", "Two kind assistants"))
    expect(check.get_by_text("missing")).to_have_count(0)
    expect(check.locator("ins")).to_have_text("kind ")
    expect(check.locator("pre.raw")).to_contain_text("Two kind assistants")

    page.get_by_role("button", name="Publish as a new version").click()
    expect(page.locator("#messages")).to_contain_text("Published version 1.")
    expect(text).to_have_value(released.replace("Two assistants", "Two kind assistants"))
    page.get_by_role("button", name="Withdraw edited text").click()
    expect(text).to_have_value(released)
    assert [row.version for row in PromptOverride.objects.order_by("version")] == [1, 2]
