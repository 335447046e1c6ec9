from __future__ import annotations

import json

import pytest

from annotation.core.choices import Order, Reason, Verdict
from judging.core.formats.argilla import looks_like, parse, read_file
from tests.annotation.core.formats.rows import faults_of, record_of

FIELDS = {"prompt": "What is a fjord?", "response_a": "An inlet.", "response_b": "A car."}


def said(value, who="u1", **more):
    return {"value": value, "user_id": who, **more}


def record(responses=None, suggestions=None, **changes):
    return {
        "id": "rec-1",
        "fields": FIELDS,
        "metadata": {"model_a": "m1", "model_b": "m2"},
        "suggestions": suggestions or {},
        "responses": responses or {},
        "vectors": {},
        "_server_id": "9a",
        **changes,
    }


def read(tmp_path, *rows):
    path = tmp_path / "records.json"
    path.write_text(json.dumps(list(rows)))
    return [raw.value for raw in read_file(path)]


def sessions(tmp_path, *rows):
    return [record_of(row, parse) for row in read(tmp_path, *rows)]


def labels(session, place=0):
    return [
        (each.details.annotator, each.verdict, each.details.comment, each.details.extra)
        for each in session.turns[-1].comparisons[place].labels
    ]


def test_a_record_has_labels_ratings_and_a_judges_suggestion(tmp_path):
    responses = {
        "preference": [said("response_a"), said("tie", "u2"), said("2", "u3")],
        "quality_a": [said(5), said(2, "u3")],
        "flags": [said(["rude"], "u2")],
        "why": [said("b is silly")],
    }
    suggestions = {
        "preference": {"value": "response_a", "score": 0.93, "agent": "some-judge"},
        "flags": {"value": ["rude"]},
    }
    [session] = sessions(tmp_path, record(responses, suggestions))
    [turn] = session.turns
    assert (session.key, session.scenario) == ("rec-1", "argilla")
    assert [(one.key, one.text, one.model) for one in turn.responses] == [
        ("response_a", "An inlet.", "m1"),
        ("response_b", "A car.", "m2"),
    ]
    assert labels(session) == [
        ("u1", Verdict.A, "b is silly", {}),
        ("u2", Verdict.TIE, "", {"flags": ["rude"]}),
        ("u3", Verdict.B, "", {}),
    ]
    assert [
        (each.details.annotator, each.score, each.reason) for each in turn.responses[0].satisfaction
    ] == [("u1", 5, None), ("u3", 2, Reason.NOT_RECORDED)]
    assert turn.responses[1].satisfaction == ()
    [verdict] = session.verdicts
    assert (verdict.judge, verdict.order, verdict.verdict) == (
        "some-judge",
        Order.COMBINED,
        Verdict.A,
    )
    assert json.loads(verdict.raw)["score"] == 0.93
    assert session.extra == {"suggestions": {"flags": {"value": ["rude"]}}}


def test_a_flat_record_is_the_same_and_a_draft_is_no_label(tmp_path):
    flat = {
        "id": "rec-1",
        "status": "completed",
        "_server_id": "9a",
        **FIELDS,
        "model_a": "m1",
        "preference.responses": ["response_a", "tie", "response_b"],
        "preference.responses.users": ["u1", "u2", "u3"],
        "preference.responses.status": ["submitted", "draft"],
        "quality_a.responses": None,
        "quality_a.responses.users": None,
        "quality_a.responses.status": None,
        "preference.suggestion": "response_b",
        "preference.suggestion.score": None,
        "preference.suggestion.agent": None,
        "fine.suggestion": None,
    }
    [session] = sessions(tmp_path, flat)
    assert labels(session) == [("u1", Verdict.A, "", {}), ("u3", Verdict.B, "", {})]
    assert session.extra == {"status": "completed", "drafts": {"u2": 1}}
    assert [(each.judge, each.verdict) for each in session.verdicts] == [("argilla", Verdict.B)]
    assert looks_like(flat)


def test_without_users_nobody_can_be_named(tmp_path):
    flat = {"id": 1, **FIELDS, "preference.responses": ["tie"], "preference.responses.users": None}
    [row] = read(tmp_path, flat)
    assert ("responses.preference[0].user_id", "Missing") in faults_of(row, parse)


def test_a_suggestion_alone_is_a_verdict_where_its_question_is_named_so(tmp_path):
    told = {"preference": {"value": "b"}, "other": {"value": "a"}}
    bare, odd = sessions(
        tmp_path, record(suggestions=told), record(suggestions={"x": {"value": "a"}}, id="rec-2")
    )
    assert [(each.judge, each.verdict) for each in bare.verdicts] == [("argilla", Verdict.B)]
    assert bare.extra == {"suggestions": {"other": {"value": "a"}}}
    assert (odd.verdicts, odd.extra) == ((), {"suggestions": {"x": {"value": "a"}}})


def test_of_several_questions_the_named_one_gives_the_verdict(tmp_path):
    responses = {"preference": [said("a")], "safety": [said("b")]}
    [session] = sessions(tmp_path, record(responses))
    assert labels(session) == [("u1", Verdict.A, "", {"safety": "b"})]
    del responses["preference"]
    [row] = read(tmp_path, record({**responses, "fluency": [said("tie")]}))
    [(field, reason)] = faults_of(row, parse)
    assert (field, reason[:34]) == ("responses", "Several questions could give the v")


@pytest.mark.parametrize(
    "ranking",
    [
        ["response-2", "response-1", "response-3"],
        [{"value": f"response-{place}", "rank": rank} for place, rank in ((1, 2), (2, 1), (3, 3))],
    ],
)
def test_an_order_of_responses_is_compared_by_twos(tmp_path, ranking):
    fields = {"prompt": "Hi", "response-1": "x", "response-2": "y", "response-3": "z"}
    told = record({"order": [said(ranking), said(ranking, "u2")]}, fields=fields, metadata={})
    [session] = sessions(tmp_path, told)
    found = set()
    for each in session.turns[0].comparisons:
        assert [label.details.annotator for label in each.labels] == ["u1", "u2"]
        a_wins = each.labels[0].verdict is Verdict.A
        found.add((each.a, each.b) if a_wins else (each.b, each.a))
    assert found == {
        ("response-2", "response-1"),
        ("response-2", "response-3"),
        ("response-1", "response-3"),
    }


def test_what_is_no_rating_and_no_verdict_is_kept_with_the_person(tmp_path):
    responses = {
        "stars": [said(9)],
        "note": [said("Hm.", "u2"), said(None, "u3"), "odd"],
        "ordered": [said([{"value": "response_a"}, {"value": "response_b"}], "u4")],
        "many": [said(["response_a"]), said(["x", "y"], "u2")],
        "quality_a": [said(4, "u4")],
        "fluency_a": [said(4, "u4")],
        "clarity": [said(3, "u4")],
    }
    [row] = read(tmp_path, record(responses))
    assert faults_of(row, parse) == [("responses.note[2]", "Expected an object")]
    responses["note"].pop()
    [session] = sessions(tmp_path, record(responses))
    assert [(each.annotator, each.answers) for each in session.questionnaires] == [
        ("u1", ({"stars": 9, "many": ["response_a"]},)),
        ("u2", ({"many": ["x", "y"], "comment": "Hm."},)),
        (
            "u4",
            (
                {
                    "ordered": [{"value": "response_a"}, {"value": "response_b"}],
                    "quality_a": 4,
                    "fluency_a": 4,
                    "clarity": 3,
                },
            ),
        ),
    ]


def test_one_response_can_be_rated(tmp_path):
    fields = {"instruction": "Hi", "response": "Hello."}
    told = record({"rating": [said(3), said(None, "u2")]}, fields=fields, metadata={"batch": 1})
    [session] = sessions(tmp_path, told)
    [turn] = session.turns
    assert [each.score for each in turn.responses[0].satisfaction] == [3]
    assert (turn.comparisons, session.extra) == ((), {"batch": 1})


def test_rows_that_are_no_records_are_passed_on(tmp_path):
    number, nothing, odd, _listed = read(
        tmp_path, 7, {"id": 1}, record({"q": 1}), record([said("a")])
    )
    assert (number, nothing["record"]["responses"]) == (7, {})
    assert faults_of(odd, parse) == [("responses.q", "Expected a list")]
    assert looks_like(record())
    assert not looks_like(record(fields=None))
    assert not looks_like({"id": 1, "responses": []})
    assert not looks_like("row")
