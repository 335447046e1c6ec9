"""Single responses marked good or bad."""

from __future__ import annotations

import pytest

from annotation.core.choices import Reason
from annotation.core.formats.kto import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of

HI, HO = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}
TRL = {"prompt": "Hi", "completion": "Ho"}


def rating(row):
    [response] = record_of(row, parse).turns[-1].responses
    [given] = response.satisfaction
    return response.text, given.details.annotator, given.score, given.reason


@pytest.mark.parametrize(
    "row",
    [
        TRL,
        {"prompt": [HI], "completion": [HO]},
        {"messages": [HI, HO]},
        {"conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]},
        {"instruction": "Hi", "output": "Ho"},
    ],
)
def test_good_is_five_and_bad_is_one(row):
    tag = "kto_tag" if "instruction" in row else "label"
    assert rating({**row, tag: True}) == ("Ho", "benchmark", 5, None)
    assert rating({**row, tag: False}) == ("Ho", "benchmark", 1, Reason.NOT_RECORDED)
    assert looks_like({**row, tag: True})


@pytest.mark.parametrize(("value", "score"), [(1, 5), (0, 1), ("True", 5), (" false ", 1)])
def test_true_and_false_are_written_in_several_ways(value, score):
    assert rating({**TRL, "label": value})[2] == score


def test_responses_to_one_prompt_share_its_turn():
    one = record_of({**TRL, "label": True, "id": 4}, parse)
    other = record_of({**TRL, "completion": "No", "label": False}, parse)
    assert one.key == other.key
    assert not one.turns[0].responses[0].original
    assert one.turns[0].responses[0].extra == {"id": 4}


@pytest.mark.parametrize("value", ["maybe", 2, None, [1], 0.8])
def test_any_other_mark_is_a_fault(value):
    assert faults_of({**TRL, "kto_tag": value}, parse) == [("kto_tag", "Expected true or false")]


@pytest.mark.parametrize(
    "row",
    [
        {**TRL, "label": "positive"},
        {**TRL, "label": 0.8},
        TRL,
        {"messages": [HI], "label": 1},
        {"messages": [], "label": 1},
        {"messages": [HI, "Ho"], "label": 1},
        {"instruction": "Hi", "output": "Ho", "label": True},
        [],
    ],
)
def test_other_rows_are_not_taken(row):
    assert not looks_like(row)
