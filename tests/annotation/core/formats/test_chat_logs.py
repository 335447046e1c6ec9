"""Conversations that nobody rated."""

from __future__ import annotations

import pytest

from annotation.core.formats.chat_logs import (
    language_code,
    looks_like_lmsys,
    looks_like_messages,
    looks_like_sharegpt,
    looks_like_wildchat,
    parse,
)
from annotation.core.formats.fields import parsed
from tests.annotation.core.formats.rows import faults_of, record_of

HI, HO = {"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}
SHARED = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Ho"}]
LMSYS = {"conversation_id": "c1", "model": "koala", "conversation": [HI, HO]}
WILD = {
    "conversation_hash": "h1",
    "model": "gpt-4",
    "conversation": [
        {**HI, "country": "Iceland", "turn_identifier": 1},
        {**HO, "turn_identifier": 1},
    ],
    "hashed_ip": "abab",
    "language": "English",
}


def told(session):
    return [(turn.user_message, *(each.text for each in turn.responses)) for turn in session.turns]


def test_messages_become_original_responses():
    row = {"messages": [{"role": "system", "content": "Be brief."}, HI, HO, HI], "id": 7}
    session = record_of(row, parse)
    assert (session.key, session.system_prompt) == ("7", "Be brief.")
    assert told(session) == [("Hi", "Ho"), ("Hi",)]
    [response] = session.turns[0].responses
    assert (response.original, response.satisfaction) == (True, ())


def test_without_an_id_the_content_names_a_conversation():
    one, other = ({"messages": [HI, {**HO, "content": text}]} for text in "ab")
    assert record_of(one, parse).key != record_of(other, parse).key


def test_the_prompt_may_be_repeated():
    assert told(record_of({"messages": [HI, HO], "prompt": "Hi"}, parse)) == [("Hi", "Ho")]
    faults = faults_of({"messages": [HI, HO], "prompt": "Ho"}, parse)
    assert [name for name, _why in faults] == ["prompt"]


def test_a_system_message_at_the_end_says_nothing_to_the_responses():
    end = {"from": "system", "value": "Share Prompt"}
    row = parsed(1, {"id": "s1", "conversations": [*SHARED, end, end]}, parse)
    assert told(row.record) == [("Hi", "Ho")]
    assert row.record.extra == {"system_after": ["Share Prompt", "Share Prompt"]}
    assert row.kept == ("system_after",)
    assert parsed(1, {"conversations": [end]}, parse).skipped == "The conversation has no messages"


def test_a_conversation_may_begin_with_the_model():
    session = record_of({"conversations": SHARED[1:]}, parse)
    assert told(session) == [(None, "Ho")]


def test_lmsys_names_the_model_and_the_language():
    session = record_of({**LMSYS, "language": "Chinese", "redacted": True}, parse)
    assert (session.key, session.language, session.extra) == ("c1", "zh", {"redacted": True})
    assert session.turns[0].responses[0].model == "koala"


def test_wildchat_names_the_user_and_what_it_knows_of_each_message():
    session = record_of(WILD, parse)
    assert (session.key, session.user, session.language) == ("h1", "abab", "en")
    assert session.turns[0].responses[0].extra == {"turn_identifier": 1}
    kept = {"conversation[0]": {"country": "Iceland", "turn_identifier": 1}}
    assert session.extra == {"messages": kept}


@pytest.mark.parametrize(
    ("name", "code"),
    [("English", "en"), ("chinese ", "zh"), ("Klingon", "Klingon"), ("", ""), ("x" * 17, "")],
)
def test_languages_have_codes(name, code):
    assert language_code(name) == code


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"messages": [HI, HO]}, "messages"),
        ({"messages": [HI, HO], "label": 3}, "messages"),
        ({"messages": [HI, HO], "label": True}, ""),
        ({"messages": [HI, HO], "rejected_response": "x"}, ""),
        ({"messages": [HI, HO], "type": "session"}, ""),
        ({"messages": "Hi"}, ""),
        ({"conversations": SHARED}, "sharegpt"),
        ({"conversations": SHARED, "kto_tag": True}, ""),
        ({"conversations": SHARED, "chosen": {}, "rejected": {}}, ""),
        (LMSYS, "lmsys"),
        ({**LMSYS, "conversation": []}, ""),
        (WILD, "wildchat"),
        ({**WILD, "conversation_hash": None}, "wildchat"),
        ({"conversation": WILD["conversation"], "model": "m", "conversation_id": "c"}, "wildchat"),
        ({"conversation": [HI, HO]}, ""),
        ([], ""),
    ],
)
def test_rows_are_told_apart(row, name):
    found = {
        "messages": looks_like_messages(row),
        "sharegpt": looks_like_sharegpt(row),
        "lmsys": looks_like_lmsys(row),
        "wildchat": looks_like_wildchat(row),
    }
    assert [each for each, taken in found.items() if taken] == ([name] if name else [])
