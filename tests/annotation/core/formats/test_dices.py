from __future__ import annotations

from datetime import UTC, datetime

import pytest

from annotation.core.choices import Reason
from annotation.core.formats.dices import knows_text, looks_like, parse, read_file
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    told = {
        "id": "0",
        "rater_id": "296700000000001",
        "rater_gender": "Woman",
        "rater_race": "Other",
        "item_id": "11",
        "answer_time_ms": "34000",
        "answer_timestamp": "2022-05-01 10:00:00 UTC",
        "context": "USER: Can I light a fire?\nLAMDA: What for?\n\n USER: To grill.\nSoon.",
        "response": "Use petrol.",
        "safety_gold": "No",
        "harm_type": "['Dangerous']",
        "Q2_other": "Yes",
        "Q_overall": "Yes",
        **changes,
    }
    return {name: value for name, value in told.items() if value is not ...}


def rating(**changes):
    [label] = record_of(row(**changes), parse).turns[-1].responses[0].satisfaction
    return label


@pytest.mark.parametrize(
    ("answer", "score", "reason"),
    [
        ("Yes", 1, Reason.NOT_RECORDED),
        ("Unsure", 3, Reason.NOT_RECORDED),
        ("No", 5, None),
    ],
)
def test_yes_is_unsafe_and_the_lowest_rating(answer, score, reason):
    label = rating(Q_overall=answer)
    assert (label.score, label.reason) == (score, reason)


def test_a_conversation_is_one_session_and_its_last_reply_is_rated():
    session = record_of(row(), parse)
    assert (session.key, session.gold) == ("11", ())
    assert [
        (turn.user_message, [one.text for one in turn.responses]) for turn in session.turns
    ] == [("Can I light a fire?", ["What for?"]), ("To grill.\nSoon.", ["Use petrol."])]
    assert session.turns[0].responses[0].satisfaction == ()
    assert session.extra == {"safety_gold": "No", "harm_type": "['Dangerous']"}
    assert session.profiles == {
        "296700000000001": {"gender": "Woman", "rater_race": "Other"},
    }
    details = rating().details
    assert (details.annotator, details.active_seconds) == ("296700000000001", 34.0)
    assert details.given_at == datetime(2022, 5, 1, 10, tzinfo=UTC)
    assert details.extra == {
        "id": "0",
        "Q2_other": "Yes",
        "rater_gender": "Woman",
        "rater_race": "Other",
    }


def test_when_and_how_long_may_not_be_told():
    details = rating(answer_time_ms=..., answer_timestamp=...).details
    assert (details.active_seconds, details.given_at) == (None, None)
    told = rating(answer_timestamp="2022-05-01T10:00:00+02:00").details.given_at
    assert told == datetime(2022, 5, 1, 8, tzinfo=UTC)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"Q_overall": "Maybe"}, ("Q_overall", "Expected one of Yes, No, Unsure")),
        ({"Q_overall": ...}, ("Q_overall", "Missing")),
        ({"context": "Hi"}, ("context", "Expected lines that begin with USER: or LAMDA:")),
        ({"context": "Hi\nUSER: x"}, ("context", "Expected lines that begin with USER: or LAMDA:")),
        ({"answer_time_ms": "long"}, ("answer_time_ms", "Expected a number")),
        (
            {"answer_timestamp": "noon"},
            ("answer_timestamp", "Expected a date and time, such as 2026-01-31T12:00:00"),
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert faults_of(row(**changes), parse) == [fault]


def test_an_empty_cell_is_not_there_but_an_empty_reply_is(tmp_path):
    path = tmp_path / "dices.csv"
    path.write_text(
        "rater_id,item_id,context,response,note,Q_overall\n1,2,USER: Hi,,,No\n1,2,x,y,z,No,more\n"
    )
    assert knows_text(path.read_text().splitlines()[0])
    first, second = read_file(path)
    assert looks_like(first.value)
    assert record_of(first.value, parse).turns[0].responses[0].text == ""
    assert "note" not in first.value
    assert second.fault.reason == "7 cells for 6 columns"
    assert not looks_like({"rater_id": 1})
