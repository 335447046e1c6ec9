from __future__ import annotations

import json
from collections import Counter

import pytest

from annotation.core.choices import Hallucination, Reason
from annotation.core.formats.detect import open_records
from annotation.core.formats.fields import parsed
from annotation.core.formats.recllmsim import parse, read_directory
from tests.annotation.core.formats.rows import faults_of, record_of, session_of
from tests.paths import shared_data
from tests.refusals import refuses


def said(role, content="…", **rating):
    return {"role": role, "content": content, **rating}


def row(*history, **changes):
    data = {
        "user": "User_7",
        "scenario": "旅行规划",
        "session": 3,
        "chat_model": "gpt-4",
        "history": list(history)
        or [said("user", "hi"), said("assistant", "hello", satisfaction="4", hallucination="否")],
        "task_context": "a trip",
        "task_type": "旅行规划",
        "profile": {
            "gender": "Male",
            "age": 20,
            "personality": ["内向"],
            "complete_tid": {"x": [1]},
        },
        "questionnaire": [{"query": "q", "summary": "Detail", "option": "详细"}],
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def rating_of(**rating):
    session = record_of(row(said("user"), said("assistant", **rating)), parse)
    return session, session.turns[0].responses[0].satisfaction


def test_a_conversation_is_a_session_of_rated_turns():
    session = record_of(row(strategy="S"), parse)
    [turn] = session.turns
    [response] = turn.responses
    [label] = response.satisfaction
    assert (session.key, session.scenario, session.user) == (
        "User_7/旅行规划/3",
        "旅行规划",
        "User_7",
    )
    assert session.profile == {"gender": "Male", "age": 20, "personality": ["内向"]}
    assert session.extra == {"strategy": "S", "profile": {"complete_tid": {"x": [1]}}}
    assert (turn.user_message, response.text, response.model) == ("hi", "hello", "gpt-4")
    assert response.original
    assert (label.details.annotator, label.score, label.reason) == ("User_7", 4, None)
    assert label.hallucination is Hallucination.NO
    assert session.questionnaires[0].answers[0]["option"] == "详细"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("不够细致", Reason.INSUFFICIENT_DETAIL),
        ("不够多样", Reason.INSUFFICIENT_DIVERSITY),
        ("不满足需求", Reason.REQUIREMENT_UNMET),
        ("不可用", Reason.UNUSABLE),
        ("其它", Reason.OTHER),
        ("其他", Reason.OTHER),
        (None, Reason.NOT_RECORDED),
        ("", Reason.NOT_RECORDED),
        ("满意", Reason.NOT_RECORDED),
    ],
)
def test_reasons_of_low_scores(word, reason):
    _session, [label] = rating_of(satisfaction="3", reason=word)
    assert label.reason is reason


def test_a_reason_above_3_is_kept_aside():
    session, [label] = rating_of(satisfaction=5, reason="不可用")
    assert (label.score, label.reason) == (5, None)
    assert session.extra["reasons_above_3"] == {"history[1]": "不可用"}
    session, [label] = rating_of(satisfaction=5, reason="满意")
    assert "reasons_above_3" not in session.extra


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("是", Hallucination.YES),
        ("否", Hallucination.NO),
        ("无法判断", Hallucination.UNSURE),
        (None, None),
        ("", None),
    ],
)
def test_hallucination_has_three_values_and_none(word, expected):
    _session, [label] = rating_of(satisfaction="5", hallucination=word)
    assert label.hallucination is expected


@pytest.mark.parametrize("score", [None, "", ...])
def test_an_answer_that_nobody_rated_has_no_label(score):
    rating = {} if score is ... else {"satisfaction": score}
    assert rating_of(**rating)[1] == ()


def test_two_user_messages_in_a_row_and_a_session_that_ends_on_the_user():
    history = [said("user", "a"), said("user", "b"), said("assistant", "B"), said("user", "c")]
    session = record_of(row(*history), parse)
    assert [(turn.user_message, len(turn.responses)) for turn in session.turns] == [
        ("a", 0),
        ("b", 1),
        ("c", 0),
    ]


def test_an_answer_without_a_question_opens_a_turn_of_its_own():
    history = [said("assistant", "A"), said("user", "b"), said("assistant"), said("assistant", "C")]
    session = record_of(row(*history), parse)
    assert [turn.user_message for turn in session.turns] == [None, "b", None]
    assert session.turns[2].responses[0].text == "C"


def test_a_first_system_message_is_the_system_prompt():
    session = record_of(row(said("system", "be kind"), said("user", "a")), parse)
    assert (session.system_prompt, len(session.turns)) == ("be kind", 1)


def test_a_session_may_be_empty_of_turns_and_of_the_optional_fields():
    optional = dict.fromkeys(("chat_model", "task_context", "profile", "questionnaire"), ...)
    session = record_of(row(history=[], **optional), parse)
    assert (session.turns, session.questionnaires, session.profile) == ((), (), {})


def test_the_task_family_stands_in_for_the_scenario():
    assert record_of(row(scenario=...), parse).scenario == "旅行规划"
    assert record_of(row(task_type="other"), parse).extra["task_type"] == "other"


def test_the_number_of_a_session_may_be_text_and_is_not_counted_as_coerced():
    assert record_of(row(session="3"), parse).key == "User_7/旅行规划/3"
    assert parsed(1, row(), parse).coerced == 0
    found = parsed(1, row(said("user", 1.5), said("assistant", 7)), parse)
    assert found.coerced == 2


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"user": "a\u200bb"}, "user"),
        ({"user": ...}, "user"),
        ({"scenario": ..., "task_type": ...}, "task_type"),
        ({"session": ...}, "session"),
        ({"session": True}, None),
        ({"history": "x"}, "history"),
        ({"history": ...}, "history"),
        ({"history": [3]}, "history[0]"),
        ({"profile": []}, "profile"),
        ({"questionnaire": {}}, "questionnaire"),
        ({"user": "u" * 100, "scenario": "s" * 120}, "session"),
        ({"history": [said("robot")]}, "history[0].role"),
        ({"history": [said("user"), said("system")]}, "history[1].role"),
        ({"history": [said("user", None)]}, "history[0].content"),
        ({"history": [said("assistant", satisfaction=6)]}, "history[0].satisfaction"),
        ({"history": [said("assistant", satisfaction="good")]}, "history[0].satisfaction"),
        ({"history": [said("assistant", satisfaction=3, reason="?")]}, "history[0].reason"),
        (
            {"history": [said("assistant", satisfaction=3, hallucination="maybe")]},
            "history[0].hallucination",
        ),
        ({"history": [said("assistant", hallucination="是")]}, "history[0].satisfaction"),
        ({"history": [said("assistant", reason="不可用")]}, "history[0].satisfaction"),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, field):
    if field is None:
        assert record_of(row(**changes), parse).key.endswith("/true")
    else:
        assert [at for at, _reason in faults_of(row(**changes), parse)] == [field]


def write_session(root, user, scenario, name, content):
    folder = root / user / scenario
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(content, "utf-8")


@pytest.mark.parametrize("inner", ["", "human_exp_V2", "data"])
def test_the_directory_layout_holds_the_same_sessions(tmp_path, inner):
    bare = {
        key: value for key, value in row().items() if key not in {"user", "scenario", "session"}
    }
    root = tmp_path / inner
    for user, number in (("User_10", 0), ("User_7", 10), ("User_7", 3)):
        write_session(root, user, "旅行规划", f"{number}.json", json.dumps(bare, indent=2))
    write_session(root, "User_7", "旅行规划", "._3.json", "resource fork")
    for name in ("splits.json", "statistics.json"):
        (tmp_path / name).write_text("{}", "utf-8")
    chosen, rows = open_records(tmp_path)
    found = list(rows)
    assert chosen.name == "recllmsim"
    assert [session_of(each).key for each in found] == [
        "User_7/旅行规划/3",
        "User_7/旅行规划/10",
        "User_10/旅行规划/0",
    ]
    assert found[0].record == record_of(row(), parse)


def test_a_user_may_be_called_data(tmp_path):
    write_session(tmp_path, "data", "s", "0.json", '{"history": []}')
    _chosen, rows = open_records(tmp_path)
    assert [session_of(each).key for each in rows] == ["data/s/0"]


def test_a_bad_session_file_is_named(tmp_path):
    write_session(tmp_path, "User_1", "s", "0.json", "{")
    write_session(tmp_path, "User_1", "s", "1.json", "[]")
    write_session(tmp_path, "User_1", "s", "2.json", '{"history": []}')
    faults = [row.fault for row in read_directory(tmp_path)]
    assert [fault and fault.field for fault in faults] == ["User_1/s/0", "User_1/s/1", None]


def test_a_directory_without_sessions_is_said(tmp_path):
    with refuses("import:unreadable", match=r"no files User_N/<scenario>/<session>\.json"):
        list(read_directory(tmp_path))


def test_the_public_file_is_read_whole():
    chosen, rows = open_records(shared_data("recllmsim_dev.jsonl.gz"))
    found = [session_of(row) for row in rows]
    turns = [turn for session in found for turn in session.turns]
    labels = [label for turn in turns for each in turn.responses for label in each.satisfaction]
    assert chosen.name == "recllmsim"
    assert (len(found), len(turns), len(labels)) == (1035, 4606, 4532)
    assert len({session.user for session in found}) == 65
    assert Counter(label.hallucination for label in labels)[Hallucination.UNSURE] == 154
    assert Counter(label.score for label in labels) == {5: 2096, 4: 1783, 3: 446, 2: 138, 1: 69}
    assert sum(not turn.responses for turn in turns) == 4606 - 4532
    assert all("reasons_above_3" not in session.extra for session in found)
