"""Tables of pairs or ratings, as spreadsheets write them."""

from __future__ import annotations

import gzip

import pytest

from annotation.core.choices import Reason, Verdict
from annotation.core.formats import grids, tables
from annotation.core.formats.columns import columns_read
from annotation.core.formats.detect import FORMATS, open_records, with_columns
from annotation.core.formats.headers import guess
from tests.annotation.core.formats.rows import session_of
from tests.paths import ROOT
from tests.refusals import refuses

GOLDEN = ROOT / "tests" / "data" / "formats" / "csv.csv"
NAMED = {
    "prompt": "Question",
    "text_a": "Answer 1",
    "text_b": "Answer 2",
    "annotator": "Rater",
    "verdict": "Better",
}
HEADER = "Question,Answer 1,Answer 2,Rater,Better"
WRONG_VERDICT = (
    "Not known as a verdict: say what this value means (step Values of the import page, or "
    "--values)"
)


def read(tmp_path, text, columns=None, encoding="utf-8", format_name="csv"):
    path = tmp_path / "table.csv"
    path.write_bytes(text.encode(encoding))
    formats = FORMATS if columns is None else with_columns(FORMATS, columns)
    chosen, rows = open_records(path, format_name, formats)
    assert chosen.name == tables.NAME
    return list(rows)


def faults(rows):
    return [(each.line, each.field, each.reason, each.value) for row in rows for each in row.faults]


def labels(row):
    [comparison] = session_of(row).turns[0].comparisons
    return [(label.details.annotator, label.verdict) for label in comparison.labels]


def test_the_golden_file_is_read_as_a_spreadsheet_wrote_it():
    """Semicolons, a BOM, Windows line ends, a break and quotes within cells, an empty row."""
    formats = with_columns(FORMATS, NAMED | {"scenario": "Topic"})
    _chosen, rows = open_records(GOLDEN, "auto", formats)
    found = list(rows)
    assert faults(found) == []
    assert [row.line for row in found] == [2, 4, 7, 8]
    assert [labels(row) for row in found] == [
        [("ann", Verdict.A)],
        [("ann", Verdict.TIE)],
        [("bob", Verdict.B)],
        [],
    ]
    sessions = [session_of(row) for row in found]
    assert [one.scenario for one in sessions] == ["Writing", "Coding", "default", "Writing"]
    assert sessions[0].turns[0].user_message == 'Say "thanks";\r\nbriefly.'
    assert sessions[2].turns[0].responses[1].text == "问号，不是逗号"
    assert sessions[1].turns[0].responses[0].text == ""


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_delimiters_and_encodings_are_told(tmp_path, delimiter, encoding):
    text = HEADER.replace(",", delimiter) + "\r\n"
    text += delimiter.join(['"a, b; c"', "x", "y", "ann", "B"]) + "\r\n"
    [row] = read(tmp_path, text, NAMED, encoding)
    assert labels(row) == [("ann", Verdict.B)]
    assert session_of(row).turns[0].user_message == "a, b; c"


def test_the_line_that_names_the_delimiter_is_no_header(tmp_path):
    [row] = read(tmp_path, "sep=;\r\nprompt;text_a;text_b\r\np;1;2\r\n", format_name="auto")
    assert (row.line, labels(row)) == (3, [])


def test_headers_that_are_keys_need_no_mapping_and_others_are_not_read(tmp_path):
    text = "Prompt,text_a,Text B,verdict,model_a,notes\np,1,2,gpt,GPT,x\n"
    [row] = read(tmp_path, text, format_name="auto")
    assert labels(row) == [(tables.ANNOTATOR, Verdict.A)]
    [turn] = session_of(row).turns
    assert [(one.text, one.model) for one in turn.responses] == [("1", "GPT"), ("2", "")]


def test_what_is_named_comes_first_and_keys_are_found_beside_it(tmp_path):
    text = "prompt,text_a,text_b,verdict,Winner\np,1,2,x,b\n"
    [row] = read(tmp_path, text, {"verdict": "Winner"})
    assert labels(row) == [(tables.ANNOTATOR, Verdict.B)]


def test_places_mean_columns_whose_headers_are_alike_and_nothing_else_is_read(tmp_path):
    text = "Q,Answer,Answer,comment\np,1,2,x\n"
    columns = {"prompt": 0, "text_a": 1, "text_b": 2}
    [row] = read(tmp_path, text, columns)
    assert [one.text for one in session_of(row).turns[0].responses] == ["1", "2"]
    text = "prompt,text_a,text_b,verdict\np,1,2,maybe\n"
    assert labels(read(tmp_path, text, columns)[0]) == []


@pytest.mark.parametrize(
    ("word", "verdict"),
    [
        ("A", Verdict.A),
        (" b ", Verdict.B),
        ("TIE", Verdict.TIE),
        ("answer 2", Verdict.B),
        ("gpt-4", Verdict.A),
        ("Llama", Verdict.B),
        ("1", Verdict.A),
        ("2", Verdict.B),
    ],
)
def test_a_verdict_is_a_letter_a_tie_a_header_or_a_model(tmp_path, word, verdict):
    text = f"{HEADER},m1,m2\nq,x,y,ann,{word},GPT-4,llama\n"
    columns = NAMED | {"model_a": "m1", "model_b": "m2"}
    assert labels(read(tmp_path, text, columns)[0]) == [("ann", verdict)]


def test_a_number_that_is_the_other_ones_name_could_be_either(tmp_path):
    text = "prompt,text_a,text_b,verdict,model_a,model_b\nq,x,y,1,2,1\n"
    assert [each[2] for each in faults(read(tmp_path, text))] == [
        "This can mean more than one answer"
    ]


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("prompt,text_a,text_b,verdict:Ann Lee,Verdict: bob", None),
        ("Question,Answer 1,Answer 2,Ann,B", {"verdict:Ann Lee": "Ann", "verdict:bob": "B"}),
        ("Question,Answer 1,Answer 2,Ann,verdict:bob", {"verdict:Ann Lee": "Ann"}),
    ],
)
def test_each_annotator_may_have_a_column_of_verdicts(tmp_path, header, columns):
    first, second = read(tmp_path, f"{header}\np,x,y,A,2\nq,x,y,,tie\n", columns)
    assert labels(first) == [("Ann Lee", Verdict.A), ("bob", Verdict.B)]
    assert labels(second) == [("bob", Verdict.TIE)]


@pytest.mark.parametrize("key", ["verdict", "annotator", "comment"])
def test_what_is_said_beside_columns_of_annotators_is_a_fault(tmp_path, key):
    text = f"prompt,text_a,text_b,verdict:ann,{key}\np,x,y,A,B\n"
    reason = "Cannot be combined with a verdict column for each annotator"
    assert faults(read(tmp_path, text)) == [(1, key, reason, key)]


def test_a_table_of_ratings_has_no_verdicts(tmp_path):
    text = "prompt,response,score,Ann\np,x,4,A\n"
    reason = "A table of ratings has no such column"
    assert faults(read(tmp_path, text, {"verdict:ann": "Ann"})) == [
        (1, "verdict:ann", reason, "Ann")
    ]


def test_a_column_of_verdicts_in_a_table_of_ratings_is_named_as_not_read(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("prompt,response,score,verdict:ann\np,x,4,A\n", "utf-8")
    named = {"prompt": "prompt", "response": "response", "score": "score"}
    assert columns_read(path) == (named, ["verdict:ann"])


def test_headers_are_guessed_without_a_mapping_and_exact_ones_come_first(tmp_path):
    [row] = read(tmp_path, "Question,Answer 1,Answer 2,Rater,Better\nq,x,y,ann,1\n")
    assert labels(row) == [("ann", Verdict.A)]
    [row] = read(tmp_path, "Question,Prompt,text_a,text_b,System\nno,q,x,y,Be brief.\n")
    session = session_of(row)
    assert (session.turns[0].user_message, session.system_prompt) == ("q", "Be brief.")
    [row] = read(tmp_path, "Question,Answer,Answer 2,text_a\nq,no,y,x\n", {"prompt": "Question"})
    assert [one.text for one in session_of(row).turns[0].responses] == ["x", "y"]


def test_a_row_without_a_verdict_is_a_pair_without_a_label(tmp_path):
    [row] = read(tmp_path, f"{HEADER}\nq,x,y,ann,\n", NAMED)
    assert labels(row) == []


def test_equal_pairs_are_those_of_the_other_format(tmp_path):
    from annotation.core.formats.sensejudge import parse_pair
    from tests.annotation.core.formats.rows import record_of

    [row] = read(tmp_path, f"{HEADER}\nq,x,y,ann,A\n", NAMED)
    flat = {"scenario": "default", "prompt": "q", "text_a": "x", "text_b": "y"}
    assert session_of(row) == record_of({**flat, "annotator": "ann", "verdict": "A"}, parse_pair)


def test_every_fault_is_listed_with_its_line(tmp_path):
    text = f"""{HEADER},Sys
q,x,y,ann,maybe,
,x,y,a\u200bb,A,
"two
lines",x
q,x,y,ann,tie,,more
"q"x,x,y,ann,tie,
q,same,same,ann,B,
"""
    assert faults(read(tmp_path, text, NAMED | {"system_prompt": "Sys"})) == [
        (2, "verdict", WRONG_VERDICT, "maybe"),
        (3, "prompt", "Must not be empty", ""),
        (
            3,
            "annotator",
            "A name can only contain visible characters",
            "a\u200bb",
        ),
        (4, "", "2 cells for 6 columns", "two\nlines"),
        (6, "", "7 cells for 6 columns", "q"),
        (7, "", "Not CSV: ',' expected after '\"'", ""),
    ]


def test_a_verdict_that_could_be_either_is_a_fault(tmp_path):
    text = "prompt,text_a,text_b,verdict,model_a,model_b\nq,x,y,m,m,m\nq,x,y,b,b,a\n"
    assert [each[2] for each in faults(read(tmp_path, text))] == 2 * [
        "This can mean more than one answer"
    ]


@pytest.mark.parametrize(
    ("header", "columns", "expected"),
    [
        (
            "x,y,z",
            {},
            [
                (key, "No column was named for this field", "x, y, z")
                for key in ("prompt", "text_a", "text_b")
            ],
        ),
        (
            "prompt,text_a,text_b",
            {"prompt": "Q", "verdict": "W"},
            [
                ("prompt", "There is no column with this header", "Q"),
                ("verdict", "There is no column with this header", "W"),
            ],
        ),
        (
            "Q,Q,text_a,text_b",
            {"prompt": "Q"},
            [("prompt", "Several columns have this header", "Q")],
        ),
        (
            "prompt,prompt,text_a,text_b",
            {},
            [("prompt", "Several columns have this header", "prompt")],
        ),
        (
            "q,x,y",
            {"prompt": 7, "text_a": 1, "text_b": 2},
            [("prompt", "There is no column with this header", 7)],
        ),
        (
            "Q,x",
            {"prompt": "Q", "text_a": "x", "text_b": "x"},
            [("text_b", "This column is already used for text_a", "x")],
        ),
        (
            "prompt,text_a,text_b,s",
            {"score": "s"},
            [("score", "A table of pairs has no such column", "s")],
        ),
        (
            "prompt,response,score,v",
            {"verdict": "v"},
            [("verdict", "A table of ratings has no such column", "v")],
        ),
        (
            "prompt,response,x",
            {},
            [("score", "No column was named for this field", "prompt, response, x")],
        ),
    ],
)
def test_what_is_wrong_with_the_columns_is_all_that_is_said(tmp_path, header, columns, expected):
    cells = ",".join("x" for _name in header.split(","))
    [row] = read(tmp_path, f"{header}\n{cells}\n{cells}\n", columns)
    assert faults([row]) == [(1, *each) for each in expected]


def test_a_row_of_ratings_is_a_reply_with_its_score(tmp_path):
    text = "Question,Answer,System,Rater,Stars,Why,Note\n"
    text += (
        "q,x,m1,ann,3,requirement unmet,short\nq,w,,ann,1,不可用,\nq,y,,bob,5.0,,\nq,z,,bob,,,\n"
    )
    columns = {
        "prompt": "Question",
        "response": "Answer",
        "model": "System",
        "annotator": "Rater",
        "score": "Stars",
        "reason": "Why",
        "comment": "Note",
    }
    found = [session_of(row) for row in read(tmp_path, text, columns)]
    assert len({one.key for one in found}) == 4
    [[first], [bad], [second], [third]] = (one.turns[0].responses for one in found)
    assert all(one.original for one in (first, second, third))
    assert (first.model, first.text, found[0].scenario) == ("m1", "x", "default")
    [rating] = first.satisfaction
    assert (rating.score, rating.reason) == (3, Reason.REQUIREMENT_UNMET)
    assert (rating.details.annotator, rating.details.comment) == ("ann", "short")
    assert [(one.score, one.reason) for one in bad.satisfaction] == [(1, Reason.UNUSABLE)]
    assert [(one.score, one.reason) for one in second.satisfaction] == [(5, None)]
    assert third.satisfaction == ()


def test_wrong_scores_and_reasons_are_faults(tmp_path):
    text = "prompt,response,score,reason\nq,x,6,\nq,x,good,\nq,x,5,other\nq,x,,other\nq,x,2,bad\n"
    assert [each[:3] for each in faults(read(tmp_path, text, format_name="auto"))] == [
        (2, "score", "Must be between 1 and 5"),
        (3, "score", "Expected a whole number from 1 to 5"),
        (4, "reason", "Only scores of 3 or below have a reason"),
        (5, "score", "Missing"),
        (6, "reason", f"Expected one of {', '.join(Reason)}"),
    ]


def test_a_row_or_a_header_that_is_no_csv_is_a_fault(tmp_path):
    assert [each[:3] for each in faults(read(tmp_path, f'{HEADER}\n"q,x,y,ann,A\n', NAMED))] == [
        (2, "", "Not CSV: unexpected end of data")
    ]
    assert [each[:2] for each in faults(read(tmp_path, 'a,"b"c\nx,y\n', NAMED))] == [(1, "")]
    assert faults(read(tmp_path, "a,b\rc,d\n", NAMED))[0][2].startswith("Not CSV: new-line")


def test_a_row_that_never_ends_is_not_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(grids, "MAX_ROW_CHARS", 60)
    text = f'{HEADER}\nq,x,y,ann,A\n"q\n' + "line\n" * 20
    found = read(tmp_path, text, NAMED)
    assert [row.line for row in found] == [2, 3]
    assert faults(found) == [(3, "", "Row too long to read", None)]


def test_a_packed_table_is_read_and_a_spreadsheet_file_is_refused(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress(b"prompt,text_a,text_b\np,1,2\n"))
    chosen, rows = open_records(path)
    assert (chosen.name, len(list(rows))) == ("csv", 1)
    path.write_bytes(b"PK\x03\x04 and so on")
    with refuses("import:spreadsheet"):
        open_records(path)


def test_text_in_an_encoding_that_is_not_certain_is_refused(tmp_path):
    with refuses("import:encoding"):
        read(tmp_path, "prompt,text_a,text_b\n質問,答え,です\n", encoding="shift-jis")


def test_only_a_first_line_of_three_cells_or_more_may_be_a_table():
    assert grids.knows_text("a;b;c")
    assert grids.knows_text("sep=,")
    assert not grids.knows_text("a,b")
    assert not grids.knows_text('{"a": 1, "b": 2, "c": 3}')
    assert not grids.knows_text("")


@pytest.mark.parametrize("format_name", ["auto", "csv", "urs"])
def test_lines_that_end_in_cr_alone_are_refused(tmp_path, format_name):
    with refuses("import:line-ends"):
        read(tmp_path, "prompt,text_a,text_b\r1,2,3\r", format_name=format_name)
    assert not grids.knows_text("a,b,c\r1,2,3")


@pytest.mark.parametrize("wide", [",".join(["x"] * 1001), "," * 1000 + "x"])
def test_a_row_with_too_many_cells_is_a_fault(tmp_path, wide):
    found = read(tmp_path, f"{HEADER}\n{wide}\nq,x,y,ann,A\n", NAMED)
    assert [(row.line, bool(row.faults)) for row in found] == [(2, True), (3, False)]
    [fault] = found[0].faults
    assert fault.reason == "1001 cells in a row; at most 1000 are read"
    found = read(tmp_path, f"{HEADER}\nq,x,y,ann,A{',' * 1000}\n", NAMED)
    assert [labels(row) for row in found] == [[("ann", Verdict.A)]]
    assert len(read(tmp_path, f"{wide}\nq,x,y\n")) == 1
    most = ",".join(["prompt", "text_a", "text_b", *["x"] * 997])
    [row] = read(tmp_path, f"{most}\n{'1,2,3' + ',' * 997}\n")
    assert not row.faults


def test_it_is_said_what_is_read_of_a_table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Question,Answer 1,Answer 2,Mood\n", "utf-8")
    named = {"prompt": "Question", "text_a": "Answer 1", "text_b": "Answer 2"}
    assert columns_read(path) == (named, ["Mood"])
    assert columns_read(path, {"comment": "Mood"}) == (named | {"comment": "Mood"}, [])
    path.write_text('a,"b"c\n', "utf-8")
    assert columns_read(path) == ({}, [])
    path.write_text("\n", "utf-8")
    assert columns_read(path) == ({}, [])


def test_a_preview_is_short(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("Q,A\n" + f"{'x' * 1000},y\n" * 20, "utf-8")
    header, rows = grids.preview(path)
    assert header == ["Q", "A"]
    assert len(rows) == 5
    assert all(len(row[0]) < 200 for row in rows)
    path.write_text("Q,A\n", "utf-8")
    with refuses("import:empty"):
        grids.preview(path)
    path.write_text('Q,A\n"not closed,y\n', "utf-8")
    with refuses("import:table", match="line 2"):
        grids.preview(path)


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ("Question,Answer 1,Answer 2,Rater,Better", "prompt text_a text_b annotator verdict"),
        ("Prompt,Response A,Response B,Winner,Topic", "prompt text_a text_b verdict scenario"),
        ("instruction,output_1,output_2,preference", "prompt text_a text_b verdict"),
        ("query,reply a,reply b,generator a", "prompt text_a text_b model_a"),
        ("问题,回答A,回答B,标注者,更好", "prompt text_a text_b annotator verdict"),
        ("prompt,text_a,text_b,model_a,model_b", "prompt text_a text_b model_a model_b"),
        ("Question,Answer,Model,Rating,User", "prompt response model score annotator"),
        ("Question,A,B,Which is better?,Note", "prompt text_a text_b verdict comment"),
        ("Question,A,B,Gold,Gold reason", "prompt text_a text_b gold gold_reason"),
        ("prompt,A,B,verdict:ann", "prompt text_a text_b verdict:ann"),
        ("prompt,response,verdict:ann", "prompt response"),
        ("id,foo,bar", ""),
        ("Answer,Answer,Score,verdict", "response score"),
    ],
)
def test_common_headers_are_guessed(header, expected):
    assert " ".join(guess(header.split(","))) == expected


def test_a_gold_answer_may_have_a_reason_and_an_empty_cell_is_none(tmp_path):
    header = "prompt,text_a,text_b,model_b,gold,gold_reason\n"
    rows = read(tmp_path, header + "p,1,2,m, M ,it is so\nq,1,2,m,tie,\nr,1,2,m,,\ns,1,2,m,C,\n")
    gold = [session_of(row).turns[0].comparisons[0].gold for row in rows[:3]]
    assert [[(one.verdict, one.rationale) for one in each] for each in gold] == [
        [(Verdict.B, "it is so")],
        [(Verdict.TIE, "")],
        [],
    ]
    assert faults(rows) == [(5, "gold", WRONG_VERDICT, "C")]


def test_a_reply_may_have_a_gold_score(tmp_path):
    header = "prompt,response,score,gold,gold_reason\n"
    rows = read(tmp_path, header + "p,a,,4,fair\nq,b,2,,\nr,c,,6,\n")
    replies = [session_of(row).turns[0].responses[0] for row in rows[:2]]
    assert [[(one.score, one.rationale) for one in each.gold] for each in replies] == [
        [(4, "fair")],
        [],
    ]
    assert [each.field for row in rows for each in row.faults] == ["gold[0].score"]
