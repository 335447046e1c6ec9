"""Preferences as TRL trains on them."""

from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.fields import parsed
from annotation.core.formats.trl import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    data = {"prompt": "2 + 3 =", "chosen": " 5", "rejected": " 6"}
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_the_blank_before_a_completion_stays():
    [turn] = record_of(row(), parse).turns
    assert (turn.user_message, {each.text for each in turn.responses}) == ("2 + 3 =", {" 5", " 6"})


@pytest.mark.parametrize("name", ["question", "query"])
def test_the_prompt_has_several_names(name):
    session = record_of(row(**{"prompt": ..., name: "2 + 3 =", "system": "Count."}), parse)
    assert (session.system_prompt, session.turns[0].user_message) == ("Count.", "2 + 3 =")


def test_whole_texts_without_a_prompt_are_the_responses():
    [turn] = record_of(row(prompt=...), parse).turns
    assert (turn.user_message, len(turn.comparisons)) == (None, 1)


@pytest.mark.parametrize("word", ["score", "rating"])
def test_equal_scores_are_a_tie_and_equal_texts_are_skipped(word):
    scores = {f"chosen_{word}": 7, f"rejected_{word}": 7}
    [comparison] = record_of(row(**scores), parse).turns[0].comparisons
    assert comparison.gold[0].verdict is Verdict.TIE
    assert comparison.extra == scores
    assert parsed(1, row(rejected=" 5"), parse).skipped


def test_messages_may_repeat_the_chosen_dialogue():
    chosen = [{"role": "user", "content": "2 + 3 ="}, {"role": "assistant", "content": "5"}]
    assert record_of(row(chosen=chosen, messages=chosen), parse).turns[0].comparisons
    assert [name for name, _why in faults_of(row(messages=chosen), parse)] == ["messages"]


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, True),
        ({"prompt": ...}, True),
        ({"chosen": [], "rejected": None}, True),
        ({"chosen": {"text": "5"}}, False),
        ({"rejected": ...}, False),
        ({"subset": "math"}, False),
        ({"chosen": ["5"]}, False),
        ({"annotator": "ann", "source": "x"}, False),
        ({"score_chosen": 1, "score_rejected": 2}, False),
        ({"chosen-rating": 1, "rejected-rating": 2}, False),
        ({"instruction": "x"}, False),
        ({"conversations": []}, False),
        ({"prompt": ..., "chosen": "\n\nHuman: a", "rejected": "\n\nHuman: a"}, False),
    ],
)
def test_rows_are_told_apart(changes, expected):
    assert looks_like(row(**changes)) is expected


def test_a_row_is_an_object():
    assert not looks_like([])
