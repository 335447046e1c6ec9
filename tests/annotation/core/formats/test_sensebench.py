from __future__ import annotations

from collections import Counter

import pytest

from annotation.core.formats.detect import open_records
from annotation.core.formats.fields import parsed
from annotation.core.formats.sensebench import as_object, looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of, session_of
from tests.paths import shared_data


def said(who, *values, **more):
    return {"from": who, "content": [{"type": "text", "value": each} for each in values], **more}


def dialogue(*messages):
    first, *rest = messages or (said("Human", "hi"),)
    return {"messages": [{**first, "topic": "sense_bmk:Code"}, *rest]}


def test_a_dialogue_is_a_session_and_its_topic_the_scenario():
    session = record_of(
        dialogue(said("Human", "a"), said("Assistant", "A"), said("Human", "b")), parse
    )
    assert session.scenario == "Code"
    assert [
        (turn.user_message, [each.text for each in turn.responses]) for turn in session.turns
    ] == [
        ("a", ["A"]),
        ("b", []),
    ]


def test_a_final_assistant_message_is_the_original_response_of_the_last_turn():
    session = record_of(dialogue(said("Human", "a"), said("Assistant", "A", name="bot")), parse)
    [response] = session.turns[0].responses
    assert (response.text, response.original, response.model) == ("A", True, "")
    assert response.extra == {"name": "bot"}


def test_a_system_message_is_the_system_prompt():
    session = record_of(dialogue(said("System", "s"), said("Human", "a")), parse)
    assert (session.system_prompt, session.turns[0].user_message) == ("s", "a")
    session = record_of(dialogue(said("System", "s")), parse)
    assert (session.system_prompt, session.turns) == ("s", ())


def test_parts_are_lines_and_plain_text_is_a_part():
    session = record_of(
        dialogue(said("Human", "a", "b"), {"from": "assistant", "content": "A"}), parse
    )
    assert session.turns[0].user_message == "a\nb"
    assert session.turns[0].responses[0].text == "A"


def test_the_content_names_the_session():
    keys = {
        record_of(dialogue(*messages), parse).key
        for messages in (
            (said("Human", "a"),),
            (said("System", "a"),),
            (said("System", "x"), said("Human", "a")),
            (said("Human", "a"), said("Human", "a")),
        )
    }
    assert len(keys) == 4


def test_scalars_in_texts_are_counted():
    assert parsed(1, dialogue(said("Human", 7), said("Assistant", 1.5)), parse).coerced == 2


def test_the_topic_may_stand_on_the_row():
    row = {"messages": [said("Human", "a")], "topic": "Math", "id": 3}
    session = record_of(row, parse)
    assert (session.scenario, session.extra) == ("Math", {"id": 3})


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"messages": [], "topic": "x"}, "messages"),
        ({"messages": [said("Human", "a")]}, "topic"),
        (dialogue(said("Robot", "a")), "messages[0].from"),
        (dialogue(said("Human", "a"), said("System", "b")), "messages[1].from"),
        (dialogue(said("Human", "a"), {"from": "Human", "content": []}), "messages[1].content"),
        (dialogue(said("Human", "a"), {"from": "Human"}), "messages[1].content"),
        (dialogue(said("Human", None)), "messages[0].content[0].value"),
        (
            dialogue({"from": "Human", "content": [{"type": "image", "value": "x"}]}),
            "messages[0].content[0].type",
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(row, field):
    assert [at for at, _reason in faults_of(row, parse)] == [field]


def test_rows_are_told_by_their_messages():
    assert looks_like([said("Human", "a")])
    assert looks_like(dialogue())
    assert not looks_like([])
    assert not looks_like([3])
    assert not looks_like({"messages": "x"})
    assert as_object([1]) == {"messages": [1]}
    assert as_object({"a": 1}) == {"a": 1}


def test_the_public_file_is_read_whole():
    chosen, rows = open_records(shared_data("sensebench_prompts.json"))
    found = [session_of(row) for row in rows]
    assert chosen.name == "sensebench"
    assert len(found) == len({session.key for session in found}) == 411
    assert Counter(session.scenario for session in found)["Writing"] == 64
    assert len({session.scenario for session in found}) == 8
    assert sum(bool(session.turns[-1].responses) for session in found) == 83
