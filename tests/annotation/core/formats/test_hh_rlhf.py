"""Dialogues as texts with the markers of hh-rlhf."""

from __future__ import annotations

import pytest

from annotation.core.formats.hh_rlhf import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(chosen, rejected, **more):
    return {"chosen": f"\n\nHuman: {chosen}", "rejected": f"\n\nHuman: {rejected}", **more}


def told(session):
    return [(turn.user_message, {each.text for each in turn.responses}) for turn in session.turns]


def test_markers_after_an_empty_line_begin_a_message():
    start = "hi\n\nAssistant: ho\n\nHuman: more\nHuman: and\n\nAssistant: "
    session = record_of(row(f"{start}Human: a?\nAssistant: b", f"{start}c"), parse)
    assert told(session) == [
        ("hi", {"ho"}),
        ("more\nHuman: and", {"Human: a?\nAssistant: b", "c"}),
    ]


def test_a_message_may_be_unanswered_and_a_response_empty():
    start = "a\n\nHuman: b\n\nAssistant:"
    session = record_of(row(f"{start} ", f"{start} no"), parse)
    assert told(session) == [("a", set()), ("b", {"", "no"})]
    assert told(record_of(row(start, f"{start} no"), parse))[1] == ("b", {"", "no"})
    assert told(record_of(row(f"{start}\nx", f"{start} no"), parse))[1] == ("b", {"\nx", "no"})


def test_dialogues_that_part_are_compared_where_they_do():
    session = record_of(
        row(
            "harp\n\nAssistant: Great!\n\nHuman: no\n\nAssistant: Rent one.",
            "harp\n\nAssistant: Why?\n\nHuman: because\n\nAssistant: OK.",
        ),
        parse,
    )
    assert told(session) == [("harp", {"Great!", "Why?"})]
    [comparison] = session.turns[0].comparisons
    assert [each["content"] for each in comparison.extra["later_turns"]["chosen"]] == [
        "no",
        "Rent one.",
    ]


@pytest.mark.parametrize("chosen", [" An oak.", "\n\nHuman: Name a tree.\n\nAssistant: An oak."])
def test_a_prompt_may_stand_apart(chosen):
    prompt = "\n\nHuman: Name a tree.\n\nAssistant:"
    data = {"prompt": prompt, "chosen": chosen, "rejected": " A stone."}
    assert looks_like(data)
    assert told(record_of(data, parse)) == [("Name a tree.", {"An oak.", "A stone."})]


def test_a_text_without_markers_is_a_fault():
    data = {"chosen": "no marker", "rejected": "\n\nHuman: a\n\nAssistant: b"}
    faults = faults_of(data, parse)
    assert ("chosen", "Expected a text that begins with Human:") in faults


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (row("a", "b"), True),
        ({"chosen": "Human: a", "rejected": "Human: b"}, True),
        ({"chosen": "a", "rejected": "\n\nHuman: b"}, False),
        ({"chosen": [], "rejected": "\n\nHuman: b"}, False),
        (row("a", "b", prompt="c"), False),
        ([], False),
    ],
)
def test_rows_are_told(data, expected):
    assert looks_like(data) is expected
