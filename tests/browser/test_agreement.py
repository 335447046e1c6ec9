from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import GoldLabel
from tests.annotation.test_views_adjudication import Disputes
from tests.factory import make_response, make_turn, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def disputes():
    found = Disputes()
    for number, verdicts in enumerate(("AAB", "ABT", "AB-", "BBB")):
        found.pair(f"pair {number}", verdicts)
    found.rated([5, 1, 3], response=make_response(make_turn(), original=True))
    return found


def test_everything_is_decided_without_javascript(open_page, disputes):
    manager = make_user(role="MANAGER")
    page = open_page("/agreement/?dataset=panel", user=manager, java_script_enabled=False)
    page.get_by_role("link", name="Resolve disagreements").click()
    page.get_by_role("link", name="Decide next item").click()
    for _ in range(3):
        page.get_by_label("Tie").check()
        page.get_by_label("Rationale").fill("They are alike.")
        page.get_by_role("button", name="Save decision").click()
    expect(page.get_by_role("heading", name="All items decided")).to_be_visible()
    assert GoldLabel.objects.filter(verdict="TIE", rationale="They are alike.").count() == 3
