"""Results of promptfoo: answers of providers, its scores, and people's ratings."""

from __future__ import annotations

import json

import pytest

from annotation.core.choices import Reason
from judging.core.formats.promptfoo import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of

CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}]


def graded(score, *types, **more):
    parts = [{"pass": bool(score), "score": score, "assertion": {"type": each}} for each in types]
    return {"pass": bool(score), "score": score, "reason": "why", "componentResults": parts, **more}


def row(**changes):
    data = {
        "prompt": {"raw": "Hello", "label": "{{greeting}}"},
        "provider": {"id": "openai:small", "label": "small"},
        "response": {"output": "Hi."},
        "gradingResult": graded(1, "contains"),
        "testIdx": 0,
        "testCase": {"vars": {}},
        "latencyMs": 5,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def only(session):
    [response] = session.turns[-1].responses
    return response


def test_a_result_is_a_response_of_its_provider():
    session = record_of(row(), parse)
    response = only(session)
    assert (session.turns[0].user_message, session.scenario) == ("Hello", "promptfoo")
    assert (response.text, response.model, response.original) == ("Hi.", "small", False)
    assert response.extra["provider"] == {"id": "openai:small"}
    assert response.extra["latencyMs"] == 5


def test_providers_share_the_turn_of_a_test_and_repeats_do_not():
    keys = [
        record_of(row(**changes), parse).key
        for changes in ({}, {"provider": "other:model"}, {"testIdx": 1})
    ]
    assert keys[0] == keys[1] != keys[2]


def test_a_prompt_may_be_messages():
    raw = {"raw": json.dumps(CHAT), "label": "chat"}
    session = record_of(row(prompt=raw, testCase={"description": "Greetings"}), parse)
    assert (session.system_prompt, session.turns[0].user_message) == ("Be kind.", "Hello")
    assert session.scenario == "Greetings"
    assert record_of(row(prompt={"raw": "[1, 2]"}), parse).turns[0].user_message == "[1, 2]"


@pytest.mark.parametrize(
    ("output", "text"),
    [("Hi.", "Hi."), ("", ""), (7, "7"), ({"a": "ü"}, '{"a": "ü"}'), (None, None)],
)
def test_an_output_is_a_text(output, text):
    assert only(record_of(row(response={"output": output}), parse)).text == text


def test_a_failed_call_is_not_available_and_not_graded():
    session = record_of(row(response=..., error="429"), parse)
    assert (only(session).text, only(session).extra["error"]) == (None, "429")
    assert session.scores == ()
    assert only(record_of(row(response={"output": ""}, error="cut"), parse)).text is None


@pytest.mark.parametrize(("score", "grade"), [(0, 1.0), (0.25, 3.25), (1, 10.0)])
def test_scores_of_assertions_are_grades_of_a_recorded_judge(score, grade):
    [given] = record_of(row(gradingResult=graded(score, "llm-rubric")), parse).scores
    assert (given.judge, given.turn, given.model) == ("promptfoo", 0, "small")
    assert (given.value, given.raw) == (grade, "why")


@pytest.mark.parametrize(
    "result",
    [None, graded(1), graded(2, "contains"), graded("1", "x"), {**graded(1, "x"), "score": True}],
)
def test_without_an_assertion_or_a_share_there_is_no_grade(result):
    assert record_of(row(gradingResult=result), parse).scores == ()


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        ({"pass": True}, (5, None)),
        ({"pass": False, "score": 0}, (1, Reason.NOT_RECORDED)),
        ({"pass": True, "score": 0.5}, (3, Reason.NOT_RECORDED)),
    ],
)
def test_a_persons_rating_overrides_the_assertions(part, expected):
    human = {**part, "assertion": {"type": "human"}}
    result = {**graded(1, "contains"), "comment": "curt"}
    result["componentResults"] = [{"assertion": None}, human]
    session = record_of(row(gradingResult=result), parse)
    [rating] = only(session).satisfaction
    assert (rating.score, rating.reason) == expected
    assert (rating.details.annotator, rating.details.comment) == ("human", "curt")
    assert session.scores == ()


def test_what_is_missing_is_a_fault():
    assert ("prompt.raw", "Missing") in faults_of(row(prompt={"raw": None}), parse)
    assert ("provider.id", "Missing") in faults_of(row(provider=None), parse)


@pytest.mark.parametrize(
    "changes",
    [
        {"prompt": "Hello"},
        {"prompt": {"label": "x"}},
        {"provider": ...},
        {"response": ...},
        {"testIdx": ..., "testCase": ...},
    ],
)
def test_other_rows_are_not_taken(changes):
    assert looks_like(row())
    assert not looks_like(row(**changes))
    assert not looks_like([])
