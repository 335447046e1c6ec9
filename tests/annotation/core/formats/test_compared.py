"""Comparisons made of chosen, rejected and ranked responses."""

from __future__ import annotations

from itertools import pairwise

import pytest

from annotation.core.choices import Verdict
from annotation.core.formats.compared import (
    BENCHMARK,
    chosen_comparison,
    chosen_turn,
    compared,
    comparison_key,
    name_of,
    paired,
    ranked_comparisons,
    told_apart,
)
from annotation.core.formats.fields import Fields, Notes
from annotation.core.formats.records import GoldRecord, LabelDetails, PairwiseRecord, ResponseRecord

GOOD, BAD = ResponseRecord("good", "yes", model="m1"), ResponseRecord("bad", "no", model="m2")


def better(comparison):
    """The key of the response that a comparison holds to be better; "" for a tie."""
    [label] = comparison.labels
    keys = {Verdict.A: comparison.a, Verdict.B: comparison.b, Verdict.TIE: ""}
    return keys[label.verdict]


@pytest.mark.parametrize("message", ["q", "r", "s", "t", None])
def test_the_chosen_response_is_gold_whatever_its_letter(message):
    comparison = chosen_comparison(message, GOOD, BAD, name="row-1", strength=2, extra={"x": 1})
    [label], [gold] = comparison.labels, comparison.gold
    assert better(comparison) == "good"
    assert (label.details.annotator, label.strength) == (BENCHMARK, 2)
    assert (gold.source, gold.verdict) == ("DATASET", label.verdict)
    assert comparison.key.startswith("row-1-")
    assert comparison.extra == {"x": 1}


def test_the_letter_follows_from_the_content():
    sides = [chosen_comparison(str(place), GOOD, BAD) for place in range(40)]
    assert {each.a for each in sides} == {"good", "bad"}
    assert chosen_comparison("1", GOOD, BAD) == sides[1]


def test_a_tie_is_gold_too():
    comparison = chosen_comparison("q", GOOD, BAD, is_tie=True)
    assert better(comparison) == ""
    assert comparison.gold[0].verdict is Verdict.TIE


def test_a_turn_has_its_responses_in_the_order_of_the_comparison():
    for message in map(str, range(9)):
        turn = chosen_turn(message, GOOD, BAD)
        [comparison] = turn.comparisons
        assert [each.key for each in turn.responses] == [comparison.a, comparison.b]


def test_a_ranking_becomes_every_pair_that_has_values():
    third, unrated = ResponseRecord("third", "eh"), ResponseRecord("unrated", "?")
    twin = ResponseRecord("twin", "yes", model="m1")
    values = {"good": 3.0, "bad": 1.0, "third": 1.0, "twin": 2.0}
    found = list(ranked_comparisons("q", (GOOD, BAD, third, unrated, twin), values, is_gold=True))
    told = {frozenset((each.a, each.b)): better(each) for each in found}
    assert told == {
        frozenset(("good", "bad")): "good",
        frozenset(("good", "third")): "good",
        frozenset(("bad", "third")): "",
    }
    assert all(each.gold[0].verdict is each.labels[0].verdict for each in found)
    assert len({each.key for each in found}) == 3


def test_variants_tell_equal_responses_apart():
    twins = [ResponseRecord(name, "yes", model="m1", variant=name) for name in ("x", "y")]
    [found] = ranked_comparisons("q", twins, {"x": 2, "y": 1})
    assert better(found) == "x"


def test_whoever_ranked_is_named_and_need_not_be_right():
    details = LabelDetails("ann", comment="short")
    values = {"good": 1, "bad": 2}
    [found] = ranked_comparisons("q", (GOOD, BAD), values, details=details, name="x")
    assert (better(found), found.gold, found.labels[0].details) == ("bad", (), details)
    assert found.key.startswith("x-")


def test_keys_are_of_the_content():
    keys = [comparison_key(text, GOOD, BAD) for text in ("a", "b")]
    assert all(one != other for one, other in pairwise(keys))
    assert comparison_key("a", GOOD, BAD, name="n") == f"n-{keys[0]}"


@pytest.mark.parametrize(
    ("row", "name"),
    [
        ({"id": 7}, "7"),
        ({"id": "", "uid": "u"}, "u"),
        ({"id": True, "uid": "x" * 101}, ""),
        ({}, ""),
    ],
)
def test_what_a_file_calls_a_row(row, name):
    assert name_of(Fields(row, Notes(1)), "id", "uid") == name
    assert name_of(Fields({"id": "i"}, Notes(1))) == "i"


def test_every_two_responses_are_compared_without_an_answer():
    third = ResponseRecord("third", "perhaps", model="m1")
    again = ResponseRecord("again", "yes", model="m1")
    pairs = [*paired("q", [GOOD, BAD, third, again])]
    assert {frozenset({each.a, each.b}) for each in pairs} == {
        frozenset(pair) for pair in (("good", "bad"), ("good", "third"), ("bad", "third"))
    }
    assert not any(each.labels or each.gold for each in pairs)


def test_equal_responses_are_told_apart_by_letters_and_then_by_numbers():
    same = [ResponseRecord(str(place), "yes") for place in range(28)]
    variants = [each.variant for each in told_apart([*same, BAD])]
    assert variants[:3] == ["", "B", "C"]
    assert variants[25:] == ["Z", "27", "28", ""]


def test_two_responses_as_a_file_has_them_keep_their_letters():
    label = PairwiseRecord(LabelDetails("ann"), Verdict.A)
    gold = GoldRecord("DATASET", Verdict.B, rationale="Because.")
    turn = compared(
        "q", (GOOD, BAD), labels=[label], gold=gold, strength=2, name="row", extra={"x": 1}
    )
    [comparison] = turn.comparisons
    assert (turn.user_message, turn.responses) == ("q", (GOOD, BAD))
    assert (comparison.a, comparison.b, comparison.extra) == ("good", "bad", {"x": 1})
    assert comparison.gold == (gold,)
    assert comparison.labels == (PairwiseRecord(LabelDetails(BENCHMARK), Verdict.B, 2), label)
    assert comparison.key.startswith("row-")
    [bare] = compared("q", (GOOD, GOOD), key="k").comparisons
    assert (bare.key, bare.labels, bare.gold, bare.extra) == ("k", (), (), {})
    [unknown] = compared("q", (GOOD, BAD), gold=GoldRecord("DATASET")).comparisons
    assert (unknown.labels, len(unknown.gold)) == ((), 1)
