from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Response
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.browser.test_pages import NARROW, WIDE, assert_accessible
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SUBSETS = ("alpacaeval-easy", "mt-bench-hard", "donotanswer", "math-prm", "hep-cpp")


def study():
    stage = Stage.make(scenarios=SUBSETS, size=2)
    Response.objects.filter(model="alpha").update(model="gpt-4")
    for name, letters in (("expert_1", "AB" * 5), ("expert_2", "AA" * 5)):
        stage.label(stage.rater(name), letters, shown="ORIGINAL")
    give_gold(stage, "AB" * 5)
    run = record(stage, "GPT-4", "AB" * 4 + "A?", "AA" * 5)
    record(stage, "alpaca_eval_gpt4", "BB" * 5)
    return stage, run


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
def test_the_pages_of_recorded_judges_have_no_serious_fault(open_page, scheme, viewport):
    stage, run = study()
    manager = make_user(role="MANAGER")
    page = open_page("/trust/gold/", user=manager, color_scheme=scheme, viewport=viewport)
    expect(page.get_by_role("heading", name="All judges")).to_be_visible()
    assert_accessible(page)
    comparison = stage.comparisons["donotanswer"][0]
    for path in (
        f"/trust/gold/rows/?run={run.pk}&section=Reasoning",
        "/trust/people/",
        "/trust/disagreements/",
        "/trust/",
        f"/runs/{run.pk}/",
        f"/runs/{run.pk}/comparisons/{comparison.pk}/",
    ):
        page.goto(path)
        assert_accessible(page)


def test_a_judge_is_chosen_without_a_new_page_and_its_number_leads_to_rows(open_page):
    _stage, run = study()
    page = open_page("/trust/gold/", user=make_user(role="VIEWER"), viewport=WIDE)
    page.evaluate("window.kept = true")
    page.get_by_label("Judge").select_option(value=str(run.pk))
    expect(page.locator("section.card h2").last).to_contain_text("GPT-4")
    assert page.evaluate("window.kept")
    assert f"run={run.pk}" in page.url
    page.locator("tr", has_text="hep-cpp").get_by_role("link").first.click()
    expect(page.get_by_role("heading", name="hep-cpp")).to_be_visible()
    page.get_by_role("link", name="unreadable").click()
    expect(page.get_by_text("No comparisons here")).to_be_visible()
