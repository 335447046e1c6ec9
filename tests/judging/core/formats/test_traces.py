from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from annotation.core.choices import Reason
from annotation.core.formats.detect import open_records
from judging.core.formats.detect import ALL_FORMATS
from judging.core.formats.traces import (
    looks_like_langfuse,
    looks_like_langsmith,
    parse_langfuse,
    parse_langsmith,
    read_file,
)
from tests.annotation.core.formats.rows import faults_of, record_of


def read(tmp_path, *rows):
    path = tmp_path / "traces.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return [raw.value for raw in read_file(path)]


def said(key, score, kind="app", **more):
    return {"key": key, "score": score, "feedback_source": {"type": kind}, **more}


def run(*feedback, **changes):
    return {
        "id": "r1",
        "name": "helper",
        "inputs": {"question": "Do worms help?"},
        "outputs": {"answer": "Yes."},
        "feedback": list(feedback),
        "tags": ["garden"],
        **changes,
    }


def trace(*scores, **changes):
    return {
        "id": "t1",
        "timestamp": "2025-01-01T10:00:00Z",
        "name": "chat",
        "userId": "u7",
        "input": "Do worms help?",
        "output": "Yes.",
        "scores": list(scores),
        **changes,
    }


def score(name, value, source="ANNOTATION", **more):
    return {"name": name, "value": value, "source": source, **more}


def texts(session):
    return [(turn.user_message, [one.text for one in turn.responses]) for turn in session.turns]


def ratings(session):
    return [
        (each.details.annotator, each.score, each.reason)
        for each in session.turns[-1].responses[0].satisfaction
    ]


def test_a_run_has_ratings_of_people_and_grades_of_models(tmp_path):
    feedback = [
        said("helpful", 0, comment="No.", created_at="2025-01-01T10:00:00"),
        said("correct", 1, "model", comment="It is."),
        said("grade", 0.4, "model"),
        said("note", None, value="odd"),
    ]
    [row] = read(tmp_path, run(*feedback))
    session = record_of(row, parse_langsmith)
    assert (session.key, session.scenario, session.extra) == ("r1", "helper", {"tags": ["garden"]})
    assert texts(session) == [("Do worms help?", ["Yes."])]
    assert ratings(session) == [("user", 1, Reason.NOT_RECORDED)]
    details = session.turns[0].responses[0].satisfaction[0].details
    assert (details.comment, details.extra) == ("No.", {"key": "helpful"})
    assert details.given_at == datetime(2025, 1, 1, 10, tzinfo=UTC)
    assert [(each.judge, each.value, each.raw) for each in session.scores] == [
        ("correct", 10.0, "It is.")
    ]
    assert session.turns[0].responses[0].extra == {
        "score:grade": {"value": 0.4, "by": "grade"},
        "score:note": {"value": "odd", "by": "user"},
    }


def test_feedback_can_carry_the_texts_of_its_run(tmp_path):
    source = {"type": "app", "user_id": "ann"}
    told = run(run_id="r9", key="stars", score=4, comment="Fine.", feedback_source=source)
    del told["feedback"]
    [row] = read(tmp_path, told)
    session = record_of(row, parse_langsmith)
    assert (session.key, ratings(session)) == ("r9", [("ann", 4, None)])
    assert looks_like_langsmith(told)


def test_a_trace_has_scores_of_people_its_user_and_models(tmp_path):
    scores = [
        score("rating", 5, authorUserId="ann", timestamp="2025-01-01T10:00:00Z"),
        score("rating", 3, "API", comment="Short."),
        score("tone", 2, "EVAL", comment="Dry."),
        score("kind", None, stringValue="chat"),
    ]
    [row] = read(tmp_path, trace(*scores))
    session = record_of(row, parse_langfuse)
    assert ratings(session) == [("ann", 5, None), ("u7", 3, Reason.NOT_RECORDED)]
    assert [(each.judge, each.value, each.raw) for each in session.scores] == [
        ("tone", 3.25, "Dry.")
    ]
    assert session.extra == {"timestamp": "2025-01-01T10:00:00Z"}


def test_of_scores_by_nobody_nothing_is_a_rating(tmp_path):
    [row] = read(tmp_path, trace(scores={"rating": [5]}, userId=None))
    session = record_of(row, parse_langfuse)
    assert ratings(session) == []
    assert session.turns[0].responses[0].extra == {"score:rating": {"value": [5]}}


def test_of_several_keys_the_named_one_is_the_rating(tmp_path):
    [row] = read(tmp_path, run(said("rating", 4), said("clear", 2)))
    session = record_of(row, parse_langsmith)
    assert ratings(session) == [("user", 4, None)]
    assert session.turns[0].responses[0].extra == {"score:clear": {"value": 2, "by": "user"}}
    [row] = read(tmp_path, run(said("kind", 4), said("clear", 2)))
    [(field, reason)] = faults_of(row, parse_langsmith)
    assert (field, reason[:40]) == ("", "Several keys could be the rating (kind, ")


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        (
            {
                "messages": [
                    [
                        {"type": "system", "content": "Be brief."},
                        {"lc": 1, "id": ["x"], "kwargs": {"type": "human", "content": "Hi"}},
                    ]
                ]
            },
            {"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Hello."}]},
            [("Hi", ["Hello."])],
        ),
        (
            [{"role": "user", "content": "Hi"}],
            {"output": {"role": "assistant", "content": "Hello."}},
            [("Hi", ["Hello."])],
        ),
        ({"topic": "bees"}, {"result": "Hum."}, [("bees", ["Hum."])]),
        ("Hi", None, [("Hi", [None])]),
    ],
)
def test_texts_are_found_in_usual_shapes(tmp_path, inputs, outputs, expected):
    [row] = read(tmp_path, run(inputs=inputs, outputs=outputs))
    assert texts(record_of(row, parse_langsmith)) == expected


@pytest.mark.parametrize(
    ("changes", "field"),
    [({"inputs": {"a": "x", "b": "y"}}, "inputs"), ({"outputs": [1]}, "outputs")],
)
def test_a_text_that_is_not_found_is_a_fault(tmp_path, changes, field):
    [row] = read(tmp_path, run(**changes))
    reason = "Cannot tell which text of it is the request or the answer"
    assert faults_of(row, parse_langsmith) == [(field, reason)]


def test_rows_are_told_apart(tmp_path):
    assert looks_like_langfuse(trace())
    assert not looks_like_langfuse(run())
    assert not looks_like_langsmith(trace())
    assert not looks_like_langsmith({"inputs": {}, "outputs": {}, "key": "x"})
    assert not looks_like_langsmith([])
    assert read(tmp_path, 7, run("x")) == [
        7,
        {"row": run("x"), "scales": {}, "ratings": []},
    ]


def test_rows_under_a_name_are_prepared_too(tmp_path):
    path = tmp_path / "page.json"
    path.write_text(json.dumps({"data": [trace(score("rating", 4)), trace(id="t2")], "meta": {}}))
    chosen, rows = open_records(path, formats=ALL_FORMATS)
    assert chosen.name == "langfuse"
    assert [(row.faults, ratings(row.record)) for row in rows] == [
        ((), [("u7", 4, None)]),
        ((), []),
    ]
