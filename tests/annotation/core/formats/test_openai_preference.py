"""Preference fine-tuning at OpenAI and Azure."""

from __future__ import annotations

import pytest

from annotation.core.formats.openai_preference import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of

ASKED = [
    {"role": "system", "content": "You are a clerk."},
    {"role": "user", "content": [{"type": "text", "text": "The time?"}]},
]
CALL = {"id": "c", "type": "function", "function": {"name": "clock", "arguments": "{}"}}


def said(text, **more):
    return [{"role": "assistant", "content": text, **more}]


def row(preferred=None, **changes):
    return {
        "input": {"messages": ASKED, **changes},
        "preferred_output": preferred or said("Noon."),
        "non_preferred_output": said("Why?"),
    }


def test_the_preferred_output_is_gold():
    session = record_of(row(parallel_tool_calls=True), parse)
    [turn] = session.turns
    assert (session.system_prompt, turn.user_message) == ("You are a clerk.", "The time?")
    texts = {each.key: each.text for each in turn.responses}
    assert texts == {"chosen": "Noon.", "rejected": "Why?"}
    assert turn.comparisons[0].extra == {"parallel_tool_calls": True}


def test_tools_and_their_results_are_told():
    calls = [
        *said(None, tool_calls=[CALL]),
        {"role": "tool", "tool_call_id": "c", "content": "12:00"},
        *said("Noon."),
    ]
    session = record_of(row(calls, tools=[{"type": "function"}]), parse)
    texts = {each.key: each.text for each in session.turns[0].responses}
    result = "```tool-call\nclock({})\n```\n\n```tool-result clock\n12:00\n```\n\nNoon."
    assert texts["chosen"] == result
    assert session.system_prompt.startswith("You are a clerk.\n\n```tools\n")


def test_outputs_may_be_called_completions():
    data = row()
    data = {
        "input": data["input"],
        "preferred_completion": data["preferred_output"],
        "non_preferred_completion": data["non_preferred_output"],
    }
    assert looks_like(data)
    assert len(record_of(data, parse).turns[0].comparisons) == 1


def test_what_is_missing_is_a_fault():
    data = {**row(), "non_preferred_output": []}
    missing = ("non_preferred_output", "Must end with an assistant message")
    assert faults_of(data, parse) == [missing]


@pytest.mark.parametrize("name", ["input", "preferred_output", "non_preferred_output"])
def test_other_rows_are_not_taken(name):
    assert looks_like(row())
    assert not looks_like({key: value for key, value in row().items() if key != name})
    assert not looks_like([])
