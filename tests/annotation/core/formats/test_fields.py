from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotation.core.choices import Verdict
from annotation.core.formats.fields import Fields, Notes, number_of, parsed
from annotation.core.formats.records import ResponseRecord, SessionRecord, TurnRecord


def fields_of(**data) -> Fields:
    return Fields(data, Notes(1))


def faults(fields: Fields) -> list[tuple[str, str]]:
    return [(fault.field, fault.reason) for fault in fields.notes.faults]


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (4, 4),
        ("4", 4),
        (" 4.0 ", 4),
        (4.0, 4),
        ("-1", -1),
        ("4.5", None),
        (4.5, None),
        (True, None),
        ("", None),
        ("four", None),
        ("nan", None),
        ("inf", None),
        (None, None),
        ([4], None),
    ],
)
def test_numeric_text_is_a_number(value, number):
    assert number_of(value) == number


@given(st.integers(-(10**6), 10**6))
def test_every_whole_number_is_read_from_its_text(number):
    assert number_of(str(number)) == number_of(number) == number


@pytest.mark.parametrize(
    ("value", "text", "coerced"),
    [("", "", 0), ("x", "x", 0), (True, "true", 1), (7, "7", 1), (1.5, "1.5", 1)],
)
def test_a_scalar_in_a_text_field_is_its_text_and_is_counted(value, text, coerced):
    fields = fields_of(a=value)
    assert fields.text("a") == text
    assert fields.notes.coerced == coerced
    assert faults(fields) == []


@pytest.mark.parametrize(
    ("value", "reason"),
    [(None, "Missing"), ([], "Expected a string"), ({}, "Expected a string")],
)
def test_what_is_no_text_is_a_fault(value, reason):
    fields = fields_of(a=value)
    assert fields.text("a") == ""
    assert faults(fields) == [("a", reason)]


def test_a_text_may_be_left_out_where_it_has_a_default():
    assert fields_of(a=None).text_or("a", "d") == "d"
    assert fields_of().text_or("a") == ""
    assert fields_of(a="x").text_or("a", "d") == "x"


def test_lengths_are_those_of_the_columns():
    fields = fields_of(a="abcd", b="  ", c=None)
    fields.text_or("a", longest=3)
    fields.short("b", 3)
    fields.short("c", 3)
    assert faults(fields) == [
        ("a", "Must be at most 3 characters"),
        ("b", "Must not be empty"),
        ("c", "Missing"),
    ]


@pytest.mark.parametrize(
    "name",
    [
        *(
            "annotator1",
            "User_1",
            "王 小明",
            "a.b@c+d:e-f",
            "O'Brien",
            "佐藤・花子",
            "李雷（二组）",
        ),
        *(
            "José María",
            "Smith, Jr.",
            "Ann (backup)",
            "user#12",
            "ann/2",
            "نیلوفر\u200cها",
            "小明🐱",
        ),
        *("<b>", "=1+1", "Ол'га", "Ẹ̀bùn", "a&b?c%d"),
    ],
)
def test_names_of_people_have_any_script_and_sign(name):
    fields = fields_of(annotator=name)
    assert fields.annotator() == name
    assert faults(fields) == []


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (" Ann\n", "Ann"),
        ("佐藤\u3000花子", "佐藤 花子"),
        ("Ann\u00a0\tLee", "Ann Lee"),
        ("Jose\u0301", "Jos\u00e9"),
        ("\u2764\ufe0f", "\u2764"),
        (12, "12"),
    ],
)
def test_blanks_and_forms_of_letters_make_no_other_name(written, name):
    fields = fields_of(annotator=written)
    assert fields.annotator() == name
    assert faults(fields) == []


@pytest.mark.parametrize(
    "name", [" ", "", "a\u200bb", "\u202eann", "a\u0007", "\u3164", "x" * 101, []]
)
def test_other_names_are_faults(name):
    fields = fields_of(annotator=name)
    fields.annotator()
    assert {field for field, _reason in faults(fields)} == {"annotator"}


def test_names_are_trimmed_and_composed():
    fields = fields_of(a=" gpt-4 \n", b="Jose\u0301 ", c=" x ")
    assert fields.short("a", 9) == "gpt-4"
    assert fields.text_or("b", longest=9) == "Jos\u00e9"
    assert fields.text_or("c") == " x "


@pytest.mark.parametrize(
    ("given", "text", "found"),
    [
        (None, None, []),
        ("$ERROR$", None, []),
        ("", "", []),
        ("Pear", "Pear", []),
        (3, "3", []),
        (..., "", [("a", "Missing")]),
        ([], "", [("a", "Expected a string")]),
    ],
)
def test_an_answer_may_be_not_available(given, text, found):
    fields = fields_of(**({} if given is ... else {"a": given}))
    assert fields.answer("a") == text
    assert faults(fields) == found


def test_numbers_have_ranges():
    fields = fields_of(a=6, b="x")
    assert fields.whole("a", 1, 5) == 1
    assert fields.whole("b", 1, 5) == 1
    assert fields.whole("c", 1, 5) == 1
    assert fields.whole_or_none("c", 1, 5) is None
    assert fields_of(c="3").whole_or_none("c", 1, 5) == 3
    assert faults(fields) == [
        ("a", "Must be between 1 and 5"),
        ("b", "Expected a whole number from 1 to 5"),
        ("c", "Missing"),
    ]


@pytest.mark.parametrize("value", [True, "3", -1])
def test_seconds_are_numbers(value):
    fields = fields_of(a=value)
    assert fields.seconds("a") is None
    assert faults(fields) == [("a", "Expected a number of seconds")]
    assert fields_of(a=2).seconds("a") == 2.0
    assert fields_of().seconds("a") is None


def test_flags_are_true_or_false():
    fields = fields_of(a=True, b=None, c="yes")
    assert [fields.flag(name) for name in "abcd"] == [True, False, False, False]
    assert faults(fields) == [("c", "Expected true or false")]


def test_words_are_of_the_vocabulary_in_any_case():
    fields = fields_of(a=" tie ", b="C", c=1)
    assert fields.word("a", Verdict, Verdict.A) is Verdict.TIE
    for name in "bcd":
        assert fields.word(name, Verdict, Verdict.A) is Verdict.A
    assert faults(fields) == [
        ("b", "Expected one of A, B, TIE"),
        ("c", "Expected one of A, B, TIE"),
        ("d", "Missing"),
    ]


def test_moments_have_a_zone():
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert fields_of(a="2026-01-31T12:00:00Z").moment("a") == noon
    assert fields_of().moment("a") is None
    for value in ("2026-01-31T12:00:00", "yesterday", 7):
        fields = fields_of(a=value)
        assert fields.moment("a") is None
        assert [field for field, _reason in faults(fields)] == ["a"]


def test_paths_lead_to_the_field():
    fields = fields_of(a=[{"b": {"c": 1}}, 3], d={}, e=5)
    [item] = fields.items("a")
    item.text("missing")
    item.fault("", "whole")
    assert fields.items("none") == []
    assert fields.items("d") == []
    assert fields.mapping("d") == {}
    assert fields.mapping("none") == {}
    assert fields.mapping("e") == {}
    assert faults(fields) == [
        ("a[1]", "Expected an object"),
        ("a[0].missing", "Missing"),
        ("a[0]", "whole"),
        ("d", "Expected a list"),
        ("e", "Expected an object"),
    ]


def test_unknown_fields_are_kept_or_refused():
    fields = fields_of(a=1, b=2)
    assert fields.rest("a") == {"b": 2}
    fields.refuse_unknown("a")
    assert faults(fields) == [("b", "Unknown field")]


def parse_notes(fields):
    """A session, whatever the row says; `skip`, `fault` and `kept` are done as they are told."""
    if fields.has("skip"):
        fields.notes.skip("Nothing to import")
    if fields.has("fault"):
        fields.fault("fault", "Bad")
    fields.kept("skip", "fault", "message")
    if fields.has("message"):
        fields.notes.keep("message", {"country": "IS"})
        fields.notes.keep("message", {"state": "x"})
    return SessionRecord("k", "s", (), extra={"id": 1})


def test_a_row_that_is_skipped_has_a_reason_and_nothing_else():
    row = parsed(3, {"skip": 1, "other": 2}, parse_notes)
    assert (row.record, row.faults, row.kept, row.skipped) == (None, (), (), "Nothing to import")
    row = parsed(3, {"skip": 1, "fault": 2}, parse_notes)
    assert (row.record, len(row.faults), row.skipped) == (None, 1, "")


def test_what_messages_say_is_kept_with_the_session():
    row = parsed(3, {"message": 1, "other": 2}, parse_notes)
    assert row.record.extra == {"id": 1, "messages": {"message": {"country": "IS", "state": "x"}}}
    assert row.kept == ("other",)


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (
            ("<think>One.</think>Yes.", "<think>Two.</think>Yes."),
            [("", "Yes.", "One."), ("2", "Yes.", "Two.")],
        ),
        (("<think></think>Yes.", "No."), [("", "Yes.", None), ("", "No.", None)]),
    ],
)
def test_reasoning_stands_beside_a_response(texts, found):
    responses = tuple(ResponseRecord(str(key), text, "m") for key, text in enumerate(texts))
    record = SessionRecord("k", "s", (TurnRecord("Is it?", responses),))
    row = parsed(1, {}, lambda _fields: record)
    told = [
        (each.variant, each.text, each.extra.get("reasoning"))
        for each in row.record.turns[0].responses
    ]
    assert told == found
