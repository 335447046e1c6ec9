from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats import prism
from annotation.core.formats.detect import open_records
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines


def user(turn, content, **more):
    return {"turn": turn, "role": "user", "content": content, **more}


def reply(turn, content, model, score, *, chosen=False, **more):
    return {
        "turn": turn,
        "role": "model",
        "content": content,
        "model_provider": "p",
        "model_name": model,
        "score": score,
        "if_chosen": chosen,
        **more,
    }


FIRST = [
    user(0, "Bees in a town?"),
    reply(0, "Yes, ask first.", "command", 88, chosen=True),
    reply(0, "Bees sting.", "flan", 12),
    reply(0, "EMPTY STRING", "claude", 1),
]
SECOND = [
    user(1, "How much honey?"),
    reply(1, "Ten kilos.", "command", 75, chosen=True),
    reply(1, "Some kilos.", "command", 75),
]


def row(*history, **changes):
    told = {
        "conversation_id": "c0",
        "user_id": "user0",
        "conversation_type": "unguided",
        "opening_prompt": "Bees in a town?",
        "conversation_history": list(history or (*FIRST, *SECOND)),
        "performance_attributes": {"values": None, "fluency": 95},
        "choice_attributes": {"fluency": 80},
        "open_feedback": "The first was real.",
        **changes,
    }
    return {key: value for key, value in told.items() if value is not ...}


def verdicts(turn):
    texts = {each.key: each.text for each in turn.responses}
    told = {}
    for each in turn.comparisons:
        [label] = each.labels
        assert (label.details.annotator, each.gold) == ("user0", ())
        pair = frozenset({texts[each.a], texts[each.b]})
        told[pair] = {
            Verdict.A: texts[each.a],
            Verdict.B: texts[each.b],
            Verdict.TIE: "tie",
        }[label.verdict]
    return told


def test_every_two_replies_compare_by_their_scores():
    session = record_of(row(), prism.parse_conversation)
    assert (session.key, session.scenario, session.user) == ("c0", "unguided", "user0")
    first, second = session.turns
    assert [each.text for each in first.responses] == ["Yes, ask first.", "Bees sting.", None]
    assert verdicts(first) == {
        frozenset({"Yes, ask first.", "Bees sting."}): "Yes, ask first.",
        frozenset({"Yes, ask first.", None}): "Yes, ask first.",
        frozenset({"Bees sting.", None}): "Bees sting.",
    }
    assert verdicts(second) == {frozenset({"Ten kilos.", "Some kilos."}): "tie"}
    assert first.responses[0].extra == {"model_provider": "p", "score": 88}


def test_the_chosen_reply_is_the_original_and_replies_of_one_model_are_variants():
    first, second = record_of(row(), prism.parse_conversation).turns
    assert [each.original for each in first.responses] == [True, False, False]
    assert [(each.model, each.variant) for each in first.responses] == [
        ("command", ""),
        ("flan", ""),
        ("claude", ""),
    ]
    assert [(each.model, each.variant, each.original) for each in second.responses] == [
        ("command", "A", True),
        ("command", "B", False),
    ]


def test_of_several_chosen_replies_the_one_of_the_model_that_goes_on_is_the_original():
    twice = [
        user(0, "Hi"),
        reply(0, "Hello", "a", 50, chosen=True),
        reply(0, "Hello", "b", 50, chosen=True),
    ]
    going_on = [user(1, "Bye"), reply(1, "Bye", "b", 60)]
    first, second = record_of(row(*twice, *going_on), prism.parse_conversation).turns
    assert [each.original for each in first.responses] == [False, True]
    assert [each.original for each in second.responses] == [False]
    [alone] = record_of(row(*twice), prism.parse_conversation).turns
    assert [each.original for each in alone.responses] == [True, False]


def test_what_the_user_said_of_the_conversation_is_a_questionnaire():
    session = record_of(row(), prism.parse_conversation)
    [asked] = session.questionnaires
    assert asked.annotator == "user0"
    assert list(asked.answers) == [
        {"query": "performance_attributes: fluency", "option": "95"},
        {"query": "choice_attributes: fluency", "option": "80"},
        {"query": "open_feedback", "option": "The first was real."},
    ]
    assert session.extra == {"opening_prompt": "Bees in a town?"}
    silent = row(
        performance_attributes=None, choice_attributes=..., open_feedback="", conversation_type=...
    )
    session = record_of(silent, prism.parse_conversation)
    assert (session.questionnaires, session.scenario) == ((), "prism")


def test_what_else_is_told_of_a_users_message_is_kept():
    history = [
        reply(0, "Hello", "a", 50),
        user(0, "Hi", mood="merry", score=None),
        reply(0, "Hey", "b", 50),
    ]
    session = record_of(row(*history), prism.parse_conversation)
    assert session.extra["messages"] == {"conversation_history[1]": {"mood": "merry"}}
    assert [each.text for each in session.turns[0].responses] == ["Hello", "Hey"]


@pytest.mark.parametrize(
    ("told", "fault"),
    [
        (
            row(*SECOND),
            ("turn", "A turn is missing; turns are counted from 0, and their rows adjoin"),
        ),
        (
            row(user(0, "Hi"), reply(0, "Hello", "a", 101)),
            ("conversation_history[1].score", "Must be between 1 and 100"),
        ),
        (
            row(user(0, "Hi"), {"turn": 0, "role": "judge", "content": "x"}),
            ("conversation_history[1].role", "Expected one of user, model"),
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(told, fault):
    assert faults_of(told, prism.parse_conversation) == [fault]


def utterance(turn, text, model, score, *, chosen=False, **changes):
    return {
        "utterance_id": f"{turn}{text}",
        "conversation_id": "c0",
        "user_id": "user0",
        "turn": turn,
        "included_in_balanced_subset": False,
        "conversation_type": "unguided",
        "user_prompt": ["Bees in a town?", "How much honey?"][turn],
        "model_response": text,
        "model_name": model,
        "model_provider": "p",
        "score": score,
        "if_chosen": chosen,
        **changes,
    }


UTTERANCES = [
    utterance(each["turn"], each["content"], each["model_name"], each["score"],
              chosen=each["if_chosen"])
    for each in (*FIRST, *SECOND)
    if each["role"] == "model"
]  # fmt: skip


def test_utterances_are_the_same_conversation(tmp_path):
    other = utterance(0, "No.", "flan", 3, conversation_id="c1")
    chosen, rows = open_records(write_lines(tmp_path / "f", *UTTERANCES, other))
    assert chosen.name == "prism-utterances"
    first, second = map(session_of, rows)
    whole = record_of(row(), prism.parse_conversation)
    assert (first.key, second.key) == ("c0", "c1")
    assert first.extra == {"included_in_balanced_subset": False}
    for told, same in zip(first.turns, whole.turns, strict=True):
        assert told.user_message == same.user_message
        assert [(each.text, each.original, each.variant) for each in told.responses] == [
            (each.text, each.original, each.variant) for each in same.responses
        ]
        assert told.comparisons == same.comparisons
    assert (
        record_of(
            utterance(0, "No.", "flan", 3, included_in_balanced_subset=None), prism.parse_utterances
        ).extra
        == {}
    )


def test_the_survey_is_refused_with_one_sentence(tmp_path):
    person = {"user_id": "user0", "survey_only": False, "lm_familiarity": "Very familiar"}
    chosen, rows = open_records(write_lines(tmp_path / "f", person, person))
    assert chosen.name == "prism-conversations"
    [told] = rows
    assert [(fault.line, fault.reason.split(":")[0]) for fault in told.faults] == [
        (0, "This is the survey of PRISM")
    ]
    _chosen, rows = open_records(write_lines(tmp_path / "g", row(), row(*SECOND)))
    assert [bool(each.faults) for each in rows] == [False, True]


def test_rows_are_told_apart():
    assert prism.looks_like_conversations(row())
    assert not prism.looks_like_conversations(row(conversation_history=...))
    assert not prism.looks_like_conversations("row")
    assert prism.looks_like_utterances(UTTERANCES[0])
    assert not prism.looks_like_utterances(row())
    assert not prism.looks_like_utterances("row")
