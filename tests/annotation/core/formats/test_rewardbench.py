from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.detect import open_records
from annotation.core.formats.fields import parsed
from annotation.core.formats.rewardbench import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines


def row(**changes):
    data = {
        "prompt": "Sort 3 1 2.",
        "chosen": "1 2 3",
        "chosen_model": "good",
        "rejected": "3 2 1",
        "rejected_model": "bad",
        "subset": "math-prm",
        "id": 7,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def said(role, content):
    return {"role": role, "content": content}


def test_a_row_is_one_comparison_with_a_gold_answer():
    session = record_of(row(), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert (session.scenario, turn.user_message) == ("math-prm", "Sort 3 1 2.")
    assert {(one.key, one.text, one.model) for one in turn.responses} == {
        ("chosen", "1 2 3", "good"),
        ("rejected", "3 2 1", "bad"),
    }
    [gold] = comparison.gold
    assert gold.source == "DATASET"
    assert (comparison.a if gold.verdict is Verdict.A else comparison.b) == "chosen"
    assert comparison.key.startswith("7-")
    assert comparison.extra == {"id": 7}
    [label] = comparison.labels
    assert (label.details.annotator, label.verdict) == ("benchmark", gold.verdict)


def test_messages_may_repeat_the_chosen_dialogue():
    chosen = [said("user", "Sort 3 1 2."), said("assistant", "1 2 3")]
    assert record_of(row(chosen=chosen, messages=chosen), parse).turns[0].comparisons
    assert [name for name, _why in faults_of(row(messages=chosen), parse)] == ["messages"]


def test_the_letter_is_no_hint_of_the_answer():
    gold = [
        record_of(row(prompt=str(number)), parse).turns[0].comparisons[0].gold[0].verdict
        for number in range(200)
    ]
    assert 70 < gold.count(Verdict.A) < 130
    again = record_of(row(prompt="0"), parse).turns[0].comparisons[0].gold[0].verdict
    assert again is gold[0]


def test_a_dialogue_before_the_responses_becomes_turns():
    session = record_of(
        row(
            prompt=[
                said("system", "Be brief."),
                said("user", "Hi"),
                said("assistant", "Hello"),
                said("user", "Sort."),
            ],
            chosen=[said("user", "Sort."), said("assistant", "1 2")],
            rejected=[said("assistant", "2 1")],
        ),
        parse,
    )
    assert session.system_prompt == "Be brief."
    assert [turn.user_message for turn in session.turns] == ["Hi", "Sort."]
    assert session.turns[0].responses[0].original
    assert {one.text for one in session.turns[1].responses} == {"1 2", "2 1"}


CAT = [said("user", "What rhymes with cat?"), said("assistant", "Hat.")]
DOG = said("user", "And with dog?")


@pytest.mark.parametrize("prompt", ["What rhymes with cat?", CAT[:1], [*CAT, DOG]])
def test_what_whole_dialogues_share_is_the_context(prompt):
    session = record_of(
        row(
            prompt=prompt,
            chosen=[*CAT, DOG, said("assistant", "Fog.")],
            rejected=[*CAT, DOG, said("assistant", "House.")],
        ),
        parse,
    )
    first, last = session.turns
    assert (first.user_message, first.responses[0].text) == ("What rhymes with cat?", "Hat.")
    assert last.user_message == "And with dog?"
    assert {one.text for one in last.responses} == {"Fog.", "House."}


@pytest.mark.parametrize(
    ("prompt", "changes"),
    [
        ("Sort.", {"system": "Be a pirate."}),
        ("Sort.", {"system_prompt": "Be a pirate."}),
        ([said("system", "Be a pirate."), said("user", "Sort.")], {"system": "Be a pirate."}),
        (
            "Sort.",
            {
                side: [
                    said("system", "Be a pirate."),
                    said("user", "Sort."),
                    said("assistant", end),
                ]
                for side, end in (("chosen", "1 2"), ("rejected", "2 1"))
            },
        ),
    ],
)
def test_a_system_prompt_is_placed_wherever_it_stands(prompt, changes):
    session = record_of(row(prompt=prompt, **changes), parse)
    assert session.system_prompt == "Be a pirate."
    assert [turn.user_message for turn in session.turns] == ["Sort."]
    assert session.turns[0].comparisons[0].extra == {"id": 7}


def test_dialogues_that_part_early_are_compared_where_they_do():
    bat = [CAT[0], said("assistant", "Bat."), DOG, said("assistant", "House.")]
    session = record_of(
        row(prompt=CAT[0]["content"], chosen=[*CAT, DOG, said("assistant", "Fog.")], rejected=bat),
        parse,
    )
    [turn] = session.turns
    assert {one.text for one in turn.responses} == {"Hat.", "Bat."}
    assert turn.comparisons[0].extra["later_turns"] == {
        "chosen": [DOG, said("assistant", "Fog.")],
        "rejected": [DOG, said("assistant", "House.")],
    }


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        (
            {"prompt": "Sort.", "chosen": [*CAT, DOG, said("assistant", "Fog.")]},
            ("chosen", "The messages before the response do not begin with the prompt"),
        ),
        (
            {"prompt": [said("system", "a"), said("user", "Sort.")], "system": "b"},
            ("system", "Differs from the other system prompt of this row"),
        ),
    ],
)
def test_a_dialogue_that_cannot_be_placed_is_a_fault(changes, fault):
    assert faults_of(row(**changes), parse) == [fault]


def test_without_a_subset_there_is_one_scenario_and_without_an_id_content_names():
    session = record_of(row(subset=..., id=...), parse)
    assert session.scenario == "rewardbench"
    assert "-" not in session.turns[0].comparisons[0].key


@pytest.mark.parametrize("model", ["good", "other"])
def test_equal_texts_are_skipped(model):
    found = parsed(1, row(rejected="1 2 3", rejected_model=model), parse)
    assert (found.record, found.faults) == (None, ())
    assert found.skipped == "Both responses have the same text, so neither is better"


def test_a_response_may_be_not_available():
    [turn] = record_of(row(rejected=None), parse).turns
    assert {one.text for one in turn.responses} == {"1 2 3", None}
    [turn] = record_of(row(chosen=[said("assistant", None)]), parse).turns
    assert None in {one.text for one in turn.responses}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt": None}, ("prompt", "Missing")),
        ({"prompt": []}, ("prompt", "Must not be empty")),
        (
            {"prompt": [said("wizard", "a"), said("user", "b")]},
            ("prompt[0].role", "Expected user, assistant, system or tool"),
        ),
        (
            {"prompt": [said("user", "a"), said("system", "b"), said("user", "c")]},
            ("prompt", "A system message must come first"),
        ),
        ({"chosen": [said("user", "a")]}, ("chosen", "Must end with an assistant message")),
        ({"chosen": []}, ("chosen", "Must end with an assistant message")),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, fault):
    assert fault in faults_of(row(**changes), parse)


def lists(**changes):
    data = {
        "prompt": "Name a colour.",
        "chosen": ["Red", "Blue"],
        "rejected": ["Paris", "Seven", "Paris"],
        "num_correct": 2,
        "models": ["m1", "m2", "m3", "m4", "m3"],
        "subset": "Ties",
        "id": "tied:4",
        "total_completions": 5,
    }
    return row(chosen_model=..., rejected_model=..., **{**data, **changes})


def test_each_chosen_response_meets_each_rejected_one_in_one_item():
    session = record_of(lists(), parse)
    [turn] = session.turns
    texts = {one.key: (one.text, one.model) for one in turn.responses}
    assert sorted(texts.values()) == [
        ("Blue", "m2"),
        ("Paris", "m3"),
        ("Red", "m1"),
        ("Seven", "m4"),
    ]
    met = []
    for each in turn.comparisons:
        [gold], [label] = each.gold, each.labels
        assert (gold.verdict, label.details.annotator) == (label.verdict, "benchmark")
        sides = (each.a, each.b) if gold.verdict is Verdict.A else (each.b, each.a)
        met.append(tuple(texts[side][0] for side in sides))
        assert each.key.startswith("tied:4-")
        assert each.extra["total_completions"] == 5
        assert each.extra["best_of"]["correct"] == 2
        assert each.extra["best_of"]["responses"] == 4
    assert sorted(met) == [("Blue", "Paris"), ("Blue", "Seven"), ("Red", "Paris"), ("Red", "Seven")]
    assert len({each.extra["best_of"]["item"] for each in turn.comparisons}) == 1
    other = record_of(lists(chosen=["Red"], num_correct=1, models=...), parse).turns[0].comparisons
    assert other[0].extra["best_of"]["item"] != turn.comparisons[0].extra["best_of"]["item"]


def test_lists_may_answer_a_dialogue_with_a_system_prompt():
    prompt = [said("system", "Be brief."), *CAT, DOG]
    session = record_of(lists(prompt=prompt), parse)
    assert (session.system_prompt, len(session.turns)) == ("Be brief.", 2)
    assert session.turns[1].user_message == "And with dog?"


def test_models_that_are_not_one_for_each_text_are_not_told():
    [turn] = record_of(lists(models=["m1"]), parse).turns
    assert {one.model for one in turn.responses} == {""}
    [turn] = record_of(lists(models=["m1", None, 3, "m4", "m3"]), parse).turns
    assert {one.model for one in turn.responses} == {"m1", "", "m4", "m3"}


def test_scalars_in_a_list_are_texts():
    [turn] = record_of(lists(chosen=[7, True], models=...), parse).turns
    assert {"7", "true"} <= {one.text for one in turn.responses}


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"rejected": "Paris"}, ("rejected", "Expected a list of strings")),
        ({"rejected": []}, ("rejected", "Expected a list of strings")),
        ({"rejected": ["Red"], "models": ...}, ("rejected", "Same as a chosen response")),
        ({"num_correct": 3}, ("num_correct", "Does not match the number of chosen responses")),
        ({"chosen": ["Red", {"role": "user"}]}, ("chosen[1]", "Expected a string")),
    ],
)
def test_lists_that_cannot_be_understood_are_faults(changes, fault):
    assert fault in faults_of(lists(**changes), parse)


def test_rows_are_told_apart(tmp_path):
    assert looks_like(row())
    assert looks_like(lists())
    assert not looks_like(row(rejected=...))
    assert not looks_like(row(chosen={"value": []}))
    assert not looks_like({name: row()[name] for name in ("prompt", "chosen", "rejected")})
    assert not looks_like(3)
    chosen, rows = open_records(write_lines(tmp_path / "f", row()))
    assert chosen.name == "rewardbench"
    assert session_of(next(rows)).scenario == "math-prm"
    chosen, rows = open_records(write_lines(tmp_path / "lists", lists()))
    assert chosen.name == "rewardbench"
    assert len(session_of(next(rows)).turns[0].comparisons) == 4
