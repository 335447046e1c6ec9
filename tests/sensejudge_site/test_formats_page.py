"""docs/formats.md as a page, and the way to it from where files are imported."""

from __future__ import annotations

import re

import pytest

from judging.core.formats.detect import ALL_FORMATS
from sensejudge_site.methods import formats
from tests.factory import make_user

pytestmark = pytest.mark.django_db


def anchors():
    return [each.anchor for part in formats() for each in (part.opening, *part.figures)]


def test_every_format_has_a_section_of_its_name_and_none_is_named_twice():
    assert set(ALL_FORMATS) <= set(anchors())
    assert len(set(anchors())) == len(anchors())


def test_sections_have_tables_and_examples_and_no_dead_links():
    pages = {each.anchor: each.text for part in formats() for each in part.figures}
    assert "<table>" in pages["csv"]
    assert "--columns" in pages["csv"]
    assert "Thank my advisor." in pages["pair-one-comparison-written-flat"]
    assert not [name for name, text in pages.items() if "<a" in text or "](" in text]


def test_everybody_who_is_signed_in_reads_it(client):
    assert client.get("/formats/").url == "/sign-in/?next=/formats/"
    client.force_login(make_user())
    page = client.get("/formats/").content.decode()
    assert '<h3 id="rewardbench">rewardbench</h3>' in page
    assert "This reference is in English." not in page
    chinese = client.get("/formats/", headers={"accept-language": "zh-hans"}).content.decode()
    assert chinese.count('<p class="note">') == page.count('<p class="note">') + 1
    assert client.post("/formats/").status_code == 405


def test_the_import_page_says_what_each_format_is_and_leads_to_it(client):
    client.force_login(make_user(role="MANAGER"))
    page = client.get("/datasets/import/").content.decode()
    told = re.findall(r'<a href="/formats/#([\w-]+)">[^<]+</a></dt>\s*<dd>([^<]+)</dd>', page)
    assert [name for name, _line in told] == list(ALL_FORMATS)
    assert all(line.strip().endswith(".") for _name, line in told)
