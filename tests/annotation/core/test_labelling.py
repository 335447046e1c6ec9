from __future__ import annotations

from dataclasses import replace

import pytest

from annotation.core.assignment import Progress, SkipReason
from annotation.core.choices import StudyKind
from annotation.core.conversations import Message, Speaker
from annotation.core.labelling import (
    PairTask,
    Place,
    RatedTurn,
    RatingTask,
    Rules,
    ShownResponse,
    count_words,
)

RULES = Rules(
    slug="s",
    name="S",
    kind=StudyKind.SATISFACTION,
    allow_tie=False,
    allow_strength=False,
    allow_both_bad=False,
    ask_hallucination=False,
    guidelines="",
)
PLACE = Place(
    item=1,
    previous=None,
    scenario="Writing",
    answered=False,
    skipped=None,
    progress=Progress(0, 0, 1),
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", 0),
        ("Dear Professor Lin,", 3),
        ("don't re-read it", 3),
        ("- **bold** item\n- 42", 3),
        ("你好，世界。", 4),
        ("用 Python 写代码", 5),
        ("カタカナ", 4),
    ],
)
def test_words_are_counted_in_either_language(text, words):
    assert count_words(text) == words


def test_a_response_that_is_not_available_has_no_words():
    assert ShownResponse(None).words == 0
    assert ShownResponse("two words").words == 2


@pytest.mark.parametrize(
    ("text", "is_chinese"),
    [("你好，世界。", True), ("A 茶 house", False), ("", False), (None, False)],
)
def test_a_chinese_response_is_measured_in_characters(text, is_chinese):
    assert ShownResponse(text).is_chinese is is_chinese


def test_only_turns_with_a_response_are_rated():
    answered = RatedTurn(1, "Hello", "Hi", None)
    unanswered = RatedTurn(2, "Anybody?", None, None)
    task = RatingTask(RULES, PLACE, "", "", (answered, unanswered))
    assert task.ratable == (answered,)


def test_an_item_is_finished_once_it_is_answered_or_skipped():
    assert not PLACE.finished
    assert replace(PLACE, answered=True).finished
    assert replace(PLACE, skipped=SkipReason.BROKEN).finished


SAID = tuple(
    Message(role, text)
    for role, text in [
        (Speaker.USER, "one"),
        (Speaker.ASSISTANT, "two"),
        (Speaker.USER, "three"),
        (Speaker.ASSISTANT, "four"),
        (Speaker.ASSISTANT, "five"),
    ]
)


@pytest.mark.parametrize(
    ("dialogue", "before"), [(SAID, 2), (SAID[:3], 2), (SAID[:2], 0), (SAID[1:2], 0), ((), 0)]
)
def test_the_last_exchange_begins_with_the_user_s_last_message(dialogue, before):
    shown = ShownResponse("")
    task = PairTask(RULES, PLACE, "", "", dialogue, None, shown, shown, None)
    assert (task.before_last_exchange, task.last_exchange) == (
        dialogue[:before],
        dialogue[before:],
    )
