from __future__ import annotations

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.detect import open_records
from annotation.core.formats.fields import parsed
from annotation.core.formats.pandalm import looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of, session_of
from tests.paths import shared_data


def row(**changes):
    data = {
        "idx": 4,
        "motivation_app": "Search",
        "cmp_key": "bloom-7b_cerebras-gpt-6.7B",
        "instruction": "Sort",
        "input": "3 1 2",
        "response1": "1 2 3",
        "response2": "",
        "annotator1": 1,
        "annotator2": "2",
        "annotator3": 0,
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_a_row_is_one_comparison_with_three_verdicts():
    session = record_of(row(), parse)
    [turn] = session.turns
    [comparison] = turn.comparisons
    assert session.scenario == "pandalm"
    assert turn.user_message == "Sort\n\n3 1 2"
    assert [(each.model, each.text) for each in turn.responses] == [
        ("bloom-7b", "1 2 3"),
        ("cerebras-gpt-6.7B", ""),
    ]
    assert (comparison.a, comparison.b) == ("a", "b")
    assert comparison.extra == {"idx": 4, "motivation_app": "Search"}
    assert [(each.details.annotator, each.verdict) for each in comparison.labels] == [
        ("annotator1", Verdict.A),
        ("annotator2", Verdict.B),
        ("annotator3", Verdict.TIE),
    ]


@pytest.mark.parametrize("empty", ["", None, ...])
def test_without_input_the_instruction_is_the_prompt(empty):
    assert record_of(row(input=empty), parse).turns[0].user_message == "Sort"


def test_the_prompt_names_the_session_and_the_content_the_comparison():
    first = record_of(row(), parse)
    same_prompt = record_of(row(idx=4, response1="other"), parse)
    other_prompt = record_of(row(instruction="Count"), parse)
    assert first.key == same_prompt.key != other_prompt.key
    keys = {each.turns[0].comparisons[0].key for each in (first, same_prompt)}
    assert len(keys) == 2
    assert record_of(row(idx="4"), parse).turns[0].comparisons[0].key in keys


def test_scalars_in_texts_are_counted():
    found = parsed(1, row(response1=True, response2=7, instruction=1.5), parse)
    assert found.coerced == 3
    [turn] = session_of(found).turns
    assert [each.text for each in turn.responses] == ["true", "7"]


def test_equal_texts_of_one_model_stay_two_responses():
    session = record_of(row(cmp_key="m_m", response2="1 2 3"), parse)
    assert [each.variant for each in session.turns[0].responses] == ["", "B"]


@pytest.mark.parametrize(
    ("changes", "field", "reason"),
    [
        ({"annotator1": 3}, "annotator1", "Must be between 0 and 2"),
        ({"annotator2": "A"}, "annotator2", "Expected a whole number from 0 to 2"),
        ({"annotator3": True}, "annotator3", "Expected a whole number from 0 to 2"),
        ({"response1": ...}, "response1", "Missing"),
        ({"response2": ["x"]}, "response2", "Expected a string"),
        ({"instruction": ...}, "instruction", "Missing"),
        ({"cmp_key": "one"}, "cmp_key", "Expected two model names joined by one underscore"),
        ({"cmp_key": "a_b_c"}, "cmp_key", "Expected two model names joined by one underscore"),
        ({"cmp_key": ...}, "cmp_key", "Missing"),
        ({"idx": 1.5}, "idx", f"Expected a whole number from 0 to {2**62}"),
        (
            {"annotator1": ..., "annotator2": None, "annotator3": ...},
            "annotator1",
            "No annotator verdict",
        ),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, field, reason):
    assert faults_of(row(**changes), parse) == [(field, reason)]


def test_every_fault_of_a_row_is_listed():
    bad = row(annotator1=9, annotator2=9, response1=...)
    assert [field for field, _reason in faults_of(bad, parse)] == [
        "response1",
        "annotator1",
        "annotator2",
    ]


def test_rows_are_told_by_their_fields():
    assert looks_like(row())
    assert not looks_like({"response1": ""})
    assert not looks_like([row()])


def test_the_public_file_is_read_whole():
    chosen, rows = open_records(shared_data("pandalm_testset_dev.json"))
    found = list(rows)
    assert chosen.name == "pandalm"
    assert (len(found), sum(len(row.faults) for row in found)) == (681, 0)
    assert len({session_of(row).key for row in found}) == 119
    labels = [label for row in found for label in session_of(row).turns[0].comparisons[0].labels]
    ties = [label for label in labels if label.verdict is Verdict.TIE]
    assert (len(labels), len(ties)) == (2043, 78 + 86 + 85)
