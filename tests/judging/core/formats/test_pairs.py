from __future__ import annotations

from math import log

import pytest

from annotation.core.choices import Order, Verdict
from judging.core.formats.detect import ALL_FORMATS
from judging.core.formats.pairs import NAME, looks_like, parse
from tests.annotation.core.formats.rows import faults_of, record_of


def row(**changes):
    data = {
        "prompt": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "One?"},
            {"role": "assistant", "content": "1"},
            {"role": "user", "content": "Two?"},
        ],
        "chosen": [{"role": "assistant", "content": "2"}],
        "rejected": [{"role": "assistant", "content": "3"}],
        "chosen_model": "m",
        "rejected_model": "n",
        "annotator": "ann",
        "source": "human",
        "scenario": "s",
        "session": "k",
        "comparison": "c",
        "verdict": "B",
    }
    return {key: value for key, value in {**data, **changes}.items() if value is not ...}


def test_a_persons_row_is_a_label():
    session = record_of(row(strength=2), parse)
    first, last = session.turns
    assert (session.key, session.scenario, session.system_prompt) == ("k", "s", "Be brief.")
    assert (first.user_message, first.responses[0].text) == ("One?", "1")
    assert [(one.model, one.text) for one in last.responses] == [("n", "3"), ("m", "2")]
    [comparison] = last.comparisons
    [label] = comparison.labels
    told = (comparison.key, label.details.annotator, label.verdict, label.strength)
    assert told == ("c", "ann", Verdict.B, 2)


@pytest.mark.parametrize("source", ["judge", "corrected"])
@pytest.mark.parametrize(
    ("verdict", "confidence", "log_odds"),
    [
        ("A", 0.75, log(3)),
        ("B", 0.75, -log(3)),
        ("B", 0.25, log(3)),
        ("B", 0.5, 0),
        ("A", 1, None),
        ("B", None, None),
    ],
)
def test_a_judges_row_is_a_combined_verdict(source, verdict, confidence, log_odds):
    given = row(source=source, annotator="gpt (x)", verdict=verdict, confidence=confidence)
    session = record_of(given, parse)
    assert session.turns[1].comparisons[0].labels == ()
    [said] = session.verdicts
    assert (said.judge, said.turn, said.comparison) == ("gpt (x)", 1, "c")
    assert (said.order, said.verdict) == (Order.COMBINED, Verdict(verdict))
    assert said.log_odds == (None if log_odds is None else pytest.approx(log_odds))


def test_without_letters_both_ways_round_are_one_comparison():
    texts = {"prompt": "Two?", "session": ..., "comparison": ..., "verdict": ...}
    one = record_of(row(**texts), parse)
    turned = {"chosen": "3", "rejected": "2", "chosen_model": "n", "rejected_model": "m"}
    other = record_of(row(**texts, **turned), parse)
    assert one.key == other.key
    [first], [second] = one.turns[0].comparisons, other.turns[0].comparisons
    assert first.key == second.key
    assert {each.labels[0].verdict for each in (first, second)} == {Verdict.A, Verdict.B}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"source": "somebody"}, "source"),
        ({"source": ...}, "source"),
        ({"scenario": ...}, "scenario"),
        ({"verdict": "TIE"}, "verdict"),
        ({"prompt": []}, "dialogue"),
        ({"chosen": []}, "chosen"),
        ({"chosen": {"value": []}}, "chosen"),
        ({"annotator": "a\u200bb"}, "annotator"),
        ({"source": "judge", "confidence": 0}, "confidence"),
        ({"source": "judge", "confidence": 1.5}, "confidence"),
        ({"source": "judge", "confidence": True}, "confidence"),
        ({"source": "judge", "confidence": "much"}, "confidence"),
    ],
)
def test_what_cannot_be_understood_is_a_fault(changes, field):
    assert field in {name for name, _reason in faults_of(row(**changes), parse)}


def test_it_is_told_from_benchmarks_of_chosen_and_rejected():
    plain = row(source=..., annotator=...)
    assert [looks_like(each) for each in (row(), plain, 3)] == [True, False, False]
    told = [
        [name for name, form in ALL_FORMATS.items() if form.looks_like(each)]
        for each in (row(), plain)
    ]
    assert told == [[NAME], ["rewardbench"]]
