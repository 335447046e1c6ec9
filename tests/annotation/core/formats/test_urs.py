from __future__ import annotations

import csv
import json

import pytest

from annotation.core.choices import Reason
from annotation.core.formats import urs
from annotation.core.formats.detect import open_records
from tests.annotation.core.formats.rows import session_of
from tests.refusals import refuses

COLUMNS = ["question", "response", "user_intent", "language", "satisfaction"]


def read(tmp_path, *rows, columns=COLUMNS, format_name="auto"):
    path = tmp_path / "sessions.csv"
    with path.open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file).writerows([columns, *rows])
    chosen, found = open_records(path, format_name)
    assert chosen.name == urs.NAME
    return list(found)


def test_a_row_is_a_session_rated_as_a_whole(tmp_path):
    [row] = read(tmp_path, ["How, then?", "Like\nthis.", "Ask_for_Advice", "EN", "3"])
    session = session_of(row)
    assert (session.scenario, session.language) == ("Ask_for_Advice", "en")
    [turn] = session.turns
    assert (turn.user_message, turn.responses[0].text) == ("How, then?", "Like\nthis.")
    assert turn.responses[0].original
    [rating] = session.satisfaction
    assert (rating.score, rating.reason) == (3, Reason.NOT_RECORDED)
    assert rating.details.annotator == session.user
    assert session.user == f"user {session.key[:12]}"


def test_columns_that_name_things_are_taken(tmp_path):
    columns = [*COLUMNS, "session", "user", "model", "comment", "country"]
    row = ["Q", "A", "Leisure", "CN", "5.0", "s1", "u7", "gpt-4", "fine", "NO"]
    session = session_of(read(tmp_path, row, columns=columns)[0])
    assert (session.key, session.user) == ("s1", "u7")
    assert session.turns[0].responses[0].model == "gpt-4"
    assert session.extra == {"country": "NO"}
    [rating] = session.satisfaction
    assert (rating.score, rating.reason, rating.details.comment) == (5, None, "fine")


def test_the_user_may_be_told_as_user_id(tmp_path):
    row = ["Q", "A", "Leisure", "CN", "5", "u7"]
    session = session_of(read(tmp_path, row, columns=[*COLUMNS, "user_id"])[0])
    assert (session.user, session.extra) == ("u7", {})
    assert session.satisfaction[0].details.annotator == "u7"


def test_without_a_response_the_turn_is_unanswered(tmp_path):
    session = session_of(read(tmp_path, ["Q", "", "Leisure", "", "4"])[0])
    assert session.turns[0].responses == ()


def test_a_dialogue_stands_as_a_list_of_messages(tmp_path):
    said = [
        {"role": "user", "content": "Q1"},
        {"role": "assistant", "content": "A1"},
        {"role": "User", "content": "Q2"},
    ]
    columns = ["dialogue", "user_intent", "satisfaction", "model"]
    [row] = read(tmp_path, [json.dumps(said), "Leisure", "2", "m"], columns=columns)
    turns = session_of(row).turns
    assert [each.user_message for each in turns] == ["Q1", "Q2"]
    assert turns[0].responses[0].model == "m"


@pytest.mark.parametrize(
    ("cells", "field", "reason"),
    [
        (["Q", "A", "", "EN", "4"], "user_intent", "Missing"),
        (["", "A", "Leisure", "EN", "4"], "question", "Missing"),
        (["Q", "A", "Leisure", "EN", "6"], "satisfaction", "Must be between 1 and 5"),
        (["Q", "A", "Leisure", "EN"], "", "4 cells for 5 columns"),
        (["Q\x00", "A", "Leisure", "EN", "4"], "question", "A string contains NUL"),
    ],
)
def test_what_is_not_understood_is_a_fault(tmp_path, cells, field, reason):
    [row] = read(tmp_path, cells)
    assert (field, reason) in [(each.field, each.reason) for each in row.faults]


@pytest.mark.parametrize(
    ("dialogue", "field", "reason"),
    [
        ("no JSON", "dialogue", "Expected a JSON list of {role, content}"),
        ("[" * 20_000, "dialogue", "Expected a JSON list of {role, content}"),
        ("[]", "dialogue", "Expected a JSON list of {role, content}"),
        ('[{"role": "bot", "content": "x"}]', "dialogue[0].role", "Expected user or assistant"),
    ],
)
def test_a_dialogue_must_be_messages(tmp_path, dialogue, field, reason):
    columns = ["dialogue", "user_intent", "satisfaction"]
    [row] = read(tmp_path, [dialogue, "Leisure", "4"], columns=columns)
    assert [(each.field, each.reason) for each in row.faults] == [(field, reason)]


def test_reading_goes_on_after_a_row_that_is_no_csv(tmp_path):
    path = tmp_path / "broken.csv"
    path.write_text(
        'question,user_intent,satisfaction\n"Q"x,Leisure,4\n\nQ2,Leisure,5\n', encoding="utf-8"
    )
    first, second = open_records(path)[1]
    assert [each.reason for each in first.faults] == ["Not CSV: ',' expected after '\"'"]
    assert session_of(second).turns[0].user_message == "Q2"


def test_a_header_that_is_no_csv_is_refused(tmp_path):
    assert not urs.knows_text("satisfaction,user_intent\r1,2")
    path = tmp_path / "other.csv"
    path.write_text("question,satisfaction\rQ,4\nQ,5\n", encoding="utf-8", newline="")
    with refuses("import:unreadable", match="new-line"):
        list(open_records(path, "urs")[1])


def test_a_header_must_have_its_columns(tmp_path):
    path = tmp_path / "other.csv"
    path.write_text("question,satisfaction\nQ,4\n", encoding="utf-8")
    with refuses("import:unreadable", match="no column user_intent"):
        list(open_records(path, "urs")[1])
