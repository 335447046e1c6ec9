from __future__ import annotations

import pytest
from django.template import Context, Template
from django.urls import set_script_prefix
from django.utils import translation

LINES = (
    '{% translate "Datasets" %}',
    '{% trans "Datasets" %}',
    '{% translate "Datasets"|upper %}',
    "{% translate name %}",
    '{% translate "Datasets" noop %}',
    '{% translate "Datasets" as told %}{{ told }}',
)


@pytest.mark.parametrize("line", LINES)
def test_a_sentence_is_said_in_each_reader_s_language(line):
    template = Template("{% load i18n %}" + line)
    said = {}
    for language in ("en", "zh-hans", "en", "zh-hans"):
        with translation.override(language):
            said.setdefault(language, set()).add(template.render(Context({"name": "Studies"})))
    assert all(len(each) == 1 for each in said.values())
    assert (said["en"] == said["zh-hans"]) is ("noop" in line)


def test_what_a_sentence_names_is_not_kept():
    template = Template("{% load i18n %}{% translate name %}")
    with translation.override("zh-hans"):
        told = [template.render(Context({"name": each})) for each in ("Datasets", "Studies")]
    assert told[0] != told[1]


def test_percent_signs_and_markup_stay():
    template = Template('{% load i18n %}{% translate "100 % <b>sure</b> & so" %}')
    with translation.override("en"):
        assert {template.render(Context()) for _time in range(2)} == {"100 % <b>sure</b> & so"}


@pytest.fixture
def at_the_root():
    yield
    set_script_prefix("/")


@pytest.mark.usefixtures("at_the_root")
@pytest.mark.parametrize(
    "line",
    [
        "{% url 'annotation:studies' %}",
        "{% url 'annotation:studies' as at %}{{ at }}",
        "{% url it %}",
    ],
)
def test_an_address_is_that_under_the_site_s_path(line):
    template = Template("{% load i18n %}" + line)
    for prefix in ("/", "/judge/", "/"):
        set_script_prefix(prefix)
        told = template.render(Context({"it": "annotation:studies"}))
        assert told == f"{prefix}studies/"


def test_an_address_with_a_number_is_looked_up_each_time():
    template = Template("{% load i18n %}{% url 'judging:run' pk %}")
    assert [template.render(Context({"pk": pk})) for pk in (1, 2)] == ["/runs/1/", "/runs/2/"]
