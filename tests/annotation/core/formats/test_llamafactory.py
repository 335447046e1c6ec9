"""Preferences in the layouts of LLaMA-Factory and ms-swift."""

from __future__ import annotations

import pytest

from annotation.core.formats.llamafactory import (
    looks_like,
    looks_like_swift,
    parse,
    parse_swift,
)
from tests.annotation.core.formats.rows import faults_of, record_of

ALPACA = {"instruction": "Sort these.", "input": "3, 1", "chosen": "1, 3", "rejected": "3, 1"}
ASKED = [{"from": "system", "value": "Rhyme."}, {"from": "human", "value": "Hi"}]
SHAREGPT = {
    "conversations": ASKED,
    "chosen": {"from": "gpt", "value": "Hi, fly."},
    "rejected": {"from": "gpt", "value": "Ho."},
}
HI, HO = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}
BYE = {"role": "assistant", "content": "Bye"}
SWIFT = {"messages": [HI, HO], "rejected_response": "No."}


def told(session):
    return [(turn.user_message, {each.text for each in turn.responses}) for turn in session.turns]


def test_an_instruction_and_its_input_are_two_lines():
    assert told(record_of(ALPACA, parse)) == [("Sort these.\n3, 1", {"1, 3", "3, 1"})]
    assert told(record_of({**ALPACA, "input": ""}, parse))[0][0] == "Sort these."


def test_models_of_both_sides_are_the_responses_own():
    models = {"chosen-model": "m", "rejected_model": "n"}
    session = record_of({**ALPACA, **models}, parse)
    [turn] = session.turns
    assert {each.text: each.model for each in turn.responses} == {"1, 3": "m", "3, 1": "n"}
    assert not turn.comparisons[0].extra


def test_a_history_and_a_system_prompt_come_first():
    row = {**ALPACA, "history": [["Hi", "Ho"]], "system": "Be a jester."}
    session = record_of(row, parse)
    assert (session.system_prompt, told(session)[0]) == ("Be a jester.", ("Hi", {"Ho"}))


@pytest.mark.parametrize(
    ("history", "fault"),
    [
        ("Hi", ("history", "Expected a list")),
        ([["Hi"]], ("history[0]", "Expected a message and its answer")),
        (["Hi"], ("history[0]", "Expected a message and its answer")),
        ([["Hi", None]], ("history[0]", "Missing")),
    ],
)
def test_a_history_that_is_none_is_a_fault(history, fault):
    assert faults_of({**ALPACA, "history": history}, parse) == [fault]


def test_conversations_have_one_message_a_side():
    session = record_of(SHAREGPT, parse)
    assert (session.system_prompt, told(session)) == ("Rhyme.", [("Hi", {"Hi, fly.", "Ho."})])


def test_version_1_has_whole_dialogues_in_parts():
    def message(role, text):
        return {"role": role, "content": [{"type": "text", "value": text}], "loss_weight": 1.0}

    row = {
        "chosen_messages": [message("user", "Hi"), message("assistant", "Ho")],
        "rejected_messages": [message("user", "Hi"), message("assistant", "Hm")],
        "_dataset_name": "demo",
    }
    session = record_of(row, parse)
    assert told(session) == [("Hi", {"Ho", "Hm"})]
    extra = session.turns[0].comparisons[0].extra
    assert extra["_dataset_name"] == "demo"
    assert extra["messages"]["chosen_messages[0]"] == {"loss_weight": 1.0}
    assert session.turns[0].responses[0].extra == {"loss_weight": 1.0}
    apart = {"prompt_messages": [HI], "chosen_messages": [HO], "rejected_messages": [BYE]}
    assert told(record_of(apart, parse)) == [("Hi", {"Ho", "Bye"})]


@pytest.mark.parametrize("rejected", ["No.", [{"role": "assistant", "content": "No."}]])
def test_ms_swift_has_the_better_response_in_its_messages(rejected):
    row = {**SWIFT, "rejected_response": rejected}
    [turn] = record_of(row, parse_swift).turns
    assert (turn.user_message, {each.text for each in turn.responses}) == ("Hi", {"Ho", "No."})
    [comparison] = turn.comparisons
    texts = {each.key: each.text for each in turn.responses}
    assert texts["chosen"] == "Ho"
    assert comparison.gold[0].verdict.value in "AB"


def test_ms_swift_may_have_a_whole_rejected_dialogue():
    row = {"messages": [HI, HO, HI, HO], "rejected_messages": [HI, BYE]}
    assert told(record_of(row, parse_swift)) == [("Hi", {"Ho", "Bye"})]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (ALPACA, (True, False)),
        (SHAREGPT, (True, False)),
        ({"chosen_messages": [], "rejected_messages": []}, (True, False)),
        (SWIFT, (False, True)),
        ({"messages": [HI, HO], "rejected_messages": [HI, BYE]}, (False, True)),
        ({"messages": [HI, HO], "rejected_response": None}, (False, False)),
        ({"prompt": "", "chosen": "", "rejected": ""}, (False, False)),
        ({"instruction": "", "output": ""}, (False, False)),
        ([], (False, False)),
    ],
)
def test_rows_are_told_apart(row, expected):
    assert (looks_like(row), looks_like_swift(row)) == expected
