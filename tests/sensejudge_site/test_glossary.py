"""The glossary: its page in both languages, its entries, and the terms that lead to them."""

from __future__ import annotations

import re

import pytest

from sensejudge_site.methods import chapters, glossary
from tests.factory import make_user
from tests.paths import ROOT

TERM = re.compile(r'{% term "([^"]*)" ')


def test_both_languages_explain_the_same_terms_in_a_line_each():
    english, chinese = glossary("en"), glossary("zh-hans")
    assert list(english) == list(chinese)
    for anchor, term in english.items():
        assert chinese[anchor].method == term.method
        assert chinese[anchor].title != term.title or anchor == "p-value"
        assert 20 < len(term.text) < 190, anchor
    for name in ("glossary.md", "glossary.zh.md"):
        source = (ROOT / "docs" / name).read_text("utf-8")
        assert source.count("<a id=") == source.count("### ") == len(english)


def test_every_term_leads_to_an_entry_and_every_entry_is_led_to():
    texts = [each.read_text("utf-8") for each in (ROOT / "templates").rglob("*.html")]
    assert not [text for text in texts if re.search(r'_\("[^"]*%', text)]  # it would be doubled
    assert {anchor for text in texts for anchor in TERM.findall(text)} == set(glossary("en"))


def test_every_entry_leads_to_a_section_of_its_method_if_any():
    _before, found = chapters("en")
    sections = {figure.anchor for chapter in found for figure in chapter.figures}
    assert {term.method for term in glossary("en").values()} - sections == {""}


@pytest.mark.django_db
def test_everybody_who_is_signed_in_reads_it_in_their_language(client):
    assert client.get("/glossary/").url == "/sign-in/?next=/glossary/"
    client.force_login(make_user())
    page = client.get("/glossary/").content.decode()
    assert '<h3 id="position-bias">Position bias' in page
    assert 'href="/methods/#position-bias"' in page
    chinese = client.get("/glossary/", headers={"accept-language": "zh-hans"}).content.decode()
    assert '<h3 id="position-bias">位置偏差' in chinese
    assert 'href="/glossary/"' in client.get("/methods/").content.decode()
    assert client.post("/glossary/").status_code == 405
