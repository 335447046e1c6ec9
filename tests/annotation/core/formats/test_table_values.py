"""What tables say of labels: words, strengths, columns of yes and no, chosen meanings."""

from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.detect import FORMATS, open_records, with_columns
from annotation.core.formats.headers import guess
from annotation.core.formats.mappings import read_values, written_values
from annotation.core.formats.values import Meaning
from tests.annotation.core.formats.rows import session_of
from tests.refusals import refuses

HEADER = "prompt,text_a,text_b,model_a,model_b,annotator,verdict"


def read(tmp_path, text, values=(), columns=None):
    path = tmp_path / "table.csv"
    path.write_text(text, "utf-8")
    formats = with_columns(FORMATS, columns, read_values(values))
    _chosen, rows = open_records(path, "csv", formats)
    return list(rows)


def faults(rows):
    return [(each.line, each.field, each.reason) for row in rows for each in row.faults]


def label(row):
    [comparison] = session_of(row).turns[0].comparisons
    return next(
        ((one.verdict, one.strength, one.both_bad) for one in comparison.labels),
        None,
    )


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("left", (Verdict.A, None, False)),
        ("1", (Verdict.A, None, False)),
        ("A is better", (Verdict.A, None, False)),
        ("both bad", (Verdict.TIE, None, True)),
        ("B>>A", (Verdict.B, 2, False)),
        ("右边略好", (Verdict.B, 1, False)),
        ("m-b", (Verdict.B, None, False)),
        ("nan", None),
        ("#N/A", None),
        ("", None),
    ],
)
def test_usual_words_are_verdicts(tmp_path, word, expected):
    [row] = read(tmp_path, f"{HEADER}\nq,x,y,m-a,m-b,ann,{word}\n")
    assert label(row) == expected


def test_cells_left_out_at_the_end_are_empty_and_empty_ones_too_many_are_none(tmp_path):
    text = (
        f"{HEADER},comment\nq,x,y,m,n,ann,A,good\nq2,x,y,m,n,ann,B\nq3,x,y\nq4,x,y,m,n,ann,A,,,\n"
    )
    rows = read(tmp_path, text)
    assert [label(row) and label(row)[0] for row in rows] == ["A", "B", None, "A"]
    assert faults(read(tmp_path, f"{HEADER}\nq,x\n")) == [(2, "", "2 cells for 7 columns")]


def test_other_words_mean_what_is_chosen_for_them(tmp_path):
    text = f"{HEADER}\na,x,y,m,n,ann,links\nb,x,y,m,n,ann,RECHTS\nc,x,y,m,n,ann,beide\n"
    text += "d,x,y,m,n,ann,weiss nicht\ne,x,y,m,n,ann,?\nf,x,y,m,n,ann,A\ng,x,y,m,n,ann,\n"
    values = ["verdict:links=B,rechts=A-CLEARLY,beide=both-bad,weiss nicht=NONE,?=SKIP,A=TIE,=SKIP"]
    rows = read(tmp_path, text, values)
    assert [row.skipped != "" for row in rows] == [False] * 4 + [True, False, True]
    assert [label(row) for row in rows if not row.skipped] == [
        (Verdict.B, None, False),
        (Verdict.A, 2, False),
        (Verdict.TIE, None, True),
        None,
        (Verdict.TIE, None, False),
    ]


def test_a_row_left_out_may_be_wrong_otherwise(tmp_path):
    text = f"{HEADER},strength\n,x,y,m,n,ann,?,7\n"
    [row] = read(tmp_path, text, ["verdict:?=SKIP"])
    assert (row.faults, row.record, bool(row.skipped)) == ((), None, True)
    [row] = read(tmp_path, text, ["strength:7=SKIP", "verdict:?=A"])
    assert row.skipped


def test_a_name_may_be_chosen_over_a_usual_word(tmp_path):
    text = (
        f"{HEADER}\nq,x,y,left,right,ann,right\nq,x,y,right,left,ann,right\nq,x,y,m,n,ann,right\n"
    )
    assert [each[2] for each in faults(read(tmp_path, text))] == [
        "This can mean more than one answer"
    ]
    rows = read(tmp_path, text, ["verdict:right=NAME"])
    assert [label(row)[0] for row in rows[:2]] == ["B", "A"]
    assert faults(rows) == [(4, "verdict", "Neither response of this row has this name")]


def test_strength_and_both_bad_may_have_columns_of_their_own(tmp_path):
    text = f"{HEADER},strength,both_bad\n"
    text += "a,x,y,m,n,ann,A,slightly,\nb,x,y,m,n,ann,B,2,no\nc,x,y,m,n,ann,tie,,yes\n"
    text += "d,x,y,m,n,ann,,,1\ne,x,y,m,n,ann,A,0,\n"
    assert [label(row) for row in read(tmp_path, text)] == [
        (Verdict.A, 1, False),
        (Verdict.B, 2, False),
        (Verdict.TIE, None, True),
        (Verdict.TIE, None, True),
        (Verdict.A, None, False),
    ]
    reason = "Not known: say what this value means (step Values of the import page, or --values)"
    assert faults(read(tmp_path, f"{HEADER},strength\nq,x,y,m,n,ann,A,9\n")) == [
        (2, "strength", reason)
    ]


def test_columns_of_yes_and_no_say_who_wins(tmp_path):
    header = "prompt,response_a,response_b,winner_model_a,winner_model_b,winner_tie,tie both bad"
    assert list(guess(header.split(",")))[3:] == ["wins_a", "wins_b", "wins_tie", "wins_both_bad"]
    text = f"{header}\na,x,y,1,0,0,0\nb,x,y,0,1,,\nc,x,y,0,0,1,0\nd,x,y,0,0,1,1\ne,x,y,0,0,0,0\n"
    assert [label(row) for row in read(tmp_path, text)] == [
        (Verdict.A, None, False),
        (Verdict.B, None, False),
        (Verdict.TIE, None, False),
        (Verdict.TIE, None, True),
        None,
    ]
    assert faults(read(tmp_path, f"{header}\na,x,y,1,1,0,0\n")) == [
        (2, "wins_a", "More than one of these columns says yes: wins_a, wins_b")
    ]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        ("a_wins,b_wins,tie", "wins_a wins_b wins_tie"),
        ("A is better,B is better", "wins_a wins_b"),
        ("winner_model_a,winner_model_b,verdict", "verdict"),
        ("winner_model_a,tie", ""),
        ("a or b wins,winner a b", ""),
    ],
)
def test_headers_of_winners(names, expected):
    header = ["prompt", "text_a", "text_b", *names.split(",")]
    assert " ".join(list(guess(header))[3:]) == expected


def test_columns_of_winners_come_in_twos_and_not_beside_a_verdict(tmp_path):
    text = "prompt,text_a,text_b,wins_a,verdict\nq,x,y,1,A\n"
    assert faults(read(tmp_path, text)) == [
        (1, "verdict", "Cannot be combined with columns that say which response wins"),
        (1, "wins_b", "No column was named for this field"),
    ]


def test_gold_answers_are_read_by_the_same_words(tmp_path):
    text = "prompt,text_a,text_b,gold\nq,x,y,both bad\nr,x,y,gut\ns,x,y,NULL\n"
    rows = read(tmp_path, text, ["gold:gut=B-SLIGHTLY"])
    gold = [session_of(row).turns[0].comparisons[0].gold for row in rows]
    assert [[one.verdict for one in each] for each in gold] == [["TIE"], ["B"], []]


def test_scores_mean_what_is_chosen_for_them(tmp_path):
    text = "prompt,response,score,gold\nq,x,good,5\nr,x,bad,n/a\ns,x,NaN,\nt,x,skip,\n"
    rows = read(tmp_path, text, ["score:good=4,bad=NONE,skip=SKIP"])
    scores = [
        [one.score for one in session_of(row).turns[0].responses[0].satisfaction]
        for row in rows
        if not row.skipped
    ]
    assert (scores, [bool(row.skipped) for row in rows]) == (
        [[4], [], []],
        [False, False, False, True],
    )


def test_meanings_are_read_as_they_are_typed():
    texts = ['verdict:left=A,"a,b=c"=B,"say ""x"""=tie, =skip', "score:5 stars=5", "verdict:x=NONE"]
    means = read_values(texts)
    assert means == {
        "verdict": {
            "left": Meaning.A,
            "a,b=c": Meaning.B,
            'say "x"': Meaning.TIE,
            "": Meaning.SKIP,
            "x": Meaning.NONE,
        },
        "score": {"5 stars": Meaning.SCORE_5},
    }
    assert read_values(written_values(means)) == means
    assert written_values({"verdict": {}}) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("left=A", "expected KEY:VALUE=MEANING"),
        ("prompt:left=A", "expected KEY:VALUE=MEANING"),
        ("verdict:left", "expected VALUE=MEANING with one of A, B, TIE"),
        ("verdict:left=5", "expected VALUE=MEANING"),
        ("verdict:left=A,LEFT=B", "has two meanings"),
        ('verdict:"left=A', "is not closed"),
    ],
)
def test_meanings_that_say_nothing_are_refused(text, said):
    with refuses("import:values", match=said):
        read_values([text])
