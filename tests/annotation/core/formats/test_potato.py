from __future__ import annotations

import json

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.formats.potato import (
    knows_labels,
    looks_like_data,
    looks_like_labels,
    parse_data,
    parse_labels,
    read_labels,
)
from tests.annotation.core.formats.rows import faults_of, record_of


def data(**changes):
    return {"id": "1", "text": ["Walk now.", "Walk whenever."], **changes}


def said(labels, **changes):
    return {"instance_id": "1", "user_id": "ann", "labels": labels, "spans": {}, **changes}


def selected(word):
    return {"selection": word}


def scaled(value):
    return {"scale_value": value}


def read(tmp_path, *rows):
    path = tmp_path / "labels.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return [raw.value for raw in read_labels(path)]


def label_of(row):
    [label] = record_of(row, parse_labels).turns[0].comparisons[0].labels
    return label


def test_an_instance_is_a_pair_that_may_have_no_request():
    session = record_of(data(id=7, source="tide"), parse_data)
    [turn] = session.turns
    assert (session.key, session.extra, turn.user_message) == ("7", {"source": "tide"}, None)
    assert [(one.key, one.text, one.variant) for one in turn.responses] == [
        ("1", "Walk now.", "1"),
        ("2", "Walk whenever.", "2"),
    ]
    assert [(each.key, each.a, each.b) for each in turn.comparisons] == [("pair", "1", "2")]
    assert record_of(data(prompt="When?"), parse_data).turns[0].user_message == "When?"
    assert ("", "Cannot tell which fields")[1] in faults_of(data(text="x"), parse_data)[0][1]


def test_an_annotation_names_its_instance_and_both_responses(tmp_path):
    [row] = read(tmp_path, said({"preference": selected("A"), "why": selected("safer")}))
    session = record_of(row, parse_labels)
    [turn] = session.turns
    assert (session.key, session.sketch, session.needs_texts) == ("1", True, True)
    assert [(one.text, one.variant) for one in turn.responses] == [(None, "1"), (None, "2")]
    label = label_of(row)
    assert (label.verdict, label.shown_order, label.strength) == (Verdict.A, Order.ORIGINAL, None)
    assert (label.details.annotator, label.details.comment) == ("ann", "safer")


@pytest.mark.parametrize(
    ("value", "verdict", "strength"),
    [("-2", Verdict.A, 2), (-1, Verdict.A, 1), ("3", Verdict.B, 2), ("0", Verdict.TIE, None)],
)
def test_below_0_on_a_scale_the_first_is_better(tmp_path, value, verdict, strength):
    [row] = read(tmp_path, said({"scale": scaled(value)}))
    label = label_of(row)
    assert (label.verdict, label.strength) == (verdict, strength)


def test_the_verdict_is_that_of_one_schema_in_the_whole_file(tmp_path):
    rows = read(
        tmp_path,
        said({"preference": selected("tie"), "fluency": selected("A"), "scale": scaled("-2")}),
        said({"fluency": selected("B"), "odd": "x"}, instance_id=2, user_id="bo", note="late"),
        7,
    )
    label = label_of(rows[0])
    assert (label.verdict, label.details.extra) == (Verdict.TIE, {"fluency": "A", "scale": "-2"})
    apart = record_of(rows[1], parse_labels)
    assert apart.turns[0].comparisons[0].labels == ()
    assert [(each.annotator, each.answers) for each in apart.questionnaires] == [
        ("bo", ({"fluency": "B", "odd": "x", "comment": "late"},))
    ]
    assert rows[2] == 7
    silent = record_of(read(tmp_path, said({"odd": {}}))[0], parse_labels)
    assert (silent.questionnaires, silent.turns[0].comparisons[0].labels) == ((), ())
    [row] = read(tmp_path, said({"fluency": selected("A"), "safety": selected("B")}))
    [(field, reason)] = faults_of(row, parse_labels)
    assert (field, reason[:24]) == ("labels", "Several questions could ")


def test_the_table_names_schema_and_value_in_its_header(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text("instance_id,user_id,preference.selection,fluency.selection\n1,ann,B,\n")
    assert knows_labels(path.read_text().splitlines()[0])
    [row] = [raw.value for raw in read_labels(path)]
    assert label_of(row).verdict is Verdict.B


def test_a_state_holds_all_that_one_person_said(tmp_path):
    state = {
        "user_id": "ann",
        "instance_id_to_label_to_value": {
            "1": {"preference": {"labels": selected("A")}},
            "2": {"preference": selected("b"), "odd": "x"},
            "3": [],
        },
    }
    assert looks_like_labels(state)
    first, second, third = read(tmp_path, state)
    assert [label_of(each).verdict for each in (first, second)] == [Verdict.A, Verdict.B]
    assert record_of(second, parse_labels).key == "2"
    assert third["row"]["labels"] == {}


def test_rows_are_told_apart():
    assert looks_like_data(data())
    assert not looks_like_data(data(text=["x", "y", "z"]))
    assert not looks_like_data(data(text=["x", 1]))
    assert not looks_like_data(data(text="xy"))
    assert not looks_like_data([])
    assert looks_like_labels(said({}))
    assert not looks_like_labels({"instance_id": 1})
    assert not looks_like_labels("row")
