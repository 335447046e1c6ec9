from __future__ import annotations

import gzip
import json

import pytest

from annotation.core.formats.records import PROFILE_FIELDS
from annotation.core.profiles import CHOICES, stored_word
from tests.paths import shared_data

BY_NAME = {field.name: field for field in CHOICES}


def test_the_questions_are_the_fields_of_a_profile_but_the_age():
    assert set(BY_NAME) == set(PROFILE_FIELDS) - {"age"}


@pytest.mark.parametrize("field", CHOICES, ids=lambda field: field.name)
def test_no_option_stands_twice(field):
    words = [*field.options, *field.options.values()]
    assert len(set(words)) == len(words)
    assert all(len(word) <= 50 for word in words)


@pytest.mark.parametrize(
    ("name", "value", "word"),
    [
        ("personality", "乐观", "Optimistic"),
        ("personality", "Optimistic", "Optimistic"),
        ("occupation", "自媒体工作者", "Independent media"),
        ("gender", "Male", "Male"),
        ("occupation", "Lighthouse keeper", "Lighthouse keeper"),
        ("travel_habits", "乐观", "乐观"),
    ],
)
def test_either_language_is_understood(name, value, word):
    assert stored_word(BY_NAME[name], value) == word


def test_every_tag_of_the_data_set_is_an_option():
    unknown = set()
    with gzip.open(shared_data("recllmsim_dev.jsonl.gz"), "rt", encoding="utf-8") as lines:
        for line in lines:
            profile = json.loads(line)["profile"]
            for field in CHOICES:
                told = profile[field.name]
                for value in told if field.many else [told]:
                    if stored_word(field, value) not in field.options:
                        unknown.add((field.name, value))
    assert unknown <= {("other_aspects", "无符合描述")}  # "none of these", an answer of its own
