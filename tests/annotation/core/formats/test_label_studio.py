from __future__ import annotations

import csv
import json
from datetime import UTC, datetime

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.formats.label_studio import knows_text, looks_like, parse, read_file
from tests.annotation.core.formats.rows import faults_of, record_of

DATA = {"prompt": "How do I wash wool?", "answer1": "Cold, by hand.", "answer2": "At ninety."}
ITEMS = [
    {"id": "m1", "title": "Model 1", "body": "Young."},
    {"id": "m2", "body": "Off."},
    {"id": 3, "html": "Few."},
]
ANN = {"id": 3, "first_name": "Ann", "email": "ann@example.org"}


def result(name, **value):
    return {"value": value, "from_name": name, "to_name": name, "type": "any"}


def annotation(by, *results, **more):
    return {
        "id": 21,
        "completed_by": by,
        "result": list(results),
        "was_cancelled": False,
        "created_at": "2024-02-04T10:00:00Z",
        "lead_time": 8.5,
        **more,
    }


def task(*annotations, **changes):
    return {"id": 11, "annotations": list(annotations), "data": DATA, "project": 7, **changes}


def row(**changes):
    told = {
        **DATA,
        "id": 11,
        "annotation_id": 22,
        "annotator": 4,
        "lead_time": 8.5,
        "created_at": "2024-02-04T10:00:00Z",
        "comparison": [{"selected": "right"}],
        **changes,
    }
    return {name: value for name, value in told.items() if value is not ...}


def labels(session):
    return [
        (each.details.annotator, each.verdict, each.details.comment, each.details.extra)
        for each in session.turns[-1].comparisons[0].labels
    ]


def test_the_left_response_of_a_pair_is_a():
    told = task(
        annotation(ANN, result("pair", selected="left"), result("why", choices=["safer"])),
        annotation(4, result("pair", selected="right"), result("note", text=["hot", "fast"])),
        annotation(4, result("pair", selected="left"), result("stars", rating=4)),
        annotation(5, was_cancelled=True),
        cancelled_annotations=1,
    )
    session = record_of(told, parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.key, session.scenario) == ("task-11", "label-studio")
    assert session.extra == {"cancelled_annotations": 1}
    assert turn.user_message == DATA["prompt"]
    assert [(one.key, one.text) for one in turn.responses] == [
        ("answer1", DATA["answer1"]),
        ("answer2", DATA["answer2"]),
    ]
    assert (comparison.a, comparison.b, comparison.gold) == ("answer1", "answer2", ())
    assert labels(session) == [
        ("ann@example.org", Verdict.A, "safer", {}),
        ("4", Verdict.B, "hot\nfast", {}),
        ("4", Verdict.A, "", {"stars": 4}),
    ]
    first = comparison.labels[0]
    assert first.shown_order is Order.ORIGINAL
    assert first.details.given_at == datetime(2024, 2, 4, 10, tzinfo=UTC)
    assert first.details.active_seconds == 8.5
    assert [each.details.repeat for each in comparison.labels] == [0, 0, 1]


def test_ground_truth_is_gold_and_an_annotation_without_a_choice_no_label():
    told = task(
        annotation(1, result("pair", selected="right"), ground_truth=True),
        annotation(2, result("note", text=["no idea"]), result("odd", shape="round")),
        annotation(3, lead_time=None),
    )
    session = record_of(told, parse)
    assert session.turns[0].comparisons[0].gold[0].verdict is Verdict.B
    assert [(each.annotator, each.answers) for each in session.questionnaires] == [
        ("2", ({"odd": {"shape": "round"}, "comment": "no idea"},))
    ]


@pytest.mark.parametrize(
    ("answers", "label"),
    [
        ([result("tied", choices=["Tie"])], ("TIE", None, False, {})),
        ([result("tied", choices=["both bad"])], ("TIE", None, True, {})),
        ([result("overall", choices=["B is slightly better"])], ("B", 1, False, {})),
        (
            [result("overall", choices=["left"]), result("tone", choices=["tie"])],
            ("A", None, False, {"tone": ["tie"]}),
        ),
        (
            [result("pair", selected="left"), result("tone", choices=["tie"])],
            ("A", None, False, {"tone": ["tie"]}),
        ),
    ],
)
def test_where_no_side_is_selected_a_choice_may_give_the_verdict(answers, label):
    session = record_of(task(annotation(1, *answers)), parse)
    [found] = session.turns[-1].comparisons[0].labels
    assert (found.verdict, found.strength, found.both_bad, found.details.extra) == label
    assert not session.questionnaires


def test_a_choice_in_a_row_gives_the_verdict_too():
    session = record_of(row(comparison=..., tied="tie"), parse)
    assert labels(session) == [("4", Verdict.TIE, "", {})]


def test_a_choice_of_one_thing_is_no_verdict_and_of_two_questions_neither():
    other = [result("stars", choices=["left"]), result("tone", choices=["tie", "rude"])]
    session = record_of(task(annotation(1, *other)), parse)
    assert not session.turns[-1].comparisons[0].labels
    both = [result("help", choices=["tie"]), result("tone", choices=["tie"])]
    [(_field, reason)] = faults_of(task(annotation(1, *both)), parse)
    assert reason.startswith("Several questions could give the verdict (help, tone)")


def test_of_several_questions_the_one_that_is_named_so_gives_the_verdict():
    both = (result("overall", selected="left"), result("safety", selected="right"))
    session = record_of(task(annotation(1, *both)), parse)
    assert labels(session) == [("1", Verdict.A, "", {"safety": "right"})]
    other = (result("help", selected="left"), result("safety", selected="right"))
    [(_field, reason)] = faults_of(task(annotation(1, *other)), parse)
    assert reason.startswith("Several questions could give the verdict (help, safety)")


def test_a_row_with_its_annotation_is_the_same_session():
    session = record_of(row(why="safer", batch=7, comment=""), parse)
    assert session.key == "task-11"
    assert labels(session) == [("4", Verdict.B, "safer", {"batch": 7})]
    assert (
        session.turns
        == record_of(
            task(
                annotation(
                    4,
                    result("comparison", selected="right"),
                    result("why", text=["safer"]),
                    result("batch", number=7),
                )
            ),
            parse,
        ).turns
    )


def test_a_task_that_nobody_annotated_has_no_label():
    told = row(annotation_id=None, annotator="", comparison=..., batch=7)
    session = record_of(told, parse)
    assert session.turns[0].comparisons[0].labels == ()
    assert session.extra == {"batch": 7}


@pytest.mark.parametrize(
    ("ranking", "better"),
    [
        ({"good": ["m1", "3"], "bad": ["m2"], "_": []}, [("m1", "3")]),
        ({"rank": ["m2", "m1", 3]}, [("m1", "3"), ("m2", "3"), ("m2", "m1")]),
        (["3", "m1"], [("3", "m1")]),
        ({"_": ["m1", "m2", "3"], "good": None}, []),
    ],
)
def test_within_a_bucket_the_order_is_a_ranking(ranking, better):
    data = {"prompt": "Why is it dark?", "items": ITEMS}
    told = task(annotation(1, result("rank", ranker=ranking)), data=data)
    session = record_of(told, parse)
    [turn] = session.turns
    assert [(one.model, one.text, one.extra) for one in turn.responses] == [
        ("m1", "Young.", {"title": "Model 1"}),
        ("m2", "Off.", {}),
        ("3", "Few.", {}),
    ]
    found = [
        (each.a, each.b) if each.labels[0].verdict is Verdict.A else (each.b, each.a)
        for each in turn.comparisons
    ]
    assert sorted(found) == better
    kept = [each.labels[0].details.extra for each in turn.comparisons]
    is_apart = isinstance(ranking, dict) and "_" in ranking
    assert all(each == ({"rank": ranking} if is_apart else {}) for each in kept)
    assert bool(session.questionnaires) is (not better)


def test_two_rankings_of_a_pair_are_two_labels_of_one_comparison():
    data = {"prompt": "Why is it dark?", "items": ITEMS[:2]}
    ranked = [annotation(who, result("r", ranker={"r": ["m1", "m2"]})) for who in (1, 2)]
    [comparison] = record_of(task(*ranked, data=data), parse).turns[0].comparisons
    assert [each.details.annotator for each in comparison.labels] == ["1", "2"]


def test_fields_are_told_by_their_names_or_as_the_only_ones_left():
    data = {
        "topic": "Wool",
        "system_prompt": "Be kind.",
        "chat": [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Wash wool?"},
        ],
        "first": "Cold.",
        "second": "Hot.",
    }
    told = {"prompt": data.pop("chat"), **data}
    session = record_of(task(data=told), parse)
    assert (session.scenario, session.system_prompt) == ("Wool", "Be kind.")
    assert [turn.user_message for turn in session.turns] == ["Hi", "Wash wool?"]
    assert [one.text for one in session.turns[1].responses] == ["Cold.", "Hot."]
    only = record_of(task(data={"text_b": "Hot.", "text_a": "Hot."}, id=...), parse)
    assert (only.turns[0].user_message, only.key) != ("Hot.", "")
    assert [one.variant for one in only.turns[0].responses] == ["", "B"]
    named = {**DATA, "model_a": "m", "model_b": "n"}
    assert [one.model for one in record_of(task(data=named), parse).turns[0].responses] == [
        "m",
        "n",
    ]
    left = {"answer1": "x", "answer2": "y", "what": "Hi"}
    assert record_of(task(data=left), parse).turns[0].user_message == "Hi"


@pytest.mark.parametrize(
    ("told", "field", "reason"),
    [
        (task(data={"prompt": "Hi", "text": "x"}), "data", "Cannot tell which fields"),
        (task(data={**DATA, "answer3": "Never."}), "data", "Expected two responses"),
        (task(annotation(1, result("p", selected="up"))), "p", "Expected one of left, right"),
        (task(annotation(1, lead_time="long")), "annotations[0].lead_time", "Expected a number"),
        (task(annotation(None)), "annotations[0].completed_by", "Missing"),
        (task(data={**DATA, "image": "x.png"}), "data.image", "This format has no place"),
        (row(history="Hi"), "history", "This format has no place"),
    ],
)
def test_what_cannot_be_understood_is_a_fault(told, field, reason):
    assert any((at, why[: len(reason)]) == (field, reason) for at, why in faults_of(told, parse)), (
        faults_of(told, parse)
    )


def test_a_person_has_one_name_in_the_whole_file(tmp_path):
    path = tmp_path / "export.json"
    pair = result("pair", selected="left")
    rows = [task(annotation(3, pair), "x"), row(), task(annotation(ANN, pair), id=12), 7]
    path.write_text(json.dumps(rows))
    first, second, third, number = [raw.value for raw in read_file(path)]
    assert first["annotations"][0]["completed_by"] == ANN
    assert (first["annotations"][1], second, number) == ("x", row(), 7)
    assert third["annotations"][0]["completed_by"] == ANN


def test_the_table_is_read_with_lists_in_cells(tmp_path):
    path = tmp_path / "export.csv"
    items = json.dumps(ITEMS)
    told = row(
        comparison=..., items=items, answer1=..., answer2=..., rank='[{"ranker": ["m1", "m2"]}]'
    )
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, told)
        writer.writeheader()
        writer.writerow({**told, "prompt": "[{not a list", "annotator": "4"})
    assert knows_text(path.read_text().splitlines()[0])
    [raw] = read_file(path)
    session = record_of(raw.value, parse)
    assert session.turns[0].user_message == "[{not a list"
    assert len(session.turns[0].comparisons) == 1


def test_rows_are_told_apart():
    assert looks_like(task())
    assert looks_like(row())
    assert not looks_like({"annotations": [], "data": []})
    assert not looks_like([])
