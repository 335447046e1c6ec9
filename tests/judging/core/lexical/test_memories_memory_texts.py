from typing import Any

import pytest

from annotation.core.choices import Reason
from judging.core.lexical import memories
from judging.core.lexical.features import Feature
from judging.core.lexical.memories import complaints_in, usual_answer_in
from judging.core.lexical.vocabulary import parse
from judging.core.memory import TEXT_FIELDS
from judging.core.memory_parsing import parse_texts
from judging.core.questions import HistoryTurn

LONG = "Take the early train and book a room near the station for both nights of the trip. " * 2
LISTED = "## Plan\n" + "\n".join(f"- **part {n}** of the trip" for n in range(6))
SHORT = "Take a train."


def rated(number, response, score, *, scenario="trips", reason=None):
    return HistoryTurn(
        turn_id=f"t{number}",
        scenario=scenario,
        task_context="",
        user_message="How do I plan a trip?",
        response=response,
        score=score,
        reason=reason,
        session_key="s",
    )


def history(*groups):
    """Groups of (how many, response, score, keywords) as one history with distinct ids."""
    turns: list[HistoryTurn] = []
    for count, response, score, extra in groups:
        for _ in range(count):
            turns.append(rated(len(turns), response, score, **extra))
    return turns


def written(turns, *, language) -> dict[str, Any]:
    return memories.write_texts(turns, language=language)


def weights(statement):
    return parse(statement["text"]).weights


LOVER_OF_LENGTH = history((8, LONG, 5, {}), (8, SHORT, 4, {}))


class TestDistinctions:
    def test_five_against_four(self):
        texts = written(LOVER_OF_LENGTH, language="en")
        assert weights(texts["four_vs_five_distinction"])[Feature.LENGTH] == 2
        assert texts["three_vs_four_distinction"] == {"text": "", "turn_ids": []}

    def test_four_against_three_and_less(self):
        turns = history(
            (8, SHORT, 4, {}),
            (4, LONG, 3, {"reason": Reason.OTHER}),
            (4, LONG, 1, {"reason": Reason.OTHER}),
        )
        texts = written(turns, language="zh")
        assert weights(texts["three_vs_four_distinction"])[Feature.LENGTH] == -2
        assert texts["four_vs_five_distinction"]["text"] == ""

    def test_it_cites_turns_of_both_sides_that_show_it_best(self):
        turns = [*LOVER_OF_LENGTH, rated(16, LONG + "Then walk.", 5), rated(17, "Go.", 4)]
        cited = written(turns, language="en")["four_vs_five_distinction"]["turn_ids"]
        assert cited[0] == "t16"
        assert cited[2] == "t17"
        assert len(cited) == 4

    def test_few_turns_say_it_less_strongly_and_one_says_nothing(self):
        few = written(history((2, LONG, 5, {}), (2, SHORT, 4, {})), language="en")
        assert 0 < weights(few["four_vs_five_distinction"])[Feature.LENGTH] < 2
        one = written(history((1, LONG, 5, {}), (8, SHORT, 4, {})), language="en")
        assert one["four_vs_five_distinction"]["text"] == ""


class TestForm:
    def test_it_names_form_alone_and_the_usual_answer(self):
        turns = history((8, LISTED, 5, {}), (8, LONG, 4, {}))
        text = written(turns, language="en")["preferred_response_format"]["text"]
        assert parse(text).weights[Feature.STRUCTURE] > 0
        assert Feature.LENGTH not in parse(text).weights
        assert usual_answer_in(text).words == 22

    def test_low_scores_are_the_other_side_where_there_are_any(self):
        low = {"reason": Reason.OTHER}
        turns = history((6, LISTED, 5, {}), (6, LISTED, 4, {}), (6, LONG, 2, low))
        text = written(turns, language="zh")["preferred_response_format"]["text"]
        assert parse(text).weights[Feature.STRUCTURE] > 0

    def test_the_usual_answer_is_the_geometric_mean(self):
        # 2 and 14 words: sqrt(3 x 15) - 1 = 5.7
        turns = [rated(0, "a b", 5), rated(1, "a b c d e f g h i j k l m n", 5)]
        text = written(turns, language="en")["preferred_response_format"]["text"]
        assert usual_answer_in(text).words == 6
        assert usual_answer_in(text).marks == 0


class TestRest:
    def test_complaints_are_listed_the_most_frequent_first(self):
        turns = history(
            (1, SHORT, 2, {"reason": Reason.UNUSABLE}),
            (3, SHORT, 3, {"reason": Reason.INSUFFICIENT_DETAIL}),
            (4, SHORT, 3, {"reason": Reason.OTHER}),
        )
        said = written(turns, language="en")["user_specific_requirements"]
        assert [complaints_in(item["text"]) for item in said] == [
            (Reason.INSUFFICIENT_DETAIL,),
            (Reason.UNUSABLE,),
        ]
        assert said[0]["turn_ids"] == ["t1", "t2", "t3"]

    def test_each_scenario_is_compared_with_the_others(self):
        turns = history((2, LONG, 5, {"scenario": "a"}), (2, LONG, 4, {"scenario": "b"}))
        observed = written(turns, language="en")["task_specific_observations"]
        assert [item["task_name"] for item in observed] == ["a", "b"]
        assert observed[0]["observation"] == "Scores 1.0 higher here than elsewhere (2 turns)."
        assert observed[1]["turn_ids"] == ["t2", "t3"]

    def test_one_scenario_has_nothing_to_be_compared_with(self):
        assert written(LOVER_OF_LENGTH, language="en")["task_specific_observations"] == []

    def test_style_cites_turns_of_the_most_frequent_score(self):
        turns = history((1, LONG, 5, {}), (2, LONG, 4, {}))
        assert written(turns, language="en")["scoring_style"]["turn_ids"] == ["t1", "t2"]


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
@pytest.mark.parametrize("turns", [LOVER_OF_LENGTH, LOVER_OF_LENGTH[:1]], ids=["many", "one"])
def test_the_texts_are_a_memory_and_cite_nothing_unknown(turns, language):
    texts = written(turns, language=language)
    assert tuple(texts) == TEXT_FIELDS
    assert parse_texts(texts, turn_ids=[turn.turn_id for turn in turns]).unknown_citations == 0
