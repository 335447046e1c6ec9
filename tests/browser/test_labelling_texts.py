"""Responses in any script and of any shape read as they should and never move the page aside."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from annotation.models import Response
from tests.annotation.labelling import make_pair_study
from tests.browser.looks import BOTH_LOOKS
from tests.factory import make_user

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

# How far the text of the first match is from the left edge of its column and from the right.
EDGES = """selector => {
  const element = document.querySelector(`.resp ${selector}`);
  const range = document.createRange();
  range.selectNodeContents(element);
  const text = range.getBoundingClientRect();
  const column = element.closest(".prose").getBoundingClientRect();
  return [text.left - column.left, column.right - text.right];
}"""


def show(open_page, text, **context):
    """The page of a pair of which both responses are this text."""
    annotator = make_user()
    study = make_pair_study([annotator])
    Response.objects.update(text=text)
    return open_page(f"/studies/{study.slug}/next/", user=annotator, **context)


def test_arabic_reads_from_the_right_with_its_marks_and_code_does_not(open_page):
    page = show(open_page, "نص قصير.\n\n- بند\n\n> اقتباس\n\nPlain English.\n\n```\nx = 1\n```")
    for selector in (".prose > p", ".prose li", ".prose blockquote p"):
        left, right = page.evaluate(EDGES, selector)
        assert right < 40 < left
    for selector in (".prose > p:nth-of-type(2)", ".prose pre code"):
        left, right = page.evaluate(EDGES, selector)
        assert left < 40 < right
    item = page.locator(".resp .prose li").first
    assert item.evaluate("e => getComputedStyle(e).direction") == "rtl"


def test_hebrew_after_an_english_word_stays_by_its_marks(open_page):
    page = show(open_page, "Python שפה.\n\n- פריט\n- עוד\n\nסוף!")
    left, right = page.evaluate(EDGES, ".prose li")
    assert left < 40 < right
    left, right = page.evaluate(EDGES, ".prose > p:last-child")
    assert right < 40 < left


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize(
    "text",
    [
        "So $" + "x+" * 300 + "x$ holds.",
        "- item $" + "x+" * 300 + "x$",
        "$$" + "x+" * 300 + "x$$",
        "w" * 3000,
        "好" * 3000,
        "`" + "c" * 3000 + "`",
        "```\n" + "c" * 3000 + "\n```",
        "|" + "heading|" * 40 + "\n|" + "-|" * 40 + "\n|" + "word|" * 40,
    ],
    ids=["formula", "in-list", "displayed", "word", "chinese", "code", "block", "table"],
)
def test_nothing_wide_moves_the_page_sideways(open_page, text, width):
    page = show(open_page, text, viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") == width


def test_a_wide_table_scrolls_with_its_words_whole(open_page):
    page = show(open_page, "|" + "heading|" * 30 + "\n|" + "-|" * 30 + "\n|" + "wording|" * 30)
    cell = page.locator(".resp .prose td").first.bounding_box()
    assert cell["height"] < 50
    assert page.locator(".resp .prose .table-wrap").first.get_attribute("tabindex") == "0"


TOOLS = (
    'Let me look.\n\n```tool-call\ntide_table({"harbour": "Varel", "note": "'
    + "w" * 300
    + '"})\n```\n\n```tool-result tide_table\nhigh 06:12, 18:40\n```\n\nHigh tide is at 06:12.'
)


@BOTH_LOOKS
def test_calls_of_tools_are_folded_and_open_in_place(open_page, scheme, viewport):
    page = show(open_page, TOOLS, viewport=viewport, color_scheme=scheme)
    first = page.locator(".resp .prose details.tool").first
    expect(first.locator("summary")).to_have_text("Tool call: tide_table")
    expect(first.locator("pre")).to_be_hidden()
    first.locator("summary").click()
    expect(first.locator("pre")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == viewport["width"]
    expect(page.locator(".resp .prose details.tool summary").nth(1)).to_have_text(
        "Tool result: tide_table"
    )
