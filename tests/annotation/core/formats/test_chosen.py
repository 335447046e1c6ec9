"""Rows that are a dialogue, or a chosen and a rejected side."""

from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.conversations import Speaker
from annotation.core.formats.chosen import chosen_session, dialogue_session, rest_of, side
from annotation.core.formats.compared import BENCHMARK
from annotation.core.formats.fields import parsed
from annotation.core.formats.records import LabelDetails, SatisfactionRecord
from tests.annotation.core.formats.rows import faults_of, record_of

HI, HO, MORE = (
    {"role": role, "content": text}
    for role, text in (("user", "hi"), ("assistant", "ho"), ("user", "more"))
)
TOOLS = [{"name": "clock"}]


def said(text):
    return {"role": "assistant", "content": text}


def parse(fields):
    """A pair with all that a row may have."""
    prompt = side(fields, "prompt", Speaker.USER) if fields.has("prompt") else []
    chosen, rejected = side(fields, "chosen"), side(fields, "rejected")
    known = ("prompt", "chosen", "rejected", "chosen_model", "rejected_model")
    extra = rest_of(fields, *known)
    return chosen_session(fields, prompt, chosen, rejected, scenario="s", extra=extra)


def parse_one(fields):
    """A dialogue; `stars` rate its last response."""
    stars = fields.whole_or_none("stars", 1, 5)
    details = LabelDetails(BENCHMARK)
    rating = None if stars is None else SatisfactionRecord(details, stars, None)
    messages = side(fields, "messages")
    extra = rest_of(fields, "messages", "stars")
    return dialogue_session(fields, messages, scenario="s", extra=extra, rating=rating)


def told(session):
    """User messages with the texts of their responses, in the file's order of better and worse."""
    return [
        (turn.user_message, *sorted(str(each.text) for each in turn.responses))
        for turn in session.turns
    ]


def better(session):
    [comparison] = session.turns[-1].comparisons
    verdict = comparison.gold[0].verdict
    return {Verdict.A: comparison.a, Verdict.B: comparison.b, Verdict.TIE: ""}[verdict]


@pytest.mark.parametrize(
    ("prompt", "chosen", "rejected"),
    [
        ("hi", "a", "b"),
        ([HI], [said("a")], [said("b")]),
        ("hi", said("a"), {"from": "gpt", "value": "b"}),
        ("hi ", [HI, said("a")], [said("b")]),
        (None, [HI, said("a")], [HI, said("b")]),
    ],
)
def test_both_sides_answer_the_prompt(prompt, chosen, rejected):
    session = record_of({"prompt": prompt, "chosen": chosen, "rejected": rejected}, parse)
    assert [(turn[0] or "").strip() for turn in told(session)] == ["hi"]
    assert told(session)[0][1:] == ("a", "b")
    assert better(session) == "chosen"


@pytest.mark.parametrize(
    "chosen", [[said("a")], [MORE, said("a")], [HI, HO, MORE, said("a")], [HO, MORE, said("a")]]
)
def test_a_side_may_repeat_the_prompt_or_its_end(chosen):
    row = {"prompt": [HI, HO, MORE], "chosen": chosen, "rejected": "b"}
    session = record_of(row, parse)
    assert told(session) == [("hi", "ho"), ("more", "a", "b")]
    assert session.turns[0].responses[0].original


def test_sides_may_go_on_with_the_dialogue():
    row = {"prompt": "hi", "chosen": [HO, MORE, said("a")], "rejected": [HO, MORE, said("b")]}
    assert told(record_of(row, parse)) == [("hi", "ho"), ("more", "a", "b")]


def test_later_turns_are_kept_and_counted():
    row = parsed(1, {"prompt": "hi", "chosen": [HO, MORE, said("a")], "rejected": "b"}, parse)
    assert told(row.record) == [("hi", "b", "ho")]
    later = {"later_turns": {"chosen": [MORE, said("a")]}}
    assert row.record.turns[0].comparisons[0].extra == later
    assert row.kept == ("later_turns",)


@pytest.mark.parametrize(
    ("chosen", "rejected", "reason"),
    [
        ("a", "a", "Both responses have the same text, so neither is better"),
        ([HO, MORE, said("a")], [HO], "The dialogues differ in their length alone"),
        ([HO, MORE, said("a")], [HO, HI, said("b")], "The dialogues differ in their length alone"),
    ],
)
def test_what_compares_no_two_responses_is_skipped(chosen, rejected, reason):
    row = parsed(1, {"prompt": "hi", "chosen": chosen, "rejected": rejected}, parse)
    assert (row.record, row.faults) == (None, ())
    assert row.skipped.startswith(reason)


def test_without_any_context_each_row_is_a_session():
    one = record_of({"chosen": "a", "rejected": "b"}, parse)
    other = record_of({"chosen": "c", "rejected": "d"}, parse)
    assert told(one) == [(None, "a", "b")]
    assert one.key != other.key


def test_a_dialogue_that_ends_on_the_model_is_gone_on_with():
    row = {"prompt": [HI, HO], "chosen": "a", "rejected": "b"}
    assert told(record_of(row, parse)) == [("hi", "ho"), (None, "a", "b")]


def test_models_thoughts_and_other_fields_go_where_they_belong():
    row = {
        "id": 7,
        "prompt": "hi",
        "chosen": [{**said("a"), "thinking": "hm"}],
        "rejected": [{**said("b"), "model": "m2"}],
        "chosen_model": "m1",
        "margin": 2,
    }
    session = record_of(row, parse)
    models = {each.key: (each.model, dict(each.extra)) for each in session.turns[0].responses}
    assert models == {"chosen": ("m1", {"reasoning": "hm"}), "rejected": ("m2", {})}
    [comparison] = session.turns[0].comparisons
    assert (comparison.extra, comparison.key.startswith("7-")) == ({"id": 7, "margin": 2}, True)


SYSTEM = {"role": "system", "content": "Be brief."}


@pytest.mark.parametrize(
    "changes",
    [
        {"system": "Be brief."},
        {"system_prompt": "Be brief.", "prompt": [SYSTEM, HI]},
        {"chosen": [SYSTEM, HI, said("a")], "rejected": [SYSTEM, HI, said("b")]},
        {"prompt": [{**SYSTEM, "role": "developer"}, HI]},
    ],
)
def test_the_system_prompt_may_stand_anywhere(changes):
    session = record_of({"prompt": "hi", "chosen": "a", "rejected": "b", **changes}, parse)
    assert (session.system_prompt, told(session)) == ("Be brief.", [("hi", "a", "b")])


@pytest.mark.parametrize("tools", [TOOLS, '[{"name": "clock"}]'])
def test_tools_stand_in_the_system_prompt(tools):
    block = '```tools\n[{"name": "clock"}]\n```'
    row = {"prompt": "hi", "chosen": "a", "rejected": "b", "tools": tools}
    assert record_of(row, parse).system_prompt == block
    assert record_of({**row, "system": "x"}, parse).system_prompt == f"x\n\n{block}"
    assert record_of({**row, "tools": "[]"}, parse).system_prompt == ""


def test_media_leave_a_placeholder_where_no_text_names_them():
    row = {"prompt": "hi", "chosen": "a", "rejected": "b", "images": ["x.png", ""], "audios": []}
    session = record_of(row, parse)
    assert told(session) == [("[image]\n\nhi", "a", "b")]
    assert session.turns[0].comparisons[0].extra == {"images": ["x.png", ""]}
    session = record_of({**row, "prompt": "<image>hi"}, parse)
    assert told(session) == [("<image>hi", "a", "b")]
    parts = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "hi"}]}]
    assert told(record_of({**row, "prompt": parts}, parse)) == [("[image]\n\nhi", "a", "b")]
    bare = {"chosen": "a", "rejected": "b", "image": "x.png"}
    assert faults_of(bare, parse) == [("image", "No text says where this belongs")]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"chosen": []}, ("chosen", "Must end with an assistant message")),
        ({"rejected": [HI]}, ("rejected", "Must end with an assistant message")),
        (
            {"chosen": [MORE, said("a")]},
            ("chosen", "The messages before the response do not begin with the prompt"),
        ),
        (
            {"system": "a", "prompt": [SYSTEM, HI]},
            ("system", "Differs from the other system prompt of this row"),
        ),
    ],
)
def test_what_cannot_be_placed_is_a_fault(changes, fault):
    assert faults_of({"prompt": "hi", "chosen": "a", "rejected": "b", **changes}, parse) == [fault]


def test_a_field_that_people_need_to_see_is_a_fault():
    row = {"prompt": "hi", "chosen": "a", "rejected": "b", "documents": ["d"]}
    assert [name for name, _why in faults_of(row, parse)] == ["documents"]


def test_a_dialogue_is_a_session_of_original_responses():
    row = {"messages": [SYSTEM, HI, HO, MORE], "tools": TOOLS, "id": 7, "images": ["x"]}
    session = record_of(row, parse_one)
    assert told(session) == [("hi", "ho"), ("[image]\n\nmore",)]
    assert session.turns[0].responses[0].original
    assert session.system_prompt.startswith("Be brief.\n\n```tools")
    assert session.extra == {"id": 7, "images": ["x"]}


def test_a_rated_response_shares_the_turn_with_others():
    one = record_of({"messages": [HI, HO], "stars": 5, "id": 7}, parse_one)
    other = record_of({"messages": [HI, said("hm")], "stars": 4}, parse_one)
    [response] = one.turns[0].responses
    assert (one.key, response.original) == (other.key, False)
    assert (response.satisfaction[0].score, response.extra, one.extra) == (5, {"id": 7}, {})
    alone = [record_of({"messages": [said(each)], "stars": 5}, parse_one).key for each in "ab"]
    assert alone[0] != alone[1]
    missing = faults_of({"messages": [HI], "stars": 5}, parse_one)
    assert missing == [("messages", "Must end with an assistant message")]


def test_a_row_that_stands_twice_with_other_fields_beside_it_is_two():
    pair = {"prompt": "hi", "chosen": "a", "rejected": "b"}
    keys = [
        record_of({**pair, **beside}, parse).turns[0].comparisons[0].key
        for beside in ({}, {"margin": 1}, {"margin": 2}, {"margin": 2})
    ]
    assert len(set(keys)) == 3
    rows = ({"messages": [HI, HO], **beside} for beside in ({}, {"n": 1}, {"n": 1}))
    assert len({record_of(row, parse_one).key for row in rows}) == 2
    named = {"messages": [{**HI, "name": "Ann"}, HO]}
    assert record_of(named, parse_one).key != record_of({"messages": [HI, HO]}, parse_one).key


def test_what_messages_say_beside_their_text_is_the_rows_where_others_share_its_session():
    row = {"prompt": [{**HI, "time": 5}], "chosen": "a", "rejected": "b"}
    session = record_of(row, parse)
    told = {"messages": {"prompt[0]": {"time": 5}}}
    assert (session.extra, session.turns[0].comparisons[0].extra) == ({}, told)
    session = record_of({"messages": [{**HI, "time": 5}, HO], "stars": 5}, parse_one)
    assert session.turns[0].responses[0].extra == {"messages": {"messages[0]": {"time": 5}}}
