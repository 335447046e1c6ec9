from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.detect import FORMATS, open_records
from annotation.core.formats.wide import NAME, knows_text, looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines

DIALOGUE = [{"role": "user", "content": "One?"}]
HEADER = "type,session,scenario,dialogue,text_a,text_b,verdict:ann,verdict:bob"


def row(**changes):
    data = {
        "type": "wide",
        "session": "k",
        "scenario": "s",
        "dialogue": DIALOGUE,
        "text_a": "1",
        "text_b": None,
        "verdict:ann": "A",
        "verdict:bob": None,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def labels(session):
    [comparison] = session.turns[-1].comparisons
    return [(each.details.annotator, each.verdict) for each in comparison.labels]


def test_a_column_is_an_annotator_and_an_empty_cell_no_label():
    assert labels(record_of(row(), parse)) == [("ann", Verdict.A)]
    both = record_of(row(**{"verdict:bob": "tie"}), parse)
    assert labels(both) == [("ann", Verdict.A), ("bob", Verdict.TIE)]
    assert [each.text for each in both.turns[0].responses] == ["1", None]


def test_a_gold_column_holds_what_is_right():
    [comparison] = record_of(row(gold="b"), parse).turns[-1].comparisons
    assert [(each.source, each.verdict) for each in comparison.gold] == [("DATASET", Verdict.B)]


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"verdict:ann": "C"}, "labels[0].verdict"),
        ({"verdict:": "A"}, "labels[1].annotator"),
        ({"dialogue": "One?"}, "dialogue"),
        ({"text_a": ...}, "text_a"),
        ({"history": "One?"}, "history"),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, field):
    assert field in {name for name, _reason in faults_of(row(**changes), parse)}


def test_it_is_told_from_all_other_formats(tmp_path):
    assert [looks_like(each) for each in (row(), row(type="pair"), 3)] == [True, False, False]
    assert [name for name, form in FORMATS.items() if form.looks_like(row())] == [NAME]
    assert [knows_text(each) for each in (HEADER, "type,a,b", "{")] == [True, False, False]
    path = write_lines(tmp_path / "wide.jsonl", row())
    chosen, rows = open_records(path)
    assert (chosen.name, labels(session_of(next(rows)))) == (NAME, [("ann", Verdict.A)])
    assert chosen.source_of(path) == {}


def test_a_table_has_the_same_rows_and_its_faults_their_lines(tmp_path):
    path = tmp_path / "wide.csv"
    cells = '"[{""role"": ""user"", ""content"": ""One?""}]"'
    path.write_text(
        f"\ufeff{HEADER}\r\n"
        f"wide,k,s,{cells},'=1,,A,\r\n"
        "wide,k,s,One?,1,2,A,\r\n"
        f"wide,k,s,{cells},x\r\n"
        f'wide,k,s,{cells},"1"2,2,A,\r\n'
        f"wide,k,s,{cells},1,3\r\n"
        f"wide,k,s,{cells},1,2,A,B,more\r\n",
        "utf-8",
    )
    chosen, rows = open_records(path)
    first, *wrong = rows
    assert labels(session_of(wrong.pop(3))) == []
    session = session_of(first)
    assert (chosen.name, labels(session)) == (NAME, [("ann", Verdict.A)])
    assert [each.text for each in session.turns[0].responses] == ["=1", ""]
    assert [each.faults[0].line for each in wrong] == [3, 4, 5, 7]


def test_a_prompt_stands_in_place_of_the_dialogue(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(
        "type,scenario,prompt,text_a,text_b,verdict:ann,verdict:bob\nwide,s,One?,1,2,A,B\n"
    )
    _chosen, rows = open_records(path)
    session = session_of(next(rows))
    assert [turn.user_message for turn in session.turns] == ["One?"]
    assert labels(session) == [("ann", Verdict.A), ("bob", Verdict.B)]
