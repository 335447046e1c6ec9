import pytest

from annotation.core.choices import Reason
from judging.core.lexical.memories import (
    UsualAnswer,
    complaint,
    complaints_in,
    observation,
    style,
    usual_answer,
    usual_answer_in,
)

SAID = (
    Reason.INSUFFICIENT_DETAIL,
    Reason.INSUFFICIENT_DIVERSITY,
    Reason.REQUIREMENT_UNMET,
    Reason.UNUSABLE,
)


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        ((0, 0, 0, 1, 9), "Scores leniently: 4.9 on average over 10 turns, most often 5."),
        ((0, 0, 1, 8, 1), "Scores moderately: 4.0 on average over 10 turns, most often 4."),
        ((0, 0, 4, 5, 1), "Scores rather strictly: 3.7 on average over 10 turns, most often 4."),
        ((1, 0, 0, 0, 1), "Scores strictly: 3.0 on average over 2 turns, most often 5."),
    ],
)
def test_style_names_mean_and_most_frequent_score(counts, words):
    assert style(counts, language="en") == words


def test_style_in_chinese():
    assert style((0, 0, 0, 0, 3), language="zh") == "评分偏宽松：3轮平均5.0分，最常给5分。"


@pytest.mark.parametrize(
    ("gap", "words"),
    [
        (0.44, "Scores 0.4 higher here than elsewhere (7 turns)."),
        (-1.0, "Scores 1.0 lower here than elsewhere (7 turns)."),
        (-0.04, "Scores as elsewhere (7 turns)."),
    ],
)
def test_observation(gap, words):
    assert observation(gap, turns=7, language="en") == words


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_complaints_read_back_in_the_order_of_the_text(language):
    sentences = [complaint(reason, language=language) or "" for reason in reversed(SAID)]
    assert complaints_in("".join(sentences)) == tuple(reversed(SAID))
    assert complaints_in("nothing of the kind") == ()


def test_a_reason_that_says_nothing_about_answers_has_no_sentence():
    assert complaint(Reason.OTHER, language="en") is None


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
def test_the_usual_answer_reads_back(language):
    text = usual_answer(words=180, marks=12, language=language)
    assert usual_answer_in(text) == UsualAnswer(words=180, marks=12)


def test_an_edited_usual_answer_may_say_less():
    assert usual_answer_in("Usual length: 90 words.") == UsualAnswer(words=90)
    assert usual_answer_in("") == UsualAnswer()
