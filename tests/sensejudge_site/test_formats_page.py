"""docs/formats.md and its Chinese twin as a page, and the way to it from the import of files."""

from __future__ import annotations

import re

import pytest

from judging.core.formats.detect import ALL_FORMATS
from sensejudge_site.methods import formats
from tests.factory import make_user

pytestmark = pytest.mark.django_db


CODE = re.compile(r"<code>(.*?)</code>", re.DOTALL)
LANGUAGES = ["en", "zh-hans"]


def sections(language):
    return [each for part in formats(language) for each in (part.opening, *part.figures)]


def test_every_format_has_a_section_of_its_name_and_none_is_named_twice():
    anchors = [each.anchor for each in sections("en")]
    assert set(ALL_FORMATS) <= set(anchors)
    assert len(set(anchors)) == len(anchors)


def test_both_languages_have_the_same_sections_with_the_same_code_rows_and_points():
    for english, chinese in zip(sections("en"), sections("zh-hans"), strict=True):
        assert chinese.anchor == english.anchor
        assert set(CODE.findall(chinese.text)) == set(CODE.findall(english.text)), english.anchor
        for mark in ("<tr>", "<li>", "<p>", "<pre>"):
            assert chinese.text.count(mark) == english.text.count(mark), english.anchor
        assert re.search("[\u4e00-\u9fff]", chinese.text) or not english.text


@pytest.mark.parametrize("language", LANGUAGES)
def test_sections_have_tables_and_examples_and_no_dead_links(language):
    pages = {each.anchor: each.text for each in sections(language)}
    assert "<table>" in pages["csv"]
    assert "--columns" in pages["csv"]
    assert "Thank my advisor." in pages["pair-one-comparison-written-flat"]
    assert not [name for name, text in pages.items() if "<a" in text or "](" in text]


def test_everybody_who_is_signed_in_reads_it_in_their_language(client):
    assert client.get("/formats/").url == "/sign-in/?next=/formats/"
    client.force_login(make_user())
    page = client.get("/formats/").content.decode()
    assert '<h3 id="rewardbench">rewardbench</h3>' in page
    assert '<h2 id="exports">Exports</h2>' in page
    chinese = client.get("/formats/", headers={"accept-language": "zh-hans"}).content.decode()
    assert '<h2 id="exports">导出</h2>' in chinese
    assert client.post("/formats/").status_code == 405


def test_the_import_page_says_what_each_format_is_and_leads_to_it(client):
    client.force_login(make_user(role="MANAGER"))
    page = client.get("/datasets/import/").content.decode()
    told = re.findall(r'<a href="/formats/#([\w-]+)">[^<]+</a></dt>\s*<dd>([^<]+)</dd>', page)
    assert [name for name, _line in told] == list(ALL_FORMATS)
    assert all(line.strip().endswith(".") for _name, line in told)
