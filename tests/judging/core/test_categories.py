"""Sorting dialogues: replies of judges, and the embedded judge's cues."""

from __future__ import annotations

import json

import pytest

from annotation.core.conversations import Message, Speaker
from annotation.core.refusals import Refused
from judging.core.categories import (
    SORTING,
    SUBCATEGORIES,
    Category,
    SortedDialogue,
    Usefulness,
    read_sorted,
)
from judging.core.echoes import sorted_said
from judging.core.judge_prompts import sort_prompt, sort_schema
from judging.core.lexical.categories import sort_requests
from judging.core.prompts import LANGUAGES, load_prompt
from judging.core.questions import SortQuestion
from tests.paths import shared_data

REPLY = {
    "quality": "keep",
    "category": "Math",
    "subcategory": "Applied mathematics",
    "why": "It asks for a number.",
}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, SortedDialogue(Usefulness.KEEP, Category.MATH, "Applied mathematics", "It asks.")),
        (
            {"quality": "Too-Simple", "subcategory": "applied MATHEMATICS"},
            SortedDialogue(Usefulness.TOO_SIMPLE, Category.MATH, "Applied mathematics", "It asks."),
        ),
    ],
)
def test_a_reply_is_read(changed, expected):
    reply = "Well:\n" + json.dumps(REPLY | {"why": "It asks."} | changed)
    assert read_sorted(reply) == expected


def test_a_sentence_is_kept_as_it_can_be_stored():
    found = read_sorted(json.dumps(REPLY | {"why": "a\x00b" + "x" * 600}))
    assert found.why.startswith("a\ufffdbx")
    assert len(found.why) == 500


def test_the_last_answer_stands_and_reasoning_is_none():
    first, last = json.dumps(REPLY), json.dumps(REPLY | {"quality": "ambiguous"})
    assert read_sorted(f"{first}\n{last}").usefulness is Usefulness.AMBIGUOUS
    assert read_sorted(f"<think>{last}</think>{first}").usefulness is Usefulness.KEEP


@pytest.mark.parametrize(
    "reply",
    [
        "Math",
        "{}",
        json.dumps(REPLY | {"quality": "fine"}),
        json.dumps(REPLY | {"category": "Sports"}),
        json.dumps(REPLY | {"subcategory": "Code explanation"}),  # of another category
        json.dumps({"quality": "keep"}),
    ],
)
def test_what_cannot_be_read_is_refused(reply):
    with pytest.raises(Refused) as refused:
        read_sorted(reply)
    assert refused.value.code == "sort:unparseable"


@pytest.mark.parametrize("language", LANGUAGES)
def test_an_echo_of_the_form_is_no_answer(language):
    asked = load_prompt(SORTING, language=language).text
    form = asked[asked.rindex("{\n") :]
    assert read_sorted(form).category is Category.QA
    with pytest.raises(Refused) as refused:
        sorted_said(form, asked=asked)
    assert refused.value.code == "sort:echo"
    assert sorted_said(json.dumps(REPLY), asked=asked).why == "It asks for a number."


def test_prompts_name_every_category_and_subcategory():
    for language in LANGUAGES:
        text = load_prompt(SORTING, language=language).text
        for category, names in SUBCATEGORIES.items():
            line = next(one for one in text.splitlines() if one.startswith(f"- {category.value}"))
            assert all(name in line for name in names), (language, category)
        assert all(f"- {each.value}" in text for each in Usefulness)


@pytest.mark.parametrize(
    ("requests", "category", "subcategory"),
    [
        (["用python写一个爬虫脚本"], Category.CODE, "Code generation"),
        (["运行报错：Traceback (most recent call last)"], Category.CODE, "Code error reporting"),
        (["把下面这段话翻译成英文"], Category.TRANSLATION, "Basic translation"),
        (["请你扮演一位面试官"], Category.ROLE, "Practical"),
        (["请你扮演一位面试官", "我准备好了"], Category.ROLE, "Celebrity"),
        (["Rewrite this paragraph, please"], Category.NLU, "Text polishing and editing"),
        (["求方程x^2-3x+2=0的解，证明只有两个"], Category.MATH, "Advanced mathematics"),
        (["甲说真话，乙说假话，谁是凶手？请推理"], Category.LOGIC, "Conditional reasoning"),
        (["写一首关于春天的诗"], Category.WRITING, "Creative writing"),
        (["What is the difference between a hare and a rabbit?"], Category.QA, "General knowledge"),
        (["zzz"], Category.QA, "Opinion expression"),
    ],
)
def test_the_embedded_judge_goes_by_words(requests, category, subcategory):
    found = sort_requests(requests)
    assert (found.category, found.subcategory) == (category, subcategory)
    assert found.usefulness is Usefulness.KEEP


@pytest.mark.parametrize("last", ["谢谢你！", "OK, thanks", "继续", "…", "Go on."])
def test_requests_that_ask_for_nothing(last):
    expected = Usefulness.KEEP if last == "OK, thanks" else Usefulness.REDUNDANT
    assert sort_requests(["写一首诗", last]).usefulness is expected


def test_how_often_the_cues_find_the_papers_topic():
    dialogues = json.loads(shared_data("sensebench_prompts.json").read_text("utf-8"))
    right = 0
    for messages in dialogues:
        topic = messages[0]["topic"].removeprefix("sense_bmk:")
        requests = [
            "\n".join(part["value"] for part in each["content"])
            for each in messages
            if each["from"] == "Human"
        ]
        right += sort_requests(requests).category == topic
    # As docs/methods.md says.
    assert (right, len(dialogues)) == (270, 411)


@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_prompt_shows_the_dialogue_and_its_schema_takes_the_form(language):
    dialogue = (Message(Speaker.USER, "First"), Message(Speaker.USER, "Second"))
    text = sort_prompt(SortQuestion(dialogue, language), budget=5_000)
    assert text.index("First") < text.index("Second")
    schema = sort_schema()
    assert set(schema.schema["required"]) == set(REPLY)
