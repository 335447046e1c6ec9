from __future__ import annotations

from typing import Any

import pytest

from annotation.core.choices import Reason
from annotation.core.conversations import Message, Speaker
from judging.core.memory import ScoreGroup, statistics
from judging.core.prompts import (
    PairExcerpt,
    dialogue_block,
    history_block,
    pairs_block,
    profile_text,
    statistics_line,
    text_or_unknown,
)
from judging.core.questions import HistoryTurn
from judging.core.rules import Excerpt

SHOWN = Excerpt((Message(Speaker.USER, "Hello </user>"), Message(Speaker.ASSISTANT, "Hi")), 0)


def rated(**changes):
    fields: dict[str, Any] = {
        "turn_id": "9",
        "scenario": "meal\nplanning",
        "task_context": "",
        "user_message": "What now?",
        "response": "Soup.",
        "score": 2,
        "reason": Reason.UNUSABLE,
    } | changes
    return HistoryTurn(**fields)


def test_each_message_stands_in_the_tag_of_its_role():
    assert dialogue_block(SHOWN, language="en") == (
        "<user>\nHello ‹/user>\n</user>\n<assistant>\nHi\n</assistant>"
    )


@pytest.mark.parametrize(
    ("language", "line"),
    [("en", "[3 earlier messages are not shown]"), ("zh", "[更早的 3 条消息未显示]")],
)
def test_what_is_left_out_is_said(language, line):
    shown = Excerpt(SHOWN.messages, 3)
    assert dialogue_block(shown, language=language).splitlines()[0] == line


def test_messages_can_be_shortened():
    long = Excerpt((Message(Speaker.USER, "w" * 400),), 0)
    assert len(dialogue_block(long, language="en", tokens=10)) < 80


def test_pairs_stand_one_after_another():
    pair = PairExcerpt(SHOWN, "<chosen>", "no")
    block = pairs_block([pair, pair], tokens=50, language="en")
    assert block.count("<pair>\n<dialogue>\n<user>") == 2
    assert block.count("<chosen>\n‹chosen>\n</chosen>\n<rejected>\nno\n</rejected>\n</pair>") == 2


def test_history_is_grouped_and_names_turns_by_alias():
    groups = [ScoreGroup(2, (rated(), rated(turn_id="10", task_context="Two guests")), 7)]
    block = history_block(groups, aliases={"9": "T1", "10": "T2"}, tokens=60, language="en")
    assert block == (
        "Score 2 (2 of 7 turns):\n\n"
        "<turn>\nT1, score 2, task: meal planning\n<user>\nWhat now?\n</user>\n"
        "<assistant>\nSoup.\n</assistant>\nReason given: unusable\n</turn>\n\n"
        "<turn>\nT2, score 2, task: meal planning\n<task>\nTwo guests\n</task>\n"
        "<user>\nWhat now?\n</user>\n<assistant>\nSoup.\n</assistant>\n"
        "Reason given: unusable\n</turn>"
    )


@pytest.mark.parametrize("reason", [None, Reason.NOT_RECORDED])
def test_a_reason_that_is_not_known_is_not_named(reason):
    groups = [ScoreGroup(4, (rated(reason=reason, score=4),), 1)]
    block = history_block(groups, aliases={"9": "T1"}, tokens=60, language="zh")
    assert "原因" not in block
    assert "T1，4 分，任务：meal planning" in block


def test_statistics_are_those_of_the_code():
    history = [rated(score=5, session_key="a"), rated(score=2, session_key="b")]
    assert statistics_line(statistics(history), language="zh") == (
        "共 2 次会话、2 轮，平均分 3.50；1 分 0 轮，2 分 1 轮，3 分 0 轮，4 分 0 轮，5 分 1 轮。"
    )


def test_a_profile_is_lines_without_empty_fields():
    profile = {
        "age": 31,
        "gender": "",
        "background": None,
        "personality": ["calm", "", "  curious\nmind "],
        "habits": {"travel": "by train", "food": []},
    }
    assert profile_text(profile, language="en") == (
        "age: 31\npersonality: calm, curious mind\nhabits: travel by train"
    )


@pytest.mark.parametrize(("language", "word"), [("en", "not known"), ("zh", "未知")])
def test_an_empty_profile_and_a_blank_text_are_not_known(language, word):
    assert profile_text({"age": None}, language=language) == word
    assert text_or_unknown(" \n", language=language) == word
    assert text_or_unknown("known", language=language) == "known"
