"""What the words of a table's columns mean."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from annotation.core.formats.values import (
    VALUED,
    Meaning,
    meaning_of,
    reason_of,
    role_of,
    score_of,
    strength_of,
    verdict_of,
    vocabulary_of,
    yes_of,
)

VERDICTS = {
    Meaning.A: [
        "A", "left", "Left ", "1", "1.0", "Ａ", "first", "the former", "A is better", "A wins",
        "A > B", "B is worse than A", "[[A]]", "Response A", "model_a", "answer 1", "Option A",
        "winner: model_a", "better: A", "I prefer the first one", "B < A", "B不如A",
        "左", "左边", "左边更好", "第一个更好", "第一个。", "A更好", "A（更好）", "回答A", "选A",
        "前者", "甲", "左胜", "左边的回答好于右边的回答",
    ],
    Meaning.B: ["b", "RIGHT", "2", "second", "B better", "右", "右边的回答更好", "后者更优", "乙"],
    Meaning.TIE: [
        "tie", "Tied", "draw", "equal", "same", "about the same", "no preference", "both",
        "both good", "tie (both good)", "A and B are equally good", "A=B", "[[A=B]]",
        "平局", "相同", "一样", "一样好", "差不多", "不相上下", "都好", "左右都好", "没有区别",
    ],
    Meaning.BOTH_BAD: [
        "both bad", "Both are bad", "both_bad", "bothbad", "tie (bothbad)", "tie (both bad)",
        "Tie - both bad", "equally bad", "all bad", "left and right both bad",
        "都差", "都不好", "两个都差", "两个回答都不好", "一样差", "左右都差",
    ],
    Meaning.A_SLIGHTLY: ["A is slightly better", "slightly prefer A", "A略好", "左边更好一些"],
    Meaning.A_CLEARLY: ["A is much better", "A>>B", "[[A>>B]]", "A 好得多", "A明显更好"],
    Meaning.B_SLIGHTLY: ["B is slightly better than A", "B 稍好"],
    Meaning.B_CLEARLY: ["Answer 2 is significantly better", "B>>A", "A<<B"],
    Meaning.NONE: ["", " ", "nan", "NaN", "NULL", "N/A", "#N/A", "<NA>", "#n/a"],
    None: [
        "A?", "maybe", "0", "-1", "3", "1.5", "neither", "None", "A or B", "A B", "good", "bad",
        "差", "好", "not A", "better", "both good and bad", "A wins, A loses", "无法判断",
        "slightly much A", "A is bad", "wrong", "x" * 100, "C", "both better", "A, see note",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in VERDICTS.items() for word in words]
)
def test_usual_words_for_a_verdict_are_known_and_no_others(word, meaning):
    assert verdict_of(word) == meaning


@given(st.text(max_size=80))
def test_any_word_has_one_meaning_or_none(word):
    for read in (verdict_of, score_of, yes_of, strength_of, role_of):
        assert read(word) in {None, *Meaning}


@pytest.mark.parametrize(
    ("word", "score"),
    [
        ("5", "5"),
        ("4.0", "4"),
        ("4,0", "4"),
        ("4/5", "4"),
        ("3 stars", "3"),
        ("★★★☆☆", "3"),
        ("⭐️⭐️", "2"),
        ("5分", "5"),
        ("满意", "4"),
        ("Very dissatisfied", "1"),
        ("nan", "NONE"),
        ("4.5", None),
        ("0", None),
        ("6", None),
        ("good", None),
    ],
)
def test_usual_scores(word, score):
    assert score_of(word) == score


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (yes_of, {"1": "YES", "TRUE": "YES", "是": "YES", "": "NO", "0": "NO", "?": None}),
        (strength_of, {"1": "SLIGHTLY", "slightly better": "SLIGHTLY", "": "NONE", "7": None}),
        (strength_of, {"2": "CLEARLY", "明显": "CLEARLY", "0": "NONE"}),
        (role_of, {"Human": "USER", "助手": "ASSISTANT", "developer": "SYSTEM", "tool": None}),
    ],
)  # fmt: skip
def test_usual_words_of_other_columns(read, words):
    assert {word: read(word) for word in words} == words


def test_a_reason_is_told_by_its_name_its_label_or_in_recllmsims_words():
    assert reason_of("不可用") == Reason.UNUSABLE
    assert reason_of("Not enough variety") == Reason.INSUFFICIENT_DIVERSITY
    assert reason_of("requirement unmet") == "requirement_unmet"
    assert reason_of("N/A") == ""


def test_a_chosen_meaning_holds_for_every_column_of_verdicts():
    means = {"verdict": {"links": Meaning.A}}
    assert meaning_of(means, "verdict:ann", " Links ") is Meaning.A
    assert meaning_of(means, "verdict", "rechts") is None
    assert meaning_of(means, "gold", "links") is None


def test_columns_of_values_have_a_vocabulary_and_others_have_none():
    assert all(vocabulary_of(key, pairs=True) for key in (*VALUED, "verdict:ann"))
    gold = [vocabulary_of("gold", pairs=pairs).read("5") for pairs in (True, False)]
    assert gold == [None, Meaning.SCORE_5]
    assert vocabulary_of("prompt", pairs=True) is None
