from __future__ import annotations

import json

import pytest

from judging.core.memory_parsing import parse_texts, read_memory
from tests.refusals import refuses

ALIASES = {"481": "T1", "512": "T2"}


def memory(**changes):
    statement = {"text": "Strict.", "turn_ids": ["T1"]}
    return {
        "scoring_style": statement,
        "four_vs_five_distinction": "Says nothing.",
        "three_vs_four_distinction": {"text": "", "turn_ids": []},
        "user_specific_requirements": [{"text": "Wants prices.", "turn_ids": ["t2", "[T1]"]}],
        "preferred_response_format": statement,
        "task_specific_observations": [
            {"task_name": "travel", "observation": "Likes trains.", "turn_ids": ["T2"]}
        ],
    } | changes


def read(**changes):
    return read_memory(f"Here it is: {json.dumps(memory(**changes))}", aliases=ALIASES)


def test_citations_turn_into_the_ids_of_the_history():
    texts = read()
    assert texts["scoring_style"] == {"text": "Strict.", "turn_ids": ["481"]}
    assert texts["user_specific_requirements"] == [
        {"text": "Wants prices.", "turn_ids": ["512", "481"]}
    ]
    assert texts["task_specific_observations"] == [
        {"task_name": "travel", "observation": "Likes trains.", "turn_ids": ["512"]}
    ]


@pytest.mark.parametrize("cited", ["T3", "481", 1, "", "T1 and T2"])
def test_what_was_not_shown_is_counted_by_whoever_stores_it(cited):
    texts = read(scoring_style={"text": "Strict.", "turn_ids": [cited]})
    parsed = parse_texts(texts, turn_ids=ALIASES)
    assert parsed.unknown_citations == 1
    assert parsed.texts.scoring_style.turn_ids == ()


def test_a_mean_of_its_own_is_dropped():
    assert "avg_satisfaction_score" not in read(avg_satisfaction_score=4.2)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "no JSON",
        "{}",
        json.dumps({"scoring_style": "Strict."}),
        json.dumps(memory(scoring_style="")),
        json.dumps(memory(scoring_style={"text": "x", "turn_ids": [None]})),
        json.dumps(memory(user_specific_requirements="none")),
    ],
)
def test_what_is_no_memory_is_refused(reply):
    with refuses("memory:unparseable"):
        read_memory(reply, aliases=ALIASES)
