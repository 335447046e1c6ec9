from __future__ import annotations

import pytest

from annotation.core.choices import Order, Verdict
from annotation.core.formats import sensebench
from annotation.core.formats.detect import open_records
from judging.core.formats import paper
from judging.core.formats.detect import ALL_FORMATS
from tests.annotation.core.formats.rows import faults_of, record_of, session_of, write_lines

A, B = "The final decision is Response A.", "The final decision is Response B."


def message(who, text):
    return {"from": who, "content": [{"type": "text", "value": text}]}


PROMPT = [message("Human", "1 + 1?"), message("Assistant", "2"), message("Human", "And + 1?")]


def parts(*texts):
    return {"value": [{"type": "text", "value": text} for text in texts]}


def label(**changes):
    told = {"prompt": PROMPT, "chosen": parts("3"), "rejected": parts("Three."), "annotator": "ann"}
    return {**told, "dataset": "sense_bmk:Math", **changes}


def output(*outputs, **changes):
    told = {"query": str(PROMPT), "chosen": "3", "rejected": "Three.", "dataset": "sense_bmk:Math"}
    said = [{"output": each, "preference": f"p{place}"} for place, each in enumerate(outputs)]
    told = {**told, "outputs": said, "reverse": False, **changes}
    return {key: value for key, value in told.items() if value is not ...}


def winner(session):
    """The text of the response that the only label prefers."""
    last = session.turns[-1]
    [comparison] = last.comparisons
    [given] = comparison.labels
    key = comparison.a if given.verdict is Verdict.A else comparison.b
    return next(one.text for one in last.responses if one.key == key)


def test_a_label_is_a_pair_in_the_session_that_the_prompt_has_in_sensebench():
    session = record_of(label(), paper.parse_label)
    prompt = record_of({"messages": PROMPT, "topic": "Math"}, sensebench.parse)
    assert (session.key, session.scenario) == (prompt.key, "Math")
    assert [turn.user_message for turn in session.turns] == ["1 + 1?", "And + 1?"]
    assert winner(session) == "3"
    [given] = session.turns[-1].comparisons[0].labels
    assert given.details.annotator == "ann"


def test_a_response_with_an_image_is_a_fault():
    told = {"value": [{"type": "image", "value": "x"}]}
    faults = faults_of(label(chosen=told), paper.parse_label)
    assert ("chosen.type", "Only text is supported") in [
        (field.replace("value[0].", ""), reason) for field, reason in faults
    ]


def test_those_who_choose_otherwise_speak_of_the_same_comparison():
    one = record_of(label(), paper.parse_label)
    other = record_of(label(chosen=parts("Three."), rejected=parts("3")), paper.parse_label)
    assert winner(other) == "Three."
    [first], [second] = (each.turns[-1].comparisons for each in (one, other))
    assert first.key == second.key
    assert first.labels[0].verdict is second.labels[0].verdict.flipped()


def test_a_prompt_may_be_a_text_and_a_dialogue_may_end_on_the_assistant():
    session = record_of(label(prompt="Hi", chosen="a", rejected={"value": "b"}), paper.parse_label)
    assert [turn.user_message for turn in session.turns] == ["Hi"]
    assert winner(session) == "a"
    session = record_of(label(prompt=PROMPT[:2]), paper.parse_label)
    assert len(session.turns[0].responses) == 3


def test_equal_texts_are_two_responses_and_the_label_stays():
    session = record_of(label(rejected=parts("3")), paper.parse_label)
    assert [one.variant for one in session.turns[-1].responses] == ["", "B"]
    [comparison] = session.turns[-1].comparisons
    assert (comparison.a, comparison.labels[0].verdict) == ("chosen", Verdict.A)


def test_a_response_may_have_several_parts():
    assert winner(record_of(label(chosen=parts("3", "!")), paper.parse_label)) == "3!"


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"prompt": []}, ("prompt", "Expected at least one message")),
        ({"prompt": [{"from": "Cat"}]}, ("prompt[0].from", None)),
        ({"chosen": {"text": "3"}}, ("chosen.value", "Missing")),
        ({"dataset": None}, ("dataset", "Missing")),
        ({"annotator": "a\u200bb"}, ("annotator", None)),
    ],
)
def test_what_a_label_lacks_is_a_fault(changes, fault):
    assert fault[0] in [field for field, _reason in faults_of(label(**changes), paper.parse_label)]


def verdicts(told):
    record = record_of(told, paper.parse_outputs)
    [comparison] = record.turns[-1].comparisons
    chosen_is_a = winner(record_of(label(), paper.parse_label)) == next(
        one.text for one in record.turns[-1].responses if one.key == comparison.a
    )
    better = {Verdict.A: chosen_is_a, Verdict.B: not chosen_is_a}
    first = {Order.ORIGINAL: chosen_is_a, Order.SWAPPED: not chosen_is_a}
    return [
        (each.judge, first[each.order], better.get(each.verdict), each.turn)
        for each in record.verdicts
    ]


def test_each_preference_is_a_judge_and_the_first_has_none():
    """Who, whether the chosen response was shown first, whether it was preferred, where."""
    told = output(A, B, "", "Hard to say.")
    assert verdicts(told) == [
        ("sensejudge 0", True, True, 1),
        ("sensejudge 1", True, False, 1),
        ("sensejudge 3", True, None, 1),
    ]
    assert verdicts({**told, "reverse": True}) == [
        ("sensejudge 0", False, False, 1),
        ("sensejudge 1", False, True, 1),
        ("sensejudge 3", False, None, 1),
    ]
    [comparison] = record_of(told, paper.parse_outputs).turns[-1].comparisons
    assert comparison.extra == {"preferences": ["p0", "p1", "p2", "p3"]}


def test_outputs_are_about_the_comparison_of_the_labels():
    labelled = record_of(label(), paper.parse_label)
    judged = record_of(output(A), paper.parse_outputs)
    assert labelled.key == judged.key
    assert labelled.turns[-1].comparisons[0].key == judged.turns[-1].comparisons[0].key


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        (str(PROMPT[-1]), ["And + 1?"]),
        ("Plain words.", ["Plain words."]),
        ("[{broken", ["[{broken"]),
        ("{" * 2000, ["{" * 2000]),
        ("{{1,2},{3}}", ["{{1,2},{3}}"]),
        ("{[1]: 2}", ["{[1]: 2}"]),
        ("{'name': 'x'}", ["{'name': 'x'}"]),
        ("{1, 2}", ["{1, 2}"]),
        ("[{'from': 'Human'}, 3]", ["[{'from': 'Human'}, 3]"]),
    ],
)
def test_a_query_that_is_no_list_of_messages_is_one(query, asked):
    record = record_of(output(A, query=query), paper.parse_outputs)
    assert [turn.user_message for turn in record.turns] == asked


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (r"'a\x00'", "A string contains NUL"),
        (r"'\ud800'", "A string contains bytes or escapes that are not characters"),
        ("'x', 'more': {1, 2}", "Contains values that JSON cannot represent"),
        ("'x', 'more': b'1'", "Contains values that JSON cannot represent"),
        ("'x', 'more': 1e999", "Contains values that JSON cannot represent"),
        ("'x', 'more': {(1, 2): 3}", "Contains values that JSON cannot represent"),
        ("'x', 'more': " + "[" * 60 + "]" * 60, "Nested too deeply"),
    ],
)
def test_printed_messages_hold_what_json_does_or_are_a_fault(part, reason):
    query = "[{'from': 'Human', 'content': " + part + "}]"
    assert faults_of(output(A, query=query), paper.parse_outputs) == [("query", reason)]


def test_a_query_too_long_to_be_a_list_is_a_text(monkeypatch):
    monkeypatch.setattr(paper, "_PRINTED_CHARS", 10)
    record = record_of(output(A), paper.parse_outputs)
    assert [turn.user_message for turn in record.turns] == [str(PROMPT)]


def test_the_name_of_the_file_tells_who_and_in_which_order(tmp_path):
    row = {key: value for key, value in label().items() if key != "annotator"}
    path = write_lines(tmp_path / "sense annotator3-dev.json", row, 3)
    chosen, rows = open_records(path, formats=ALL_FORMATS)
    assert chosen.name == "sensejudge-labels"
    first, second = rows
    [given] = session_of(first).turns[-1].comparisons[0].labels
    assert given.details.annotator == "sense annotator3"
    assert second.faults
    for name, order in (("False", "False"), ("True", "True"), ("True (1)", "True")):
        path = write_lines(tmp_path / f"Math_output_reverse_{name}.json", output(A, reverse=...))
        chosen, rows = open_records(path, formats=ALL_FORMATS)
        assert chosen.name == "sensejudge-outputs"
        told = output(A, reverse=order == "True")
        assert session_of(next(rows)) == record_of(told, paper.parse_outputs)


def test_without_a_name_the_order_is_not_known():
    fault = ("reverse", "The file name must end in reverse_True or reverse_False")
    assert faults_of(output(A, reverse=...), paper.parse_outputs) == [fault]


def test_rows_are_told_apart():
    assert paper.looks_like_labels(label())
    assert not paper.looks_like_labels(label(chosen="text"))
    assert not paper.looks_like_labels("row")
    assert paper.looks_like_outputs(output())
    assert not paper.looks_like_outputs(label())
    assert not paper.looks_like_outputs(3)
