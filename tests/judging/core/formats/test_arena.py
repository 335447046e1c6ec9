from __future__ import annotations

import csv
import json
from datetime import UTC, datetime

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.formats import arena
from tests.annotation.core.formats.rows import faults_of, record_of


def without(told):
    return {key: value for key, value in told.items() if value is not ...}


def battle(**changes):
    return without(
        {
            "model_a": "vicuna",
            "model_b": "gpt-4",
            "winner": "model_b",
            "judge": "arena_user_1",
            "turn": 1,
            "anony": True,
            "language": "English",
            "tstamp": 1682351591.5,
            "conv_metadata": {"sum_assistant_a_tokens": 54},
            **changes,
        }
    )


def talk(*texts):
    return [
        {"role": "assistant" if place % 2 else "user", "content": text}
        for place, text in enumerate(texts)
    ]


def test_a_system_prompt_of_both_conversations_is_the_sessions():
    system = [{"role": "system", "content": "Be brief."}]
    conversations = {
        f"conversation_{side}": system + talk("Hi", text)
        for side, text in zip("ab", "xy", strict=True)
    }
    session = record_of(battle(**conversations), arena.parse_battle)
    assert session.system_prompt == "Be brief."
    assert [turn.user_message for turn in session.turns] == ["Hi"]


@pytest.mark.parametrize(
    ("a", "b", "fault"),
    [
        (
            [{"role": "system", "content": "Be brief."}, *talk("Hi", "x")],
            talk("Hi", "y"),
            "Differs from the other system prompt of this row",
        ),
        (talk("Hi", "x"), talk("Bye", "y"), "The two conversations have different user messages"),
        (
            talk("Hi", "x", "Go on", "z"),
            talk("Hi", "y"),
            "The two conversations have different user messages",
        ),
    ],
)
def test_conversations_of_which_a_part_would_be_lost_are_a_fault(a, b, fault):
    row = battle(conversation_a=a, conversation_b=b)
    assert faults_of(row, arena.parse_battle) == [("conversation_b", fault)]


def test_a_battle_is_a_vote_on_two_models_the_first_of_them_on_the_left():
    session = record_of(battle(), arena.parse_battle)
    [turn] = session.turns
    [comparison] = turn.comparisons
    [label] = comparison.labels
    assert (session.scenario, turn.user_message) == ("arena", None)
    assert [(one.model, one.text) for one in turn.responses] == [("vicuna", None), ("gpt-4", None)]
    assert (label.verdict, label.shown_order, label.both_bad) == (Verdict.B, Order.ORIGINAL, False)
    assert label.details.annotator == "arena_user_1"
    assert label.details.given_at == datetime(2023, 4, 24, 15, 53, 11, 500_000, UTC)
    assert comparison.extra == {
        "anony": True,
        "language": "English",
        "conv_metadata": {"sum_assistant_a_tokens": 54},
    }


def test_in_which_turn_a_battle_without_texts_was_is_kept():
    for told, kept in ((2, {"turn": 2}), (1, {}), ([2], {"turn": [2]})):
        [turn] = record_of(battle(turn=told, anony=..., language=...), arena.parse_battle).turns
        assert turn.comparisons[0].extra == {"conv_metadata": {"sum_assistant_a_tokens": 54}} | kept


def test_both_can_be_bad_and_voters_can_be_unknown():
    told = battle(winner="tie (bothbad)", judge=..., tstamp=None, question_id="q1")
    [turn] = record_of(told, arena.parse_battle).turns
    [label] = turn.comparisons[0].labels
    assert (label.verdict, label.both_bad) == (Verdict.TIE, True)
    assert (label.details.annotator, label.details.given_at) == ("arena", None)


def test_a_battle_is_named_by_its_id_or_by_all_but_its_outcome():
    one, other = battle(), battle(winner="tie")
    keys = {record_of(each, arena.parse_battle).key for each in (one, other)}
    assert len(keys) == 1
    assert record_of(battle(tstamp=1.0), arena.parse_battle).key not in keys
    assert record_of(battle(question_id="q1"), arena.parse_battle).key == "q1"


def test_conversations_bring_the_texts_each_model_after_its_own():
    told = battle(
        conversation_a=talk("Hi", "Hello!", "Bye", "Goodbye!"),
        conversation_b=talk("Hi", "Hi.", "Bye", "Bye."),
    )
    session = record_of(told, arena.parse_battle)
    assert [turn.user_message for turn in session.turns] == ["Hi", "Bye"]
    assert [[one.text for one in turn.responses] for turn in session.turns] == [
        ["Hello!", "Hi."],
        ["Goodbye!", "Bye."],
    ]
    assert [[one.continues for one in turn.responses] for turn in session.turns] == [
        [None, None],
        ["a", "b"],
    ]
    assert [len(turn.comparisons) for turn in session.turns] == [0, 1]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"winner": "model_c"},
            (
                "winner",
                "Expected one of model_a, model_b, tie, tie (bothbad), both_bad, bothbad, "
                "tie (inconsistent)",
            ),
        ),
        ({"winner": None}, ("winner", "Missing")),
        ({"tstamp": None}, ("tstamp", "Needs question_id or tstamp to tell battles apart")),
        ({"tstamp": "noon"}, ("tstamp", "Expected a number of seconds")),
        (
            {"tstamp": None, "question_id": "q", "timestamp": "noon"},
            ("timestamp", "Expected a date and time, such as 2026-01-31T12:00:00"),
        ),
        (
            {"conversation_a": "Hi, Hello!", "conversation_b": talk()},
            (
                "conversation_a",
                "Expected a list or an object, as JSON or as Python prints it",
            ),
        ),
        (
            {"conversation_a": talk("a", "b")[::-1], "conversation_b": talk("a", "b")},
            (
                "conversation_a",
                "Expected user and assistant messages in turns, the user first",
            ),
        ),
    ],
)
def test_what_a_battle_lacks_is_a_fault(changes, fault):
    assert faults_of(battle(**changes), arena.parse_battle) == [fault]


def part(*texts, **more):
    return [{"type": "text", "text": text, "image": None, **more} for text in texts]


def messages(asked, answered):
    """The two messages of one side in the layout of 2025."""
    return [
        {"role": "user", "content": part(*asked), "num_tokens": 3},
        {"role": "assistant", "content": part(answered)},
    ]


def turn_of_2025(asked, left, right):
    """A turn of `full_conversation`."""
    said = zip(("user", "model_side_a", "model_side_b"), (asked, left, right), strict=True)
    return {
        name: text and {"role": "user" if name == "user" else "assistant", "content": part(text)}
        for name, text in said
    }


def battle_of_2025(**changes):
    return without(
        {
            "id": "v1",
            "model_a": "gemini",
            "model_b": "grok",
            "winner": "both_bad",
            "evaluation_session_id": "s1",
            "evaluation_order": 1,
            "conversation_a": messages(["Name a river."], "The Wye."),
            "conversation_b": messages(["Name a river."], "The Severn."),
            "full_conversation": [turn_of_2025("Name a river.", "The Wye.", "The Severn.")],
            "language": "en",
            "timestamp": "2025-06-10T08:09:10.5",
            **changes,
        }
    )


def test_a_vote_of_2025_has_its_texts_in_parts_and_its_time_in_utc():
    session = record_of(battle_of_2025(), arena.parse_battle)
    [turn] = session.turns
    [comparison] = turn.comparisons
    [label] = comparison.labels
    assert (session.key, session.language, turn.user_message) == ("v1", "en", "Name a river.")
    assert [(one.model, one.text, one.extra) for one in turn.responses] == [
        ("gemini", "The Wye.", {}),
        ("grok", "The Severn.", {}),
    ]
    assert (label.verdict, label.both_bad) == (Verdict.TIE, True)
    assert label.details.given_at == datetime(2025, 6, 10, 8, 9, 10, 500_000, UTC)
    assert comparison.extra == {
        "evaluation_session_id": "s1",
        "evaluation_order": 1,
        "language": "en",
    }


def test_what_was_said_before_the_battle_comes_before_it_with_no_models():
    full = [
        turn_of_2025("Name a river.", "The Wye.", "The Severn."),
        turn_of_2025("And a lake?", "Bala.", None),
        turn_of_2025("A castle?", "Chepstow.", "Conwy."),
    ]
    told = battle_of_2025(
        conversation_a=messages(["A castle?"], "Chepstow."),
        conversation_b=messages(["A castle?"], "Conwy."),
        full_conversation=full,
        timestamp="2025-06-10T08:09:10+02:00",
    )
    session = record_of(told, arena.parse_battle)
    assert [
        (turn.user_message, [(one.model, one.text, one.continues) for one in turn.responses])
        for turn in session.turns
    ] == [
        ("Name a river.", [("", "The Wye.", None), ("", "The Severn.", None)]),
        ("And a lake?", [("", "Bala.", "a")]),
        ("A castle?", [("gemini", "Chepstow.", "a"), ("grok", "Conwy.", "b")]),
    ]
    assert [len(turn.comparisons) for turn in session.turns] == [0, 0, 1]
    assert session.turns[2].comparisons[0].labels[0].details.given_at == datetime(
        2025, 6, 10, 6, 9, 10, tzinfo=UTC
    )


def test_of_a_request_in_parts_the_side_with_more_of_it_is_taken():
    told = battle_of_2025(conversation_a=messages(["Name a river.", "In Wales."], "The Wye."))
    [turn] = record_of(told, arena.parse_battle).turns
    assert turn.user_message == "Name a river.\n\nIn Wales."


def test_experts_votes_have_conversations_as_python_prints_them():
    told = battle_of_2025()
    for name in ("conversation_a", "conversation_b", "full_conversation"):
        told[name] = str(told[name])
    assert record_of(told, arena.parse_battle) == record_of(battle_of_2025(), arena.parse_battle)


def test_a_battle_of_ppe_has_one_prompt_and_two_responses():
    told = battle(question_id="p", prompt="Hi", response_1="Hello!", response_2="Hi.", language=1)
    session = record_of(told, arena.parse_battle)
    [turn] = session.turns
    assert (turn.user_message, [one.text for one in turn.responses]) == ("Hi", ["Hello!", "Hi."])
    assert session.language == ""
    assert "prompt" not in turn.comparisons[0].extra


def test_a_voter_may_be_told_by_a_hash_and_a_language_by_its_name():
    told = battle(judge=..., judge_hash="ab12")
    session = record_of(told, arena.parse_battle)
    assert session.turns[0].comparisons[0].labels[0].details.annotator == "ab12"
    assert session.language == "en"
    assert record_of(battle(language="German"), arena.parse_battle).language == "de"
    assert record_of(battle(language="unknown"), arena.parse_battle).language == ""


def kaggle(**changes):
    return {
        "id": "7",
        "model_a": "m",
        "model_b": "n",
        "prompt": '["Hi?", "And you?"]',
        "response_a": '["Hello!", null]',
        "response_b": '["Hi.", "Well."]',
        "winner_model_a": "0",
        "winner_model_b": "1",
        "winner_tie": "0",
        **changes,
    }


def test_a_row_of_the_kaggle_table_is_a_battle():
    session = record_of(kaggle(), arena.parse_kaggle)
    assert (session.key, [turn.user_message for turn in session.turns]) == (
        "7",
        ["Hi?", "And you?"],
    )
    assert [[(one.model, one.text) for one in turn.responses] for turn in session.turns] == [
        [("m", "Hello!"), ("n", "Hi.")],
        [("m", None), ("n", "Well.")],
    ]
    [comparison] = session.turns[1].comparisons
    assert [(each.details.annotator, each.verdict) for each in comparison.labels] == [
        ("arena", Verdict.B)
    ]


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"winner_model_b": "0"},
            (
                "winner_model_a",
                "Expected 1 in one of winner_model_a, winner_model_b and winner_tie",
            ),
        ),
        ({"response_a": "[]"}, ("response_a", "Expected a list of strings")),
        (
            {"response_b": '["Hi."]'},
            ("response_b", "Expected as many texts as in prompt"),
        ),
        (
            {"response_b": r'["Hi.", "\ud83d"]'},
            ("response_b", "A string contains bytes or escapes that are not characters"),
        ),
    ],
)
def test_what_the_kaggle_table_does_not_say_is_a_fault(changes, fault):
    assert fault in faults_of(kaggle(**changes), arena.parse_kaggle)


@pytest.mark.parametrize("as_json", [True, False])
def test_the_kaggle_table_is_read_as_csv_and_as_json(tmp_path, as_json):
    row = kaggle()
    path = tmp_path / "train"
    if as_json:
        path.write_text(json.dumps(row))
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, row)
            writer.writeheader()
            writer.writerow(row)
    assert [each.value for each in arena.read_kaggle(path)] == [row]
    assert arena.looks_like_kaggle(row)
    assert not arena.looks_like_kaggle([])
    assert arena.knows_kaggle(",".join(row))
    assert not arena.knows_kaggle('{"id": 1}')


def test_battles_are_told_from_votes_on_mt_bench():
    assert arena.looks_like_battles(battle())
    assert arena.looks_like_battles(battle_of_2025())
    vote = {"question_id": 81, "model_a": "a", "model_b": "b", "winner": "tie", "judge": "j"}
    assert not arena.looks_like_battles({**vote, "turn": 1})
    assert not arena.looks_like_battles("row")
