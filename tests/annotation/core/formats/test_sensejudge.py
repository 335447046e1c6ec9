from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from annotation.core.choices import Hallucination, Order, Reason, Verdict
from annotation.core.formats.records import DatasetRecord, LabelDetails, SessionRecord
from annotation.core.formats.sensejudge import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of

VERDICT = {"annotator": "ann", "verdict": "A"}
RATING = {"annotator": "ann", "score": 4}


def response(text="x", **more):
    return {"text": text, **more}


def turn(*responses, comparisons=(), user="hi"):
    return {"user": user, "responses": list(responses), "comparisons": list(comparisons)}


def session(*turns, **more):
    return {"type": "session", "key": "k", "scenario": "s", "turns": list(turns), **more}


def pair_in_turn(**more):
    comparison = {"a": "0", "b": "1", **more}
    return session(turn(response("x"), response("y"), comparisons=[comparison]))


def only_comparison(record):
    [comparison] = record.turns[-1].comparisons
    return comparison


# Dataset lines -------------------------------------------------------------------------------


def test_a_dataset_line_says_what_it_says_and_no_more():
    assert record_of({"type": "dataset"}, parse) == DatasetRecord()
    whole: dict[str, Any] = {
        "name": "N",
        "description": "",
        "source": "S",
        "licence": "CC0",
        "simulated": True,
        "extra": {"url": 1},
    }
    assert record_of({"type": "dataset", **whole}, parse) == DatasetRecord(**whole)


# Session lines -------------------------------------------------------------------------------


def test_a_session_carries_all_that_the_model_holds():
    record = record_of(
        session(
            turn(response("A", id="r", model="m", original=True, extra={"e": 1})),
            turn(response(None, continues="r", variant="memory"), user=None),
            turn(),
            user="User_1",
            system_prompt="sys",
            task_context="ctx",
            language="zh",
            profile={"age": 20, "mbti": "INTJ"},
            extra={"more": [1]},
            questionnaires=[{"annotator": "User_1", "answers": [{"q": "a"}], "study": "st"}],
            satisfaction=[RATING],
            gold=[{"score": 2, "rationale": "because"}],
        ),
        parse,
    )
    assert isinstance(record, SessionRecord)
    assert (record.key, record.scenario, record.user, record.language) == ("k", "s", "User_1", "zh")
    assert (record.system_prompt, record.task_context) == ("sys", "ctx")
    assert (record.profile, record.extra) == (
        {"age": 20},
        {"more": [1], "profile": {"mbti": "INTJ"}},
    )
    first, second, third = record.turns
    assert (first.responses[0].original, first.responses[0].extra) == (True, {"e": 1})
    assert (second.user_message, second.responses[0].text) == (None, None)
    assert (second.responses[0].continues, second.responses[0].variant) == ("r", "memory")
    assert third.responses == ()
    assert record.questionnaires[0].answers == ({"q": "a"},)
    assert (record.gold[0].score, record.gold[0].source) == (2, "DATASET")
    assert record.satisfaction[0].score == 4


def test_a_verdict_carries_how_it_was_given():
    given: dict[str, Any] = {
        "annotator": "ann",
        "study": "pilot",
        "repeat": 1,
        "comment": "c",
        "given_at": "2026-01-31T12:00:00+00:00",
        "active_seconds": 3.5,
        "idle_seconds": 1,
        "input_device": "keys",
        "edits": 2,
        "guidelines_version": 3,
        "app_version": "0.1",
        "extra": {"x": 1},
    }
    label = {**given, "verdict": "b", "strength": 2, "shown_order": "SWAPPED"}
    [found] = only_comparison(record_of(pair_in_turn(labels=[label]), parse)).labels
    moment = datetime(2026, 1, 31, 12, tzinfo=UTC)
    assert found.details == LabelDetails(**{**given, "given_at": moment, "idle_seconds": 1.0})
    assert (found.verdict, found.strength, found.shown_order) == (Verdict.B, 2, Order.SWAPPED)
    assert not found.both_bad


@pytest.mark.parametrize(
    ("rating", "reason"),
    [
        ({"score": 5}, None),
        ({"score": 3}, Reason.NOT_RECORDED),
        ({"score": "2", "reason": "UNUSABLE"}, Reason.UNUSABLE),
    ],
)
def test_a_rating_has_a_reason_exactly_at_3_and_below(rating, reason):
    rated = response(satisfaction=[{"annotator": "ann", "hallucination": "UNSURE", **rating}])
    [label] = record_of(session(turn(rated)), parse).turns[0].responses[0].satisfaction
    assert (label.reason, label.hallucination) == (reason, Hallucination.UNSURE)


def test_a_comparison_may_have_a_gold_verdict_and_a_place():
    gold = {"source": "MANAGER", "verdict": "TIE", "rationale": "same"}
    record = record_of(pair_in_turn(key="c1", position=7, gold=[gold], extra={"idx": 1}), parse)
    comparison = only_comparison(record)
    assert (comparison.key, comparison.position, comparison.extra) == ("c1", 7, {"idx": 1})
    assert (comparison.gold[0].verdict, comparison.gold[0].score) == (Verdict.TIE, None)


def test_a_gold_answer_that_stands_alone_is_the_datasets():
    comparison = only_comparison(record_of(pair_in_turn(gold="a"), parse))
    assert [(each.source, each.verdict) for each in comparison.gold] == [("DATASET", Verdict.A)]
    assert record_of(session(gold=4), parse).gold[0].score == 4
    assert faults_of(session(gold="A"), parse)


def test_without_a_key_the_content_names_the_comparison():
    key = only_comparison(record_of(pair_in_turn(), parse)).key
    other = session(turn(response("x"), response("z"), comparisons=[{"a": "0", "b": "1"}]))
    assert len(key) == 32
    assert only_comparison(record_of(pair_in_turn(position=3), parse)).key == key
    assert only_comparison(record_of(other, parse)).key != key


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"type": "dataset", "nmae": "x"}, "nmae"),
        ({"type": "dataset", "name": ""}, "name"),
        ({"type": "other"}, "type"),
        ({"type": 3}, "type"),
        ({"x": 1}, "type"),
        ({"type": "session", "key": "k", "scenario": "s"}, "turns"),
        (session(key=""), "key"),
        (session(scenario="s" * 121), "scenario"),
        (session(typo=1), "typo"),
        (session({"responses": []}), "turns[0].user"),
        (session({"user": "a", "typo": 1}), "turns[0].typo"),
        (session(turn({"id": "r"})), "turns[0].responses[0].text"),
        (session(turn(response(), response(id="0"))), "turns[0].responses[1].id"),
        (session(turn(response(continues="q"))), "turns[0].responses[0].continues"),
        (
            session(turn(response(original=True), response("y", original=True))),
            "turns[0].responses",
        ),
        (pair_in_turn(b="0"), "turns[0].comparisons[0].b"),
        (pair_in_turn(b="9"), "turns[0].comparisons[0].b"),
        (pair_in_turn(a=None), "turns[0].comparisons[0].a"),
        (
            session(
                turn(
                    response("x"),
                    response("y"),
                    comparisons=[{"a": "0", "b": "1"}, {"a": "0", "b": "1"}],
                )
            ),
            "turns[0].comparisons[1].key",
        ),
        (pair_in_turn(labels=[{"verdict": "A"}]), "turns[0].comparisons[0].labels[0].annotator"),
        (
            pair_in_turn(labels=[VERDICT, {**VERDICT, "verdict": "B"}]),
            "turns[0].comparisons[0].labels[1].annotator",
        ),
        (
            pair_in_turn(labels=[{**VERDICT, "verdict": "TIE", "strength": 1}]),
            "turns[0].comparisons[0].labels[0].strength",
        ),
        (
            pair_in_turn(labels=[{**VERDICT, "shown_order": "COMBINED"}]),
            "turns[0].comparisons[0].labels[0].shown_order",
        ),
        (
            pair_in_turn(labels=[{**VERDICT, "study": "a b"}]),
            "turns[0].comparisons[0].labels[0].study",
        ),
        (pair_in_turn(labels=[{**VERDICT, "x": 1}]), "turns[0].comparisons[0].labels[0].x"),
        (session(satisfaction=[{**RATING, "reason": "OTHER"}]), "satisfaction[0].reason"),
        (session(satisfaction=[{**RATING, "score": 0}]), "satisfaction[0].score"),
        (session(gold=[{"score": 1}, {"score": 1}]), "gold[1].source"),
        (session(gold=[{"source": "X", "score": 1}]), "gold[0].source"),
        (session(questionnaires=[{"annotator": "a", "answers": 1}]), "questionnaires[0].answers"),
    ],
)
def test_what_cannot_be_understood_is_a_fault(row, field):
    assert field in [at for at, _reason in faults_of(row, parse)]


def test_repeats_and_studies_tell_labels_apart():
    labels = [VERDICT, {**VERDICT, "repeat": 1}, {**VERDICT, "study": "st"}]
    assert len(only_comparison(record_of(pair_in_turn(labels=labels), parse)).labels) == 3


# Pair lines ----------------------------------------------------------------------------------


def pair(**more):
    row = {"scenario": "s", "prompt": "p", "text_a": "1", "text_b": "2", **more}
    return {key: value for key, value in row.items() if value is not ...}


def test_a_pair_is_one_turn_with_one_comparison():
    record = record_of(pair(model_a="m", model_b="n"), parse)
    [only] = record.turns
    assert only.user_message == "p"
    assert [(each.model, each.text) for each in only.responses] == [("m", "1"), ("n", "2")]
    assert only_comparison(record).labels == ()


def test_a_pair_carries_a_label_of_its_own_or_several():
    flat = record_of(pair(annotator="ann", verdict="B", comment="c"), parse)
    assert only_comparison(flat).labels[0].verdict is Verdict.B
    several = record_of(pair(labels=[VERDICT, {"annotator": "b", "verdict": "TIE"}]), parse)
    assert len(only_comparison(several).labels) == 2


def test_a_dialogue_gives_the_turns_before():
    dialogue = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "A"},
        {"role": "user", "content": "b"},
    ]
    record = record_of(pair(prompt=..., dialogue=dialogue, system_prompt="s"), parse)
    first, last = record.turns
    assert first.responses[0].original
    assert (last.user_message, len(last.responses)) == ("b", 2)


def test_the_context_names_the_session_unless_a_key_does():
    keys = [
        record_of(pair(**more), parse).key
        for more in ({}, {"text_a": "z"}, {"prompt": "q"}, {"scenario": "t"}, {"session": "k"})
    ]
    assert keys[0] == keys[1]
    assert len(set(keys)) == 4
    assert keys[4] == "k"


def test_a_comparison_has_a_key_of_its_own_or_of_its_content():
    assert only_comparison(record_of(pair(comparison="c", position=2), parse)).key == "c"
    one = only_comparison(record_of(pair(), parse)).key
    assert one == only_comparison(record_of(pair(annotator="a", verdict="A"), parse)).key
    assert one != only_comparison(record_of(pair(text_b=None), parse)).key


@pytest.mark.parametrize(("variant", "expected"), [({}, "B"), ({"variant_a": "v"}, "")])
def test_equal_texts_stay_two_responses(variant, expected):
    record = record_of(pair(text_b="1", **variant), parse)
    assert record.turns[0].responses[1].variant == expected


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"scenario": ...}, "scenario"),
        ({"prompt": ...}, "dialogue"),
        ({"dialogue": []}, "dialogue"),
        ({"prompt": ..., "dialogue": []}, "dialogue"),
        ({"prompt": ..., "dialogue": [{"role": "assistant", "content": "A"}]}, "dialogue"),
        ({"prompt": ..., "dialogue": [{"role": "bot", "content": "A"}]}, "dialogue[0].role"),
        ({"prompt": ..., "dialogue": [{"role": "user", "content": "A", "x": 1}]}, "dialogue[0].x"),
        ({"type": "pair", "text_a": ...}, "text_a"),
        ({"verdict": "A"}, "annotator"),
        ({"annotator": "a"}, "verdict"),
        ({"annotator": "a", "verdict": "A", "labels": [VERDICT]}, "labels"),
        ({"variant_a": "B", "variant_b": "B", "text_b": "1"}, "variant_b"),
        ({"typo": 1}, "typo"),
    ],
)
def test_a_pair_that_cannot_be_understood_is_a_fault(changes, field):
    assert field in [at for at, _reason in faults_of(pair(**changes), parse)]


def test_kinds_are_told_by_their_fields():
    assert looks_like(pair())
    assert looks_like(session())
    assert looks_like({"turns": []})
    assert looks_like({"type": "dataset"})
    assert not looks_like({"type": "comparison", "turns": []})
    assert not looks_like({"text_a": "x"})
    assert not looks_like([pair()])
