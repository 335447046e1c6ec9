"""A table of a spreadsheet on its way in, from the file to what one does with it next."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from annotation.models import PairwiseLabel
from tests.browser.looks import BOTH_LOOKS, assert_accessible
from tests.factory import make_dataset, make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

HEADER = "What was asked,Answer 1,Answer 2,Rater,Better"
ROWS = """"How do I thank my advisor, briefly?","Dear Professor, thank you.",Thanks!,ann,Answer 1
Sort 3 1 2.,1 2 3,"3
2
1",ann,a
Name a colour.,Red.,Blue.,bob,Tie
"""


@pytest.fixture(autouse=True)
def var(settings, tmp_path):
    settings.VAR_DIR = tmp_path


def upload(page, name, text, dataset="essays"):
    page.get_by_label("File").set_input_files(
        {"name": name, "mimeType": "text/csv", "buffer": text.encode("utf-8-sig")}
    )
    if dataset:
        page.get_by_label("Dataset").fill(dataset)
    page.get_by_role("button", name="Import").click()


@pytest.mark.parametrize("scripts", [True, False])
def test_a_spreadsheet_goes_in_and_leads_on(open_page, scripts):
    page = open_page(
        "/datasets/", user=make_user(role="MANAGER"), quiet=False, java_script_enabled=scripts
    )
    page.get_by_role("link", name="Import").first.click()
    upload(page, "essays.csv", f"{HEADER}\n{ROWS}")
    expect(page.get_by_role("heading", name="What is in each column?")).to_be_visible()
    expect(page.get_by_label("Better", exact=True)).to_have_value("verdict")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("Choose a column for: Prompt.")
    page.get_by_label("What was asked").select_option("Prompt")
    page.get_by_role("button", name="Validate only").click()
    expect(page.get_by_text("Check passed: 3 valid rows, 3 new.")).to_be_visible()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Imported 3 rows (3 new).")).to_be_visible()
    page.get_by_role("link", name="Learn preferences from the labels").click()
    expect(page).to_have_url(re.compile(r"/runs/new/\?dataset=essays"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert PairwiseLabel.objects.count() == 3


def test_a_chinese_spreadsheet_goes_in_with_its_own_words(open_page):
    page = open_page("/datasets/import/", user=make_user(role="MANAGER"), quiet=False)
    rows = [
        "一种水果？,梨,砖头,李雷,左",
        "天空？,蓝,方,李雷,右",
        "水？,湿,冰,韩梅梅,一样",
        "火？,热,烫,韩梅梅,没差",
    ]
    text = "\n".join(["问题,回答A,回答B,标注员,选择", *rows])
    buffer = text.encode("gb18030")
    page.get_by_label("File").set_input_files(
        {"name": "votes.csv", "mimeType": "text/csv", "buffer": buffer}
    )
    page.get_by_role("button", name="Import").click()
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="What do the values mean?")).to_be_visible()
    page.get_by_label("没差").select_option("Tie")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_text("Imported 4 rows (4 new).")).to_be_visible()
    assert sorted(PairwiseLabel.objects.values_list("verdict", flat=True)) == [
        "A",
        "B",
        "TIE",
        "TIE",
    ]


def test_a_broken_spreadsheet_lists_its_errors(open_page):
    page = open_page("/datasets/import/", user=make_user(role="MANAGER"), quiet=False)
    rows = f"{HEADER}\n{ROWS}Who?,You.\nWhen?,Now.\n"
    upload(page, "My essays (2).csv", rows, dataset=None)
    expect(page.get_by_text("for the dataset My-essays-2.")).to_be_visible()
    page.get_by_label("What was asked").select_option("Prompt")
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("alert")).to_contain_text("2 errors. Nothing was imported.")
    table = page.get_by_role("table").first
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table).to_contain_text("2 cells for 5 columns")
    assert not PairwiseLabel.objects.exists()


@BOTH_LOOKS
def test_the_pages_of_a_table_have_no_serious_fault(open_page, scheme, viewport):
    page = open_page(
        "/datasets/import/",
        user=make_user(role="MANAGER"),
        color_scheme=scheme,
        viewport=viewport,
    )
    upload(page, "essays.csv", f"{HEADER}\n{ROWS}".replace("What was asked", "Question"))
    expect(page.get_by_label("Question")).to_have_value("prompt")
    assert_accessible(page)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="Next steps")).to_be_visible()
    assert_accessible(page)
    page.get_by_role("link", name="View dataset").click()
    page.get_by_text("Delete this dataset").click()
    expect(page.get_by_label("Type “essays”")).to_be_focused()
    page.keyboard.type("essays")
    page.get_by_role("button", name="Delete dataset").click()
    expect(page.get_by_text("Deleted: essays.")).to_be_visible()


def test_a_file_suggests_a_name_that_no_dataset_has(open_page):
    make_dataset(slug="labels")
    page = open_page("/datasets/import/", user=make_user(role="MANAGER"))
    for name, suggested in (("essays.csv", "essays"), ("Labels.csv", "")):
        page.get_by_label("File").set_input_files(
            {"name": name, "mimeType": "text/csv", "buffer": b"a"}
        )
        expect(page.get_by_label("Dataset")).to_have_value(suggested)
