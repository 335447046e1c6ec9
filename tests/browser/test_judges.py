from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation.models import Response
from tests.benchmark.stage import Stage
from tests.benchmark.test_views_gold import give_gold, record
from tests.browser.looks import BOTH_LOOKS, WIDE, assert_accessible
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


@BOTH_LOOKS
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
        "/trust/judges/",
        "/trust/judges/?of=gold",
        "/trust/judges/rows/?judge=GPT-4&way=recorded&voice=base",
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
    expect(page.get_by_text("No comparisons")).to_be_visible()


def test_from_all_judges_to_one_comparison_and_back(open_page):
    stage, _run = study()
    ann = stage.rater("ann")
    stage.label(ann, "AB" * 5)
    stage.tested(ann, stage.distilled(ann), base="AA" * 5, selected="AB" * 5)
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    page.get_by_role("link", name="All judges").click()
    table = page.get_by_role("region", name="Agreement of all judges by scenario")
    expect(table.get_by_role("rowheader", name="GPT-4")).to_be_visible()
    page.evaluate("window.kept = true")
    page.get_by_label("Compared with").select_option(label="gold answers")
    heading = page.get_by_role("heading", name="Agreement with gold answers by scenario")
    expect(heading).to_be_visible()
    assert page.evaluate("window.kept")
    table.get_by_role("row", name="GPT-4").get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Decided by the base judge")
    expect(page.locator("tbody tr")).to_have_count(2)
    page.locator("tbody a").first.click()
    expect(page).to_have_url(re.compile(r"/trust/disagreements/\d+/\d+/"))
    page.go_back()
    page.get_by_role("navigation", name="Where you are").get_by_role(
        "link", name="All judges"
    ).click()
    expect(heading).to_be_visible()
