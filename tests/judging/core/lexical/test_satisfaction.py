import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Reason
from annotation.core.conversations import Message, Speaker
from judging.core.lexical.satisfaction import score_turn
from judging.core.questions import TurnQuestion

ASKED = (Message(Speaker.USER, "How do I plan a trip?"),)
USUAL = (
    "Usual length: 50 words. Usual number of headings, list items, bold spans and table rows: 0."
)
PLAIN = "Take the early train and book a quiet room near the station for both nights."
WORDS = " ".join(f"{one}{two}" for one in "abcdefghij" for two in "vwxyz") + "."
LOOP = "Take the early train to town. " * 12


def memory(mean, **texts):
    statement = {"text": "", "turn_ids": []}
    written = {"preferred_response_format": {"text": USUAL, "turn_ids": []}} | texts
    return {
        "statistics": {"mean": mean},
        "texts": {
            "three_vs_four_distinction": statement,
            "user_specific_requirements": [],
            **written,
        },
    }


def score(response, content, *, dialogue=ASKED, language="en"):
    return score_turn(
        TurnQuestion(
            dialogue=dialogue,
            response=response,
            task_context="",
            profile={},
            memory="",
            memory_content=content,
            language=language,
        )
    )


def expected(response, content):
    value = score(response, content).expected_score
    assert value is not None
    return value


class TestLevel:
    @pytest.mark.parametrize(("mean", "whole"), [(4.6, 5), (4.0, 4), (2.2, 2), (1.0, 1), (5.0, 5)])
    def test_a_usual_answer_gets_the_usual_score(self, mean, whole):
        assert score(WORDS, memory(mean)).score == whole

    def test_without_a_memory_the_level_is_the_general_one(self):
        assert 3 < expected(PLAIN, {}) < 5
        assert expected(PLAIN, {}) == expected(PLAIN, {"statistics": {"mean": None}, "texts": 3})

    def test_the_arithmetic(self):
        # 50 distinct words, no marks: only NUMBERS stands off the usual answer, by 2 / 1.2
        # spreads, bent to 1.28: sigmoid(logit(3 / 4) - 0.1 x 1.28) x 4 + 1 = 3.90
        push = -0.1 * (2 / 1.2) / math.sqrt(1 + (2 / 1.2 / 2) ** 2)
        share = 1 / (1 + math.exp(-(math.log(3) + push)))
        assert expected(WORDS, memory(4.0)) == pytest.approx(1 + 4 * share)


class TestTexts:
    @pytest.mark.parametrize(
        "texts",
        [
            {"four_vs_five_distinction": {"text": "Strongly prefers emoji.", "turn_ids": []}},
            {"three_vs_four_distinction": "Strongly prefers emoji."},
            {"user_specific_requirements": [{"text": "强烈偏好表情符号。"}]},
        ],
    )
    def test_a_stated_preference_moves_the_score(self, texts):
        liked = expected(PLAIN + " 😊😊", memory(4.0, **texts))
        assert liked > expected(PLAIN + " 😊😊", memory(4.0))
        assert liked > expected(PLAIN, memory(4.0, **texts))

    def test_what_is_not_understood_changes_nothing(self):
        said = {"four_vs_five_distinction": {"text": "Loves it when it is good.", "turn_ids": []}}
        assert expected(PLAIN, memory(4.0, **said)) == expected(PLAIN, memory(4.0))

    def test_the_usual_length_is_the_measure_of_long(self):
        long = {"preferred_response_format": USUAL.replace("50", "500")}
        assert expected(PLAIN, memory(4.0, **long)) < expected(PLAIN, memory(4.0))


class TestReason:
    @pytest.mark.parametrize("response", [PLAIN * 6, PLAIN])
    def test_a_satisfied_turn_has_none(self, response):
        assert score(response, memory(4.9)).reason is None

    @pytest.mark.parametrize(
        ("response", "reason"),
        [
            ("", Reason.UNUSABLE),
            (PLAIN[:-1] + " and then", Reason.UNUSABLE),
            ("I'm sorry, I cannot help with that." + PLAIN, Reason.UNUSABLE),
            ("坐早班火车，订一间安静的房间，晚上早点休息。", Reason.REQUIREMENT_UNMET),
            ("Take a train.", Reason.INSUFFICIENT_DETAIL),
            (LOOP, Reason.INSUFFICIENT_DIVERSITY),
            (PLAIN, Reason.INSUFFICIENT_DETAIL),
            (PLAIN + " It is near the old town, and the walk takes a while, "
             "so bring good shoes, water, some bread and a warm coat for the night.", Reason.OTHER),
        ],
    )  # fmt: skip
    def test_it_follows_from_the_response(self, response, reason):
        assert score(response, memory(2.0)).reason is reason

    def test_a_missed_demand(self):
        dialogue = (Message(Speaker.USER, "Put the trip in a table"),)
        words = PLAIN + " Walk along the river, then have lunch at the market by the bridge."
        assert score(words, memory(2.0), dialogue=dialogue).reason is Reason.REQUIREMENT_UNMET

    def test_what_the_user_complains_of_goes_before_a_mere_leaning(self):
        said = {"user_specific_requirements": [{"text": "Complains of too little choice."}]}
        assert score(PLAIN, memory(2.0, **said)).reason is Reason.INSUFFICIENT_DIVERSITY
        assert score("Go.", memory(2.0, **said)).reason is Reason.INSUFFICIENT_DETAIL


class TestAnalysis:
    def test_it_names_what_moved_the_score(self):
        answer = score("Take a train.", memory(4.0))
        assert answer.analysis.startswith("Usual score 4.0, expected 3.")
        assert "short answers -0." in answer.analysis
        assert answer.call.raw == answer.analysis

    def test_in_chinese(self):
        text = score("坐火车。", memory(4.0), language="zh-Hans").analysis
        assert text.startswith("通常 4.0 分，预期 3.")
        assert "简短的回答 -0." in text

    @pytest.mark.parametrize(
        ("language", "words"), [("en", "close to the usual answer"), ("zh", "与通常的回答相近")]
    )
    def test_nothing_notable(self, language, words):
        usual = {"preferred_response_format": USUAL.replace("50", "15")}
        content = memory(4.0, **usual)
        text = PLAIN.replace("both", "12 or 13") + " 10."
        assert words in score(text, content, language=language).analysis

    def test_a_fault_without_a_phrase_keeps_its_name(self):
        assert "language- -0." in score("坐火车。", memory(4.0)).analysis


@given(st.text(max_size=100), st.floats(1, 5), st.text(max_size=60))
def test_a_score_is_a_score_whatever_is_said(response, mean, said):
    answer = score(response, memory(mean, four_vs_five_distinction={"text": said}))
    assert answer.score in {1, 2, 3, 4, 5}
    assert answer.expected_score is not None
    assert 1 <= answer.expected_score <= 5
    assert (answer.reason is None) == (answer.score >= 4)
