from __future__ import annotations

from xml.etree import ElementTree

import pytest
from playwright.sync_api import expect

from tests.benchmark.stage import Stage
from tests.browser.looks import WIDE
from tests.factory import make_user

SVG = "{http://www.w3.org/2000/svg}"
pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def study():
    stage = Stage.make(scenarios=("Writing", "Code"), size=6)
    ann, bob = stage.rater("ann"), stage.rater("bob")
    stage.label(ann, "ABABAB" + "AABBAB", shown="ORIGINAL")
    stage.label(bob, "AAAAAA" + "BBBBBB", shown="SWAPPED")
    run = stage.tested(
        ann,
        stage.distilled(ann),
        base="BBBBBB" * 2,
        selected="ABABAB" + "AABBBB",
        shuffled="A?" * 6,
    )
    stage.tested(bob, stage.distilled(bob), base="BBBBBB" * 2, selected="BBBBBB" + "AAAAAA")
    return stage, run


def test_a_filter_changes_the_figures_and_the_address_without_a_new_page(open_page):
    study()
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    expect(page.locator(".answer b")).to_contain_text("Yes:")
    page.evaluate("window.kept = true")
    page.get_by_label("Annotator").select_option(label="bob")
    expect(page.locator(".answer b")).to_contain_text("less often than chance")
    assert page.evaluate("window.kept")
    assert "annotator=" in page.url
    page.go_back()
    expect(page.locator(".answer b")).to_contain_text("Yes:")


def test_the_word_that_tells_of_a_request_takes_no_line_while_there_is_none(open_page):
    study()
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    lines = """form => {
        const ends = [...form.querySelectorAll(".button, select")]
        return form.getBoundingClientRect().bottom
            - Math.max(...ends.map(end => end.getBoundingClientRect().bottom))
    }"""
    for width in range(360, 1300, 60):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.locator(".filters").evaluate(lines) < 1, width
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_wide_window_cuts_off_neither_tabs_nor_the_folded_table(open_page):
    study()
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    page.locator("summary", has_text="Table").first.click()
    for box in (".tabs", "details[open] .table-wrap"):
        fits = "box => box.scrollWidth <= box.clientWidth"
        assert page.locator(box).first.evaluate(fits), box
    page.goto("/trust/gold/")  # its tab is the longest, and bold
    assert page.locator(".tabs").evaluate(fits)


def test_a_table_that_a_narrower_window_cuts_off_is_reached_by_keyboard(open_page):
    study()
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    cut_off = """boxes => boxes.filter(box => box.scrollWidth > box.clientWidth)
        .map(box => box.tabIndex)"""
    wide = page.locator(".table-wrap").evaluate_all(cut_off)
    page.set_viewport_size({"width": 360, "height": 800})
    expect(page.locator(".table-wrap[tabindex='0']")).not_to_have_count(len(wide))
    narrow = page.locator(".table-wrap").evaluate_all(cut_off)
    assert len(narrow) > len(wide)
    assert set(narrow) == {0}


def test_a_number_leads_to_its_rows_and_back(open_page):
    study()
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    lengths = page.locator("section", has=page.get_by_role("heading", name="Length bias"))
    lengths.get_by_role("row", name="Selected preferences").first.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(
        "Decided with the selected preferences"
    )
    page.get_by_role("link", name="disagrees").click()
    expect(page.locator("tbody tr")).to_have_count(1)
    page.get_by_role("navigation", name="Where you are").get_by_role("link", name="Trust").click()
    expect(page.locator(".answer b")).to_contain_text("Yes:")


def test_tables_are_copied_and_charts_saved(open_page):
    study()
    page = open_page("/leaderboard/", user=make_user(role="VIEWER"), viewport=WIDE)
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    card = page.locator("section.card").first
    card.get_by_role("button", name="Copy as Markdown").click()
    expect(card.get_by_role("button", name="Copied")).to_be_visible()
    head, rule, first, *_rest = page.evaluate("copied").splitlines()
    assert head == "| rank | Model | Bradley-Terry | win rate | comparisons |"
    assert rule == "| ---: | --- | ---: | ---: | ---: |"
    assert first.startswith("| 1 ")
    assert "&until=" in page.evaluate("copied").splitlines()[-1]
    page.evaluate(
        """() => {
            const cells = document.querySelector("section.card table").rows[1].cells
            cells[0].textContent = "[1]"
            cells[1].textContent = "[<a|b> → c] ≥ 5 %"
        }"""
    )
    card.get_by_role("button", name="Copy as LaTeX").click()
    page.wait_for_function("copied.includes('tabular')")
    latex = page.evaluate("copied")
    assert "\\begin{tabular}{rlrrr}" in latex
    assert "\\caption{Human labels. Study. " in latex
    assert " verdicts on " in latex.split("\\caption")[1].split("\n")[0]
    assert f"\\url{{{page.url.split('/leaderboard')[0]}/leaderboard/?dataset=study&" in latex
    assert "until=" in latex
    assert "\\%" in latex
    row = r"  {}[1] & [\textless{}a\textbar{}b\textgreater{} $\to$ c] $\ge$ 5 \% & "
    assert row in latex
    assert latex.splitlines()[1] == r"% needs \usepackage{booktabs,url}"
    with page.expect_download() as saving:
        card.get_by_role("button", name="Save as SVG").click()
    assert saving.value.suggested_filename.startswith("leaderboard-rating-of-each-model")
    chart = ElementTree.parse(saving.value.path()).getroot()  # noqa: S314 - of our own
    assert chart.get("width") == "84.0mm"  # a column of a paper
    texts = ["".join(each.itertext()).strip() for each in chart.iter(f"{SVG}text")]
    assert "Rating of each model with its interval" in texts
    assert {each.get("fill") for each in chart.iter(f"{SVG}path")} == {"rgb(0, 114, 178)"}
    assert not [each for each in chart.iter() if each.get("class") or each.tag.endswith("}a")]


def test_long_tables_are_folded_and_copied_whole(open_page):
    stage = Stage.make(scenarios=[f"Topic {number:02}" for number in range(30)], size=1)
    ann = stage.rater("ann")
    stage.label(ann, "AB" * 15)
    stage.tested(ann, stage.distilled(ann), base="A" * 30, selected="AB" * 15)
    page = open_page("/trust/", user=make_user(role="VIEWER"), viewport=WIDE)
    page.evaluate("navigator.clipboard.writeText = async text => { window.copied = text }")
    card = page.locator("section.card", has_text="By scenario").first
    expect(card.locator("table").first.locator("tbody tr:visible")).to_have_count(20)
    card.get_by_role("button", name="Copy as LaTeX").first.click()
    page.wait_for_function("copied.includes('Topic 29')")
    card.get_by_role("button", name="Show the whole table (30").first.click()
    expect(card.locator("table").first.locator("tbody tr:visible")).to_have_count(30)


def test_a_list_in_pages_is_never_folded(open_page):
    Stage.make(size=30)
    page = open_page("/datasets/study/", user=make_user(role="VIEWER"), viewport=WIDE)
    expect(page.locator("#sessions tbody tr:visible")).to_have_count(30)
    expect(page.get_by_role("button", name="Show the whole table")).to_have_count(0)


def test_a_run_s_page_follows_it_to_its_end(open_page):
    _stage, run = study()
    type(run).objects.filter(pk=run.pk).update(status="RUNNING")
    page = open_page(f"/runs/{run.pk}/", user=make_user(role="VIEWER"), viewport=WIDE)
    expect(page.locator("#progress .status")).to_have_text("Running")
    type(run).objects.filter(pk=run.pk).update(status="DONE")
    expect(page.locator("#progress .status")).to_have_text("Done", timeout=10_000)
    expect(page.locator("#progress[hx-get]")).to_have_count(0)
