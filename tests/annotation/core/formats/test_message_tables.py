"""Tables with a message of a conversation a row."""

from __future__ import annotations

from annotation.core.choices import Reason
from annotation.core.formats import message_tables, tables
from annotation.core.formats.detect import FORMATS, open_records, with_columns
from annotation.core.formats.headers import guess
from annotation.core.formats.mappings import read_values
from tests.annotation.core.formats.rows import session_of

HEADER = "session,role,text,score,reason"


def read(tmp_path, text, columns=None, values=()):
    path = tmp_path / "chat.csv"
    path.write_text(text, "utf-8")
    formats = with_columns(FORMATS, columns, read_values(values))
    _chosen, rows = open_records(path, "csv", formats)
    return list(rows)


def faults(rows):
    return [(each.line, each.field, each.reason) for row in rows for each in row.faults]


def test_messages_of_a_session_are_one_conversation(tmp_path):
    text = f"""{HEADER},model,annotator,scenario,comment,gold
s1,system,Be brief.,,,,,trip,,
s1,user,Where to?,,,,,,,
s1,assistant,Yunnan.,2,requirement unmet,m1,李雷,trip,too short,3
s1,user,And then?,,,,,,,
s1,user,Hello?,,,,,,,
s1,assistant,Dali.,5,,m1,李雷,,,
s1,assistant,More?,,,m1,,,,
s2,human,Hi,,,,,,,
s2,bot,Hello.,nan,,,,,,
"""
    first, second = read(tmp_path, text)
    assert (first.line, second.line) == (2, 9)
    session = session_of(first)
    assert (session.key, session.scenario, session.system_prompt) == ("s1", "trip", "Be brief.")
    assert [turn.user_message for turn in session.turns] == [
        "Where to?",
        "And then?",
        "Hello?",
        None,
    ]
    [reply] = session.turns[0].responses
    assert (reply.text, reply.model, reply.original) == ("Yunnan.", "m1", True)
    [rating] = reply.satisfaction
    assert (rating.score, rating.reason) == (2, Reason.REQUIREMENT_UNMET)
    assert (rating.details.annotator, rating.details.comment) == ("李雷", "too short")
    assert [one.score for one in reply.gold] == [3]
    assert session.turns[1].responses == ()
    [other] = session_of(second).turns
    assert (other.responses[0].satisfaction, session_of(second).scenario) == ((), "default")


def test_common_headers_are_guessed_only_together():
    assert " ".join(guess(["对话编号", "角色", "内容", "评分"])) == "session role text score"
    assert " ".join(guess(["提示", "回答A", "回答B", "评价人", "结论"])) == (
        "prompt text_a text_b annotator verdict"
    )
    assert " ".join(guess(["thread id", "speaker", "message", "rating"])) == (
        "session role text score"
    )
    assert " ".join(guess(["prompt", "A", "B", "text", "role"])) == "prompt text_a text_b"


def test_a_word_for_a_role_can_be_given_a_meaning(tmp_path):
    text = f"{HEADER}\ns,tourist,Hi,,\ns,guide,Hello,5,\n"
    assert [field for _line, field, _reason in faults(read(tmp_path, text))] == ["role", "role"]
    [row] = read(tmp_path, text, values=["role:tourist=USER,guide=ASSISTANT"])
    assert len(session_of(row).turns) == 1
    text = f"{HEADER}\ns,user,Hi,,\ns,assistant,Hello,bad,\nt,user,Hi,,\n"
    left, kept = read(tmp_path, text, values=["score:bad=SKIP"])
    assert (left.record, bool(left.skipped), session_of(kept).key) == (None, True, "t")


def test_every_fault_bears_the_line_of_its_message(tmp_path):
    text = f"""{HEADER},scenario
s,user,Hi,4,,trip
s,system,Late.,,,
s,assistant,Hello,7,,trap
,user,Hi,,,
t,system,Alone.,,,
s,user,Again,,,
"""
    assert faults(read(tmp_path, text)) == [
        (2, "score", "Only replies of the assistant are rated"),
        (3, "role", "A system prompt stands before all other messages"),
        (4, "scenario", "Differs from the messages of this session before it"),
        (4, "score", "Must be between 1 and 5"),
        (5, "session", "Missing"),
        (6, "session", "No messages"),
        (
            7,
            "session",
            "The messages of this session do not stand together: sort the table by session",
        ),
    ]


def test_a_row_that_cannot_be_read_spoils_the_conversations_beside_it(tmp_path):
    text = f"{HEADER}\ns,user,Hi,,\ns,x\ns,assistant,Hello,,\nt,user,Hi,,\nt,x\nu,user,Hi,,\n"
    assert faults(read(tmp_path, text)) == [
        (3, "", "2 cells for 5 columns"),
        (6, "", "2 cells for 5 columns"),
        (7, "session", "The row before this one cannot be read"),
    ]
    assert faults(read(tmp_path, f"{HEADER}\ns,x\n")) == [(2, "", "2 cells for 5 columns")]


def test_a_conversation_that_never_ends_is_a_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(message_tables, "MAX_ROW_CHARS", 5)
    text = f"{HEADER}\ns,user,Hello,,\ns,user,Hello,,\n"
    assert faults(read(tmp_path, text)) == [(2, "", "Row too long to read")]


def test_a_table_without_messages_has_no_conversation(tmp_path):
    path = tmp_path / "chat.csv"
    path.write_text(HEADER, "utf-8")
    assert list(tables.read_file(path)) == []


def test_a_table_of_messages_lacks_what_it_needs(tmp_path):
    assert faults(read(tmp_path, "role,text,score\nuser,Hi,\n")) == [
        (1, "session", "No column was named for this field")
    ]
    assert faults(read(tmp_path, f"{HEADER},v\ns,user,Hi,,,A\n", {"verdict": "v"})) == [
        (1, "verdict", "A table of messages has no such column")
    ]
